//! GitHub: every example of its own is told in one line that says what happened; each kind of event at its
//! right severity, once, and the end of what has failed.

use super::{line, posts, read_at, webhook};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use watchalert_ingest::listen::body::{AGAIN, UNIQUE};
use watchalert_tests::world::START;

fn corpus() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/webhooks/github");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The table is printed when it differs: read it before it replaces tests/fixtures/webhooks/github.tsv.
#[test]
fn githubs_own_examples_are_told_as_the_table_says() {
    let paths = corpus();
    if paths.is_empty() {
        eprintln!("SKIPPED: GitHub's examples are not at hand");
        return;
    }
    let hook = webhook("github", "");
    let mut table = String::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let event = name.split('.').next();
        let body = fs::read(&path).expect("a body");
        let read = posts(&hook, event, &body).expect("JSON");
        assert_eq!(read.len(), usize::from(event != Some("ping")), "{name}");
        for post in read {
            assert!(!post.entry.title.contains(['\n', '\u{1b}']), "{name}");
            table += &format!("{name}\t{}\n", line(&post));
        }
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/webhooks/github.tsv");
    let expected = fs::read_to_string(&file).unwrap_or_default();
    if table != expected {
        let actual = file.with_extension("actual.tsv");
        fs::write(&actual, &table).expect("written");
        panic!("it differs: diff {} {}", file.display(), actual.display());
    }
}

/// The body of an event in a repository whose default branch is main.
fn body(of: &Value) -> Vec<u8> {
    let mut whole = json!({
        "repository": {"id": 1, "full_name": "ada/engine", "default_branch": "main", "html_url": "https://github.com/ada/engine"},
        "sender": {"login": "ada"},
    });
    let object = whole.as_object_mut().expect("an object");
    object.extend(of.as_object().cloned().expect("an object"));
    serde_json::to_vec(&whole).expect("JSON")
}

fn told(event: &str, of: &Value) -> String {
    let mut read = posts(&webhook("github", ""), Some(event), &body(of)).expect("JSON");
    line(&read.remove(0))
}

/// Each line: an event, its body without repository and sender, and what is told.
#[test]
fn each_kind_of_event_has_its_right_severity() {
    let table = include_str!("../fixtures/webhooks/github-events.jsonl");
    let mut kinds = BTreeSet::new();
    for line in table.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let event = line["event"].as_str().expect("a name");
        kinds.insert(event.to_owned());
        assert_eq!(told(event, &line["body"]), line["told"], "{line}");
    }
    assert!(kinds.len() >= 25, "{}", kinds.len());
}

#[test]
fn no_secret_that_was_found_is_shown() {
    let of = json!({"action": "created", "alert": {"number": 2, "secret_type": "aws", "secret": "AKIA-not-to-be-shown"}});
    let read = posts(
        &webhook("github", ""),
        Some("secret_scanning_alert"),
        &body(&of),
    )
    .expect("JSON");
    assert!(!format!("{read:?}").contains("AKIA"), "{read:?}");
}

#[test]
fn one_happening_is_one_and_two_are_two() {
    let hook = webhook("github", "");
    let keys = |event: &str, bodies: &[Value]| {
        let read = bodies
            .iter()
            .map(|of| posts(&hook, Some(event), &body(of)).expect("JSON"));
        read.flatten()
            .map(|post| post.key)
            .collect::<BTreeSet<_>>()
            .len()
    };
    let release = |action: &str| json!({"action": action, "release": {"id": 5, "tag_name": "v1"}});
    assert_eq!(
        keys("release", &[release("published"), release("released")]),
        1
    );
    assert_eq!(
        keys("release", &[release("published"), release("deleted")]),
        2
    );
    let early = json!({"action": "prereleased", "release": {"id": 5, "tag_name": "v1", "prerelease": true}});
    assert_eq!(
        keys("release", &[early, release("released")]),
        2,
        "it was promoted"
    );
    let run = |attempt: u64| json!({"action": "completed", "workflow_run": {"id": 7, "run_attempt": attempt, "conclusion": "failure"}});
    assert_eq!(keys("workflow_run", &[run(1), run(1)]), 1);
    assert_eq!(keys("workflow_run", &[run(1), run(2)]), 2);
    let issue =
        |at: &str| json!({"action": "reopened", "issue": {"id": 9, "number": 9, "updated_at": at}});
    assert_eq!(
        keys(
            "issues",
            &[issue("2026-12-01T08:00:00Z"), issue("2026-12-01T09:00:00Z")]
        ),
        2
    );
    let failed = |branch: &str, conclusion: &str| {
        let of = json!({"action": "completed", "workflow_run": {"id": 1, "workflow_id": 3, "head_branch": branch, "conclusion": conclusion}});
        posts(&hook, Some("workflow_run"), &body(&of))
            .expect("JSON")
            .remove(0)
            .thread
    };
    assert_eq!(failed("main", "failure"), failed("main", "success"));
    assert_ne!(failed("main", "failure"), failed("topic", "failure"));
}

/// GitHub's bodies of these events may be the same to the last byte.
#[test]
fn who_is_let_in_put_out_and_let_in_again_is_told_three_times() {
    let hook = webhook("github", "");
    let let_in = json!({"action": "added", "member": {"id": 4, "login": "eve"}});
    let app = json!({"action": "created", "installation": {"id": 2}});
    let unforeseen = json!({"action": "made", "thing": {"id": 2}});
    for (event, of) in [
        ("member", let_in),
        ("installation", app),
        ("of_next_year", unforeseen),
    ] {
        let at = |now| read_at(now, &hook, Some(event), &body(&of)).expect("JSON");
        let (first, later) = (at(START), at(START + Duration::from_secs(120)));
        assert_ne!(first.posts[0].key, later.posts[0].key, "{event}");
        assert_eq!(first.posts, at(START).posts, "{event}");
        assert_eq!(first.repeats, AGAIN, "{event}");
    }
    let push = read_at(START, &hook, Some("push"), &body(&json!({}))).expect("JSON");
    assert_eq!(push.repeats, UNIQUE);
}

#[test]
fn the_user_says_what_matters_and_on_which_branches() {
    let hook = webhook(
        "github",
        "events = { push = 'high', issues = 'ignore', 'issues.opened' = 'critical' }\nbranches = ['main', 'release/*']\n",
    );
    let severity = |event: &str, of: &Value| {
        let read = posts(&hook, Some(event), &body(of)).expect("JSON");
        read[0].entry.rating.map(|rating| rating.severity.name())
    };
    assert_eq!(
        severity("push", &json!({"ref": "refs/heads/topic"})),
        Some("high")
    );
    assert_eq!(
        severity("issues", &json!({"action": "opened"})),
        Some("critical")
    );
    assert_eq!(
        severity("issues", &json!({"action": "closed"})),
        Some("ignore")
    );
    let run = |branch: &str| json!({"action": "completed", "workflow_run": {"head_branch": branch, "conclusion": "failure"}});
    assert_eq!(severity("workflow_run", &run("main")), Some("high"));
    assert_eq!(severity("workflow_run", &run("release/1")), Some("low"));
    assert_eq!(severity("workflow_run", &run("topic")), Some("ignore"));
}

#[test]
fn a_body_may_come_as_a_form_and_may_lack_everything() {
    use watchalert_ingest::listen::body::{BodyError, Request, read};
    let hook = webhook("github", "");
    let ask = |content_type, body: &[u8]| {
        let request = Request {
            event: Some("issues"),
            content_type: Some(content_type),
            body,
            now: START,
        };
        read(&hook, &request).map(|read| read.posts.iter().map(line).collect::<Vec<_>>())
    };
    let form = "application/x-www-form-urlencoded";
    let told = ask(form, b"payload=%7B%22action%22%3A%22opened%22%2C%22issue%22%3A%7B%22title%22%3A%22%C3%A9%22%7D%7D");
    assert_eq!(
        told,
        Ok(vec![
            "normal\tother\tGitHub: – opened the issue #– é".to_owned()
        ])
    );
    assert_eq!(ask(form, b"other=1"), Err(BodyError::NoPayload));
    assert!(matches!(
        ask("application/json", b"{"),
        Err(BodyError::NotJson(_))
    ));
    for nothing in ["{}", "[]", "null", "7", "\"text\""] {
        assert_eq!(
            ask("application/json", nothing.as_bytes()).map(|told| told.len()),
            Ok(1),
            "{nothing}"
        );
    }
    let deep = "[".repeat(200) + &"]".repeat(200);
    assert!(matches!(
        ask("application/json", deep.as_bytes()),
        Err(BodyError::NotJson(_))
    ));
}
