//! Heartbeats over the socket: whatever calls, by whatever method, is heard, while the database is held
//! too; who guesses learns nothing.

use super::Room;
use watchalert_tests::posting::ask;
use watchalert_tests::programs::{now, until};
use watchalert_tests::world::stranger;

const BEATS: &str = "[[heartbeat]]\nname = 'backup'\nevery = '1h'\n[[heartbeat]]\nname = 'hidden'\nevery = '1h'\ntoken_file = 'token'\n";

fn call(room: &Room, method: &str, path: &str, body: &str) -> (u16, String) {
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    ask(room.address, request.as_bytes()).expect("an answer")
}

#[test]
fn a_call_is_heard_by_any_method_and_a_guess_is_not() {
    let room = Room::with(BEATS);
    for (method, path, status) in [
        ("GET", "/heartbeat/backup", 200),
        ("POST", "/heartbeat/backup/start", 200),
        ("HEAD", "/heartbeat/backup/0", 200),
        ("POST", "/heartbeat/a-token-of-the-tests", 200),
        ("GET", "/heartbeat/hidden", 404),
        ("GET", "/heartbeat/other", 404),
        ("GET", "/heartbeat/backup/256", 404),
        ("PUT", "/heartbeat/backup", 405),
    ] {
        assert_eq!(call(&room, method, path, "").0, status, "{method} {path}");
    }
    let known = call(&room, "GET", "/heartbeat/hidden", "").1;
    assert_eq!(known, call(&room, "GET", "/heartbeat/nobody", "").1);
    assert_eq!(room.ask("SELECT count(*) FROM beat"), "2");
}

#[test]
fn a_failure_is_told_at_once_with_what_it_says() {
    let room = Room::with(BEATS);
    assert_eq!(
        call(&room, "POST", "/heartbeat/backup/1", "no space left").0,
        200
    );
    let told = "SELECT count(*) FROM outbox WHERE (payload->>'title')||(payload->>'summary') LIKE '%no space left%'";
    until("it is told", || room.ask(told) == "1");
}

#[test]
fn a_call_while_the_database_is_held_is_kept_with_its_time() {
    let mut room = Room::with(BEATS);
    let db = stranger(&room.database());
    db.execute_batch("BEGIN IMMEDIATE").expect("held");
    assert_eq!(call(&room, "GET", "/heartbeat/backup", "").0, 202);
    assert_eq!(room.spooled(), 1);
    db.execute_batch("COMMIT").expect("let go");
    until("it is taken in", || room.spooled() == 0);
    assert_eq!(
        room.ask("SELECT count(*) FROM beat WHERE name='backup'"),
        "1"
    );
    room.end();
}

#[test]
fn what_waits_in_a_file_is_not_overtaken_and_changes_nothing_that_came_after_it() {
    let mut room = Room::with(BEATS);
    let db = stranger(&room.database());
    db.execute_batch("BEGIN IMMEDIATE").expect("held");
    assert_eq!(call(&room, "GET", "/heartbeat/backup", "").0, 202);
    let came = stored_at(&room);
    db.execute_batch("COMMIT").expect("let go");
    // Behind it, or after it: either way this one is the last word.
    let failed = call(&room, "POST", "/heartbeat/backup/fail", "").0;
    assert!(matches!(failed, 200 | 202), "{failed}");
    until("both are taken in", || {
        room.spooled() == 0
            && room.ask("SELECT failed_at IS NOT NULL FROM beat WHERE name='backup'") == "1"
    });
    let state = "SELECT is_failed||' '||(failed_at>seen_at)||' '||printf('%.3f',seen_at) FROM beat WHERE name='backup'";
    assert_eq!(room.ask(state), format!("1 1 {came}"));
    assert_eq!(room.ask("SELECT count(*) FROM alert"), "1");
    room.end();
}

/// When the only call in the spool came, in Unix seconds, as its name says.
fn stored_at(room: &Room) -> String {
    let folder = room.dir.path().join("state.db.spool");
    let mut files = std::fs::read_dir(folder).expect("a spool");
    let name = files.next().expect("a file").expect("a file").file_name();
    let millis: u64 = name.to_string_lossy()[..15].parse().expect("its time");
    format!("{}.{:03}", millis / 1_000, millis % 1_000)
}

#[test]
fn a_call_that_comes_without_end_is_refused_after_sixty_in_a_minute() {
    let mut room = Room::with(BEATS);
    let start = now();
    let answers: Vec<u16> = (0..80)
        .map(|_| call(&room, "GET", "/heartbeat/backup", "").0)
        .collect();
    let (taken, refused) = answers.split_at(60);
    assert!(taken.iter().all(|status| *status == 200), "{answers:?}");
    // One comes back each second.
    let back = start.elapsed().as_secs() + 1;
    let refused = refused.iter().filter(|status| **status == 429).count();
    assert!(
        u64::try_from(refused).expect("a count") + back >= 20,
        "{answers:?}"
    );
    assert!(refused > 0, "too slow to be refused anything");
    room.end();
}
