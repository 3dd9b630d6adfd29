//! Two hundred at once, folded: few messages, each alert with its own link, and nothing critical
//! among them.

use super::{GROUP, PERSON, Room, minutes};
use shared::model::Priority;
use std::collections::BTreeSet;
use watchalert_tests::programs::tell;
use watchalert_tests::telegram::{Fault, Limits, Message};
use watchalert_tests::world::{START, to};

fn room() -> Room {
    Room {
        digests: true,
        ..Room::new()
    }
}

/// Seconds from the start.
fn at(message: &Message) -> f64 {
    message.at.since(START).as_secs_f64()
}

/// Every alert of `keys` stands in exactly one message, with its link.
fn each_is_told_once_with_its_link(room: &Room, keys: &[String]) -> Vec<Message> {
    let messages = room.telegram.accepted();
    for key in keys {
        let title = format!("Title of {key}");
        let told: Vec<&Message> = messages
            .iter()
            .filter(|message| message.text.lines().any(|line| line.contains(&title)))
            .collect();
        assert_eq!(told.len(), 1, "{key}");
        let own = format!("https://example.org/{key}");
        let links = told[0].entities.iter().filter(|one| one.detail == own);
        assert_eq!(links.count(), 1, "{key}");
    }
    messages
}

fn enqueue(room: &Room, chat: &str, keys: &[String], priority: Priority) {
    for key in keys {
        room.world.enqueue(key, &to("ops", chat), priority);
    }
}

/// No key is the beginning of another.
fn keys(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{name}-{n:03}.")).collect()
}

#[test]
fn two_hundred_at_once_are_told_within_forty_five_seconds() {
    for chat in [PERSON, GROUP] {
        let room = room();
        let all = keys("story", 200);
        enqueue(&room, chat, &all, Priority::Normal);
        room.drain_within(minutes(10));
        let messages = each_is_told_once_with_its_link(&room, &all);
        let last = messages.iter().map(at).fold(0.0, f64::max);
        assert!(last < 45.0, "{last} s");
        assert!(room.telegram.answers_429().is_empty());
        assert!(room.telegram.breaches(Limits::strict()).is_empty());
        assert_eq!(room.state("ready"), "0");
        tell(&format!(
            "digests: 200 alerts to {chat} in {} messages, the last after {last:.1} s",
            messages.len()
        ));
    }
}

#[test]
fn ten_chats_fold_each_for_itself() {
    let room = room();
    let chats: Vec<String> = (1..=10).map(|chat| chat.to_string()).collect();
    for chat in &chats {
        enqueue(
            &room,
            chat,
            &keys(&format!("of-{chat}"), 20),
            Priority::High,
        );
    }
    room.drain_within(minutes(10));
    for chat in &chats {
        each_is_told_once_with_its_link(&room, &keys(&format!("of-{chat}"), 20));
    }
    assert_eq!(room.telegram.accepted().len(), 10);
}

#[test]
fn what_is_critical_goes_first_and_by_itself() {
    let room = room();
    let (grave, others) = (keys("grave", 20), keys("other", 180));
    enqueue(&room, PERSON, &others, Priority::Normal);
    enqueue(&room, PERSON, &grave, Priority::Critical);
    room.drain_within(minutes(10));
    let mut all = grave.clone();
    all.extend(others);
    let messages = each_is_told_once_with_its_link(&room, &all);
    for (place, message) in messages.iter().enumerate() {
        let told = grave.iter().filter(|key| message.text.contains(*key));
        assert_eq!(told.count(), usize::from(place < 20), "{place}");
    }
    assert!(messages.len() <= 26, "{}", messages.len());
}

#[test]
fn three_that_wait_go_out_by_themselves_and_a_fourth_makes_a_digest() {
    for (count, messages) in [(3, 3), (4, 1)] {
        let room = room();
        enqueue(&room, PERSON, &keys("story", count), Priority::Normal);
        room.drain_within(minutes(10));
        assert_eq!(room.telegram.accepted().len(), messages, "{count}");
    }
}

#[test]
fn the_next_folding_waits_for_its_window_and_what_is_critical_does_not() {
    let room = room();
    enqueue(&room, PERSON, &keys("first", 4), Priority::Normal);
    room.send();
    enqueue(&room, PERSON, &keys("second", 40), Priority::Normal);
    enqueue(&room, PERSON, &keys("grave", 1), Priority::Critical);
    room.drain_within(minutes(10));
    let times: Vec<f64> = room.telegram.accepted().iter().map(at).collect();
    assert_eq!(times.len(), 3, "{times:?}");
    assert!(times[1] < 1.1, "what is critical: {times:?}");
    assert!(
        (30.0..31.0).contains(&times[2]),
        "the second digest: {times:?}"
    );
}

#[test]
fn what_is_in_a_refused_digest_goes_out_by_itself() {
    let room = room();
    // Marked up and plain.
    room.telegram
        .script([Fault::refuse("entity-bounds").times(2)]);
    let all = keys("story", 6);
    enqueue(&room, PERSON, &all, Priority::Normal);
    room.drain_within(minutes(60));
    assert_eq!(each_is_told_once_with_its_link(&room, &all).len(), 6);
    assert_eq!(room.state("dead"), "0");
    assert_eq!(room.state("cancelled"), "1");
    room.world.all_invariants_hold();
}

#[test]
fn a_digest_that_may_have_arrived_is_marked_and_so_is_what_was_in_it() {
    let room = room();
    // Each copy arrives and its answer is lost, until the digest is given up.
    room.telegram
        .script([Fault::reset_after().in_chat(7001).times(3)]);
    let all = keys("story", 5);
    enqueue(&room, PERSON, &all, Priority::Normal);
    room.drain_within(minutes(60));
    let texts = room.texts();
    assert_eq!(texts.len(), 3 + 5);
    let marked = texts.iter().filter(|text| text.contains("possible repeat"));
    assert_eq!(marked.count(), 2 + 5, "all but the first copy");
    let singles: BTreeSet<&String> = texts[3..].iter().collect();
    assert_eq!(singles.len(), 5);
    assert_eq!(room.state("dead"), "0");
    room.world.all_invariants_hold();
}

#[test]
fn a_digest_goes_on_after_a_restart_and_each_alert_leads_to_its_receipt() {
    let room = room();
    let all = keys("story", 8);
    enqueue(&room, PERSON, &all, Priority::Normal);
    // A server that is not there: the digest is made, and stays.
    room.telegram.script([Fault::page(502).times(1)]);
    room.send();
    assert_eq!(room.state("folded"), "8");
    room.world.all_invariants_hold();
    room.drain_within(minutes(10));
    assert_eq!(each_is_told_once_with_its_link(&room, &all).len(), 1);
    let receipts = room.world.ask(
        "SELECT count(*)||' '||count(DISTINCT digest.message_id) FROM outbox AS member \
         JOIN outbox AS digest ON digest.id=member.parent_id WHERE digest.state='sent'",
    );
    assert_eq!(receipts, "8 1");
    assert_eq!(room.world.ask("SELECT count(*) FROM queue"), "0");
    room.world.all_invariants_hold();
}
