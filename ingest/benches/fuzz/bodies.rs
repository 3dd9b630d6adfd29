//! Mutilated bodies of webhooks, for each reader of them.

use shared::config::{Config, Program, Surroundings, Webhook};
use shared::model::Timestamp;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use watchalert_ingest::listen::body::{Request, read};

/// What breaks readers of JSON, and words that mean something to ours.
pub(super) const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "null",
    "true",
    "-1",
    "1e999",
    "\\u0000",
    "\\ud800",
    "\\n",
    "\u{202e}",
    "\u{1b}[31m",
    "\"action\":\"completed\"",
    "\"action\":\"created\"",
    "\"action\":\"fixed\"",
    "\"status\":\"resolved\"",
    "\"alerts\":[{}]",
    "\"labels\":null",
    "\"repository\":null",
    "\"sender\":7",
    "\"truncatedAlerts\":99999999999999999999",
    "\"heartbeat\":null",
    "\"html_url\":\"javascript:alert(1)\"",
    "\"title\":[]",
    "\"fingerprint\":{}",
    "payload=",
    "%7B",
    "\"data\":{\"event\":{}}",
];

/// Names of events that one body is read as.
const EVENTS: &[&str] = &[
    "push",
    "workflow_run",
    "check_run",
    "status",
    "release",
    "issues",
    "pull_request",
    "dependabot_alert",
    "code_scanning_alert",
    "secret_scanning_alert",
    "security_advisory",
    "repository",
    "member",
    "organization",
    "deploy_key",
    "deployment_status",
    "package",
    "gollum",
    "discussion",
    "meta",
    "star",
    "unheard_of",
];
const RESOURCES: &[&str] = &[
    "event_alert",
    "metric_alert",
    "issue",
    "error",
    "comment",
    "installation",
];

static HOOKS: LazyLock<Vec<Webhook>> = LazyLock::new(|| {
    let text = "[channel.screen]\nkind = 'console'\n\
        [[webhook]]\nname = 'github'\nkind = 'github'\nsecret_file = 's'\nbranches = ['main', 'v*']\n\
        [[webhook]]\nname = 'sentry'\nkind = 'sentry'\nsecret_file = 's'\n\
        [[webhook]]\nname = 'am'\nkind = 'alertmanager'\ntoken_file = 's'\n\
        [[webhook]]\nname = 'any'\nkind = 'generic'\ntoken_file = 's'\nfields = { id = 'alerts[0].fingerprint', state = 'status' }\nends = ['resolved']\n\
        [[webhook]]\nname = 'kuma'\nkind = 'generic'\ntoken_file = 's'\npreset = 'uptime-kuma'\n\
        [[webhook]]\nname = 'grafana'\nkind = 'generic'\ntoken_file = 's'\npreset = 'grafana'\n\
        [[webhook]]\nname = 'change'\nkind = 'generic'\ntoken_file = 's'\npreset = 'changedetection'\n";
    let around = Surroundings {
        directory: Path::new("/nowhere"),
        credentials: None,
        program: Program::Sender,
    };
    Config::parse(text, &around)
        .expect("a good configuration")
        .webhooks
});

pub(super) fn github(body: &[u8]) {
    let event = EVENTS[body.len() % EVENTS.len()];
    attack("github", Some(event), body);
}

pub(super) fn sentry(body: &[u8]) {
    let resource = RESOURCES[body.len() % RESOURCES.len()];
    attack("sentry", Some(resource), body);
}

pub(super) fn alertmanager(body: &[u8]) {
    attack("am", None, body);
    attack("grafana", None, body);
}

pub(super) fn generic(body: &[u8]) {
    for name in ["any", "kuma", "change"] {
        attack(name, None, body);
    }
}

/// Posts are few, their titles are one line that a phone shows, their links lead to the web.
fn attack(name: &str, event: Option<&str>, body: &[u8]) {
    let hook = HOOKS
        .iter()
        .find(|hook| hook.name == name)
        .expect("a webhook");
    for content_type in ["application/json", "application/x-www-form-urlencoded"] {
        let request = Request {
            event,
            content_type: Some(content_type),
            body,
            now: Timestamp::from_unix_millis(1_796_025_600_000),
        };
        let posts = match read(hook, &request) {
            Ok(read) => read.posts,
            Err(why) => {
                assert!(!why.to_string().contains('\n'), "{why}");
                continue;
            }
        };
        assert!(posts.len() <= 100, "{} posts", posts.len());
        for post in posts {
            let entry = &post.entry;
            assert!(
                !entry.title.is_empty() && entry.title.chars().count() <= 300,
                "{:?}",
                entry.title
            );
            assert!(
                !entry.title.chars().any(char::is_control),
                "{:?}",
                entry.title
            );
            assert!(
                entry.summary.chars().count() <= 1_000,
                "{} characters",
                entry.summary.len()
            );
            let is_web =
                |link: &String| link.starts_with("http://") || link.starts_with("https://");
            assert!(entry.link.as_ref().is_none_or(is_web), "{:?}", entry.link);
        }
    }
}

/// The bodies under these folders, and those of our own tests.
pub(super) fn samples(folders: &[String]) -> Vec<Vec<u8>> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/webhooks");
    let paths = folders.iter().map(PathBuf::from).chain([own]);
    let mut samples = Vec::new();
    for path in paths {
        collect(&path, &mut samples);
    }
    samples
}

fn collect(folder: &Path, samples: &mut Vec<Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, samples);
        } else if path.extension().is_some_and(|end| end == "json") {
            samples.extend(fs::read(&path));
        } else if path.extension().is_some_and(|end| end == "jsonl") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let lines = text
                .lines()
                .filter_map(|line| line.split_once("\"body\": "));
            samples.extend(lines.map(|(_, body)| body.trim_end_matches('}').as_bytes().to_vec()));
        } else if path.extension().is_some_and(|end| end == "http") {
            let bytes = fs::read(&path).unwrap_or_default();
            let begin = bytes
                .iter()
                .position(|byte| *byte == b'{')
                .unwrap_or_default();
            samples.push(bytes[begin..].to_vec());
        }
    }
}
