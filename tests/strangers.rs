//! What strangers write into the file: scripts in old locales, drivers with their own ideas, people
//! at the sqlite3 prompt. What they owe is delivered; what cannot be delivered is refused at once.

use shared::model::{Blame, Content, Priority, Settlement};
use shared::store::outbox::{Settled, operator};
use shared::store::{status, verify};
use watchalert_tests::world::{World, fault, receipt, to};

/// `{"text":"ß"}` in Latin-1, as a script in an old locale writes it through the sqlite3 CLI.
const LATIN: &str = "CAST(x'7B2274657874223A22DF227D' AS TEXT)";

#[test]
fn a_payload_in_latin_1_is_delivered_with_a_mark_in_place_of_the_letter() {
    let world = World::new();
    let screen = to("screen", "7");
    let insert = format!(
        "INSERT INTO outbox(channel,chat_id,payload,created_at) VALUES('screen','7',{LATIN},0)"
    );
    world.stranger().execute(&insert, []).expect("inserted");
    let epoch = world.take_over();
    let lease = world.lease(epoch, &screen);
    assert!(
        matches!(&lease.held().content, Content::Raw { text: Some(text), .. } if text == "\u{fffd}"),
        "{lease:?}"
    );
    let listed = world.read(|db| {
        operator::list(
            db,
            operator::Listed::Waiting,
            &operator::Filter::default(),
            10,
        )
    });
    assert_eq!(listed.len(), 1);
    world.settle(lease, receipt("m"), None).expect("settled");
    world.all_invariants_hold();
}

#[test]
fn notes_in_latin_1_hide_nothing_from_those_who_look() {
    let world = World::new();
    let screen = to("screen", "-");
    world.enqueue("a", &screen, Priority::High);
    let epoch = world.take_over();
    let lease = world.lease(epoch, &screen);
    let row = lease.held().id;
    let settlement = Settlement::Bury("refused".to_owned(), fault(Blame::Message, false));
    world.settle(lease, settlement, None).expect("buried");
    world
        .stranger()
        .execute_batch(
            "UPDATE outbox SET last_error=CAST(x'DF' AS TEXT),message_id=CAST(x'DF' AS TEXT);
             UPDATE attempt SET detail=CAST(x'DF' AS TEXT);
             INSERT INTO gate(scope,key,paused_until,reason) VALUES('chat',CAST(x'DF' AS TEXT),9e9,CAST(x'DF' AS TEXT));",
        )
        .expect("noted");
    let (entry, attempts) = world
        .read(move |db| operator::show(db, row))
        .expect("the row");
    assert_eq!(entry.last_error.as_deref(), Some("\u{fffd}"));
    assert_eq!(entry.message_id.as_deref(), Some("\u{fffd}"));
    assert_eq!(attempts[0].detail.as_deref(), Some("\u{fffd}"));
    let now = world.clock.now();
    let seen = world.read(move |db| status::status(db, now));
    assert_eq!(seen.gates[0].key, "\u{fffd}");
    assert_eq!(world.read(verify::audit).unaccounted, 0);
    world.all_invariants_hold();
}

#[test]
fn a_death_joins_a_notice_although_an_earlier_reason_is_in_latin_1() {
    let world = World::new();
    let (screen, other) = (to("screen", "-"), to("other", "-"));
    let epoch = world.take_over();
    for key in ["a", "b"] {
        world.enqueue(key, &screen, Priority::High);
        let lease = world.lease(epoch, &screen);
        let settlement = Settlement::Bury("refused".to_owned(), fault(Blame::Message, false));
        let buried = world.settle(lease, settlement, Some(other.clone()));
        assert_eq!(buried, Ok(Settled::Dead));
        world
            .stranger()
            .execute(
                "UPDATE outbox SET last_error=CAST(x'DF' AS TEXT) WHERE state='dead'",
                [],
            )
            .expect("noted");
    }
    world.all_invariants_hold();
}

/// A chat, a channel and a method with a letter that is not ASCII, a NUL or a line break.
const BAD_PLACES: [(&str, &str); 5] = [
    ("chat_id", "CAST(x'DF' AS TEXT)"),
    ("chat_id", "'J\u{fc}rgen'"),
    ("chat_id", "'a'||char(0)||'b'"),
    ("channel", "'a'||char(10)"),
    ("method", "CAST(x'6100' AS TEXT)"),
];

#[test]
fn a_destination_is_printable_ascii_so_that_it_always_equals_itself() {
    let world = World::new();
    for (column, value) in BAD_PLACES {
        let columns = match column {
            "chat_id" => "chat_id".to_owned(),
            other => format!("chat_id,{other}"),
        };
        let values = if column == "chat_id" {
            value.to_owned()
        } else {
            format!("'7',{value}")
        };
        let insert =
            format!("INSERT INTO outbox({columns},payload,created_at) VALUES({values},'{{}}',0)");
        let said = world
            .stranger()
            .execute(&insert, [])
            .expect_err(&insert)
            .to_string();
        assert!(
            said.contains("destination_is_printable_ascii"),
            "{insert}: {said}"
        );
    }
    assert_eq!(world.ask("SELECT count(*) FROM outbox"), "0");
}

#[test]
fn attempts_beyond_any_count_are_refused() {
    let world = World::new();
    for attempts in ["9223372036854775807", "-1", "1000000001"] {
        let insert = format!(
            "INSERT INTO outbox(chat_id,payload,attempts,created_at) VALUES('7','{{}}',{attempts},0)"
        );
        let said = world
            .stranger()
            .execute(&insert, [])
            .expect_err(&insert)
            .to_string();
        assert!(said.contains("attempts_are_a_count"), "{said}");
    }
}

/// Ids and keys with which a row would stand in the way of what is owed later.
const IN_THE_WAY: [(&str, &str); 6] = [
    ("id=-1", "CHECK constraint failed: id"),
    ("id=0", "CHECK constraint failed: id"),
    ("id=9223372036854775807", "leaves no room"),
    ("id=9000000000000000000", "leaves no room"),
    ("idempotency_key='a:1:screen:-'", "our_keys_name_our_rows"),
    (
        "idempotency_key='n:seeded:1:screen:-'",
        "our_keys_name_our_rows",
    ),
];

#[test]
fn no_row_of_a_stranger_stands_in_the_way_of_a_later_alert() {
    let world = World::new();
    for (given, said) in IN_THE_WAY {
        let (column, value) = given.split_once('=').expect("a column and its value");
        let insert = format!(
            "INSERT INTO outbox({column},chat_id,payload,created_at) VALUES({value},'7','{{}}',0)"
        );
        let error = world.stranger().execute(&insert, []).expect_err(&insert);
        assert!(error.to_string().contains(said), "{insert}: {error}");
    }
    world.enqueue("a", &to("screen", "-"), Priority::Critical);
    assert_eq!(world.ask("SELECT id||kind FROM outbox"), "1alert");
    world.all_invariants_hold();
}

#[test]
fn a_stranger_may_choose_an_id_and_a_key_of_his_own() {
    let world = World::new();
    let insert = "INSERT OR IGNORE INTO outbox(id,idempotency_key,chat_id,payload,created_at) VALUES(70,'backup:monday','7','{}',0)";
    for _ in 0..2 {
        world.stranger().execute(insert, []).expect("inserted once");
    }
    world.enqueue("a", &to("screen", "-"), Priority::High);
    assert_eq!(
        world.ask("SELECT group_concat(id||kind,' ') FROM outbox"),
        "70raw 71alert"
    );
}

#[test]
fn an_attempt_that_somebody_deleted_or_ended_does_not_stop_the_sender() {
    for meddling in [
        "DROP TRIGGER IF EXISTS attempts_stay; DELETE FROM attempt",
        "UPDATE attempt SET ended_at=1,outcome='unknown'",
    ] {
        let world = World::new();
        let screen = to("screen", "-");
        world.enqueue("a", &screen, Priority::High);
        let epoch = world.take_over();
        let lease = world.lease(epoch, &screen);
        world.stranger().execute_batch(meddling).expect(meddling);
        assert_eq!(world.settle(lease, receipt("m"), None), Ok(Settled::Sent));
        assert_eq!(world.ask("SELECT n||outcome FROM attempt"), "1ok");
        world.all_invariants_hold();
    }
}
