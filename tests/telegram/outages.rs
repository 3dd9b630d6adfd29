//! Twenty minutes of broken gateways, a token revoked for an hour, a chat that blocks us for a week,
//! a flood wait of twelve hours: nothing dies that should live, the status says why, and what waited
//! goes out within the limits, at times that are printed.

use super::Life;
use super::{GROUP, PERSON, Room, minutes};
use shared::model::{Priority, Timestamp};
use std::collections::BTreeMap;
use std::time::Duration;
use watchalert_sender::operate::status;
use watchalert_tests::programs::tell;
use watchalert_tests::telegram::{Fault, Message};
use watchalert_tests::world::{START, to};

const PRIVATE: i64 = 7001;
const IN_GROUP: i64 = -100_200_300;
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

async fn enqueue(life: &Life<'_>, chat: &str, what: &str, count: usize) {
    for number in 0..count {
        let key = format!("{what} {number:02}");
        let priority = Priority::ALL[number % 4];
        life.enqueue(&key, &to("ops", chat), priority).await;
    }
}

/// What `watchalert-sender status` shows at this moment: its line about a closed gate, with one
/// space between words, and the same in JSON.
fn closed_gate(room: &Room) -> (String, String) {
    let (scene, now) = (room.scene(), room.world.clock.now());
    let show = |as_json| {
        let mut out = Vec::new();
        let shown = status::run(&scene.config, as_json, now, &mut out);
        shown.expect("a readable file").1.expect("written");
        String::from_utf8(out).expect("text")
    };
    let text = show(false);
    let lines = text
        .lines()
        .filter(|line| line.starts_with("closed gate") || line.starts_with("refused "));
    let lines: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let json: serde_json::Value = serde_json::from_str(&show(true)).expect("JSON");
    let gates = json["gates"].as_array().expect("a list").iter();
    let gates = gates.map(|gate| format!("{}: {}", gate["whom"], gate["reason"]));
    let gates: Vec<String> = gates.collect();
    (lines.join(" "), gates.join("; ").replace('"', ""))
}

/// Everything arrived once and within the limits, whatever the stand-in said to it; the send times
/// are printed for a person to look at.
fn drained(room: &Room, what: &str, alerts: usize) {
    let sent = "SELECT count(*) FROM outbox WHERE state='sent' AND kind<>'notice'";
    let dead = (room.world.ask(sent), room.state("dead"));
    assert_eq!(dead, (alerts.to_string(), "0".to_owned()), "{what}");
    assert_eq!(room.telegram.accepted_count(), alerts, "{what}: each once");
    keeps_the_limits(room, what);
    room.world.all_invariants_hold();
}

fn keeps_the_limits(room: &Room, what: &str) {
    let accepted = room.telegram.accepted();
    let mut chats: BTreeMap<i64, Vec<Timestamp>> = BTreeMap::new();
    for message in &accepted {
        chats.entry(message.chat_id).or_default().push(message.at);
    }
    let gaps = chats.values().flat_map(|times| times.windows(2));
    let gap = gaps.map(|pair| pair[1].since(pair[0])).min();
    let gap = gap.unwrap_or(Duration::MAX);
    let groups = chats.iter().filter(|(chat, _)| **chat < 0);
    let minute = groups
        .map(|(_, times)| most_within(times, SECOND * 60))
        .max();
    let minute = minute.unwrap_or(0);
    let all: Vec<Timestamp> = accepted.iter().map(|message| message.at).collect();
    let second = most_within(&all, SECOND);
    tell(&format!(
        "telegram, after {what}: {} sent, at least {gap:?} between two to a chat, at most {minute} a minute to a group and {second} a second in all; in seconds from the start:",
        all.len()
    ));
    for (chat, times) in chats.iter().filter(|(_, times)| times.len() > 1) {
        let times = times.iter().map(|at| at.since(START).as_secs_f64());
        let times: Vec<String> = times.map(|at| format!("{at:.2}")).collect();
        println!("  to {chat}: {}", times.join(" "));
    }
    assert!(gap >= SECOND, "{what}: {gap:?} between two");
    assert!(minute <= 20, "{what}: {minute} a minute");
    assert!(second <= 30, "{what}: {second} a second");
}

/// The most of these times in any stretch of that length.
fn most_within(times: &[Timestamp], length: Duration) -> usize {
    let from = |first: &Timestamp| {
        let later = times.iter().filter(|at| *at >= first);
        later.filter(|at| at.since(*first) < length).count()
    };
    times.iter().map(from).max().unwrap_or(0)
}

fn first_and_last(messages: &[Message]) -> (Duration, Duration) {
    let at = |message: Option<&Message>| message.expect("one").at.since(START);
    (at(messages.first()), at(messages.last()))
}

#[test]
fn after_twenty_minutes_of_502_all_arrives_within_the_limits() {
    let room = Room::new();
    room.telegram
        .script([Fault::page(502).lasting(minutes(20))]);
    room.live(async |life| {
        enqueue(life, PERSON, "person", 25).await;
        enqueue(life, GROUP, "group", 24).await;
        life.pass(minutes(10)).await;
        let (text, json) = closed_gate(&room);
        assert!(
            text.starts_with("closed gate the bot of ops for "),
            "{text}"
        );
        assert!(text.ends_with(": 502 without an answer of the Bot API"));
        assert_eq!(json, "the bot of ops: 502 without an answer of the Bot API");
        for chat in 101..141 {
            enqueue(life, &chat.to_string(), &format!("chat {chat}"), 1).await;
        }
        life.drain(HOUR).await;
    });
    drained(&room, "20 minutes of 502", 89);
    let (first, last) = first_and_last(&room.telegram.accepted());
    assert!(first >= minutes(20), "{first:?}");
    // The longest pause between two probes, and what the limits ask of 24 to a group.
    assert!(last <= minutes(20) + minutes(5) + minutes(2), "{last:?}");
}

#[test]
fn after_an_hour_with_a_revoked_token_all_arrives_within_the_limits() {
    let room = Room::new();
    room.telegram
        .script([Fault::refuse("unauthorized").lasting(HOUR)]);
    room.live(async |life| {
        enqueue(life, PERSON, "person", 25).await;
        enqueue(life, GROUP, "group", 24).await;
        for chat in 101..141 {
            enqueue(life, &chat.to_string(), &format!("chat {chat}"), 1).await;
        }
        for _ in 0..3 {
            life.pass(minutes(15)).await;
            let (text, json) = closed_gate(&room);
            assert!(text.starts_with("refused the bot of ops since "), "{text}");
            assert!(text.ends_with(": Telegram answered 401: Unauthorized"));
            assert_eq!(json, "the bot of ops: Telegram answered 401: Unauthorized");
        }
        life.drain(HOUR).await;
    });
    drained(&room, "an hour with a revoked token", 89);
    let (first, last) = first_and_last(&room.telegram.accepted());
    assert!(first >= HOUR, "{first:?}");
    // Probed within a quarter of an hour and its chance.
    assert!(last <= HOUR + minutes(17) + minutes(2), "{last:?}");
}

#[test]
fn after_a_flood_wait_of_twelve_hours_all_arrives_within_the_limits() {
    let room = Room::new();
    room.telegram
        .script([Fault::flood(43_200).in_chat(PRIVATE)]);
    room.live(async |life| {
        enqueue(life, PERSON, "person", 25).await;
        life.pass(minutes(10)).await;
        let (text, json) = closed_gate(&room);
        let reason = "Telegram answered 429: Too Many Requests: retry after 43200";
        let line = format!("closed gate the chat ops/7001 for 11 h 50 min: {reason}");
        assert_eq!(text, line);
        assert_eq!(json, format!("the chat ops/7001: {reason}"));
        for hour in 0..11 {
            enqueue(life, GROUP, &format!("hour {hour:02}"), 2).await;
            life.pass(HOUR).await;
            assert_eq!(room.telegram.accepted_in(IN_GROUP).len(), 2 * (hour + 1));
        }
        assert_eq!(
            room.telegram.answers_429().len(),
            1,
            "asked once, and obeyed"
        );
        life.drain(HOUR * 2).await;
    });
    drained(&room, "a flood wait of 12 hours", 47);
    assert_eq!(room.telegram.answers_429().len(), 1);
    let (first, last) = first_and_last(&room.telegram.accepted_in(PRIVATE));
    assert!(
        first >= HOUR * 12 && last <= HOUR * 12 + minutes(2),
        "{first:?} {last:?}"
    );
}

/// Twice a day an alert for the person who blocked us, and one for a group, for so many days.
async fn days(life: &Life<'_>, room: &Room, count: usize) {
    for half in 0..2 * count {
        let (person, group) = (format!("day {half:02}"), format!("group day {half:02}"));
        enqueue(life, PERSON, &person, 1).await;
        let committed = life.now();
        enqueue(life, GROUP, &group, 1).await;
        life.pass(HOUR * 12).await;
        let others = room.telegram.accepted_in(IN_GROUP);
        assert_eq!(others.len(), half + 1, "others go on");
        assert_eq!(others[half].at, committed, "and are not late");
    }
}

const BLOCKED: &str = "Telegram answered 403: Forbidden: bot was blocked by the user";

#[test]
fn after_a_week_in_which_a_chat_blocked_us_all_arrives_within_the_limits() {
    let room = Room::new();
    let nearly_a_week = DAY * 6 + HOUR * 23;
    room.telegram.script([Fault::refuse("blocked")
        .in_chat(PRIVATE)
        .lasting(nearly_a_week)]);
    room.live(async |life| {
        enqueue(life, PERSON, "person", 25).await;
        days(life, &room, 6).await;
        let (text, json) = closed_gate(&room);
        assert!(
            text.starts_with("refused the chat ops/7001 since "),
            "{text}"
        );
        assert!(text.ends_with(BLOCKED), "{text}");
        assert_eq!(json, format!("the chat ops/7001: {BLOCKED}"));
        let probes = room.telegram.requests().len() - room.telegram.accepted_count();
        assert!(probes < 40, "probed slowly, not hammered: {probes}");
        life.drain(DAY * 2).await;
    });
    drained(&room, "a week in which a chat blocked us", 49);
    let (first, last) = first_and_last(&room.telegram.accepted_in(PRIVATE));
    assert!(first >= nearly_a_week, "{first:?}");
    // The longest pause between two probes, and its chance.
    assert!(last <= nearly_a_week + HOUR * 7, "{last:?}");
}

#[test]
fn what_waited_longer_than_a_week_for_a_chat_that_blocks_us_dies_and_is_told() {
    let mut room = Room::new();
    room.more = "default_channel = \"ops\"\nchannel.screen.kind = \"console\"\n";
    room.telegram
        .script([Fault::refuse("blocked").in_chat(PRIVATE).lasting(DAY * 9)]);
    room.live(async |life| {
        enqueue(life, PERSON, "person", 5).await;
        days(life, &room, 9).await;
        life.drain(DAY).await;
    });
    let dead = "SELECT group_concat(title,'; ') FROM (SELECT title FROM outbox JOIN alert ON alert.id=alert_id
        WHERE state='dead' ORDER BY title)";
    let dead = room.world.ask(dead).replace("Title of ", "");
    assert_eq!(
        dead,
        "day 00 00; day 01 00; day 02 00; day 03 00; person 00; person 01; person 02; person 03; person 04",
        "of the first two days"
    );
    let reason = "SELECT group_concat(DISTINCT last_error) FROM outbox WHERE state='dead'";
    let said = format!("not delivered within 7 d: {BLOCKED}");
    assert_eq!(room.world.ask(reason), said);
    let told = "SELECT count(*) FROM outbox AS dead JOIN outbox AS notice ON notice.id=dead.told_by
        WHERE dead.state='dead' AND notice.state='sent' AND notice.channel='screen'";
    assert_eq!(room.world.ask(told), "9");
    let late = "SELECT max(notice.updated_at-dead.told_at) FROM outbox AS dead JOIN outbox AS notice ON notice.id=dead.told_by";
    assert_eq!(room.world.ask(late), "0", "told at once");
    assert_eq!(
        room.telegram.accepted_in(PRIVATE).len(),
        14,
        "of the last seven"
    );
    keeps_the_limits(&room, "nine days in which a chat blocked us");
    room.world.all_invariants_hold();
}
