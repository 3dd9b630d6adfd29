//! What one channel cannot deliver in time goes to another, once; what merely waits for its turn stays;
//! what has expired ends and is told.

use super::{PERSON, Room};
use shared::model::{Destination, Priority};
use shared::store::outbox::{self, Fallback};
use std::time::Duration;
use watchalert_tests::telegram::Fault;
use watchalert_tests::world::{owed, to};

const MINUTE: Duration = Duration::from_secs(60);

fn room() -> Room {
    Room {
        more: "default_channel = \"ops\"\n[channel.screen]\nkind = \"console\"\n",
        ..Room::new()
    }
}

fn screen() -> Destination {
    to("screen", "-")
}

/// For the chat, and after a quarter of an hour for the screen.
fn enqueue(room: &Room, count: usize) {
    for number in 0..count {
        let mut owed = owed(
            &format!("story {number}"),
            &to("ops", PERSON),
            Priority::Normal,
        );
        owed.to[0].fallback = Some(Fallback {
            to: screen(),
            after: 15 * MINUTE,
        });
        let now = room.world.clock.now();
        let enqueue = move |db: &_| outbox::enqueue(db, &owed, now);
        room.world.write(enqueue).expect("enqueued");
    }
}

/// Rows of kind alert by channel and state.
fn rows(room: &Room) -> String {
    room.world.ask(
        "SELECT group_concat(line,', ') FROM (SELECT channel||' '||state||' '||count(*) AS line \
         FROM outbox WHERE kind='alert' GROUP BY channel,state ORDER BY channel,state)",
    )
}

#[test]
fn what_a_refused_bot_cannot_deliver_goes_to_the_fallback_in_time_and_once() {
    let room = room();
    room.telegram
        .script([Fault::refuse("unauthorized").lasting(60 * MINUTE)]);
    enqueue(&room, 5);
    room.send();
    room.world.advance(14 * MINUTE);
    room.send();
    assert_eq!(rows(&room), "ops ready 5");
    room.world.advance(2 * MINUTE);
    room.send();
    assert_eq!(rows(&room), "ops moved 5, screen sent 5");
    let told = "SELECT count(*) FROM outbox AS old JOIN outbox AS new ON new.id=old.moved_to \
                WHERE new.alert_id=old.alert_id AND new.created_at=old.created_at AND new.state='sent'";
    assert_eq!(room.world.ask(told), "5");
    room.drain_within(90 * MINUTE);
    assert_eq!(rows(&room), "ops moved 5, screen sent 5");
    assert_eq!(room.telegram.accepted_count(), 0);
    room.world.all_invariants_hold();
}

#[test]
fn a_flood_wait_is_a_reason_to_go_elsewhere_and_a_turn_that_has_not_come_is_none() {
    let room = room();
    enqueue(&room, 3);
    // Nobody sent for an hour: the first sender finds them late, and delivers them where they belong.
    room.world.advance(60 * MINUTE);
    room.send();
    room.drain_within(MINUTE);
    assert_eq!(rows(&room), "ops sent 3");

    let room = self::room();
    room.telegram.script([Fault::flood(3_600).times(1)]);
    enqueue(&room, 3);
    room.send();
    room.world.advance(16 * MINUTE);
    room.send();
    assert_eq!(rows(&room), "ops moved 3, screen sent 3");
    room.world.all_invariants_hold();
}

#[test]
fn what_may_have_arrived_is_marked_where_it_goes_next() {
    let room = room();
    room.telegram.script([
        Fault::reset_after().in_chat(7001).times(1),
        Fault::page(502).lasting(60 * MINUTE),
    ]);
    enqueue(&room, 1);
    for _ in 0..20 {
        room.send();
        room.world.advance(MINUTE);
    }
    assert_eq!(rows(&room), "ops moved 1, screen sent 1");
    let marked = room
        .world
        .ask("SELECT n FROM ledger WHERE name='repeat_marked'");
    assert_eq!(marked, "1", "the copy on the screen");
    room.world.all_invariants_hold();
}

#[test]
fn what_would_die_here_goes_to_its_fallback_at_once() {
    // Three copies may have arrived, and none more is sent: the fallback's is marked.
    let room = room();
    room.telegram
        .script([Fault::reset_after().in_chat(7001).times(3)]);
    enqueue(&room, 1);
    room.drain_within(3 * MINUTE);
    assert_eq!(rows(&room), "ops moved 1, screen sent 1");
    let marked = "SELECT n FROM ledger WHERE name='repeat_marked'";
    assert_eq!(room.world.ask(marked), "3", "two copies here, one there");
    room.world.all_invariants_hold();

    // What this channel refuses for what it is, another may take.
    let room = self::room();
    room.telegram.script([Fault::refuse("text-empty").times(9)]);
    enqueue(&room, 2);
    room.drain_within(MINUTE);
    assert_eq!(rows(&room), "ops moved 2, screen sent 2");
    let dead = "SELECT count(*) FROM outbox WHERE state='dead' OR kind='notice'";
    assert_eq!(room.world.ask(dead), "0");
    room.world.all_invariants_hold();
}

#[test]
fn a_digest_that_is_late_is_dissolved_and_each_alert_goes_elsewhere() {
    let room = Room {
        digests: true,
        ..room()
    };
    room.telegram
        .script([Fault::refuse("unauthorized").lasting(60 * MINUTE)]);
    enqueue(&room, 8);
    room.send();
    assert_eq!(room.state("folded"), "8");
    room.world.advance(16 * MINUTE);
    room.send();
    assert_eq!(rows(&room), "ops moved 8, screen sent 8");
    assert_eq!(room.state("cancelled"), "1");
    room.world.all_invariants_hold();
}

#[test]
fn what_has_expired_ends_and_is_told_and_nothing_critical_ever_does() {
    let room = room();
    room.telegram.script([Fault::flood(3_600).times(1)]);
    let now = room.world.clock.now().unix_seconds();
    let insert = |priority: u8, expires: Option<f64>| {
        let stranger = room.world.stranger();
        let row = "INSERT INTO outbox(channel,chat_id,payload,priority,next_attempt,created_at,expires_at) \
                   VALUES('ops','7001','{\"text\":\"hello\"}',?1,0,?2,?3)";
        stranger.execute(row, (priority, now, expires))
    };
    insert(3, Some(now + 1_200.0)).expect("enqueued");
    insert(0, None).expect("enqueued");
    assert!(
        insert(0, Some(now + 1_200.0)).is_err(),
        "never what is critical"
    );
    room.live(async |life| {
        life.pass(30 * MINUTE).await;
        life.drain(120 * MINUTE).await;
    });
    assert_eq!(room.state("expired"), "1");
    // That something waited for long, and that it is over, may be told there too.
    let texts = room.texts();
    let count = |part: &str| texts.iter().filter(|text| text.contains(part)).count();
    assert_eq!(count("hello"), 1, "the critical one");
    assert_eq!(count("expired before"), 1, "{texts:?}");
    let told = room
        .world
        .ask("SELECT json_extract(payload,'$.title') FROM outbox WHERE idempotency_key LIKE 'n:expired:%'");
    assert_eq!(told, "Messages expired before they could be delivered");
    room.world.all_invariants_hold();
}

#[test]
fn two_that_fail_over_to_one_place_are_told_there_once() {
    let room = room();
    room.telegram
        .script([Fault::refuse("unauthorized").lasting(60 * MINUTE)]);
    let mut owed = owed("story", &to("ops", PERSON), Priority::Normal);
    owed.to.push(to("ops", "7002").into());
    for addressee in &mut owed.to {
        addressee.fallback = Some(Fallback {
            to: screen(),
            after: 15 * MINUTE,
        });
    }
    let now = room.world.clock.now();
    let enqueue = move |db: &_| outbox::enqueue(db, &owed, now);
    room.world.write(enqueue).expect("enqueued");
    room.send();
    room.world.advance(16 * MINUTE);
    room.send();
    assert_eq!(rows(&room), "ops moved 2, screen sent 1");
    room.world.all_invariants_hold();
}

#[test]
fn a_digest_that_may_have_arrived_is_marked_in_each_alert_that_goes_elsewhere() {
    let room = Room {
        digests: true,
        ..room()
    };
    room.telegram.script([
        Fault::reset_after().in_chat(7001).times(1),
        Fault::page(502).lasting(60 * MINUTE),
    ]);
    enqueue(&room, 5);
    for _ in 0..20 {
        room.send();
        room.world.advance(MINUTE);
    }
    assert_eq!(rows(&room), "ops moved 5, screen sent 5");
    let marked = room
        .world
        .ask("SELECT n FROM ledger WHERE name='repeat_marked'");
    assert_eq!(marked, "5");
    room.world.all_invariants_hold();
}

#[test]
fn a_row_whose_fallback_cannot_take_it_stays_where_it_is() {
    let room = room();
    room.telegram.script([Fault::flood(3_600).times(1)]);
    enqueue(&room, 2);
    let stranger = room.world.stranger();
    stranger
        .execute("UPDATE outbox SET fallback_channel='' WHERE id=1", [])
        .expect("written");
    stranger
        .execute(
            "INSERT INTO outbox(idempotency_key,chat_id,payload,next_attempt,created_at) \
             VALUES('f:2:screen','7001','{\"text\":\"mine\"}',9e9,0)",
            [],
        )
        .expect("written");
    room.send();
    room.world.advance(16 * MINUTE);
    room.send();
    assert_eq!(rows(&room), "ops ready 2", "nothing is lost");
    room.world.all_invariants_hold();
}
