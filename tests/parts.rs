//! A delivery in several messages: each is an attempt of its own, what has arrived is never sent
//! again, and what is left survives a crash, a full disk and a death.

use shared::model::{Blame, Priority, Receipt, Settlement, Timestamp};
use shared::store::journal::{self, Completion};
use shared::store::outbox::{self, Settled};
use std::time::Duration;
use watchalert_tests::world::{START, World, fault, receipt, to};

fn part(id: &str, left: &[&str]) -> Settlement {
    let receipt = Receipt {
        message_id: id.to_owned(),
    };
    Settlement::Continue(receipt, left.iter().map(|&part| part.to_owned()).collect())
}

fn row(world: &World) -> String {
    world.ask("SELECT state||' '||coalesce(message_id,'-')||' '||coalesce(rest,'-') FROM outbox")
}

#[test]
fn each_message_is_an_attempt_and_leaves_its_receipt() {
    let (world, screen, epoch) = World::with_one();
    for (settlement, settled, seen) in [
        (
            part("1", &["b", "c"]),
            Settled::Begun,
            r#"ready 1 ["b","c"]"#,
        ),
        (part("2", &["c"]), Settled::Begun, r#"ready 1,2 ["c"]"#),
        (receipt("3"), Settled::Sent, "sent 1,2,3 -"),
    ] {
        let lease = world.lease(epoch, &screen);
        assert!(!lease.held().possible_repeat);
        assert_eq!(world.settle(lease, settlement, None), Ok(settled));
        assert_eq!(row(&world), seen);
        world.all_invariants_hold();
    }
    let attempts = "SELECT group_concat(n||outcome) FROM attempt";
    assert_eq!(world.ask(attempts), "1ok,2ok,3ok");
}

#[test]
fn what_was_unsure_before_a_message_arrived_is_settled_and_what_is_after_it_counts() {
    let (world, screen, epoch) = World::with_one();
    let lost = |world: &World| {
        let again = Settlement::RetryAt(world.clock.now(), fault(Blame::Channel, true));
        let lease = world.lease(epoch, &screen);
        world.settle(lease, again, None).expect("settled");
    };
    lost(&world);
    let copy = world.lease(epoch, &screen);
    assert!(copy.held().possible_repeat);
    world.settle(copy, part("1", &["b"]), None).expect("begun");
    let rest = world.lease(epoch, &screen);
    let held = rest.held();
    assert_eq!(
        (held.possible_repeat, held.unknown_outcomes, held.failures),
        (false, 0, 0)
    );
    assert_eq!(held.rest, ["b"]);
    let epoch = world.take_over();
    let crashed = world.lease(epoch, &screen);
    assert!(
        crashed.held().possible_repeat,
        "the sender ended in the middle of the rest"
    );
    assert_eq!(crashed.held().rest, ["b"]);
}

#[test]
fn a_part_that_was_committed_unheard_may_be_settled_again() {
    let (world, screen, epoch) = World::with_one();
    let lease = world.lease(epoch, &screen);
    let now = world.clock.now();
    let twice = world.write(move |db| {
        outbox::settle(db, &lease, &part("1", &["b"]), None, now)?;
        outbox::settle(db, &lease, &part("1", &["b"]), None, now)
    });
    assert_eq!(twice, Ok(Settled::Begun));
    assert_eq!(row(&world), r#"ready 1 ["b"]"#);
}

#[test]
fn the_journal_keeps_what_is_left() {
    let (world, screen, epoch) = World::with_one();
    let lease = world.lease(epoch, &screen);
    let completion = Completion {
        outbox_id: lease.held().id,
        attempt: lease.attempt(),
        epoch: lease.epoch(),
        message_id: "1".to_owned(),
        rest: vec!["b".to_owned()],
    };
    journal::write(&world.database(), &[completion]).expect("written");
    let kept = journal::read(&world.database()).expect("read");
    let now = world.clock.now();
    assert_eq!(
        world.write(move |db| journal::replay(db, &kept, now)),
        Ok(1)
    );
    let epoch = world.take_over();
    let lease = world.lease(epoch, &screen);
    assert_eq!(
        (lease.held().possible_repeat, &lease.held().rest[..]),
        (false, &["b".to_owned()][..])
    );
}

#[test]
fn a_row_that_died_half_sent_and_is_revived_goes_on_where_it_was() {
    let (world, screen, epoch) = World::with_one();
    let lease = world.lease(epoch, &screen);
    world.settle(lease, part("1", &["b"]), None).expect("begun");
    let lease = world.lease(epoch, &screen);
    let bury = Settlement::Bury("refused".to_owned(), fault(Blame::Message, false));
    world.settle(lease, bury, None).expect("buried");
    world.all_invariants_hold();
    let now = world.clock.now();
    world
        .write(move |db| outbox::operator::requeue(db, 1, now))
        .expect("revived");
    let lease = world.lease(epoch, &screen);
    assert_eq!(lease.held().rest, ["b"]);
    assert_eq!(world.settle(lease, receipt("2"), None), Ok(Settled::Sent));
    assert_eq!(row(&world), "sent 1,2 -");
    world.all_invariants_hold();
}

#[test]
fn nobody_can_write_a_rest_that_is_no_list() {
    let world = World::new();
    world.enqueue("one", &to("screen", "-"), Priority::High);
    for rest in ["'nonsense'", "'{}'", "'\"a\"'"] {
        let update = format!("UPDATE outbox SET rest={rest}");
        let refused = world.stranger().execute(&update, []).expect_err(rest);
        assert!(
            refused.to_string().contains("rest_is_an_array"),
            "{refused}"
        );
    }
}

#[test]
fn nobody_but_the_sender_changes_what_is_left_or_to_whom_it_goes() {
    let (world, screen, epoch) = World::with_one();
    let lease = world.lease(epoch, &screen);
    world.settle(lease, part("1", &["b"]), None).expect("begun");
    for change in [
        "rest=NULL",
        "rest='[]'",
        "chat_id='-555'",
        "channel='other'",
    ] {
        let update = format!("UPDATE outbox SET {change}");
        let refused = world.stranger().execute(&update, []).expect_err(change);
        assert!(
            refused
                .to_string()
                .contains("a part of this row has arrived"),
            "{refused}"
        );
    }
    world.all_invariants_hold();
}

#[test]
fn a_rest_that_cannot_be_read_costs_a_marked_copy_and_not_the_destination() {
    let (world, screen, epoch) = World::with_one();
    let lease = world.lease(epoch, &screen);
    world.settle(lease, part("1", &["b"]), None).expect("begun");
    world
        .stranger()
        .execute_batch("DROP TRIGGER begun_rows_go_on; UPDATE outbox SET rest='[1]'")
        .expect("as damage would");
    let lease = world.lease(epoch, &screen);
    assert!(lease.held().possible_repeat);
    assert!(lease.held().rest.is_empty());
}

#[test]
fn a_marked_copy_that_did_not_go_out_is_not_counted() {
    let (world, screen, epoch) = World::with_one();
    let marked = || world.ask("SELECT n FROM ledger WHERE name='repeat_marked'");
    for (settlement, count) in [
        (
            Settlement::RetryAt(Timestamp::EPOCH, fault(Blame::Channel, true)),
            "0",
        ),
        (
            Settlement::RetryAt(Timestamp::EPOCH, fault(Blame::Channel, false)),
            "0",
        ),
        (
            Settlement::RetryAt(Timestamp::EPOCH, fault(Blame::Channel, true)),
            "1",
        ),
        (receipt("1"), "2"),
    ] {
        let lease = world.lease(epoch, &screen);
        world.settle(lease, settlement, None).expect("settled");
        assert_eq!(marked(), count);
    }
}

/// `queue retry` under a clock that was an hour fast.
#[test]
fn a_revived_row_has_its_tries_again_under_any_clock() {
    let (world, screen, epoch) = World::with_one();
    let lost = |world: &World| {
        let lease = world.lease(epoch, &screen);
        let counted = (lease.held().unknown_outcomes, lease.held().possible_repeat);
        let again = Settlement::RetryAt(Timestamp::EPOCH, fault(Blame::Channel, true));
        world.settle(lease, again, None).expect("settled");
        counted
    };
    assert_eq!([lost(&world), lost(&world)], [(0, false), (1, true)]);
    let lease = world.lease(epoch, &screen);
    let bury = Settlement::Bury("lost".to_owned(), fault(Blame::Channel, true));
    world.settle(lease, bury, None).expect("buried");
    world.advance(Duration::from_secs(3_600));
    let now = world.clock.now();
    world
        .write(move |db| outbox::operator::requeue(db, 1, now))
        .expect("revived");
    world.clock.turn_to(START);
    world
        .stranger()
        .execute("UPDATE outbox SET next_attempt=0", [])
        .expect("due");
    assert_eq!([lost(&world), lost(&world)], [(0, true), (1, true)]);
}
