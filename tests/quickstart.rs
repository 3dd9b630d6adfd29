//! `scripts/quickstart`, as somebody runs it in a fresh clone: what it prints the first time, the
//! second time, and when one entry is new; and what it says when it cannot.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Entries of the three sample feeds; each is told.
const SAMPLED: usize = 14;

/// A folder with the state and copies of the sample feeds.
struct Desk {
    dir: TempDir,
}

impl Desk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn copy(&self, sample: &str, name: &str) -> String {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(root().join("deploy/samples").join(sample), &path).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn run(&self, arguments: &[&str]) -> Said {
        let output = Command::new(root().join("scripts/quickstart"))
            .env("LC_ALL", "C")
            .args(["--state", self.path("state").to_str().unwrap()])
            .args(arguments)
            .current_dir(self.dir.path())
            .env("WATCHALERT_BIN_DIR", programs())
            .env_remove("RUST_LOG")
            .output()
            .expect("bash is there");
        Said(output)
    }
}

struct Said(Output);

impl Said {
    fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    fn errors(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    fn code(&self) -> i32 {
        self.0.status.code().unwrap()
    }

    /// The titles of the alerts, in their order. Whoever asks expects success.
    #[track_caller]
    fn alerts(&self) -> Vec<String> {
        assert_eq!(self.code(), 0, "{}\n{}", self.out(), self.errors());
        let severities = ["CRITICAL ", "HIGH ", "NORMAL ", "LOW "];
        let title = |line: &str| {
            let rest = severities.iter().find_map(|word| line.strip_prefix(word))?;
            rest.split_once("  #").map(|(title, _)| title.to_owned())
        };
        self.out().lines().filter_map(title).collect()
    }

    /// The end of a run that did nothing: its code and its one sentence.
    fn refusal(&self) -> (i32, String) {
        assert_eq!(self.out(), "");
        assert_eq!(self.errors().lines().count(), 1, "{}", self.errors());
        let sentence = self.errors().trim_end().to_owned();
        (self.code(), sentence)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Where `scripts/test` says, else beside this test, where `cargo build --bins` puts them.
#[expect(
    clippy::disallowed_methods,
    reason = "a test has no main in which the environment could enter"
)]
fn programs() -> PathBuf {
    let named = std::env::var_os("WATCHALERT_BIN_DIR").map(PathBuf::from);
    named.unwrap_or_else(|| {
        let me = std::env::current_exe().unwrap();
        me.ancestors().nth(2).unwrap().to_owned()
    })
}

/// Puts one entry before the others of an Atom feed.
fn publish(feed: &str, title: &str) {
    let entry = format!(
        "<entry><title>{title}</title><id>tag:example.org,2026:{title}</id>\
         <link href=\"https://example.org/new\"/><updated>2026-12-01T09:00:00Z</updated></entry><entry>"
    );
    let text = fs::read_to_string(feed).unwrap();
    fs::write(feed, text.replacen("<entry>", &entry, 1)).unwrap();
}

#[test]
fn in_a_fresh_clone_it_prints_alerts_and_run_again_it_prints_none() {
    let desk = Desk::new();
    let first = desk.run(&[]);
    let alerts = first.alerts();
    assert_eq!(alerts.len(), SAMPLED, "{}", first.out());
    assert!(
        alerts[0].starts_with("Quillmark Mail Gateway"),
        "{alerts:?}"
    );
    for said in [
        "items       14 seen: 0 known from a first fetch, 0 to be judged, 14 judged",
        "alerts      14 accepted: 14 owed",
        "deliveries  14 accepted: 14 delivered, 0 waiting",
        "unaccounted 0",
        "deploy/config.example.toml",
        "deploy/watchalert-ingest.timer",
    ] {
        assert!(first.out().contains(said), "{said}\nin\n{}", first.out());
    }
    assert!(!first.out().contains('\u{1b}'), "no colour in a pipe");
    assert_eq!(first.errors(), "");

    let second = desk.run(&[]);
    assert_eq!(second.alerts(), [""; 0]);
    assert!(second.out().contains("nothing new: no alert"));
    assert!(second.out().contains("14 accepted: 14 delivered"));
}

#[test]
fn a_new_entry_in_a_feed_file_prints_exactly_one() {
    let desk = Desk::new();
    let feed = desk.copy("advisories.atom", "Grüße & \"100 %\"/päivä #1?.atom");
    assert_eq!(desk.run(&[&feed]).alerts().len(), 5);
    assert_eq!(desk.run(&[&feed]).alerts(), [""; 0]);
    publish(&feed, "Tapir 3: remote code execution");
    let third = desk.run(&[&feed]);
    assert_eq!(third.alerts(), ["Tapir 3: remote code execution"]);
    assert_eq!(desk.run(&[&feed]).alerts(), [""; 0]);
}

#[test]
fn a_file_is_the_same_feed_however_its_path_is_written() {
    let desk = Desk::new();
    let feed = desk.copy("advisories.atom", "feeds/a feed.atom");
    assert_eq!(desk.run(&[&feed]).alerts().len(), 5);
    std::os::unix::fs::symlink(desk.path("feeds"), desk.path("link")).unwrap();
    let again = desk.run(&["feeds/a feed.atom", "./feeds/../link/a feed.atom", &feed]);
    assert_eq!(again.alerts(), [""; 0]);
    assert!(again.out().contains("Reading 1 feed ("), "{}", again.out());
}

#[test]
fn feeds_named_later_are_told_like_the_first() {
    let desk = Desk::new();
    let (first, second) = (
        desk.copy("advisories.atom", "one.atom"),
        desk.copy("releases.atom", "two.atom"),
    );
    assert_eq!(desk.run(&[&first]).alerts().len(), 5);
    assert_eq!(desk.run(&[&second]).alerts().len(), 4);
    publish(&first, "Tapir 3: remote code execution");
    assert_eq!(desk.run(&[&second]).alerts(), [""; 0], "it was not named");
    assert_eq!(desk.run(&[&first, &second]).alerts().len(), 1);
}

#[test]
fn a_broken_feed_is_named_and_costs_no_other() {
    let desk = Desk::new();
    let sound = desk.copy("advisories.atom", "sound.atom");
    let broken = desk.path("broken.atom");
    fs::write(&broken, "this is no feed").unwrap();
    let said = desk.run(&[broken.to_str().unwrap(), &sound]);
    assert_eq!(said.alerts().len(), 5);
    let named = |line: &str| line.starts_with("failed  file:///") && line.contains("broken.atom: ");
    assert!(said.out().lines().any(named), "{}", said.out());
}

#[test]
fn what_cannot_be_read_is_told_in_one_sentence_before_anything_is_done() {
    let desk = Desk::new();
    let missing = desk.path("missing.atom").to_str().unwrap().to_owned();
    for (argument, sentence) in [
        (missing.as_str(), format!("there is no file {missing}")),
        ("/", "/ is not a file; name the feeds in it".to_owned()),
        (
            "ftp://example.org/feed",
            "ftp://example.org/feed is neither a file nor an http or https URL".to_owned(),
        ),
        ("--stat", "there is no option --stat; see --help".to_owned()),
        ("--state", "--state needs a folder".to_owned()),
    ] {
        let expected = (2, format!("scripts/quickstart: {sentence}"));
        assert_eq!(desk.run(&[argument]).refusal(), expected);
    }
    assert!(!desk.path("state").exists());
}

#[test]
fn a_folder_that_holds_something_else_is_left_alone() {
    let desk = Desk::new();
    fs::create_dir(desk.path("state")).unwrap();
    let config = desk.path("state/config.toml");
    fs::write(&config, "my own").unwrap();
    let (code, sentence) = desk.run(&["--fresh"]).refusal();
    assert_eq!(code, 1);
    assert!(
        sentence.contains("was not written by this script"),
        "{sentence}"
    );
    assert_eq!(fs::read_to_string(&config).unwrap(), "my own");
}

#[test]
fn fresh_forgets_what_was_seen_and_nothing_else() {
    let desk = Desk::new();
    let feed = desk.copy("advisories.atom", "feed.atom");
    assert_eq!(desk.run(&[&feed]).alerts().len(), 5);
    fs::write(desk.path("state/notes.txt"), "mine").unwrap();
    assert_eq!(desk.run(&["--fresh", &feed]).alerts().len(), 5);
    assert!(desk.path("state/notes.txt").exists());
}

#[test]
fn the_exit_code_is_that_of_the_program_that_failed() {
    let desk = Desk::new();
    let said = desk.run(&["http://localhost:1/\"\\feed"]);
    assert_eq!(said.code(), 3, "{}", said.errors());
    assert!(said.errors().contains("feed[1].url"), "{}", said.errors());
    fs::create_dir(desk.path("state/state.db")).unwrap();
    let feed = desk.copy("advisories.atom", "feed.atom");
    assert_eq!(desk.run(&[&feed]).code(), 3);
}

#[test]
fn without_the_programs_it_says_so() {
    let desk = Desk::new();
    let output = Command::new(root().join("scripts/quickstart"))
        .env("LC_ALL", "C")
        .args(["--state", desk.path("state").to_str().unwrap()])
        .env("WATCHALERT_BIN_DIR", desk.dir.path())
        .output()
        .unwrap();
    let (code, sentence) = Said(output).refusal();
    assert_eq!(code, 1);
    assert!(
        sentence.contains("where the two programs are not"),
        "{sentence}"
    );
}
