//! The console's row of the contract: standard output that nobody reads, or that has no room.

use std::fs::OpenOptions;
use std::io;
use std::process::Stdio;
use watchalert_tests::programs::{BOUND, Place, Program};
use watchalert_tests::world::{ask, stranger};

const SCREEN: &str = "[channel.screen]\nkind = \"console\"\n";

/// Prints one row to `output` and, when it waits, again to a file; what became of the first try, and what is
/// printed in the end.
fn printed(output: Stdio) -> (String, String) {
    let place = Place::new(SCREEN);
    place.run(Program::Sender, &["migrate"]).well();
    let prompt = stranger(&place.database());
    let row = "INSERT INTO outbox (chat_id, payload, next_attempt, created_at) \
               VALUES ('-', '{\"text\":\"the only one\"}', unixepoch(), unixepoch())";
    prompt.execute(row, []).expect("inserted");
    let mut command = place.command(Program::Sender, &["run", "--until-empty"]);
    command.stdout(output);
    place.start(command).ended(BOUND).well();
    let became = "SELECT o.state||', '||a.outcome||': '||coalesce(a.detail,'') FROM outbox o JOIN attempt a ON a.outbox_id=o.id";
    let first = ask(&prompt, became);
    prompt
        .execute("UPDATE outbox SET next_attempt=0 WHERE state='ready'", [])
        .expect("made due");
    let again = place.run(Program::Sender, &["run", "--until-empty"]).well();
    assert_eq!(ask(&prompt, "SELECT state FROM outbox"), "sent");
    place.run(Program::Sender, &["verify"]).well();
    (first, again.out)
}

#[test]
fn a_pipe_that_nobody_reads_leaves_the_delivery_waiting_unmarked() {
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    let (first, again) = printed(writer.into());
    assert_eq!(first, "ready, deferred: nobody reads standard output");
    assert!(
        again.contains("the only one") && !again.contains("possible repeat"),
        "{again}"
    );
}

#[test]
fn standard_output_without_room_leaves_it_waiting_and_marks_the_copy() {
    let full = OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let (first, again) = printed(full.into());
    assert_eq!(
        first,
        "ready, unknown: No space left on device (os error 28)"
    );
    assert!(again.contains("possible repeat"), "{again}");
}

#[test]
fn standard_output_that_takes_it_gets_it_once() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let (first, again) = printed(file.reopen().expect("opened").into());
    assert_eq!((first.as_str(), again.as_str()), ("sent, ok: ", ""));
    let printed = std::fs::read_to_string(file.path()).expect("readable");
    assert_eq!(printed.matches("the only one").count(), 1, "{printed}");
}
