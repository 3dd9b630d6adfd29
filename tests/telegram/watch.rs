//! The sender says, on a channel that works, that alerts wait or that no tick comes; and that it is over.

use super::Life;
use super::{PERSON, Room, minutes};
use shared::model::Priority;
use shared::store::{Db, heartbeats};
use watchalert_tests::telegram::Fault;
use watchalert_tests::world::to;

fn room() -> Room {
    Room {
        more: "default_channel = \"ops\"\n[channel.screen]\nkind = \"console\"\n",
        ..Room::new()
    }
}

/// Each minute by itself, so that the sender finds the time to look.
async fn pass(life: &Life<'_>, count: u64) {
    for _ in 0..count {
        life.pass(minutes(1)).await;
        life.turns(2_000).await;
    }
}

fn told(room: &Room) -> String {
    let told = room.world.ask(
        "SELECT group_concat(line,'; ') FROM (SELECT channel||': '||json_extract(payload,'$.title')||' ('||state||')' AS line \
         FROM outbox WHERE idempotency_key GLOB 'n:late*' OR idempotency_key GLOB 'n:ticks*' \
         OR idempotency_key GLOB 'n:throttled*' OR idempotency_key GLOB 'n:disk*' ORDER BY id)",
    );
    // It looks once a minute, or, on a busy machine, a minute later.
    [6, 7, 8].iter().fold(told, |told, late| {
        told.replace(&format!("for {late} min"), "for 5 min")
    })
}

/// What is told once it is `right`: a look that comes late is waited for.
async fn hear(life: &Life<'_>, room: &Room, right: impl Fn(&str) -> bool) -> String {
    for _ in 0..10 {
        if right(&told(room)) {
            break;
        }
        pass(life, 1).await;
    }
    told(room)
}

async fn heard(life: &Life<'_>, room: &Room, right: &str) {
    assert_eq!(hear(life, room, |told| told == right).await, right);
}

#[test]
fn alerts_that_wait_for_five_minutes_are_told_elsewhere_once_and_so_is_the_end() {
    let room = room();
    room.telegram
        .script([Fault::page(502).lasting(minutes(30))]);
    room.live(async |life| {
        // A clock is believed after ten minutes.
        pass(life, 11).await;
        life.enqueue("one", &to("ops", PERSON), Priority::High)
            .await;
        pass(life, 4).await;
        assert_eq!(told(&room), "NULL");
        pass(life, 10).await;
        let begun = "screen: Alerts wait: the oldest for 5 min (sent)";
        heard(life, &room, begun).await;
        life.drain(minutes(60)).await;
        pass(life, 3).await;
        let over = "ops: No alert waits any more than it should (sent)";
        heard(life, &room, &format!("{begun}; {over}")).await;
    });
    room.world.all_invariants_hold();
}

#[test]
fn a_bot_that_is_told_to_slow_down_too_often_is_told_elsewhere_and_so_is_the_end() {
    let room = room();
    room.telegram.script([Fault::flood(5).times(4)]);
    room.live(async |life| {
        pass(life, 11).await;
        for number in 0..20 {
            life.enqueue(&format!("{number}"), &to("ops", PERSON), Priority::High)
                .await;
        }
        pass(life, 4).await;
        let begun = "screen: The channel ops is asked to slow down too often (sent)";
        heard(life, &room, begun).await;
        // Nothing of it is in the last five minutes any more.
        pass(life, 6).await;
        let over = "screen: The channel ops is at its pace again (sent)";
        heard(life, &room, &format!("{begun}; {over}")).await;
    });
    room.world.all_invariants_hold();
}

#[test]
fn a_disk_with_too_little_room_is_told_once_and_so_is_its_end() {
    let room = Room {
        min_free: "8000000 GiB",
        ..room()
    };
    let is_told = |told: &str| {
        told.starts_with("ops: The disk has ")
            && told.ends_with(" left: nothing new is taken in (sent)")
    };
    let begun = room.live(async |life| {
        pass(life, 15).await;
        hear(life, &room, is_told).await
    });
    assert!(is_told(&begun), "{begun}");
    let room = Room {
        min_free: "1 KiB",
        ..room
    };
    room.live(async |life| {
        pass(life, 15).await;
        let over = "ops: The disk has room again (sent)";
        heard(life, &room, &format!("{begun}; {over}")).await;
    });
    room.world.all_invariants_hold();
}

#[test]
fn missing_ticks_are_told_once_and_so_is_their_return() {
    let room = room();
    room.live(async |life| {
        let now = life.now();
        life.write(move |db: &Db| heartbeats::tick_finished(db, "", now))
            .await;
        pass(life, 20).await;
        let is_told = |told: &str| {
            told.starts_with("ops: No tick for 1") && told.contains("nothing is watched (sent)")
        };
        let first = hear(life, &room, is_told).await;
        assert!(is_told(&first), "{first}");
        let now = life.now();
        life.write(move |db: &Db| heartbeats::tick_finished(db, "", now))
            .await;
        pass(life, 2).await;
        let over = "ops: Ticks come again (sent)";
        heard(life, &room, &format!("{first}; {over}")).await;
    });
    room.world.all_invariants_hold();
}
