//! What goes to a fallback is owed in one place, and marked where a copy of it may have arrived before.

use shared::model::{Blame, Destination, Priority, Settlement};
use shared::store::outbox::{self, Claim, Fallback, Settled, failover};
use std::time::Duration;
use watchalert_tests::world::{Folds, World, fault, owed, to};

const MINUTE: Duration = Duration::from_secs(60);

/// An alert for each of `ways`, a place and its fallback after a minute.
fn enqueue(world: &World, ways: &[(&Destination, &Destination)]) {
    let mut owed = owed("one", ways[0].0, Priority::High);
    owed.to.clear();
    for (place, fallback) in ways {
        let mut addressee = outbox::Addressee::from((*place).clone());
        addressee.fallback = Some(Fallback {
            to: (*fallback).clone(),
            after: MINUTE,
        });
        owed.to.push(addressee);
    }
    let now = world.clock.now();
    world
        .write(move |db| outbox::enqueue(db, &owed, now))
        .expect("enqueued");
}

fn move_on(world: &World, place: &Destination) {
    let (place, now) = (place.clone(), world.clock.now());
    let fail_over = move |db: &_| failover::fail_over(db, &place, true, now);
    while world.write(fail_over.clone()).expect("moved") > 0 {}
}

#[test]
fn two_places_that_are_each_others_fallback_lose_nothing() {
    let world = World::new();
    let (phone, screen) = (to("phone", "news"), to("screen", "-"));
    enqueue(&world, &[(&phone, &screen), (&screen, &phone)]);
    let epoch = world.take_over();
    world.advance(2 * MINUTE);
    move_on(&world, &phone);
    move_on(&world, &screen);
    let rows =
        "SELECT group_concat(channel||' '||state,', ') FROM (SELECT * FROM outbox ORDER BY id)";
    assert_eq!(world.ask(rows), "phone moved, screen ready");
    // Nor when it would die there: it is tried where it is.
    let lease = world.lease(epoch, &screen);
    let bury = Settlement::Bury("refused".to_owned(), fault(Blame::Message, false));
    assert_eq!(world.settle(lease, bury.clone(), None), Ok(Settled::Dead));
    world.all_invariants_hold();
}

#[test]
fn a_death_leads_to_no_circle_either() {
    let world = World::new();
    let (phone, screen) = (to("phone", "news"), to("screen", "-"));
    enqueue(&world, &[(&phone, &screen), (&screen, &phone)]);
    let epoch = world.take_over();
    let bury = || Settlement::Bury("refused".to_owned(), fault(Blame::Message, false));
    let lease = world.lease(epoch, &phone);
    assert_eq!(world.settle(lease, bury(), None), Ok(Settled::Moved));
    let lease = world.lease(epoch, &screen);
    assert_eq!(world.settle(lease, bury(), None), Ok(Settled::Waits));
    let lease = world.lease(epoch, &screen);
    assert_eq!(
        world.settle(lease, bury(), None),
        Ok(Settled::Dead),
        "and that is told"
    );
    world.all_invariants_hold();
}

/// Nobody knows whether it arrived at `place`, which is closed when its fallback is due.
fn may_arrive_and_moves_on(world: &World, epoch: outbox::Epoch, place: &Destination) {
    let lease = world.lease(epoch, place);
    let unclear = Settlement::RetryAt(world.clock.now() + 10 * MINUTE, fault(Blame::Channel, true));
    world.settle(lease, unclear, None).expect("settled");
    world.advance(2 * MINUTE);
    move_on(world, place);
}

/// Of what waits for the screen: how many are told in it, and whether it is marked.
fn sent(world: &World, epoch: outbox::Epoch, screen: &Destination) -> (String, bool) {
    let (place, now) = (screen.clone(), world.clock.now());
    let claim = move |db: &_| outbox::claim(db, epoch, &place, &Folds(usize::MAX), now);
    let Claim::Leased(lease) = world.write(claim).expect("a claim") else {
        panic!("something is due");
    };
    let told = (lease.held().kind.to_string(), lease.held().possible_repeat);
    let receipt = watchalert_tests::world::receipt("1");
    world.settle(lease, receipt, None).expect("settled");
    told
}

#[test]
fn a_copy_of_what_may_have_arrived_goes_out_marked_and_by_itself() {
    let world = World::new();
    let (phone, screen) = (to("phone", "news"), to("screen", "-"));
    enqueue(&world, &[(&phone, &screen)]);
    let epoch = world.take_over();
    may_arrive_and_moves_on(&world, epoch, &phone);
    for number in 0..4 {
        world.enqueue(&format!("other {number}"), &screen, Priority::High);
    }
    let told = [sent(&world, epoch, &screen), sent(&world, epoch, &screen)];
    assert_eq!(
        told,
        [("alert".to_owned(), true), ("digest".to_owned(), false)]
    );
    world.all_invariants_hold();
}

#[test]
fn a_digest_is_marked_when_what_moved_into_it_may_have_arrived() {
    let world = World::new();
    let (phone, screen, mail) = (to("phone", "news"), to("screen", "-"), to("mail", "me"));
    enqueue(&world, &[(&phone, &screen), (&screen, &mail)]);
    for number in 0..4 {
        world.enqueue(&format!("other {number}"), &screen, Priority::High);
    }
    let epoch = world.take_over();
    may_arrive_and_moves_on(&world, epoch, &phone);
    assert_eq!(sent(&world, epoch, &screen), ("digest".to_owned(), true));
    world.all_invariants_hold();
}

#[test]
fn the_mark_goes_along_from_place_to_place() {
    let world = World::new();
    let (phone, screen, mail) = (to("phone", "news"), to("screen", "-"), to("mail", "me"));
    enqueue(&world, &[(&phone, &screen), (&screen, &mail)]);
    let epoch = world.take_over();
    may_arrive_and_moves_on(&world, epoch, &phone);
    move_on(&world, &screen);
    assert!(world.lease(epoch, &mail).held().possible_repeat);
    world.all_invariants_hold();
}

#[test]
fn what_moved_into_a_digest_is_pruned_with_it() {
    let world = World::new();
    let (phone, screen, mail) = (to("phone", "news"), to("screen", "-"), to("mail", "me"));
    enqueue(&world, &[(&phone, &screen), (&screen, &mail)]);
    for number in 0..4 {
        world.enqueue(&format!("other {number}"), &screen, Priority::High);
    }
    let epoch = world.take_over();
    world.advance(2 * MINUTE);
    move_on(&world, &phone);
    assert_eq!(sent(&world, epoch, &screen).0, "digest");
    world.advance(91 * 24 * 60 * MINUTE);
    let before = world.clock.now().minus(90 * 24 * 60 * MINUTE);
    let prune = move |db: &_| outbox::prune::prune(db, before);
    while world.write(prune).expect("pruned") > 0 {}
    assert_eq!(world.ask("SELECT count(*) FROM outbox"), "0");
    world.all_invariants_hold();
}

#[test]
fn what_waits_behind_a_refused_row_dies_with_it_but_not_what_has_another_way() {
    let world = World::new();
    let (phone, screen) = (to("phone", "news"), to("screen", "-"));
    enqueue(&world, &[(&phone, &screen)]);
    world.enqueue("other", &phone, Priority::High);
    world.take_over();
    world.advance(2 * MINUTE);
    let now = world.clock.now();
    let bury = move |db: &_| outbox::bury_behind(db, &phone, now, "gone", None, now);
    assert_eq!(world.write(bury).expect("buried"), 1);
    let rows = "SELECT group_concat(state||' '||(fallback_channel IS NOT NULL),', ') FROM (SELECT * FROM outbox ORDER BY id)";
    assert_eq!(world.ask(rows), "ready 1, dead 0");
}

#[test]
fn an_alert_expires_at_its_time_and_not_before() {
    let world = World::new();
    world.enqueue("one", &to("phone", "news"), Priority::Low);
    let expires = "UPDATE outbox SET expires_at=?1";
    let at = (world.clock.now() + 30 * MINUTE).unix_seconds();
    let stranger = world.stranger();
    stranger.execute(expires, [at]).expect("set");
    let expire = || {
        let now = world.clock.now();
        world
            .write(move |db| failover::expire(db, None, now))
            .expect("looked")
    };
    assert_eq!(expire(), 0);
    world.advance(29 * MINUTE);
    assert_eq!(expire(), 0);
    world.advance(MINUTE);
    assert_eq!(expire(), 1);
    assert_eq!(world.ask("SELECT state FROM outbox"), "expired");
    // Who is sent again by a person is sent, however late.
    let now = world.clock.now();
    let revived = world.write(move |db| outbox::operator::requeue(db, 1, now));
    assert_eq!(revived, Ok(outbox::operator::Moved::Done));
    world.advance(60 * MINUTE);
    assert_eq!(expire(), 0);
    world.all_invariants_hold();
}

#[test]
fn what_fails_over_is_as_old_as_since_it_was_owed() {
    let world = World::new();
    let (phone, screen) = (to("phone", "news"), to("screen", "-"));
    enqueue(&world, &[(&phone, &screen)]);
    // Through the night.
    let morning = world.clock.now() + 540 * MINUTE;
    let stranger = world.stranger();
    let held = "UPDATE outbox SET not_before=?1,fallback_at=?1+60";
    stranger
        .execute(held, [morning.unix_seconds()])
        .expect("held");
    world.take_over();
    world.advance(542 * MINUTE);
    move_on(&world, &phone);
    let now = world.clock.now();
    let oldest = world.read(move |db| shared::store::alarms::oldest(db, now));
    let (place, since, _) = oldest.expect("one waits");
    assert_eq!((place, since), (screen, morning));
    world.all_invariants_hold();
}
