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

/// The notices about ourselves, where they went, in order.
fn told(room: &Room) -> String {
    let told = room.world.ask(
        "SELECT group_concat(line,'; ') FROM (SELECT channel||': '||json_extract(payload,'$.title')||' ('||state||')' AS line \
         FROM outbox WHERE idempotency_key GLOB 'n:late*' OR idempotency_key GLOB 'n:ticks*' \
         OR idempotency_key GLOB 'n:throttled*' OR idempotency_key GLOB 'n:disk*' ORDER BY id)",
    );
    // It looks once a minute.
    told.replace("for 6 min", "for 5 min")
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
        assert_eq!(
            told(&room),
            "screen: Alerts wait: the oldest for 5 min (sent)"
        );
        life.drain(minutes(60)).await;
        pass(life, 3).await;
    });
    assert_eq!(
        told(&room),
        "screen: Alerts wait: the oldest for 5 min (sent); ops: No alert waits any more than it should (sent)"
    );
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
        assert_eq!(told(&room), begun);
        // Nothing of it is in the last five minutes any more.
        pass(life, 6).await;
        let over = "screen: The channel ops is at its pace again (sent)";
        assert_eq!(told(&room), format!("{begun}; {over}"));
    });
    room.world.all_invariants_hold();
}

#[test]
fn a_disk_with_too_little_room_is_told_once_and_so_is_its_end() {
    let room = Room {
        min_free: "8000000 GiB",
        ..room()
    };
    room.live(async |life| pass(life, 15).await);
    let begun = told(&room);
    assert!(begun.starts_with("ops: The disk has "), "{begun}");
    assert!(
        begun.ends_with(" left: nothing new is taken in (sent)"),
        "{begun}"
    );
    let room = Room {
        min_free: "1 KiB",
        ..room
    };
    room.live(async |life| pass(life, 15).await);
    assert_eq!(
        told(&room),
        format!("{begun}; ops: The disk has room again (sent)")
    );
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
        let first = told(&room);
        assert!(
            first.starts_with("ops: No tick for 1") && first.contains("nothing is watched (sent)"),
            "{first}"
        );
        let now = life.now();
        life.write(move |db: &Db| heartbeats::tick_finished(db, "", now))
            .await;
        pass(life, 2).await;
        assert_eq!(
            told(&room),
            format!("{first}; ops: Ticks come again (sent)")
        );
    });
    room.world.all_invariants_hold();
}
