//! What is answered with 2xx is kept and told once, while the database is held, and after a restart.

use super::{Room, SECRET, TOKEN};
use std::time::Duration;
use watchalert_tests::posting::{github, post};
use watchalert_tests::programs::{pause, until};
use watchalert_tests::world::stranger;

const HELD: Duration = Duration::from_millis(2_500);

#[test]
fn what_rules_can_decide_is_enqueued_without_a_tick() {
    let room = Room::new();
    assert_eq!(room.post("CVE-2026-1001 is actively exploited"), 200);
    let rows = "SELECT group_concat(priority||' '||(payload->>'title')) FROM outbox";
    until("it is enqueued", || {
        room.ask(rows) == "0 CVE-2026-1001 is actively exploited"
    });
    assert!(!room.dir.path().join("state.db.tick-wanted").exists());
}

#[test]
fn what_a_model_must_judge_waits_for_a_tick_which_is_asked_for() {
    // Nobody is asked here: the address only says that somebody would be.
    let room = Room::with("[classify.ollama]\nurl = 'http://127.0.0.1:9'\n");
    assert_eq!(room.post("Something happened somewhere"), 200);
    let wanted = room.dir.path().join("state.db.tick-wanted");
    until("a tick is asked for", || wanted.exists());
    assert_eq!(
        room.ask("SELECT count(*)||(SELECT min(state) FROM item) FROM outbox"),
        "0pending"
    );
}

#[test]
fn two_hundred_that_come_while_the_database_is_held_are_all_told_once() {
    let mut room = Room::new();
    let db = stranger(&room.database());
    db.execute_batch("BEGIN IMMEDIATE").expect("held");
    let posts: Vec<_> = (0..200)
        .map(|number| format!("CVE-2026-{} exploited in the wild", 20_000 + number))
        .collect();
    std::thread::scope(|scope| {
        let posting = scope.spawn(|| {
            posts
                .iter()
                .map(|title| room.post(title))
                .collect::<Vec<u16>>()
        });
        pause(HELD);
        db.execute_batch("COMMIT").expect("let go");
        let answers = posting.join().expect("answers");
        assert!(
            answers.iter().all(|status| matches!(status, 200 | 202)),
            "{answers:?}"
        );
        assert!(answers.contains(&202), "the spool took some");
    });
    let told = "SELECT count(*)||' '||count(DISTINCT payload->>'title') FROM outbox";
    until("all are told", || room.ask(told) == "200 200");
    until("the spool is empty", || room.spooled() == 0);
    room.end();
    assert_eq!(room.ask(told), "200 200");
}

#[test]
fn a_receiver_that_finds_the_database_held_hears_all_the_same() {
    let mut room = Room::new();
    room.end();
    let db = stranger(&room.database());
    db.execute_batch("BEGIN IMMEDIATE").expect("held");
    room.start("");
    assert_eq!(room.post("CVE-2026-40001 exploited in the wild"), 202);
    db.execute_batch("COMMIT").expect("let go");
    until("it is told", || {
        room.ask("SELECT count(*) FROM outbox") == "1"
    });
    room.end();
}

#[test]
fn what_was_spooled_is_taken_in_by_the_next_receiver_and_by_a_tick() {
    let mut room = Room::new();
    let db = stranger(&room.database());
    db.execute_batch("BEGIN IMMEDIATE").expect("held");
    for number in 0..3 {
        let title = format!("CVE-2026-{} exploited in the wild", 30_000 + number);
        assert_eq!(room.post(&title), 202);
    }
    let body = br#"{"zen":"Keep it"}"#;
    let (status, _) = github(room.address, "infra", SECRET, "ping", "d1", body).expect("an answer");
    assert_eq!(status, 202);
    room.end();
    assert_eq!(room.spooled(), 4);
    db.execute_batch("COMMIT").expect("let go");
    drop(db);
    // What nobody can read is set aside, and stands in nobody's way.
    std::fs::write(
        room.dir
            .path()
            .join("state.db.spool/000000000000000-1-1.post"),
        "broken",
    )
    .expect("written");
    let of_yesterday =
        r#"{"hook":"of-yesterday","event":null,"delivery":null,"content_type":null,"at":1}"#;
    let path = room
        .dir
        .path()
        .join("state.db.spool/000000000000001-1-2.post");
    std::fs::write(path, format!("{of_yesterday}\n{{}}")).expect("written");
    room.start("");
    let rows = |kind: &str| room.ask(&format!("SELECT count(*) FROM outbox WHERE kind='{kind}'"));
    until("all are told", || rows("alert") == "3");
    until("two are left for a person", || room.spooled() == 2);
    let told = "SELECT payload->>'title' FROM outbox WHERE kind='notice'";
    let title = "2 deliveries that were accepted cannot be taken in";
    assert_eq!(room.ask(told), title);
    assert_eq!(room.ask("SELECT count(*) FROM arrival"), "4");
    // GitHub sends it again by hand: it is known.
    let (status, text) =
        github(room.address, "infra", SECRET, "ping", "d1", body).expect("an answer");
    assert_eq!((status, text.starts_with("a duplicate of")), (200, true));
    room.end();
}

#[test]
fn an_end_does_not_overtake_its_beginning_that_waits_in_a_file() {
    let mut room = Room::new();
    let alert = |status: &str| {
        format!(
            r#"{{"status":"{status}","alerts":[{{"status":"{status}","labels":{{"alertname":"DiskFull","severity":"critical"}},
            "annotations":{{"summary":"db-1 is full"}},"startsAt":"2026-11-30T08:00:00Z","fingerprint":"f1"}}]}}"#
        )
    };
    let authorization = format!("Bearer {TOKEN}");
    let tell = |room: &Room, status: &str| {
        let headers = [("Authorization", authorization.as_str())];
        let body = alert(status);
        let posted = post(room.address, "/hook/alerts", &headers, body.as_bytes());
        posted.expect("an answer").0
    };
    let db = stranger(&room.database());
    db.execute_batch("BEGIN IMMEDIATE").expect("held");
    assert_eq!(tell(&room, "firing"), 202);
    db.execute_batch("COMMIT").expect("let go");
    assert!(matches!(tell(&room, "resolved"), 200 | 202));
    let titles = "SELECT group_concat(payload->>'title','; ') FROM (SELECT payload FROM outbox WHERE kind='alert' ORDER BY id)";
    until("both are told", || room.ask(titles).contains("; "));
    let told = room.ask(titles);
    assert!(
        told.matches("db-1 is full").count() == 2 || told.matches("DiskFull").count() == 2,
        "{told}"
    );
    room.end();
}

#[test]
fn a_file_that_cannot_be_read_holds_nothing_up() {
    let mut room = Room::new();
    // Nobody can read this as a file.
    let stuck = room
        .dir
        .path()
        .join("state.db.spool/000000000000000-1-1.post");
    std::fs::create_dir_all(&stuck).expect("a folder");
    room.end();
    room.start("");
    until("what comes goes into the database", || {
        room.post("an honest one") == 200
    });
    assert_eq!(room.post("another"), 200);
    assert!(stuck.exists());
    assert_eq!(
        room.ask("SELECT count(*) FROM outbox WHERE kind='notice'"),
        "0"
    );
    room.end();
}
