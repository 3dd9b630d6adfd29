//! What a machine does to files: missing, misplaced, foreign, damaged, newer, forbidden. Each is told
//! in one sentence, with its exit code; nothing is written, and nothing is lost.

use super::{QUIET, copies, enqueue, verified};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;
use watchalert_tests::programs::{BOUND, Ended, Place, Program, tell, until};

/// Whoever works with the database: two who write, three who only look.
const EVERYBODY: [(Program, &[&str]); 5] = [
    (Program::Ingest, &[]),
    (Program::Sender, &["run"]),
    (Program::Sender, &["status"]),
    (Program::Sender, &["queue", "list"]),
    (Program::Sender, &["verify"]),
];
const WRITERS: [(Program, &[&str]); 2] = [EVERYBODY[0], EVERYBODY[1]];
const NOBODY: u32 = 65_534;
const BECOME_NOBODY: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];

/// A place where one row waits.
fn stocked() -> Place {
    let place = Place::new(QUIET);
    place.run(Program::Sender, &["migrate"]).well();
    enqueue(&place, ["1".to_owned()].into_iter(), 0);
    place
}

/// The row is delivered, once.
fn delivers(place: &Place) {
    place.run(Program::Ingest, &[]).well();
    let last = place.start_sender(&["run", "--until-empty"]);
    last.ended(BOUND).well();
    assert_eq!(copies(&place.printed(), "1"), 1);
    assert_eq!(verified(place)["audit"]["repeats_marked"], 0);
}

/// Breaks the file, lets everybody say so, sees that they left it as it was, mends it.
fn everybody_says(place: &Place, says: &str, damage: impl Fn(&Path)) {
    let database = place.database();
    let good = fs::read(&database).expect("the file");
    damage(&database);
    let damaged = fs::read(&database).expect("the file");
    for (program, arguments) in EVERYBODY {
        let ended = place.run(program, arguments);
        let said = ended.refused(4);
        assert!(said.contains(says), "{program:?} {arguments:?}: {said}");
        assert!(said.contains(&*database.to_string_lossy()), "{said}");
        let now = fs::read(&database).expect("the file");
        assert!(now == damaged, "{program:?} {arguments:?} wrote into it");
    }
    fs::write(&database, good).expect("mended");
    delivers(place);
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    let place = Place::new(QUIET);
    for (program, arguments, says) in [
        (
            Program::Ingest,
            &["sned"][..],
            "error: unrecognized subcommand 'sned'",
        ),
        (
            Program::Sender,
            &["sned"],
            "error: unrecognized subcommand 'sned'",
        ),
        (
            Program::Sender,
            &["queue", "retry", "x"],
            "error: invalid value 'x' for '[ID]...': invalid digit found in string",
        ),
        (
            Program::Ingest,
            &["--now", "check"],
            "watchalert-ingest: the flags of `run` stand behind it, and no other command has them; see --help",
        ),
        (
            Program::Ingest,
            &["--feed", "https://example.org/"],
            "watchalert-ingest: https://example.org/ is not in the configuration: add it there, or try it with --dry-run",
        ),
    ] {
        let ended = place.run(program, arguments);
        assert_eq!(
            (ended.code, ended.words().first()),
            (Some(2), Some(&says)),
            "{ended:#?}"
        );
        assert_eq!(ended.out, "");
    }
}

#[test]
fn a_configuration_that_is_missing_or_wrong_ends_with_3() {
    let place = stocked();
    let good = fs::read_to_string(place.config()).expect("the configuration");
    fs::remove_file(place.config()).expect("removed");
    for (program, arguments) in EVERYBODY {
        let ended = place.run(program, arguments);
        let said = ended.refused(3);
        assert!(said.starts_with("there is no configuration at "), "{said}");
    }
    fs::write(place.config(), good.replace("console", "telepathy")).expect("written");
    for (program, arguments) in EVERYBODY {
        let ended = place.run(program, arguments);
        // A heading, and a line for each problem.
        let [heading, problem] = ended.words()[..] else {
            panic!("{ended:#?}");
        };
        assert_eq!(ended.code, Some(3));
        assert!(heading.ends_with("has a problem:"), "{heading}");
        assert!(
            problem.starts_with("  channel.screen.kind (line 4): "),
            "{problem}"
        );
    }
    fs::write(place.config(), good).expect("written");
    delivers(&place);
}

#[test]
fn a_database_that_is_missing_is_not_made_by_who_only_looks() {
    let place = Place::new(QUIET);
    for (program, arguments) in EVERYBODY.into_iter().skip(WRITERS.len()) {
        let ended = place.run(program, arguments);
        let said = ended.refused(4);
        assert!(said.starts_with("there is no database at "), "{said}");
    }
    assert!(!place.database().exists());
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let place = Place::new(QUIET);
    fs::remove_dir(place.path("state")).expect("removed");
    for (program, arguments) in EVERYBODY {
        let ended = place.run(program, arguments);
        let said = ended.refused(4);
        let of_it = said.contains("its folder does not exist")
            || said.starts_with("there is no database at ");
        assert!(of_it, "{program:?} {arguments:?}: {said}");
    }
    fs::create_dir(place.path("state")).expect("made");
    place.run(Program::Ingest, &[]).well();
    verified(&place);
}

#[test]
fn a_foreign_file_is_refused_and_left_alone() {
    everybody_says(&stocked(), "is not a SQLite database", |file| {
        fs::write(file, "Dear diary,\n".repeat(2_000)).expect("written");
    });
}

#[test]
fn a_damaged_file_is_refused_and_left_alone() {
    everybody_says(&stocked(), "is damaged", |file| {
        let mut bytes = fs::read(file).expect("the file");
        // All pages but the first, which holds the header.
        bytes[4096..].fill(0xaa);
        fs::write(file, bytes).expect("written");
    });
}

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    everybody_says(
        &stocked(),
        "has schema 99, newer than the 2 of this program",
        |file| {
            let mut bytes = fs::read(file).expect("the file");
            // <https://sqlite.org/fileformat.html>, "user version": four bytes, the highest first.
            bytes[60..64].copy_from_slice(&[0, 0, 0, 99]);
            fs::write(file, bytes).expect("written");
        },
    );
}

/// Runs programs as a user whom permissions bind. `None`: this machine has no such way.
fn as_nobody(place: &Place) -> Option<impl Fn(Program, &[&str]) -> Ended> {
    let root = is_root();
    let mut can = Command::new("setpriv");
    can.args(BECOME_NOBODY).args(["test", "-x"]);
    if root
        && !can
            .arg(Program::Sender.path())
            .status()
            .is_ok_and(|can| can.success())
    {
        tell("SKIPPED: permissions do not bind root, and nobody cannot start the programs here");
        return None;
    }
    if root {
        permit(&place.path("."), 0o755);
    }
    Some(move |program, arguments: &[&str]| {
        let ours = place.command(program, arguments);
        if !root {
            return place.run_command(ours);
        }
        let mut theirs = Command::new("setpriv");
        theirs
            .args(BECOME_NOBODY)
            .arg(ours.get_program())
            .args(ours.get_args());
        place.run_command(theirs)
    })
}

/// The file, its folder and all beside it.
fn give_to_nobody(place: &Place) {
    if is_root() {
        for file in fs::read_dir(place.path("state")).expect("the folder") {
            chown(file.expect("a file").path(), Some(NOBODY), Some(NOBODY)).expect("given away");
        }
        chown(place.path("state"), Some(NOBODY), Some(NOBODY)).expect("given away");
    }
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().expect("id").stdout == b"0\n"
}

fn permit(path: &Path, mode: u32) {
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("permissions");
}

#[test]
fn a_file_that_may_not_be_read_is_named_to_everybody() {
    let place = stocked();
    let Some(run) = as_nobody(&place) else { return };
    give_to_nobody(&place);
    permit(&place.database(), 0o000);
    for (program, arguments) in EVERYBODY {
        let ended = run(program, arguments);
        let said = ended.refused(4);
        assert!(
            said.starts_with("cannot open the database "),
            "{program:?} {arguments:?}: {said}"
        );
    }
    permit(&place.database(), 0o660);
    run(Program::Ingest, &[]).well();
    delivers(&place);
}

#[test]
fn a_file_and_folder_that_may_not_be_written_are_named_to_the_writers() {
    let place = stocked();
    let Some(run) = as_nobody(&place) else { return };
    give_to_nobody(&place);
    permit(&place.database(), 0o440);
    permit(&place.path("state"), 0o550);
    for (program, arguments) in WRITERS {
        let ended = run(program, arguments);
        let said = ended.refused(4);
        let of_it = said.contains("cannot be written") || said.contains("permission denied");
        assert!(of_it, "{program:?} {arguments:?}: {said}");
    }
    permit(&place.path("state"), 0o770);
    permit(&place.database(), 0o660);
    delivers(&place);
}

/// SQLite lets nobody read who cannot make its -shm file, unless a writer has made it.
#[test]
fn who_may_only_read_sees_the_state_while_a_sender_runs_and_is_told_otherwise() {
    let place = stocked();
    let Some(run) = as_nobody(&place).filter(|_| is_root()) else {
        tell("SKIPPED: only root can give files to somebody else");
        return;
    };
    permit(&place.database(), 0o644);
    permit(&place.path("state"), 0o755);
    assert!(
        run(Program::Sender, &["status"])
            .refused(4)
            .contains("cannot be written")
    );
    let sender = place.start_sender(&[]);
    until("the row is printed", || copies(&place.printed(), "1") == 1);
    for arguments in [&["status"][..], &["queue", "list"], &["verify"]] {
        run(Program::Sender, arguments).well();
    }
    sender.terminate();
    sender.ended(BOUND).well();
    delivers(&place);
}

/// As root leaves them who looks into the database of another user and is killed.
#[test]
fn files_beside_the_database_that_belong_to_somebody_else_are_a_clear_refusal_and_cost_nothing() {
    let place = stocked();
    // A feed that is new, so that there is something to write.
    let feed = format!(
        "[[feed]]\nurl = \"file://{}\"\n",
        place.path("news").display()
    );
    place.configure(&format!("{QUIET}{feed}"));
    let Some(run) = as_nobody(&place).filter(|_| is_root()) else {
        tell("SKIPPED: only root can give files to somebody else");
        return;
    };
    give_to_nobody(&place);
    for suffix in ["-wal", "-shm"] {
        let beside = place.path(&format!("state/state.db{suffix}"));
        fs::write(&beside, "").expect("written");
        permit(&beside, 0o644);
    }
    for (program, arguments) in WRITERS {
        let ended = run(program, arguments);
        let said = ended.refused(4);
        let of_it = said.contains("cannot be written") || said.starts_with("cannot open");
        assert!(of_it, "{program:?} {arguments:?}: {said}");
    }
    give_to_nobody(&place);
    run(Program::Ingest, &[]).well();
    delivers(&place);
}

#[test]
fn a_schema_that_becomes_newer_while_a_sender_runs_ends_it_before_it_writes_again() {
    let place = stocked();
    let sender = place.start_sender(&[]);
    until("the row is printed", || copies(&place.printed(), "1") == 1);
    let sent = "SELECT count(*) FROM outbox WHERE state='sent'";
    until("and settled", || super::ask(&place, sent) == "1");
    let db = watchalert_tests::world::stranger(&place.database());
    db.pragma_update(None, "user_version", 99).expect("newer");
    enqueue(&place, ["2".to_owned()].into_iter(), 0);
    let ended = sender.ended(BOUND);
    let said = ended.refused(4);
    assert!(said.contains("has schema 99, newer than the 2"), "{said}");
    assert_eq!(copies(&place.printed(), "2"), 0);
    db.pragma_update(None, "user_version", 2)
        .expect("as before");
    drop(db);
    let last = place.start_sender(&["run", "--until-empty"]);
    last.ended(BOUND).well();
    assert_eq!(copies(&place.printed(), "2"), 1);
    verified(&place);
}
