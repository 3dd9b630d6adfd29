//! Clocks that were wrong for a while: nothing that was written then is lost, late or in the way.

use shared::model::{Blame, Fault, Hold, LONGEST_BACKOFF, Priority, Settlement, Timestamp};
use shared::store::outbox::{self, Claim, Notice, prune};
use shared::store::{heartbeats, invariants, timeline};
use std::time::Duration;
use watchalert_tests::world::{START, World, alert, fault, owed, receipt, to};

const DAY: Duration = Duration::from_secs(86_400);

/// Prunes until nothing is left to prune; returns how many transactions it took.
fn pruned(world: &World, before: Timestamp) -> usize {
    let mut rounds = 0;
    while world
        .write(move |db| prune::prune(db, before))
        .expect("pruned")
        > 0
    {
        rounds += 1;
    }
    rounds
}

#[test]
fn the_books_balance_after_the_prune_of_what_was_made_under_a_fast_clock() {
    let world = World::new();
    world.advance(DAY * 365);
    world.enqueue("a", &to("screen", "-"), Priority::High);
    world.clock.set_to(START);
    let epoch = world.take_over();
    let lease = world.lease(epoch, &to("screen", "-"));
    world.settle(lease, receipt("m"), None).expect("settled");
    world.advance(DAY * 100);
    assert_eq!(pruned(&world, world.clock.now().minus(DAY * 90)), 1);
    assert_eq!(world.ask("SELECT count(*) FROM outbox"), "0");
    assert_eq!(world.ask("SELECT count(*) FROM alert"), "0");
    world.all_invariants_hold();
}

#[test]
fn an_alert_that_nobody_was_owed_is_pruned_by_its_age() {
    let world = World::new();
    let mut silent = owed("one", &to("screen", "-"), Priority::Low);
    silent.to.clear();
    silent.not_owed = Some("silenced".to_owned());
    let now = world.clock.now();
    world
        .write(move |db| outbox::enqueue(db, &silent, now))
        .expect("a reason is enough");
    assert_eq!(pruned(&world, now), 0);
    assert_eq!(pruned(&world, now + Duration::from_secs(1)), 1);
    assert_eq!(world.ask("SELECT count(*) FROM alert"), "0");
    world.all_invariants_hold();
}

#[test]
fn an_alert_leaves_with_its_last_row_whoever_deletes_it() {
    let world = World::new();
    let mut both = owed("one", &to("screen", "-"), Priority::High);
    both.to.push(to("other", "-").into());
    let now = world.clock.now();
    world
        .write(move |db| outbox::enqueue(db, &both, now))
        .expect("enqueued");
    let epoch = world.take_over();
    for channel in ["screen", "other"] {
        let lease = world.lease(epoch, &to(channel, "-"));
        world.settle(lease, receipt("m"), None).expect("settled");
    }
    world
        .stranger()
        .execute_batch(
            "INSERT INTO feed(url) VALUES('https://example.org/feed');
             INSERT INTO item(feed_id,dedup_key,title,summary,first_seen_at,last_seen_at,state,severity,alert_id)
             VALUES(1,'k','t','',0,0,'judged','high',1)",
        )
        .expect("the item behind it");
    for alerts in ["1", "0"] {
        let delete = "DELETE FROM outbox WHERE id=(SELECT min(id) FROM outbox)";
        world
            .stranger()
            .execute(delete, [])
            .expect("finished rows may go");
        assert_eq!(world.ask("SELECT count(*) FROM alert"), alerts);
        world.all_invariants_hold();
    }
    assert_eq!(world.ask("SELECT alert_pruned FROM item"), "1");
}

#[test]
fn what_was_enqueued_under_a_fast_clock_is_due_at_once() {
    let world = World::new();
    world.advance(DAY);
    world.enqueue("a", &to("screen", "-"), Priority::Critical);
    let notice = Notice {
        event: "seeded".to_owned(),
        about: "1".to_owned(),
        to: to("other", "-"),
        alert: alert("b", shared::model::Severity::Low),
    };
    let now = world.clock.now();
    world
        .write(move |db| outbox::notify(db, &notice, now))
        .expect("told");
    world.clock.set_to(START);
    let epoch = world.take_over();
    for channel in ["screen", "other"] {
        world.lease(epoch, &to(channel, "-"));
    }
}

#[test]
fn a_heartbeat_under_a_fast_clock_does_not_hide_that_ticks_stopped() {
    let world = World::new();
    let (path, now) = (world.database(), world.clock.now());
    for time in [now + DAY * 365, now] {
        world
            .write(move |db| heartbeats::tick_started(db, time))
            .expect("written");
    }
    let read = |path: std::path::PathBuf, now| {
        world
            .read(move |db| heartbeats::read(db, &path, now))
            .started_at
    };
    assert_eq!(read(path.clone(), now), Some(now));
    for (ahead, counts) in [(30, true), (90, false), (86_400 * 365, false)] {
        let file = now + Duration::from_secs(ahead);
        heartbeats::write_file(&path, file).expect("written");
        let seen = if counts { file } else { now };
        assert_eq!(read(path.clone(), now), Some(seen), "{ahead} s ahead");
    }
}

#[test]
fn a_long_wait_that_is_written_while_somebody_checks_is_no_offence() {
    let world = World::new();
    let screen = to("screen", "-");
    world.enqueue("a", &screen, Priority::High);
    let epoch = world.take_over();
    let lease = world.lease(epoch, &screen);
    let asked = world.clock.now();
    world.advance(Duration::from_secs(59));
    let at = world.clock.now() + LONGEST_BACKOFF;
    let settlement = Settlement::RetryAt(at, fault(Blame::Destination, false));
    world.settle(lease, settlement, None).expect("settled");
    assert!(matches!(world.claim(epoch, &screen), Claim::NotBefore(..)));
    let checked = |now| world.read(move |db| invariants::check(db, now)).len();
    assert_eq!(checked(asked), 0);
    assert_eq!(
        checked(asked.minus(Duration::from_secs(2))),
        1,
        "but no longer one"
    );
}

#[test]
fn healing_takes_a_hundred_rows_at_a_time_and_a_new_sender_does_not_wait_for_it() {
    let world = World::new();
    let insert = "\
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<250)
INSERT INTO outbox(channel,chat_id,payload,next_attempt,created_at) SELECT 'screen','-','{}',9e9,0 FROM n";
    world.stranger().execute(insert, []).expect("inserted");
    world.take_over();
    let now = world.clock.now();
    let healed = [(); 4].map(|()| world.write(move |db| outbox::heal(db, now)));
    assert_eq!(healed, [Ok(100), Ok(100), Ok(50), Ok(0)]);
    world.all_invariants_hold();
}

#[test]
fn a_backoff_that_a_clock_ahead_has_set_ends_when_the_clock_is_right_again() {
    let world = World::new();
    let screen = to("screen", "-");
    for key in ["ahead", "now"] {
        world.enqueue(key, &screen, Priority::High);
    }
    let epoch = world.take_over();
    world.advance(Duration::from_secs(3_600));
    let waits = |world: &World| {
        let at = world.clock.now() + Duration::from_secs(5);
        let lease = world.lease(epoch, &screen);
        let settlement = Settlement::RetryAt(at, fault(Blame::Channel, false));
        world.settle(lease, settlement, None).expect("settled");
    };
    waits(&world);
    world.clock.turn_to(START);
    waits(&world);
    let now = world.clock.now();
    assert_eq!(world.write(move |db| outbox::heal(db, now)), Ok(1));
    let due =
        "SELECT group_concat(due_at-1796025600.0) FROM (SELECT due_at FROM outbox ORDER BY id)";
    assert_eq!(world.ask(due), "0.0,5.0", "what this clock has set stays");
    assert_eq!(world.write(move |db| outbox::heal(db, now)), Ok(0));
}

#[test]
fn only_what_counts_against_a_row_is_time_of_failing() {
    let (world, screen, epoch) = World::with_one();
    let fails = |hold, pause: u64| {
        let lease = world.lease(epoch, &screen);
        let failed = Fault {
            hold,
            ..fault(Blame::Channel, false)
        };
        let settlement = Settlement::RetryAt(Timestamp::EPOCH, failed);
        world.settle(lease, settlement, None).expect("settled");
        world.advance(Duration::from_secs(pause));
    };
    // A token that is refused for four days, and a failure on either side of it.
    fails(None, 100);
    fails(Some(Hold::Down), 100);
    for _ in 0..4 {
        fails(Some(Hold::Stopped), 86_400);
    }
    fails(None, 86_400);
    fails(None, 0);
    let counted = world.ask("SELECT failures||' '||failed_for FROM outbox");
    assert_eq!(
        counted, "4 7300.0",
        "100 s, and two hours of the day in which nobody tried"
    );
}

#[test]
fn what_is_in_flight_while_the_clock_goes_back_is_due_when_its_sender_ends() {
    let (world, screen, epoch) = World::with_one();
    let lease = world.lease(epoch, &screen);
    let at = world.clock.now() + Duration::from_secs(5);
    let again = Settlement::RetryAt(at, fault(Blame::Channel, false));
    world.settle(lease, again, None).expect("settled");
    world.advance(Duration::from_secs(5));
    world.lease(epoch, &screen);
    let back = world.clock.now().minus(DAY);
    world.clock.turn_to(back);
    let by = -i64::try_from(DAY.as_millis()).expect("a day");
    world
        .write(move |db| timeline::follow(db, epoch, by, back))
        .expect("followed");
    let epoch = world.take_over();
    world.all_invariants_hold();
    world.lease(epoch, &screen);
}
