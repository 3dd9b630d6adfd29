//! Enqueue: who is owed an alert gets one row, once, or the alert is not accepted.

use shared::model::{Blame, Priority, Settlement, Severity};
use shared::store::StoreError;
use shared::store::outbox::{self, Enqueued, Notice, Notified, Settled, operator};
use std::time::Duration;
use watchalert_tests::world::{World, alert, fault, owed, receipt, to};

#[test]
fn the_same_story_is_one_alert_and_one_row() {
    let world = World::new();
    let screen = to("screen", "-");
    let first = world.enqueue("one", &screen, Priority::High);
    let second = world.enqueue("one", &screen, Priority::High);
    assert_eq!(first, second);
    assert_eq!(world.ask("SELECT count(*) FROM outbox"), "1");
    assert_eq!(world.ask("SELECT seen FROM alert"), "2");
    world.all_invariants_hold();
}

#[test]
fn an_alert_that_nobody_is_owed_must_say_why() {
    let world = World::new();
    let mut silent = owed("one", &to("screen", "-"), Priority::Low);
    silent.to.clear();
    let now = world.clock.now();
    let refused = {
        let silent = silent.clone();
        world.write(move |db| outbox::enqueue(db, &silent, now))
    };
    assert!(matches!(refused, Err(StoreError::Bug(_))), "{refused:?}");
    silent.not_owed = Some("silenced until noon".to_owned());
    world
        .write(move |db| outbox::enqueue(db, &silent, now))
        .expect("a reason is enough");
    world.all_invariants_hold();
}

#[test]
fn a_destination_named_twice_gets_one_row() {
    let world = World::new();
    let mut twice = owed("one", &to("screen", "-"), Priority::Low);
    twice.to.push(to("other", "-").into());
    twice.to.push(to("screen", "-").into());
    let now = world.clock.now();
    let enqueued = world.write(move |db| outbox::enqueue(db, &twice, now));
    assert_eq!(
        enqueued,
        Ok(Enqueued::New {
            alert_id: 1,
            rows: 2
        })
    );
    world.all_invariants_hold();
}

#[test]
fn an_alert_that_would_miss_a_destination_is_not_accepted_at_all() {
    let world = World::new();
    // With its checks off, even the prompt can take an alert's place beforehand.
    world
        .stranger()
        .execute_batch(
            "PRAGMA ignore_check_constraints=ON;
             INSERT INTO outbox(idempotency_key,chat_id,payload,created_at) VALUES('a:1:screen:-','7','{}',0)",
        )
        .expect("inserted");
    let (lost, now) = (
        owed("one", &to("screen", "-"), Priority::Low),
        world.clock.now(),
    );
    let refused = world.write(move |db| outbox::enqueue(db, &lost, now));
    assert!(matches!(refused, Err(StoreError::Bug(_))), "{refused:?}");
    assert_eq!(world.ask("SELECT count(*) FROM alert"), "0");
    world.all_invariants_hold();
}

#[test]
fn a_notice_is_told_once_and_keeps_its_row() {
    let world = World::new();
    let notice = Notice {
        event: "seeded".to_owned(),
        about: "1".to_owned(),
        to: to("screen", "-"),
        alert: alert("one", Severity::Low),
    };
    let now = world.clock.now();
    let told = [true, false].map(|new| (notice.clone(), new));
    for (notice, new) in told {
        let told = world.write(move |db| outbox::notify(db, &notice, now));
        assert_eq!(told, Ok(Notified { id: 1, new }));
    }
}

#[test]
fn a_row_that_is_revived_and_dies_again_at_the_same_moment_is_told_again() {
    let world = World::new();
    let (screen, other) = (to("screen", "-"), to("other", "-"));
    let row = world.enqueue("one", &screen, Priority::High);
    let epoch = world.take_over();
    let now = world.clock.now();
    for death in 1..=2 {
        let lease = world.lease(epoch, &screen);
        let settlement = Settlement::Bury("refused".to_owned(), fault(Blame::Message, false));
        let buried = world.settle(lease, settlement, Some(other.clone()));
        assert_eq!(buried, Ok(Settled::Dead));
        let notice = world.lease(epoch, &other);
        world.settle(notice, receipt("told"), None).expect("told");
        let notices = world.ask("SELECT count(*) FROM outbox WHERE kind='notice'");
        assert_eq!(notices, death.to_string());
        world.all_invariants_hold();
        world
            .write(move |db| operator::requeue(db, row, now))
            .expect("requeued");
    }
}

#[test]
fn what_waited_as_long_as_a_row_that_died_dies_with_it_and_is_told_in_one_notice() {
    let world = World::new();
    let (chat, screen) = (to("ops", "7"), to("screen", "-"));
    for number in 0..130 {
        world.enqueue(&format!("{number}"), &chat, Priority::Normal);
    }
    world.advance(Duration::from_secs(60));
    world.enqueue("younger", &chat, Priority::Normal);
    let now = world.clock.now();
    let before = now.minus(Duration::from_secs(60));
    let bury = || {
        let (chat, screen) = (chat.clone(), screen.clone());
        world.write(move |db| {
            outbox::bury_behind(db, &chat, before, "blocked for a week", Some(&screen), now)
        })
    };
    assert_eq!([bury(), bury(), bury()], [Ok(100), Ok(30), Ok(0)]);
    assert_eq!(
        world.ask(
            "SELECT group_concat(json_extract(payload,'$.title')) FROM outbox WHERE kind='notice'"
        ),
        "130 alerts were given up, the first for ops/7 (row 1)"
    );
    assert_eq!(
        world.ask("SELECT count(*) FROM outbox WHERE state='ready' AND channel='ops'"),
        "1"
    );
    world.all_invariants_hold();
}
