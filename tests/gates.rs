//! Gates in the file: no clock makes a wait longer or shorter, and an upgraded group takes its gate
//! along.

use shared::model::{Gate, GateKeys, Gatekeeper, Timestamp};
use shared::store::gate::{self, Shifted};
use std::time::Duration;
use watchalert_tests::world::{START, Unlimited, World, to};

const DAY: Duration = Duration::from_secs(86_400);

fn keys() -> GateKeys {
    Unlimited.keys(&to("ops", "7"))
}

fn shut(world: &World, wait: Duration) {
    let now = world.clock.now();
    world
        .write(move |db| {
            gate::adjust(db, &keys(), &|gates| {
                gates.chat.block(now + wait, now);
                gates.chat.next_at = now + Duration::from_secs(1);
                gates.chat.ring = vec![now];
            })
        })
        .expect("closed");
}

fn chat(world: &World) -> Gate {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Gate::default()));
    let told = seen.clone();
    world
        .write(move |db| {
            gate::adjust(db, &keys(), &|gates| {
                *told.lock().expect("free") = gates.chat.clone();
            })
        })
        .expect("read");
    seen.lock().expect("free").clone()
}

fn shift(world: &World, seconds: f64) {
    let mut after = Some(Shifted::default());
    while let Some(last) = after {
        after = world
            .write(move |db| gate::shift(db, seconds, &last))
            .expect("moved along");
    }
}

#[test]
fn a_clock_that_went_back_makes_no_wait_longer_than_it_was_told() {
    let world = World::new();
    world.advance(DAY);
    shut(&world, Duration::from_secs(35));
    world.clock.set_to(START);
    let healed = |now| world.write(move |db| gate::heal(db, now));
    assert_eq!(healed(START), Ok(1));
    assert_eq!(chat(&world).blocked_until, START + Duration::from_secs(35));
    assert_eq!(healed(START + Duration::from_secs(1)), Ok(0), "once");
}

#[test]
fn a_wait_that_is_as_long_as_it_was_told_is_left_alone() {
    let world = World::new();
    shut(&world, Duration::from_secs(43_838));
    world.advance(DAY / 4);
    let now = world.clock.now();
    assert_eq!(world.write(move |db| gate::heal(db, now)), Ok(0));
    assert_eq!(
        chat(&world).blocked_until,
        START + Duration::from_secs(43_838)
    );
}

#[test]
fn waits_move_along_with_a_clock_that_is_set() {
    for seconds in [30.0 * 86_400.0, -30.0 * 86_400.0] {
        let world = World::new();
        shut(&world, Duration::from_secs(43_838));
        let moved = |at: Timestamp| Timestamp::from_unix_seconds(at.unix_seconds() + seconds);
        shift(&world, seconds);
        let gate = chat(&world);
        assert_eq!(
            gate.blocked_until,
            moved(START + Duration::from_secs(43_838))
        );
        assert_eq!(gate.blocked_for, Duration::from_secs(43_838));
        assert_eq!(gate.ring, [moved(START)]);
        let never = world.ask("SELECT clean_since FROM gate");
        assert_eq!(never, "NULL", "what never was stays that");
    }
}

#[test]
fn more_gates_than_one_transaction_takes_are_each_moved_once() {
    let world = World::new();
    let insert = "\
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<250)
INSERT INTO gate(scope,key,blocked_until) SELECT 'chat',i,1000 FROM n";
    world.stranger().execute(insert, []).expect("inserted");
    shift(&world, 5.0);
    assert_eq!(
        world.ask("SELECT min(blocked_until)||' '||max(blocked_until) FROM gate"),
        "1005.0 1005.0"
    );
}

#[test]
fn an_upgraded_group_takes_its_waits_along() {
    let world = World::new();
    shut(&world, Duration::from_secs(60));
    let old = keys().chat;
    world
        .write(move |db| gate::rename(db, &old, "ops/-1007", "-1007"))
        .expect("renamed");
    let (old, new) = (
        chat(&world),
        world.ask("SELECT blocked_until FROM gate WHERE key='ops/-1007'"),
    );
    assert_eq!(new, old.blocked_until.unix_seconds().to_string());
    assert_eq!(
        world.read(gate::renamed),
        [(keys().chat, "-1007".to_owned())]
    );
}
