//! What the programs print: JSON that parses, and no escape sequence where no terminal is, nor
//! where `NO_COLOR` forbids it; everything that a `Place` runs is looked through for the former.

use super::{QUIET, enqueue, json};
use std::process::Command;
use watchalert_tests::programs::{Place, Program};
use watchalert_tests::telegram::{Fault, Options, Telegram};

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/samples");

fn config() -> String {
    format!(
        "{QUIET}[[feed]]\nurl = \"file://{SAMPLES}/advisories.atom\"\n[[feed]]\nurl = \"file://{SAMPLES}/missing.atom\"\n"
    )
}

#[test]
fn every_json_report_parses_and_says_what_it_should() {
    let place = Place::new(&config());
    let dry = json(
        &place
            .run(
                Program::Ingest,
                &["--dry-run", "--alert-existing", "--json"],
            )
            .well()
            .out,
    );
    assert_eq!(
        (&dry["dry_run"], dry["alerts"].as_array().map(Vec::len)),
        (&true.into(), Some(5))
    );
    let tick = json(
        &place
            .run(Program::Ingest, &["--alert-existing", "--json"])
            .well()
            .out,
    );
    assert_eq!(
        (&tick["deliveries"], &tick["pending"]),
        (&5.into(), &0.into())
    );
    let results = [&tick["feeds"][0]["result"], &tick["feeds"][1]["result"]];
    assert_eq!(results, ["read", "failed"]);
    let status = json(&place.run(Program::Sender, &["status", "--json"]).well().out);
    assert_eq!(
        (&status["backlog"][0]["total"], &status["sender"]["process"]),
        (&5.into(), &().into())
    );
    let queue = place
        .run(Program::Sender, &["queue", "list", "--json"])
        .well()
        .out;
    assert_eq!(
        queue
            .lines()
            .map(json)
            .filter(|row| row["state"] == "ready")
            .count(),
        5
    );
    let audit = json(&place.run(Program::Sender, &["verify", "--json"]).well().out);
    assert_eq!(
        (&audit["sound"], &audit["audit"]["unaccounted"]),
        (&true.into(), &0.into())
    );
}

/// What the program shows on a terminal; the file that `script` keeps is not read.
fn on_a_terminal(
    place: &Place,
    program: Program,
    arguments: &str,
    variables: &[(&str, &str)],
) -> String {
    let line = format!(
        "{} --config {} {arguments}",
        program.path().display(),
        place.config().display()
    );
    let mut script = Command::new("script");
    script
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm");
    let shown = script
        .env_remove("NO_COLOR")
        .envs(variables.iter().copied())
        .output();
    let shown = shown.expect("script, of the package bsdutils, is installed");
    assert!(shown.status.success(), "{shown:?}");
    String::from_utf8(shown.stdout).expect("text")
}

#[test]
fn colour_is_for_terminals_and_no_color_takes_it_away() {
    let place = Place::new(&config());
    place.run(Program::Sender, &["migrate"]).well();
    let shown = |variables: &[(&str, &str)]| {
        enqueue(&place, ["a".to_owned()].into_iter(), 0);
        on_a_terminal(&place, Program::Sender, "run --until-empty", variables)
    };
    let coloured = shown(&[]);
    assert!(
        coloured.contains("\u{1b}[36mNORMAL\u{1b}[0m"),
        "{coloured:?}"
    );
    let plain = shown(&[("NO_COLOR", "1")]);
    assert!(
        plain.contains("NORMAL for -") && !plain.contains('\u{1b}'),
        "{plain:?}"
    );
    let bars = on_a_terminal(&place, Program::Ingest, "run", &[("NO_COLOR", "1")]);
    assert!(
        bars.contains("1 feeds") || bars.contains("2 feeds"),
        "{bars:?}"
    );
    // The bar may move the cursor, but not paint.
    let painted = bars.split("\u{1b}[").skip(1).any(|rest| {
        rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';')
            .starts_with('m')
    });
    assert!(!painted, "{bars:?}");
}

#[test]
fn a_test_message_says_whether_a_channel_works() {
    let telegram = Telegram::start(Options::default());
    let place = Place::new(&format!(
        "default_channel = \"screen\"\n[channel.screen]\nkind = \"console\"\n[channel.ops]\nkind = \"telegram\"\napi_url = \"{}\"\ntoken_file = \"token\"\nchat_id = 7\n",
        telegram.url()
    ));
    let token = place.path("token");
    std::fs::write(&token, telegram.token()).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&token, mode).expect("locked up");
    let screen = place.run(Program::Sender, &["test", "screen"]).well();
    assert!(
        screen.out.contains("A test of the channel screen"),
        "{}",
        screen.out
    );
    let ops = place.run(Program::Sender, &["test", "ops"]).well();
    assert!(ops.out.contains("the channel ops took it"), "{}", ops.out);
    assert_eq!(telegram.accepted_in(7).len(), 1);
    telegram.script([Fault::refuse("unauthorized").times(1)]);
    let refused = place.run(Program::Sender, &["test", "ops"]);
    let said = refused.refused(1);
    assert!(
        said.contains("did not take it") && said.contains("401"),
        "{said}"
    );
    assert!(!said.contains(telegram.token()));
    let unknown = place.run(Program::Sender, &["test", "opps"]);
    assert!(unknown.refused(2).contains("there is: ops, screen"));
}
