//! Gates in the file: no clock makes a wait longer or shorter, and an upgraded group takes its gate
//! along.

use shared::model::{
    Alert, Blame, Destination, Folding, Gate, GateKeys, Gatekeeper, Gates, Pass, Priority, Receipt,
    Settlement, Timestamp,
};
use shared::store::outbox::{self, Claim, Epoch};
use shared::store::{StoreError, gate, timeline};
use std::time::Duration;
use watchalert_sender::policy::limiter::Limits;
use watchalert_tests::world::{START, Unlimited, World, fault, to};

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

/// The clock is turned by so many seconds, and the file follows.
fn turn(world: &World, epoch: Epoch, seconds: f64) {
    let before = world.read(timeline::stepped);
    let turned = world.clock.now().unix_seconds() + seconds;
    world.clock.turn_to(Timestamp::from_unix_seconds(turned));
    let to = before + Timestamp::from_unix_seconds(seconds).unix_millis();
    let now = world.clock.now();
    world
        .write(move |db| timeline::follow(db, epoch, to, now))
        .expect("followed");
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
        let epoch = world.take_over();
        shut(&world, Duration::from_secs(43_838));
        let moved = |at: Timestamp| Timestamp::from_unix_seconds(at.unix_seconds() + seconds);
        turn(&world, epoch, seconds);
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
fn backoff_moves_along_and_what_is_due_or_meant_for_later_does_not() {
    for seconds in [3_600.0, -3_600.0] {
        let world = World::new();
        let (epoch, ops) = (world.take_over(), to("ops", "7"));
        for key in ["backoff", "due", "meant"] {
            world.enqueue(key, &ops, Priority::High);
        }
        let lease = world.lease(epoch, &ops);
        let later = START + Duration::from_secs(300);
        let again = Settlement::RetryAt(later, fault(Blame::Channel, false));
        world.settle(lease, again, None).expect("settled");
        let due = world.lease(epoch, &ops);
        let begun = Settlement::Continue(
            Receipt {
                message_id: "1".to_owned(),
            },
            vec!["left".to_owned()],
        );
        world.settle(due, begun, None).expect("begun");
        let meant = "UPDATE outbox SET not_before=1796112000 WHERE id=3";
        world
            .stranger()
            .execute(meant, [])
            .expect("meant for later");
        turn(&world, epoch, seconds);
        let waits = "SELECT group_concat(due_at-unixepoch) FROM (SELECT due_at, \
                     1796025600 AS unixepoch FROM outbox ORDER BY id)";
        let expected = format!("{:?},-1796025600.0,86400.0", 300.0 + seconds);
        assert_eq!(world.ask(waits), expected);
        world.all_invariants_hold();
    }
}

#[test]
fn a_sender_that_was_fenced_moves_nothing() {
    let world = World::new();
    let old = world.take_over();
    shut(&world, Duration::from_secs(60));
    world.take_over();
    let now = world.clock.now();
    let followed = world.write(move |db| timeline::follow(db, old, 5_000, now));
    assert!(
        matches!(followed, Err(StoreError::Fenced(_))),
        "{followed:?}"
    );
    assert_eq!(chat(&world).blocked_until, START + Duration::from_secs(60));
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

#[test]
fn what_was_known_of_the_new_id_is_not_forgotten_for_the_old_ones_sake() {
    let world = World::new();
    let insert = "\
INSERT INTO gate(scope,key,next_at,blocked_until,blocked_for,strikes,ring,paused_until) VALUES
 ('chat','ops/-1007',100,9000,3600,3,x'0000000000000001',0),
 ('chat','ops/7',200,8000,60,1,x'0000000000000002',7000)";
    world.stranger().execute(insert, []).expect("inserted");
    world
        .write(move |db| gate::rename(db, &keys().chat, "ops/-1007", "-1007"))
        .expect("renamed");
    let joined = "SELECT next_at||' '||blocked_until||' '||blocked_for||' '||strikes||' '||hex(ring)||' '||paused_until
                    FROM gate WHERE key='ops/-1007'";
    assert_eq!(
        world.ask(joined),
        "200.0 9000.0 3600.0 3 00000000000000010000000000000002 7000.0"
    );
}

#[test]
fn what_a_clock_ahead_has_dated_is_not_moved_further_ahead_and_ends_by_healing() {
    let world = World::new();
    let epoch = world.take_over();
    let ahead = START + DAY;
    world
        .write(move |db| {
            gate::adjust(db, &keys(), &|gates| {
                gates.chat.clean_since = Some(ahead);
                gates.chat.refused_since = Some(ahead);
                gates.chat.failing_since = Some(START);
            })
        })
        .expect("dated");
    turn(&world, epoch, 3_600.0);
    let hour = START + Duration::from_secs(3_600);
    let gate = chat(&world);
    assert_eq!(
        (gate.clean_since, gate.refused_since),
        (Some(ahead), Some(ahead))
    );
    assert_eq!(gate.failing_since, Some(hour));
    assert_eq!(world.write(move |db| gate::heal(db, hour)), Ok(1));
    let gate = chat(&world);
    assert_eq!(
        (gate.clean_since, gate.refused_since),
        (Some(hour), Some(hour))
    );
    assert_eq!(gate.failing_since, Some(hour));
}

#[test]
fn what_a_script_wrote_for_now_stays_due_when_the_clock_goes_back() {
    let world = World::new();
    let epoch = world.take_over();
    let insert =
        "INSERT INTO outbox(chat_id,payload,next_attempt,created_at) VALUES('1','{}',?1,?1)";
    for ahead in [0.0, 7_200.0] {
        let time = START.unix_seconds() + ahead;
        world.stranger().execute(insert, [time]).expect("inserted");
    }
    turn(&world, epoch, -3_600.0);
    let due =
        "SELECT group_concat(due_at-1796025600.0) FROM (SELECT due_at FROM outbox ORDER BY id)";
    assert_eq!(
        world.ask(due),
        "-3600.0,7200.0",
        "what is meant for later stays"
    );
}

/// A gap of a second, as the limiter keeps it.
struct Paced;

impl Gatekeeper for Paced {
    fn keys(&self, to: &Destination) -> GateKeys {
        Unlimited.keys(to)
    }

    fn believable(&self, _: &Destination, gates: &Gates, now: Timestamp) -> Gates {
        Limits::GROUP.believable(gates, now)
    }

    fn pass(&self, _: &Destination, gates: &Gates, priority: Priority, now: Timestamp) -> Pass {
        Limits::GROUP.pass(gates, priority, now)
    }

    fn folding(&self, _: &Destination) -> Option<Folding> {
        None
    }

    fn pack(&self, _: &Destination, _: &[Alert]) -> Vec<usize> {
        Vec::new()
    }
}

#[test]
fn a_clock_that_was_set_back_while_nobody_ran_makes_a_chat_wait_for_its_limit_and_no_longer() {
    let world = World::new();
    let ops = to("ops", "7");
    world.enqueue("one", &ops, Priority::Critical);
    let ahead = START + 30 * DAY;
    world
        .write(move |db| {
            gate::adjust(db, &keys(), &|gates| {
                gates.chat.next_at = ahead;
                gates.bot.next_at = ahead;
                gates.chat.ring = vec![ahead; 20];
            })
        })
        .expect("left");
    let epoch = world.take_over();
    let claim = |now| {
        let to = ops.clone();
        let claim = move |db: &_| outbox::claim(db, epoch, &to, &Paced, now);
        world.write(claim).expect("a claim")
    };
    let minute = START + Duration::from_secs(60);
    assert!(matches!(claim(START), Claim::NotBefore(at, _) if at == minute));
    assert!(matches!(claim(minute), Claim::Leased(_)));
    world.all_invariants_hold();
}
