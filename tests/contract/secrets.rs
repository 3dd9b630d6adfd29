//! No secret of a channel stands anywhere that anybody reads: not in the log at its most talkative, not in what
//! is printed, not in a byte of any file but its own. The real program, on the machine's clock.

use super::email::Email;
use super::telegram::{Form, Questions, Telegram};
use super::{OtherSide, configuration, ntfy};
use std::fs;
use std::path::{Path, PathBuf};
use watchalert_tests::programs::{BOUND, Place, Program, long, until};
use watchalert_tests::smtp::At;
use watchalert_tests::world::{ask, stranger};

/// A few cases from all over the list, and those that name a wait and a missing bot.
fn tested(side: &dyn OtherSide) -> Vec<String> {
    let names: Vec<String> = side.cases().into_iter().map(|case| case.name).collect();
    let spread = names.iter().step_by((names.len() / 2).max(1));
    let chosen = names
        .iter()
        .filter(|name| ["own-429", "echo-404"].contains(&name.as_str()));
    spread.chain(chosen).cloned().collect()
}

/// Sends a row of each case, asks for everything that can be printed, and looks through it.
fn nothing_shows_a_secret(side: &dyn OtherSide) {
    let place = Place::new("[channel.a-screen]\nkind = \"console\"\n");
    place.run(Program::Sender, &["migrate"]).well();
    let folder = place.config().parent().expect("a folder").to_owned();
    place.configure(&configuration(side, &folder));
    // While it is open, the write-ahead log stays.
    let prompt = stranger(&place.database());
    let insert = "INSERT INTO outbox (channel, chat_id, payload, priority, next_attempt, created_at) \
                  VALUES (?1, ?2, json_object('text', ?1), 0, unixepoch(), unixepoch())";
    prompt.execute_batch("BEGIN IMMEDIATE").expect("free");
    for case in side.cases() {
        let row = (&case.name, side.address());
        prompt.execute(insert, row).expect("inserted");
    }
    prompt.execute_batch("COMMIT").expect("committed");
    let mut said = Vec::new();
    let sender = place.start_sender(&["-vv", "run"]);
    let tried = "SELECT count(*) FROM outbox WHERE attempts<1 AND state='ready'";
    until("every row was tried", || ask(&prompt, tried) == "0");
    sender.terminate();
    let drained = sender.ended(BOUND);
    let is_talkative = drained.err.contains(side.talkative());
    assert!(is_talkative, "the log is not talkative");
    said.push(("run".to_owned(), drained.err));
    let mut run = |arguments: &[&str]| {
        let ended = place.run(Program::Sender, arguments);
        assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
        said.push((arguments.join(" "), ended.out.clone() + &ended.err));
        ended
    };
    for command in [
        "status",
        "status --json",
        "queue list --limit 9999",
        "queue list --limit 9999 --json",
        "queue list --dead --limit 9999",
        "queue list --finished --limit 9999 --json",
        "verify",
        "verify --json",
        "check",
        "-vv check --live",
    ] {
        run(&command.split(' ').collect::<Vec<_>>());
    }
    for name in tested(side) {
        run(&["-vv", "test", &name]);
        run(&["-vv", "test", &name, "--anyway"]);
    }
    for id in (1..=side.cases().len()).step_by(293) {
        run(&["queue", "show", &id.to_string()]);
    }
    assert_ne!(ask(&prompt, "SELECT count(*) FROM attempt"), "0");
    for (command, text) in &said {
        free_of_secrets(side, command, text.as_bytes());
    }
    let own: Vec<PathBuf> = side
        .secret_files()
        .iter()
        .map(|(name, _)| folder.join(name))
        .collect();
    let mut looked_through = 0;
    for file in files(&folder).filter(|file| !own.contains(file)) {
        let bytes = fs::read(&file).unwrap_or_default();
        free_of_secrets(side, &file.display().to_string(), &bytes);
        looked_through += usize::from(!bytes.is_empty());
    }
    assert!(files(&folder).any(|file| file.ends_with("state.db-wal")));
    assert!(looked_through > 5, "{looked_through} files");
}

fn free_of_secrets(side: &dyn OtherSide, place: &str, bytes: &[u8]) {
    assert_eq!(shown(side.secrets(), bytes), None, "{place}");
}

/// What stands around the first secret in it.
fn shown(secrets: &[&str], bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let at = secrets.iter().find_map(|secret| text.find(secret))?;
    let around = &text.as_bytes()[at.saturating_sub(300)..text.len().min(at + 300)];
    Some(String::from_utf8_lossy(around).into_owned())
}

/// All files below a folder.
fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                &mut folders
            } else {
                &mut found
            }
            .push(path);
        }
    }
    found.into_iter()
}

#[test]
fn no_answer_of_a_telegram_brings_the_token_to_light() {
    let forms = if long() {
        &Form::ALL[..]
    } else {
        &Form::TELLING
    };
    nothing_shows_a_secret(&Telegram::with_statuses(forms, Questions::Mixed));
}

#[test]
fn no_answer_of_an_ntfy_brings_token_or_password_to_light() {
    let forms = if long() {
        &ntfy::Form::ALL[..]
    } else {
        &ntfy::Form::TELLING
    };
    let side = ntfy::Ntfy::with_statuses(forms, ntfy::Questions::Mixed);
    nothing_shows_a_secret(&side);
}

#[test]
fn no_answer_of_a_mail_server_brings_the_password_to_light() {
    nothing_shows_a_secret(&Email::with_codes(At::Auth, true));
}

#[test]
fn what_is_looked_for_is_found_when_it_is_there() {
    let found = |text: &str| shown(&["123:hunter2", "hunter2"], text.as_bytes());
    assert_eq!(
        found("/bot123:hunter2/getMe").as_deref(),
        Some("/bot123:hunter2/getMe")
    );
    assert_eq!(found("hunter2").as_deref(), Some("hunter2"));
    assert_eq!(found("/bot[token]/getMe"), None);
}
