//! The configuration files in `fixtures/config` and `deploy`: what is refused, and in what words.

#[path = "config/beats.rs"]
mod beats;
#[path = "config/ntfy.rs"]
mod ntfy;

use shared::config::{
    Access, Adjust, ChannelKind, Classify, CloudApi, Config, ConfigError, Family, Feed, Header,
    HeaderText, Ingest, Ollama, Problem, Program, Surroundings,
};
use shared::model::{Category, Priority, Severity};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn fixtures(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/config")
        .join(folder)
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/config.example.toml")
}

/// Every fixture of a folder, in the order of their names.
fn files_of(folder: &str) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(fixtures(folder))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn load(path: &Path) -> Result<Config, ConfigError> {
    Config::load(path, None, Program::Both)
}

fn around() -> Surroundings<'static> {
    Surroundings {
        directory: Path::new("/etc/watchalert"),
        credentials: None,
        program: Program::Both,
    }
}

fn parse(text: &str) -> Result<Config, Vec<Problem>> {
    Config::parse(text, &around())
}

/// What is wrong with the file, or `None` when it was taken.
fn refusal(path: &Path) -> Option<(String, Vec<Problem>)> {
    let error = load(path).err()?;
    let told = error.to_string();
    let problems = match error {
        ConfigError::Refused { problems, .. } => problems,
        ConfigError::Unreadable { .. } => Vec::new(),
    };
    Some((told, problems))
}

#[test]
fn every_bad_fixture_is_refused_for_the_reasons_it_names_and_for_no_other() {
    let paths = files_of("bad").unwrap();
    assert!(paths.len() >= 30, "only {} fixtures", paths.len());
    let mut faults = Vec::new();
    for path in &paths {
        let name = path.file_stem().unwrap().display();
        let text = fs::read_to_string(path).unwrap();
        let expected: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# expect: "))
            .collect();
        assert!(!expected.is_empty(), "{name} expects nothing");
        let Some((told, problems)) = refusal(path) else {
            faults.push(format!("{name} is accepted"));
            continue;
        };
        for part in &expected {
            if !told.contains(part) {
                faults.push(format!("{name}: expected {part:?} in\n{told}"));
            }
        }
        // Two expectations may describe one problem; a problem that nobody expected is a cascade.
        for problem in &problems {
            let problem = problem.to_string();
            if !expected.iter().any(|part| problem.contains(part)) {
                faults.push(format!("{name}: unexpected: {problem}"));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_problem_says_what_to_do_on_one_line_and_shows_no_secret() {
    for path in files_of("bad").unwrap() {
        let (_, problems) = refusal(&path).unwrap();
        for problem in problems {
            let told = problem.to_string();
            assert!(
                told.contains("; ") || told.ends_with('?'),
                "no advice: {told}"
            );
            assert!(!told.contains('\n'), "several lines: {told}");
            assert!(!told.contains("hunter2"), "shows a secret: {told}");
        }
    }
}

#[test]
fn many_faults_are_told_at_once_in_the_order_of_the_file() {
    let path = fixtures("bad/many-faults.toml");
    let text = fs::read_to_string(&path).unwrap();
    let (told, problems) = refusal(&path).unwrap();
    let expected = text
        .lines()
        .filter(|line| line.starts_with("# expect: "))
        .count();
    assert_eq!(problems.len(), expected, "{told}");
    assert!(
        told.contains(&format!("has {expected} problems:")),
        "{told}"
    );
    assert!(
        problems.is_sorted_by_key(|problem| problem.at.line),
        "{told}"
    );
}

#[test]
fn every_good_fixture_is_taken() {
    for path in files_of("good").unwrap() {
        if let Err(error) = load(&path) {
            panic!("{error}");
        }
    }
}

#[test]
fn the_example_is_taken_without_a_warning() {
    let config = load(&example()).unwrap();
    assert_eq!(config.warnings, Vec::<String>::new());
    assert_eq!(config.feeds.len(), 2);
    assert_eq!(config.default_channel, "screen");
}

/// A commented key of the example is either the default or an example: it must be acceptable.
#[test]
fn the_example_is_taken_with_every_commented_key_too() {
    let text = fs::read_to_string(example()).unwrap();
    let uncommented: Vec<&str> = text
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(key) if key.starts_with(|first: char| first.is_ascii_lowercase()) => key,
            Some(section) if section.starts_with('[') => section,
            _ => line,
        })
        .filter(|line| {
            !["authorization_file", "ca_file"]
                .iter()
                .any(|key| line.starts_with(key))
        })
        .collect();
    let directory = tempfile::tempdir().unwrap();
    for (name, secret) in [
        ("cloud-key", "key"),
        ("github-secret", "key"),
        ("checks-token", "key"),
        ("backup-token", "hunter2hunter2hunter2"),
        ("ping-success", "https://hc.example.net/ping/hunter2"),
    ] {
        write_secret(&directory.path().join(name), secret);
    }
    let around = Surroundings {
        directory: directory.path(),
        // Which does not look for the file with the bot's token.
        program: Program::Ingest,
        ..around()
    };
    let config = Config::parse(&uncommented.join("\n"), &around).unwrap();
    let ollama = config.classify.ollama.as_ref().unwrap();
    assert_eq!(ollama.url.as_str(), "http://127.0.0.1:11434/");
    assert_eq!(
        (ollama.model.as_str(), ollama.concurrency),
        ("qwen2.5:7b", 1)
    );
    assert_eq!(ollama.timeout, Duration::from_mins(1));
    assert_eq!(ollama.keep_alive, Duration::from_mins(30));
    let cloud = config.classify.cloud.as_ref().unwrap();
    assert_eq!((cloud.api, cloud.daily_limit), (CloudApi::OpenAi, 200));
    assert_eq!(cloud.timeout, Duration::from_secs(30));
    assert_eq!(cloud.url.as_str(), "https://llm.example.net/v1/");
    let mut channels = config.channels.iter();
    let telegram = channels.find_map(|channel| match &channel.kind {
        ChannelKind::Telegram(telegram) => Some(telegram),
        _ => None,
    });
    let telegram = telegram.expect("a bot");
    assert_eq!(telegram.api_url.as_str(), "https://api.telegram.org/");
    assert_eq!(
        config.ingest.contact.as_deref(),
        Some("https://example.org/about")
    );
    let without_contact = Ingest {
        contact: None,
        ..config.ingest
    };
    assert_eq!(without_contact, Ingest::default());
}

#[test]
fn one_channel_is_enough_and_the_rest_has_defaults() {
    let config = load(&fixtures("good/smallest.toml")).unwrap();
    assert_eq!(config.default_channel, "screen");
    assert_eq!(config.timezone.iana_name(), Some("UTC"));
    assert_eq!(config.state_path, Path::new("/var/lib/watchalert/state.db"));
    assert_eq!(config.ingest.interval, Duration::from_mins(2));
    assert_eq!(config.ingest.deadline, Duration::from_secs(100));
    assert_eq!(config.ingest.concurrency, 16);
    assert_eq!(config.classify, Classify::default());
    assert_eq!(config.outbox.give_up_after, Duration::from_hours(72));
    assert_eq!(config.outbox.retention, Duration::from_hours(90 * 24));
    assert_eq!(
        config.warnings,
        ["no feed is configured, so nothing is watched; add [[feed]]"]
    );
}

fn classify_with_everything() -> Classify {
    let ollama = Ollama {
        url: "https://llm.example:8443/ollama/".parse().unwrap(),
        model: "llama3.2:3b".to_owned(),
        timeout: Duration::from_secs(45),
        keep_alive: Duration::from_hours(2),
        concurrency: 2,
    };
    Classify {
        interests: Some("nginx, PostgreSQL".to_owned()),
        language: "Deutsch".to_owned(),
        give_up_after: Duration::from_mins(20),
        ollama: Some(ollama),
        cloud: None,
    }
}

fn access_with_everything() -> Access {
    let header = Header {
        name: "x-client".to_owned(),
        value: HeaderText::Plain("7".to_owned()),
    };
    Access {
        user_agent: Some("FeedFetcher/1.0".to_owned()),
        headers: vec![header],
        ca_file: Some(fixtures("good/smallest.toml")),
        family: Some(Family::Ipv4),
    }
}

#[test]
fn everything_that_can_be_written_is_read() {
    let config = load(&fixtures("good/everything.toml")).unwrap();
    assert_eq!(config.timezone.iana_name(), Some("Europe/Berlin"));
    assert_eq!(config.state_path, fixtures("good/state.db"));
    assert_eq!(config.ingest.deadline, Duration::from_secs(90));
    assert_eq!(config.classify, classify_with_everything());
    let Feed {
        url,
        name,
        tags,
        interval,
        quiet_after,
        authorization,
        cloud,
        heeds_ttl,
        tells_edits,
        access,
    } = &config.feeds[0];
    assert!(!cloud && config.feeds[1].cloud);
    assert_eq!(url.as_str(), "https://example.org/advisories.atom");
    assert_eq!(name.as_deref(), Some("Example advisories"));
    assert_eq!(tags, &["security", "linux"]);
    assert_eq!(*interval, Duration::from_mins(10));
    assert_eq!(*quiet_after, Duration::from_hours(90 * 24));
    assert_eq!(*authorization, None);
    assert!(*tells_edits && !config.feeds[1].tells_edits);
    assert!(!heeds_ttl && config.feeds[1].heeds_ttl);
    assert_eq!(*access, access_with_everything());
    assert_eq!(config.feeds[1].interval, Duration::from_mins(5));
    let others: Vec<&str> = config.same_hosts.others("example.org").collect();
    assert_eq!(others, ["www.example.org"]);
    let names: Vec<&str> = config.rules.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(names, ["exploited", "rule 2", "rule 3"]);
    let adjusts: Vec<_> = config.rules.iter().map(|rule| rule.severity).collect();
    assert_eq!(
        adjusts,
        [
            Some(Adjust::Floor(Severity::Critical)),
            Some(Adjust::Drop),
            Some(Adjust::Force(Severity::High))
        ]
    );
    assert_eq!(config.rules[0].category, Some(Category::Vulnerability));
    assert!(
        config.rules[0]
            .matches
            .title
            .as_ref()
            .unwrap()
            .is_match("Actively Exploited")
    );
    assert!(config.rules[1].beats_floor && !config.rules[2].beats_floor);
    let channels = config.channels.iter();
    let channels: Vec<_> = channels
        .map(|channel| (channel.name.as_str(), &channel.kind))
        .collect();
    assert_eq!(
        channels,
        [
            ("other_screen-2", &ChannelKind::Console),
            ("screen", &ChannelKind::Console)
        ]
    );
    assert_eq!(config.routes[0].to, ["screen", "other_screen-2"]);
    assert_eq!(config.routes[1].severity, None);
    assert_eq!(config.outbox.retention, Duration::from_hours(30 * 24));
}

fn write_secret(path: &Path, secret: &str) {
    fs::write(path, secret).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap();
}

const TELEGRAM: &str = "[channel.ops]\nkind = \"telegram\"\ntoken_file = \"token\"\n";

/// What the sender makes of these keys, with this in the file of the token.
fn telegram(keys: &str, token: &str) -> Result<Config, Vec<String>> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    write_secret(&path, token);
    let around = Surroundings {
        directory: directory.path(),
        credentials: None,
        program: Program::Sender,
    };
    Config::parse(&format!("{TELEGRAM}{keys}"), &around)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

#[test]
fn a_telegram_channel_is_read_with_its_defaults_and_with_every_key() {
    let read = |keys: &str| {
        let config = telegram(keys, "123456:AAE_x-9\n").unwrap();
        let chat = config.channels[0].destination().chat_id;
        match &config.channels[0].kind {
            ChannelKind::Telegram(telegram) => (chat, telegram.clone()),
            other => panic!("not {other:?}"),
        }
    };
    let (chat, least) = read("chat_id = -1001234567890\n");
    assert_eq!(chat, "-1001234567890");
    assert_eq!(least.api_url.as_str(), "https://api.telegram.org/");
    assert_eq!((least.thread, least.silent.len()), (None, 0));
    let (chat, most) = read(
        "chat_id = \"@ops_room\"\nmessage_thread_id = 7\nsilent = [\"low\", \"normal\"]\n\
         api_url = \"http://[::1]:8081/api\"\n",
    );
    assert_eq!(chat, "@ops_room");
    assert_eq!(most.api_url.as_str(), "http://[::1]:8081/api");
    assert_eq!(most.thread, Some(7));
    assert_eq!(most.silent, [Priority::Low, Priority::Normal]);
}

#[test]
fn a_file_without_a_bots_token_is_refused_without_showing_it_and_only_by_the_sender() {
    let problems = telegram("chat_id = 7\n", "bot123456:hunter2").unwrap_err();
    assert_eq!(problems.len(), 1);
    let told = &problems[0];
    assert!(
        told.starts_with("channel.ops.token_file (line 3): that file holds no bot token"),
        "{told}"
    );
    assert!(!told.contains("hunter2"), "{told}");
    let around = Surroundings {
        program: Program::Ingest,
        ..around()
    };
    assert!(Config::parse(&format!("{TELEGRAM}chat_id = 7\n"), &around).is_ok());
}

#[test]
fn a_missing_file_is_one_sentence() {
    let told = load(Path::new("/no/such/config.toml"))
        .unwrap_err()
        .to_string();
    assert!(
        told.starts_with("there is no configuration at /no/such/config.toml;"),
        "{told}"
    );
    assert!(told.contains("--config") && !told.contains('\n'), "{told}");
}

#[test]
fn a_file_that_is_not_text_is_one_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.toml");
    fs::write(&path, b"timezone = \"\xff\"").unwrap();
    let told = load(&path).unwrap_err().to_string();
    assert!(
        told.contains("is not UTF-8 text") && !told.contains('\n'),
        "{told}"
    );
}

#[test]
fn a_tag_that_no_feed_has_is_a_warning() {
    let config = parse(
        "[[feed]]\nurl = \"https://example.org/\"\ntags = [\"security\"]\n\
         [channel.screen]\nkind = \"console\"\n\
         [[route]]\ntag = [\"securty\"]\nto = [\"screen\"]\n",
    )
    .unwrap();
    assert_eq!(
        config.warnings,
        ["route[1].tag: no feed has the tag \"securty\"; did you mean \"security\"?"]
    );
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_do_no_harm() {
    let text = "\u{feff}[channel.screen]\r\nkind = \"console\"\r\n";
    assert_eq!(parse(text).unwrap().default_channel, "screen");
    let problems = parse(&text.replace("kind", "kin")).unwrap_err();
    assert_eq!(problems.first().unwrap().at.line, Some(1));
}

/// The example and the fixtures, with lines lost and letters changed: the reader never panics,
/// and says something whenever it refuses.
#[test]
fn no_text_makes_the_reader_panic_or_refuse_without_a_reason() {
    let mut texts = vec![fs::read_to_string(example()).unwrap()];
    for folder in ["bad", "good"] {
        for path in files_of(folder).unwrap() {
            texts.push(fs::read_to_string(path).unwrap());
        }
    }
    let mut chance = fastrand::Rng::with_seed(7);
    for round in 0..15 * texts.len() {
        let lines = texts[round % texts.len()].lines();
        let kept = lines.filter(|_| chance.u8(..) > 20);
        let mut letters: Vec<char> = kept.flat_map(|line| line.chars().chain(['\n'])).collect();
        for _ in 0..chance.usize(..3) {
            if let Some(letter) = chance.choice(letters.iter_mut()) {
                *letter = fastrand::Rng::with_seed(round as u64).char(..);
            }
        }
        let text: String = letters.into_iter().collect();
        if let Err(problems) = parse(&text) {
            assert!(!problems.is_empty(), "refused without a reason:\n{text}");
            for told in problems.iter().map(ToString::to_string) {
                assert!(!told.contains(char::is_control), "not one line: {told:?}");
            }
        }
    }
}
