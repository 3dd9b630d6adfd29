//! Proof that the import rules catch what they are for, and nothing else.

use super::rules::RULES;
use super::{File, known_crates, rules};
use std::collections::BTreeSet;

/// A rule, a file that breaks it once and no other rule, and the line where.
const BREAKING: &[(&str, &str, &str, usize)] = &[
    (
        "ingest without sender",
        "ingest/src/run.rs",
        "use watchalert_sender::drain;",
        1,
    ),
    (
        "sender without ingest",
        "sender/src/drain.rs",
        "fn f() { watchalert_ingest::run(); }",
        1,
    ),
    (
        "shared without programs",
        "shared/src/lib.rs",
        "use watchalert_ingest as i;",
        1,
    ),
    (
        "nobody imports tests",
        "ingest/src/run.rs",
        "\nuse watchalert_tests::world;",
        2,
    ),
    (
        "pure model",
        "shared/src/model/item.rs",
        "use serde_json::Value;",
        1,
    ),
    (
        "pure model",
        "shared/src/model/item.rs",
        "use super::super::config;",
        1,
    ),
    (
        "pure shared policy",
        "shared/src/policy/text.rs",
        "use crate::{model::Item, store};",
        1,
    ),
    (
        "pure sender policy",
        "sender/src/policy/limiter.rs",
        "fn f() { tokio::spawn(g()); }",
        1,
    ),
    (
        "pure sender policy",
        "sender/src/policy/limiter.rs",
        "use crate::channel::telegram;",
        1,
    ),
    (
        "pure render",
        "sender/src/render/split.rs",
        "#[derive(serde::Serialize)]\nstruct S;",
        1,
    ),
    (
        "pure means no I/O",
        "ingest/src/know/story.rs",
        "use std::{collections::HashMap, fs};",
        1,
    ),
    (
        "config below the model",
        "shared/src/config/check.rs",
        "use crate::store::open;",
        1,
    ),
    (
        "store below the model",
        "shared/src/store/gate.rs",
        "use crate::config::Config;",
        1,
    ),
    (
        "store below the model",
        "shared/src/store.rs",
        "use super::config::Config;",
        1,
    ),
    (
        "platform at the edge",
        "shared/src/platform/lock.rs",
        "use crate::store::open;",
        1,
    ),
    (
        "one door to SQLite",
        "sender/src/operate/status.rs",
        "use rusqlite::{Connection};",
        1,
    ),
    (
        "one door to SQLite",
        "shared/src/config.rs",
        "type Pool = r2d2::Pool<()>;",
        1,
    ),
    (
        "few doors to HTTP",
        "ingest/src/feed/parse.rs",
        "use reqwest::{\n  self as http,\n};",
        2,
    ),
    (
        "channel without store",
        "sender/src/channel/ntfy.rs",
        "use shared::{model, store::gate};",
        1,
    ),
    (
        "channel without store",
        "sender/src/channel/ntfy.rs",
        "use shared as s; use s::store;",
        1,
    ),
    (
        "store without network",
        "shared/src/store/open.rs",
        "use std::{fs, net::TcpStream};",
        1,
    ),
    (
        "Unix sockets at the edge",
        "sender/src/watch.rs",
        "use std::os::unix::net::UnixDatagram;",
        1,
    ),
    (
        "the environment is an argument",
        "ingest/src/args.rs",
        "use std::env::var as read;",
        1,
    ),
    (
        "time is an argument",
        "sender/src/flight.rs",
        "use std::time::{self, Instant as I};\nfn f() -> I { I::now() }",
        2,
    ),
    (
        "time is an argument",
        "sender/src/flight.rs",
        "use std::time;\ntype T = (); fn f() { time::SystemTime::now() }",
        2,
    ),
    (
        "chance is an argument",
        "sender/src/drain.rs",
        "fn f() -> f64 { fastrand::f64() }",
        1,
    ),
];

/// Files that break no rule of the table.
const KEEPING: &[(&str, &str)] = &[
    (
        "shared/src/store/pool.rs",
        "use rusqlite::Connection; use crate::{model, platform::clock};",
    ),
    (
        "tests/support/world.rs",
        "use rusqlite::Connection; use watchalert_ingest::run;",
    ),
    (
        "shared/src/model/mod.rs",
        "mod alert; pub use alert::Alert; use self::alert as a; use std::fmt;",
    ),
    (
        "shared/src/policy/backoff.rs",
        "use crate::model::*; use super::text; use Severity::High; fn f() { text::cut(High); u64::from(1); }",
    ),
    (
        "sender/src/policy/settle.rs",
        "#[cfg(test)] mod tests { use super::*; use proptest::prelude::*; }",
    ),
    (
        "sender/src/policy/settle.rs",
        "use shared::policy::backoff; fn f() -> impl use<> Sized {}",
    ),
    (
        "sender/src/channel/ntfy.rs",
        "use reqwest::Client; // use shared::store;\nconst S: &str = \"shared::store::x\";",
    ),
    (
        "shared/src/platform/doorbell.rs",
        "use std::os::unix::net::UnixDatagram;",
    ),
    (
        "ingest/src/main.rs",
        "fn main() { std::env::args(); std::time::Instant::now(); }",
    ),
    (
        "ingest/src/run.rs",
        "const S: &str = env!(\"X\"); use std::time::{Duration, Instant}; use fastrand::Rng;",
    ),
    (
        "ingest/src/feed/parse.rs",
        "use feed_rs::parser; use feed_rs::model;",
    ),
    ("sender/src/channels.rs", "use shared::store;"),
    (
        "ingest/examples/dump.rs",
        "fn main() { watchalert_tests::feeds(std::env::args()); }",
    ),
];

fn found(files: &[File]) -> Vec<(&'static str, usize)> {
    let findings = rules::findings(files, &known_crates());
    findings.iter().map(|f| (f.rule, f.line)).collect()
}

#[test]
fn each_sample_breaks_its_rule_and_no_other() {
    for (rule, path, code, line) in BREAKING {
        assert_eq!(
            found(&[File::new(path, code)]),
            [(*rule, *line)],
            "{path}: {code}"
        );
    }
}

#[test]
fn what_keeps_the_rules_is_left_alone() {
    for (path, code) in KEEPING {
        assert_eq!(found(&[File::new(path, code)]), [], "{path}: {code}");
    }
}

#[test]
fn a_crate_with_one_file_of_its_own_is_told_when_a_second_names_it() {
    for (name, krate) in [
        ("feed-rs in one file", "feed_rs"),
        ("ollama-rs in one file", "ollama_rs"),
    ] {
        let mut known = known_crates();
        known.insert(krate.to_owned());
        let code = format!("use {krate}::x;");
        let one = File::new("ingest/src/feed/parse.rs", &code);
        let other = File::new("ingest/src/feed/repair.rs", &code);
        assert_eq!(rules::findings(std::slice::from_ref(&one), &known), []);
        let findings = rules::findings(&[one, other], &known);
        let told: Vec<_> = findings.iter().map(|f| (f.rule, f.path.as_str())).collect();
        assert_eq!(
            told,
            [
                (name, "ingest/src/feed/parse.rs"),
                (name, "ingest/src/feed/repair.rs")
            ]
        );
    }
}

#[test]
fn every_rule_has_a_sample() {
    let tried: BTreeSet<&str> = BREAKING.iter().map(|(rule, ..)| *rule).collect();
    let untried: Vec<&str> = RULES
        .iter()
        .map(|rule| rule.name)
        .filter(|name| !tried.contains(name) && !name.ends_with("in one file"))
        .collect();
    assert_eq!(untried, [""; 0]);
}

#[test]
fn a_finding_says_where_what_and_what_to_do() {
    let file = File::new(
        "sender/src/channel/ntfy.rs",
        "//! Ntfy.\n\nuse shared::store::gate;\n",
    );
    let findings = rules::findings(&[file], &known_crates());
    assert_eq!(
        findings[0].to_string(),
        "sender/src/channel/ntfy.rs:3: channel without store: `shared::store::gate`; \
         a channel gets a message and returns an outcome; the flight settles it"
    );
}
