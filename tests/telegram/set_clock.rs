//! A wall clock that is set while the sender lives: no wait ends early, none late.

use super::Room;
use shared::model::{Gatekeeper, Timestamp};
use shared::store::gate;
use std::time::Duration;
use watchalert_sender::drain::Until;
use watchalert_sender::run::run;
use watchalert_tests::world::{Unlimited, runtime, to};

const MONTH: Duration = Duration::from_secs(30 * 86_400);
const TOLD: Duration = Duration::from_secs(43_838);

/// What a chat still has to wait.
fn left(room: &Room) -> f64 {
    let until = room
        .world
        .ask("SELECT blocked_until FROM gate WHERE scope='chat'");
    let until: f64 = until.parse().expect("a time");
    until - room.world.clock.now().unix_seconds()
}

/// The clock is turned and the sender, which lives, notices.
pub fn turn(room: &Room, to: Timestamp) {
    let clock = &room.world.clock;
    let by = to.unix_millis() - clock.now().unix_millis();
    let stepped = || {
        room.world
            .ask("SELECT epoch||':'||stepped FROM sender_lease")
    };
    let before = stepped();
    let noticed = async {
        while stepped() == before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        clock.turn_to(to);
        while !stepped().ends_with(&format!(":{by}")) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let sending = run(room.scene(), Until::Stopped, std::future::pending());
    runtime().block_on(async {
        tokio::select! {
            ended = sending => panic!("{ended:?}"),
            () = noticed => {}
            () = tokio::time::sleep(Duration::from_secs(20)) => panic!("it was not noticed"),
        }
    });
}

#[test]
fn a_wait_is_neither_longer_nor_shorter_for_a_clock_that_is_set_by_a_month_forth_and_back() {
    let room = Room::new();
    let now = room.world.clock.now();
    let keys = Unlimited.keys(&to("ops", "9"));
    room.world
        .write(move |db| gate::adjust(db, &keys, &|gates| gates.chat.block(now + TOLD, now)))
        .expect("closed");
    turn(&room, now + MONTH);
    assert!(
        (left(&room) - TOLD.as_secs_f64()).abs() < 0.001,
        "{}",
        left(&room)
    );
    turn(&room, now.minus(MONTH));
    assert!(
        (left(&room) - TOLD.as_secs_f64()).abs() < 0.001,
        "{}",
        left(&room)
    );
    room.world.all_invariants_hold();
}
