//! A day without Telegram, and what comes afterwards: by priority, within the limits, in no wave; what
//! has another way took it in time.

use super::Life;
use super::{PERSON, Room, minutes};
use shared::model::{Destination, Priority, Timestamp};
use shared::store::Db;
use shared::store::outbox::{self, Fallback};
use std::collections::BTreeMap;
use std::time::Duration;
use watchalert_tests::programs::{long, tell};
use watchalert_tests::telegram::{Fault, Limits, Message};
use watchalert_tests::world::{START, owed, to};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);
/// Alerts come in so often, some at a time.
const EACH: Duration = Duration::from_secs(600);

/// How many come in a day, by priority.
const PRIORITIES: [Priority; 20] = {
    use Priority::{Critical, High, Low, Normal};
    [
        Critical, High, High, Normal, Normal, Normal, Normal, Normal, Normal, Normal, Normal,
        Normal, Normal, Normal, Low, Low, Low, Low, Low, Low,
    ]
};

fn key(number: usize) -> String {
    format!("{}-{number:04}.", priority(number).name())
}

fn priority(number: usize) -> Priority {
    PRIORITIES[number % PRIORITIES.len()]
}

fn screen() -> Destination {
    to("screen", "-")
}

/// What is high has another way after a quarter of an hour; what is critical, normal or low has none.
async fn enqueue(life: &Life<'_>, numbers: std::ops::Range<usize>) {
    let now = life.now();
    let alerts: Vec<_> = numbers
        .map(|number| {
            let mut owed = owed(&key(number), &to("ops", PERSON), priority(number));
            owed.to[0].fallback = (priority(number) == Priority::High).then(|| Fallback {
                to: screen(),
                after: minutes(15),
            });
            owed
        })
        .collect();
    life.write(move |db: &Db| {
        for owed in &alerts {
            outbox::enqueue(db, owed, now)?;
        }
        Ok(())
    })
    .await;
}

/// The first message that tells an alert of that priority, and the last.
fn told(messages: &[Message], priority: Priority) -> (usize, usize) {
    let name = format!("Title of {}-", priority.name());
    let places = messages.iter().enumerate();
    let places: Vec<usize> = places
        .filter(|(_, message)| message.text.contains(&name))
        .map(|(place, _)| place)
        .collect();
    (places[0], places[places.len() - 1])
}

/// How many messages were sent in each minute, from the first on.
fn by_minute(messages: &[Message]) -> Vec<(u64, usize)> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for message in messages {
        let minute = message.at.since(START + DAY).as_secs() / 60;
        *counts.entry(minute).or_default() += 1;
    }
    counts.into_iter().collect()
}

/// A day of outage, then what it takes. When the last one was delivered.
fn outage(room: &Room, alerts: usize) -> Vec<Message> {
    room.telegram.script([Fault::page(502).lasting(DAY)]);
    let batches = usize::try_from(DAY.as_secs() / EACH.as_secs()).expect("a count");
    room.live(async |life| {
        for batch in 0..batches {
            let part = |batch: usize| alerts * batch / batches;
            enqueue(life, part(batch)..part(batch + 1)).await;
            life.pass(EACH).await;
        }
        life.drain(12 * HOUR).await;
    });
    assert_eq!(room.state("ready"), "0");
    room.telegram.accepted()
}

fn each_was_delivered_once(room: &Room, alerts: usize) {
    let delivered = "\
SELECT count(*)||' '||count(DISTINCT alert_id) FROM outbox AS row WHERE kind='alert' AND (state='sent'
  OR (state='folded' AND (SELECT state FROM outbox WHERE id=row.parent_id)='sent'))";
    assert_eq!(room.world.ask(delivered), format!("{alerts} {alerts}"));
    assert_eq!(room.state("dead"), "0");
    // What is high went elsewhere, but for what came in the last quarter of an hour.
    let elsewhere = "SELECT count(*) FROM outbox WHERE kind='alert' AND channel='screen' AND state='sent' AND priority<>1";
    assert_eq!(room.world.ask(elsewhere), "0");
    let late = "SELECT count(*) FROM outbox WHERE kind='alert' AND priority=1 AND state='moved'";
    let moved: usize = room.world.ask(late).parse().expect("a count");
    let high = alerts / 10;
    assert!(
        (high - high / 50 - 4..=high).contains(&moved),
        "{moved} of {high}"
    );
    room.world.all_invariants_hold();
}

fn no_wave(room: &Room, messages: &[Message], what: &str, alerts: usize) {
    assert_eq!(room.telegram.breaches(Limits::strict()), []);
    assert!(room.telegram.answers_429().is_empty());
    let minutes = by_minute(messages);
    let most = minutes.iter().map(|(_, count)| *count).max().expect("some");
    assert!(most <= 60, "{most} in a minute");
    let first = messages[0].at.since(START + DAY);
    let last = messages[messages.len() - 1].at.since(START + DAY);
    assert!(
        first <= Duration::from_secs(450),
        "the last probe was 300 s ago: {first:?}"
    );
    let line: Vec<String> = minutes
        .iter()
        .take(12)
        .map(|(minute, count)| format!("{minute}: {count}"))
        .collect();
    tell(&format!(
        "{what}: {alerts} alerts in 24 h without Telegram; {} messages from {} s to {} s after it was back, at most {most} in a minute ({} …)",
        messages.len(),
        first.as_secs(),
        last.as_secs(),
        line.join(", ")
    ));
}

fn room(digests: bool) -> Room {
    Room {
        digests,
        more: "default_channel = \"ops\"\n[channel.screen]\nkind = \"console\"\n",
        ..Room::new()
    }
}

#[test]
fn after_a_day_without_telegram_all_arrives_folded_by_priority_and_in_no_wave() {
    let alerts = if long() { 5_000 } else { 1_000 };
    let room = room(true);
    let messages = outage(&room, alerts);
    each_was_delivered_once(&room, alerts);
    no_wave(&room, &messages, "long outage, folded", alerts);
    // A digest is as urgent as the gravest in it. Critical ones go by themselves, before all others.
    let (critical, normal) = (
        told(&messages, Priority::Critical),
        told(&messages, Priority::Normal),
    );
    assert!(critical.1 < normal.0, "{critical:?} {normal:?}");
    assert!(messages.len() < alerts / 5, "{}", messages.len());
}

#[test]
fn after_a_day_without_telegram_all_arrives_by_priority_within_the_limits() {
    let alerts = if long() { 5_000 } else { 400 };
    let room = room(false);
    let messages = outage(&room, alerts);
    each_was_delivered_once(&room, alerts);
    no_wave(&room, &messages, "long outage, one by one", alerts);
    let order = [Priority::Critical, Priority::Normal, Priority::Low];
    let places = order.map(|priority| told(&messages, priority));
    assert!(
        places[0].1 < places[1].0,
        "critical before normal: {places:?}"
    );
    assert!(places[1].1 < places[2].0, "normal before low: {places:?}");
}

/// Seconds from the start at which the messages with that text came.
fn arrivals(room: &Room, text: &str) -> Vec<i64> {
    let accepted = room.telegram.accepted();
    let told = accepted
        .iter()
        .filter(|message| message.text.contains(text));
    told.map(|message| (message.at.unix_millis() - START.unix_millis()) / 1_000)
        .collect()
}

#[test]
fn what_is_meant_for_later_waits_for_its_time_through_a_flood_wait_and_clocks_a_month_wrong() {
    const FLOOD: Duration = Duration::from_secs(43_838);
    const MONTH: Duration = Duration::from_secs(30 * 86_400);
    let room = room(false);
    let meant = START + 2 * DAY;
    room.world
        .stranger()
        .execute(
            "INSERT INTO outbox(channel,chat_id,payload,priority,not_before,next_attempt,created_at)
             VALUES('ops','7001','{\"text\":\"in two days\"}',2,?1,0,?2)",
            (meant.unix_seconds(), START.unix_seconds()),
        )
        .expect("enqueued");
    room.telegram.script([Fault::flood(43_838).times(1)]);
    room.enqueue(3, PERSON, Priority::Normal);
    room.send();
    assert_eq!(room.telegram.accepted_count(), 0);

    // The clock goes back by a month while the sender lives: the flood wait is as long as before.
    let now = room.world.clock.now();
    super::set_clock::turn(&room, now.minus(MONTH));
    room.world.clock.advance(FLOOD.saturating_sub(minutes(1)));
    room.send();
    assert_eq!(room.telegram.accepted_count(), 0, "none early");
    room.world.clock.advance(minutes(1));
    // A flood wait gets a jitter on top.
    room.drain_within(minutes(30));
    assert_eq!(room.telegram.accepted_count(), 3, "none stuck");

    // It is right again, and then a month ahead and back while no sender runs.
    let now = room.world.clock.now();
    super::set_clock::turn(&room, now + MONTH);
    room.send();
    assert_eq!(arrivals(&room, "in two days"), [] as [i64; 0]);
    let (clock, right) = (&room.world.clock, room.world.clock.now());
    clock.turn_to(right.minus(MONTH));
    room.send();
    clock.turn_to(right);
    room.send();
    assert_eq!(arrivals(&room, "in two days"), [] as [i64; 0]);
    clock.set_to(meant.minus(Duration::from_secs(1)));
    room.send();
    assert_eq!(arrivals(&room, "in two days"), [] as [i64; 0], "none early");
    clock.set_to(meant + Duration::from_secs(1));
    room.send();
    let came = arrivals(&room, "in two days");
    assert_eq!(came.len(), 1, "once, and in time: {came:?}");
    let wait = Timestamp::from_unix_millis(START.unix_millis() + came[0] * 1_000);
    assert!(wait >= meant, "{wait:?}");
    room.world.all_invariants_hold();
}
