//! The outbox protocol, step by step: who may move a row, when, and what every move leaves.

use shared::model::{Blame, Content, Priority, Settlement, Timestamp};
use shared::store::outbox::{Claim, Settled, operator, prune, waiting};
use shared::store::{StoreError, outbox, verify};
use std::time::Duration;
use watchalert_tests::world::{World, fault, receipt, to};

#[test]
fn an_alert_is_enqueued_leased_sent_and_remembered() {
    let (world, screen, epoch) = World::with_one();
    let lease = world.lease(epoch, &screen);
    assert_eq!(lease.attempt(), 1);
    assert!(!lease.held().possible_repeat);
    assert!(
        matches!(&lease.held().content, Content::Alert(alert) if alert.title == "Title of one")
    );
    world.all_invariants_hold();
    assert_eq!(world.settle(lease, receipt("m1"), None), Ok(Settled::Sent));
    assert_eq!(
        world.ask("SELECT state||' '||message_id||' '||attempts FROM outbox"),
        "sent m1 1"
    );
    assert_eq!(world.ask("SELECT outcome FROM attempt"), "ok");
    world.all_invariants_hold();
}

#[test]
fn critical_goes_first_then_the_oldest() {
    let world = World::new();
    let screen = to("screen", "-");
    for (key, priority) in [
        ("low", Priority::Low),
        ("old", Priority::High),
        ("new", Priority::High),
        ("urgent", Priority::Critical),
    ] {
        world.enqueue(key, &screen, priority);
    }
    let epoch = world.take_over();
    let mut order = Vec::new();
    while let Claim::Leased(lease) = world.claim(epoch, &screen) {
        if let Content::Alert(alert) = &lease.held().content {
            order.push(alert.title.clone());
        }
        world.settle(lease, receipt("m"), None).expect("settled");
    }
    assert_eq!(
        order,
        [
            "Title of urgent",
            "Title of old",
            "Title of new",
            "Title of low"
        ]
    );
}

#[test]
fn a_row_in_backoff_never_blocks_the_others() {
    let world = World::new();
    let screen = to("screen", "-");
    world.enqueue("first", &screen, Priority::High);
    world.enqueue("second", &screen, Priority::Low);
    let epoch = world.take_over();
    let lease = world.lease(epoch, &screen);
    let later = world.clock.now() + Duration::from_secs(60);
    let settlement = Settlement::RetryAt(later, fault(Blame::Channel, false));
    assert_eq!(world.settle(lease, settlement, None), Ok(Settled::Waits));
    let lease = world.lease(epoch, &screen);
    assert!(
        matches!(&lease.held().content, Content::Alert(alert) if alert.title == "Title of second")
    );
    world.settle(lease, receipt("m"), None).expect("settled");
    assert!(matches!(world.claim(epoch, &screen), Claim::NotBefore(at, _) if at == later));
    world.advance(Duration::from_secs(60));
    assert_eq!(world.lease(epoch, &screen).attempt(), 2);
    world.all_invariants_hold();
}

#[test]
fn a_closed_gate_keeps_every_row_of_its_destination() {
    let world = World::new();
    let screen = to("screen", "-");
    world.enqueue("one", &screen, Priority::Critical);
    let until = world.clock.now() + Duration::from_secs(43_838);
    world
        .stranger()
        .execute(
            "INSERT INTO gate(scope,key,paused_until) VALUES('chat','screen/-',?1)",
            [until.unix_seconds()],
        )
        .expect("paused");
    let epoch = world.take_over();
    assert!(matches!(world.claim(epoch, &screen), Claim::NotBefore(at, _) if at == until));
    world.clock.set_to(until);
    world.lease(epoch, &screen);
}

#[test]
fn a_new_sender_takes_back_what_the_last_one_held_and_marks_it() {
    let (world, screen, first) = World::with_one();
    let held = world.lease(first, &screen);
    let second = world.take_over();
    assert_eq!(world.ask("SELECT outcome FROM attempt"), "interrupted");
    world.all_invariants_hold();
    let again = world.lease(second, &screen);
    assert_eq!(again.attempt(), 2);
    assert!(again.held().possible_repeat);
    assert_eq!(again.held().unknown_outcomes, 0, "a crash is not counted");
    assert_eq!(
        world.ask("SELECT n FROM ledger WHERE name='repeat_marked'"),
        "1"
    );
    let fenced = world.settle(held, receipt("late"), None);
    assert_eq!(fenced, Err(StoreError::Fenced(first.number())));
    world.settle(again, receipt("m2"), None).expect("settled");
    world.all_invariants_hold();
}

#[test]
fn an_old_sender_can_claim_nothing_more() {
    let (world, screen, first) = World::with_one();
    world.take_over();
    let fenced = world.try_claim(first, &screen);
    assert!(matches!(fenced, Err(StoreError::Fenced(_))), "{fenced:?}");
    assert_eq!(world.ask("SELECT state FROM outbox"), "ready");
    world.all_invariants_hold();
}

#[test]
fn a_completion_that_was_committed_unheard_may_be_repeated() {
    let (world, screen, epoch) = World::with_one();
    let lease = world.lease(epoch, &screen);
    let now = world.clock.now();
    let twice = world.write(move |db| {
        outbox::settle(db, &lease, &receipt("m1"), None, now)?;
        outbox::settle(db, &lease, &receipt("m1"), None, now)
    });
    assert_eq!(twice, Ok(Settled::Sent));
    world.all_invariants_hold();
}

#[test]
fn an_unknown_outcome_is_counted_and_its_copy_marked() {
    let (world, screen, epoch) = World::with_one();
    let lease = world.lease(epoch, &screen);
    let settlement = Settlement::RetryAt(world.clock.now(), fault(Blame::Channel, true));
    world.settle(lease, settlement, None).expect("settled");
    let again = world.lease(epoch, &screen);
    assert!(again.held().possible_repeat);
    assert_eq!(again.held().unknown_outcomes, 1);
}

#[test]
fn a_released_lease_costs_nothing() {
    let (world, screen, epoch) = World::with_one();
    let lease = world.lease(epoch, &screen);
    world
        .settle(lease, Settlement::Release, None)
        .expect("settled");
    let again = world.lease(epoch, &screen);
    assert!(!again.held().possible_repeat);
    assert_eq!(
        world.ask("SELECT coalesce(last_error,'none') FROM outbox"),
        "none"
    );
}

#[test]
fn many_deaths_at_once_are_one_notice_that_counts_them() {
    let world = World::new();
    let (screen, other) = (to("screen", "-"), to("other", "-"));
    let epoch = world.take_over();
    for key in ["one", "two", "three"] {
        world.enqueue(key, &screen, Priority::High);
        let lease = world.lease(epoch, &screen);
        let settlement = Settlement::Bury("refused".to_owned(), fault(Blame::Message, false));
        let buried = world.settle(lease, settlement, Some(other.clone()));
        assert_eq!(buried, Ok(Settled::Dead));
        world.all_invariants_hold();
    }
    assert_eq!(
        world.ask("SELECT count(*) FROM outbox WHERE kind='notice'"),
        "1"
    );
    let notice = world.lease(epoch, &other);
    assert!(
        matches!(&notice.held().content, Content::Alert(alert) if alert.title.starts_with("3 alerts were given up"))
    );
}

#[test]
fn with_one_channel_a_death_is_told_by_status_alone() {
    let world = World::new();
    let screen = to("screen", "-");
    let epoch = world.take_over();
    world.enqueue("one", &screen, Priority::High);
    let lease = world.lease(epoch, &screen);
    let settlement = Settlement::Bury("refused".to_owned(), fault(Blame::Message, false));
    world.settle(lease, settlement, None).expect("buried");
    assert_eq!(world.ask("SELECT count(*) FROM dead_letters"), "1");
    world.all_invariants_hold();
}

#[test]
fn only_a_person_revives_or_discards_a_dead_letter() {
    let world = World::new();
    let screen = to("screen", "-");
    let epoch = world.take_over();
    world.enqueue("one", &screen, Priority::High);
    let id = world.lease(epoch, &screen);
    let row = id.held().id;
    let settlement = Settlement::Bury("refused".to_owned(), fault(Blame::Message, false));
    world.settle(id, settlement, None).expect("buried");
    assert!(matches!(world.claim(epoch, &screen), Claim::Nothing));
    world.advance(Duration::from_secs(72 * 3600));
    let now = world.clock.now();
    let moved = world.write(move |db| operator::requeue(db, row, now));
    assert_eq!(moved, Ok(operator::Moved::Done));
    let lease = world.lease(epoch, &screen);
    assert_eq!(
        lease.held().owed_since,
        now,
        "its age counts from its revival"
    );
    let settlement = Settlement::Bury("refused".to_owned(), fault(Blame::Message, false));
    world.settle(lease, settlement, None).expect("buried");
    let moved = world.write(move |db| operator::discard(db, row, now));
    assert_eq!(moved, Ok(operator::Moved::Done));
    let moved = world.write(move |db| operator::requeue(db, row, now));
    assert!(matches!(moved, Ok(operator::Moved::Not(_))), "{moved:?}");
    let moved = world.write(move |db| operator::discard(db, 999, now));
    assert_eq!(moved, Ok(operator::Moved::Unknown));
    world.all_invariants_hold();
}

#[test]
fn a_revived_row_gets_its_tries_again_and_keeps_the_mark_of_a_repeat() {
    let world = World::new();
    let screen = to("screen", "-");
    let row = world.enqueue("one", &screen, Priority::Normal);
    let epoch = world.take_over();
    let attempt = |settle: fn(Timestamp) -> Settlement| {
        let lease = world.lease(epoch, &screen);
        let held = lease.held();
        let seen = (
            held.unknown_outcomes,
            held.unrecognised,
            held.possible_repeat,
        );
        world
            .settle(lease, settle(world.clock.now()), None)
            .expect("settled");
        world.advance(Duration::from_secs(1));
        seen
    };
    let unclear: fn(Timestamp) -> Settlement =
        |now| Settlement::RetryAt(now, fault(Blame::Channel, true));
    let bury: fn(Timestamp) -> Settlement =
        |_| Settlement::Bury("refused".to_owned(), fault(Blame::Ours, false));
    assert_eq!(attempt(unclear), (0, 0, false));
    assert_eq!(attempt(bury), (1, 0, true));
    let now = world.clock.now();
    world
        .write(move |db| operator::requeue(db, row, now))
        .expect("requeued");
    assert_eq!(
        attempt(unclear),
        (0, 0, true),
        "one unknown and one refusal before"
    );
    assert_eq!(attempt(unclear), (1, 0, true));
    world.all_invariants_hold();
}

#[test]
fn finished_rows_leave_after_their_retention_and_the_books_still_balance() {
    let world = World::new();
    let screen = to("screen", "-");
    let epoch = world.take_over();
    for number in 0..250 {
        world.enqueue(&format!("story {number}"), &screen, Priority::Normal);
        let lease = world.lease(epoch, &screen);
        world.settle(lease, receipt("m"), None).expect("settled");
    }
    world.advance(Duration::from_secs(91 * 86_400));
    world.enqueue("fresh", &screen, Priority::Normal);
    let before = world.clock.now().minus(Duration::from_secs(90 * 86_400));
    let mut rounds = 0;
    while world
        .write(move |db| prune::prune(db, before))
        .expect("pruned")
        > 0
    {
        rounds += 1;
        world.all_invariants_hold();
    }
    assert!(rounds >= 3, "a transaction touches a hundred rows at most");
    assert_eq!(world.ask("SELECT count(*) FROM outbox"), "1");
    assert_eq!(world.ask("SELECT count(*) FROM alert"), "1");
    assert_eq!(world.ask("SELECT count(*) FROM attempt"), "0");
    let audit = world.read(verify::audit);
    assert_eq!((audit.outbox.pruned, audit.unaccounted), (250, 0));
}

#[test]
fn backoff_that_a_wrong_clock_left_is_healed_but_intent_is_kept() {
    let world = World::new();
    let screen = to("screen", "-");
    let now = world.clock.now();
    let far = now + Duration::from_secs(30 * 86_400);
    let stranger = world.stranger();
    for columns in ["next_attempt", "not_before"] {
        stranger
            .execute(
                &format!("INSERT INTO outbox(channel,chat_id,payload,created_at,{columns}) VALUES('screen','-','{{\"text\":\"{columns}\"}}',?1,?2)"),
                [now.unix_seconds(), far.unix_seconds()],
            )
            .expect("inserted");
    }
    assert_eq!(world.write(move |db| outbox::heal(db, now)), Ok(1));
    let epoch = world.take_over();
    world.advance(Duration::from_secs(7200));
    let lease = world.lease(epoch, &screen);
    assert!(
        matches!(&lease.held().content, Content::Raw { text: Some(text), .. } if text == "next_attempt")
    );
    world.settle(lease, receipt("m"), None).expect("settled");
    assert!(matches!(world.claim(epoch, &screen), Claim::NotBefore(at, _) if at == far));
}

#[test]
fn the_articles_insert_works_verbatim_and_finds_the_default_channel() {
    let world = World::new();
    let now = world.clock.now().unix_seconds();
    let payload = r#"{"chat_id": -1001234567890, "text": "*disk* full", "parse_mode": "Markdown"}"#;
    let stranger = world.stranger();
    let insert =
        "INSERT INTO outbox (chat_id, payload, next_attempt, created_at) VALUES (?, ?, ?, ?)";
    stranger
        .execute(
            insert,
            rusqlite::params!["-1001234567890", payload, now, now],
        )
        .expect("as text");
    stranger
        .execute(
            insert,
            rusqlite::params![-1_001_234_567_890_i64, payload, now, now],
        )
        .expect("as a number");
    stranger
        .execute(
            insert,
            rusqlite::params![-1_001_234_567_890.0, payload, now, now],
        )
        .expect("as a float");
    let now = world.clock.now();
    world
        .write(move |db| {
            let chat = "-1001234567890";
            waiting::address(db, &to("", chat), &to("ops", chat), now)
        })
        .expect("addressed");
    let waiting = {
        let now = world.clock.now();
        world.read(move |db| waiting::all(db, now))
    };
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    assert_eq!(waiting[0].destination, to("ops", "-1001234567890"));
    let epoch = world.take_over();
    let lease = world.lease(epoch, &waiting[0].destination);
    assert!(
        matches!(&lease.held().content, Content::Raw { text: Some(text), .. } if text == "*disk* full")
    );
    world.all_invariants_hold();
}

#[test]
fn the_scheduler_finds_new_rows_and_rows_that_became_due() {
    let world = World::new();
    let (screen, other) = (to("screen", "-"), to("other", "-"));
    world.enqueue("one", &screen, Priority::High);
    let mark = world.read(waiting::high_water);
    world.advance(Duration::from_secs(60));
    let later = world.clock.now();
    let none = world.read(move |db| waiting::fresh(db, mark, later, later));
    assert_eq!(none, []);
    world.advance(Duration::from_secs(5));
    world.enqueue("two", &other, Priority::High);
    let now = world.clock.now();
    let found = world.read(move |db| waiting::fresh(db, mark, later, now));
    assert!(
        found.iter().all(|waiting| waiting.destination == other),
        "{found:?}"
    );
    assert!(!found.is_empty());
}

#[test]
fn an_alert_of_a_later_version_is_never_sent_half_understood() {
    let world = World::new();
    let screen = to("screen", "-");
    world
        .stranger()
        .execute_batch("INSERT INTO outbox(channel,chat_id,payload,created_at) VALUES('screen','-','{\"v\":9}',0)")
        .expect("inserted");
    let epoch = world.take_over();
    let lease = world.lease(epoch, &screen);
    assert!(matches!(&lease.held().content, Content::Unreadable(why) if why.contains("version 9")));
    assert_eq!(lease.held().owed_since, Timestamp::EPOCH);
}

#[test]
fn a_fraction_of_a_millisecond_does_not_send_the_scheduler_in_a_circle() {
    let world = World::new();
    let due = world.clock.now().unix_seconds() + 0.0004;
    world
        .stranger()
        .execute(
            "INSERT INTO outbox(channel,chat_id,payload,next_attempt,created_at) VALUES('screen','-','{}',?1,?1)",
            [due],
        )
        .expect("inserted");
    let epoch = world.take_over();
    let waiting = {
        let now = world.clock.now();
        world.read(move |db| waiting::all(db, now))
    };
    assert_eq!(waiting[0].due_at, world.clock.now());
    world.lease(epoch, &waiting[0].destination);
}

#[test]
fn a_row_that_a_person_retries_is_found_at_the_next_look() {
    let world = World::new();
    let screen = to("screen", "-");
    let id = world.enqueue("one", &screen, Priority::High);
    let epoch = world.take_over();
    let lease = world.lease(epoch, &screen);
    let settlement = Settlement::Bury("refused".to_owned(), fault(Blame::Message, false));
    world.settle(lease, settlement, None).expect("buried");
    // `queue retry 1 2 3 …` has one `now` for all; the sender looks before row 1 is committed.
    let pressed = world.clock.now();
    world.advance(Duration::from_millis(50));
    let (mark, looked) = (world.read(waiting::high_water), world.clock.now());
    world
        .write(move |db| operator::requeue(db, id, pressed))
        .expect("requeued");
    world.advance(Duration::from_millis(50));
    let now = world.clock.now();
    let found = world.read(move |db| waiting::fresh(db, mark, looked, now));
    assert_eq!(found.len(), 1, "or it waits for the rescan, a minute");
}
