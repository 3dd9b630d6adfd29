//! What waits while the next folding is not due yet.

use shared::model::{
    Alert, Blame, Destination, Folding, GateKeys, Gatekeeper, Gates, Pass, Priority, Settlement,
    Timestamp,
};
use shared::store::outbox::{self, Claim};
use std::time::Duration;
use watchalert_tests::world::{Unlimited, World, fault, to};

/// No limits, and everything that waits in one digest.
struct Folds;

impl Gatekeeper for Folds {
    fn keys(&self, to: &Destination) -> GateKeys {
        Unlimited.keys(to)
    }

    fn pass(&self, to: &Destination, gates: &Gates, priority: Priority, now: Timestamp) -> Pass {
        Unlimited.pass(to, gates, priority, now)
    }

    fn folding(&self, _: &Destination) -> Option<Folding> {
        Some(Folding {
            singles: 3,
            window: Duration::from_secs(30),
        })
    }

    fn pack(&self, _: &Destination, alerts: &[Alert]) -> Vec<usize> {
        vec![alerts.len()]
    }
}

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
        let claim = move |db: &_| outbox::claim(db, epoch, &to, &Folds, now);
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
