//! What waits while the next folding is not due yet.

use shared::model::{Blame, Priority, Settlement};
use shared::store::outbox::operator::{self, Filter, Movable};
use shared::store::outbox::{self, Claim};
use std::time::Duration;
use watchalert_tests::world::{Folds, World, fault, to};

#[test]
fn a_critical_alert_in_backoff_does_not_wait_for_the_next_folding() {
    let world = World::new();
    let screen = to("screen", "-");
    let enqueue = |name: &str, count: usize, priority| {
        for number in 0..count {
            world.enqueue(&format!("{name} {number}"), &screen, priority);
        }
    };
    enqueue("first", 4, Priority::Normal);
    let epoch = world.take_over();
    let claim = || {
        let (to, now) = (screen.clone(), world.clock.now());
        let claim = move |db: &_| outbox::claim(db, epoch, &to, &Folds(usize::MAX), now);
        world.write(claim).expect("a claim")
    };
    let Claim::Leased(digest) = claim() else {
        panic!("the digest");
    };
    let folded = world.clock.now();
    let receipt = watchalert_tests::world::receipt("1");
    world.settle(digest, receipt, None).expect("sent");

    enqueue("second", 40, Priority::Normal);
    enqueue("grave", 1, Priority::Critical);
    let Claim::Leased(grave) = claim() else {
        panic!("the critical one");
    };
    let again = folded + Duration::from_secs(2);
    let retry = Settlement::RetryAt(again, fault(Blame::Channel, false));
    world.settle(grave, retry, None).expect("waits");
    let Claim::NotBefore(at, _) = claim() else {
        panic!("nothing is due");
    };
    assert_eq!(at, again, "and not only when the others are folded");
    world.advance(Duration::from_secs(2));
    assert!(matches!(claim(), Claim::Leased(_)));
    world.all_invariants_hold();
}

#[test]
fn a_digest_is_chosen_by_a_filter_when_all_that_is_in_it_is() {
    let world = World::new();
    let screen = to("screen", "-");
    for (number, priority) in [
        (1, Priority::Low),
        (2, Priority::Low),
        (3, Priority::Low),
        (4, Priority::Normal),
    ] {
        world.enqueue(&format!("number {number}"), &screen, priority);
    }
    let epoch = world.take_over();
    let (place, now) = (screen.clone(), world.clock.now());
    let claim = move |db: &_| outbox::claim(db, epoch, &place, &Folds(usize::MAX), now);
    let Claim::Leased(lease) = world.write(claim).expect("a claim") else {
        panic!("the digest");
    };
    let digest = lease.held().id;
    world
        .settle(lease, Settlement::Release, None)
        .expect("let go");
    let chosen = |priority| {
        let wanted = Filter {
            priority,
            ..Filter::default()
        };
        let select = move |db: &_| operator::select(db, &[Movable::Ready], &wanted);
        let rows = world.write(select).expect("read");
        rows.iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(chosen(None), [digest]);
    assert_eq!(chosen(Some(Priority::Low)), [0; 0], "one of them is normal");
    let now = world.clock.now();
    world
        .write(move |db| operator::discard(db, digest, now))
        .expect("discarded");
    world.all_invariants_hold();
    let left = "SELECT count(*) FROM outbox WHERE state IN('ready','leased')";
    assert_eq!(world.ask(left), "0");
}
