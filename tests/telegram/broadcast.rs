//! A broadcast to many chats, of which some have blocked us, some are gone and one was upgraded, while
//! critical alerts come in: it keeps the bot's rate, gives way, and is said once.

use super::Life;
use super::{Room, minutes};
use shared::model::{Priority, Timestamp};
use shared::store::Db;
use shared::store::outbox::add::{self, Message};
use std::time::Duration;
use watchalert_tests::programs::tell;
use watchalert_tests::telegram::{Fault, Limits};
use watchalert_tests::world::to;

const CHATS: i64 = 300;
const BLOCKED: i64 = 12;
const GONE: i64 = 2;
const CRITICAL: u64 = 10;
/// Not one of the broadcast's.
const PERSON: &str = "7001";
/// A group of the broadcast that was upgraded.
const OLD: i64 = -100;
const NEW: i64 = -1_001_000_000_100;

async fn broadcast(life: &Life<'_>) -> usize {
    let chats = (1..CHATS).chain([OLD]);
    let message = |chat: i64| Message {
        to: to("ops", &chat.to_string()),
        text: "to all".to_owned(),
        key: Some("news-7".to_owned()),
        priority: Priority::Low,
        not_before: Timestamp::EPOCH,
        expires_at: None,
    };
    let (messages, now): (Vec<Message>, _) = (chats.map(message).collect(), life.now());
    life.write(move |db: &Db| add::add(db, &messages, now))
        .await
}

#[test]
fn a_broadcast_gives_way_keeps_the_rate_and_is_said_once() {
    let room = Room {
        more: "default_channel = \"ops\"\n[channel.screen]\nkind = \"console\"\n",
        ..Room::new()
    };
    let blocked = (1..=BLOCKED).map(|chat| Fault::refuse("blocked").in_chat(chat));
    let gone = (1..=GONE).map(|chat| Fault::refuse("chat-not-found").in_chat(BLOCKED + chat));
    let faults = blocked.chain(gone).map(|fault| fault.lasting(minutes(600)));
    room.telegram
        .script(faults.chain([Fault::upgraded(OLD, NEW)]));
    let mut committed = Vec::new();
    room.live(async |life| {
        assert_eq!(broadcast(life).await, 300);
        for number in 0..CRITICAL {
            life.pass(Duration::from_millis(1_100)).await;
            committed.push(life.now());
            let key = format!("grave {number:02}");
            life.enqueue(&key, &to("ops", PERSON), Priority::Critical)
                .await;
        }
        life.drain(minutes(30)).await;
        assert_eq!(broadcast(life).await, 0, "it is known");
        life.drain(minutes(30)).await;
    });

    let reached = usize::try_from(CHATS - BLOCKED - GONE).expect("a count");
    let all: Vec<_> = room.telegram.accepted();
    let told: Vec<_> = all.iter().filter(|one| one.text == "to all").collect();
    assert_eq!(told.len(), reached);
    assert!(
        told.iter().any(|one| one.chat_id == NEW),
        "to the upgraded group"
    );
    assert_eq!(room.telegram.breaches(Limits::strict()), []);
    let longest = committed.iter().enumerate().map(|(number, at)| {
        let copies = room.copies(&format!("grave {number:02}"));
        assert_eq!(copies.len(), 1);
        copies[0].at.since(*at)
    });
    let longest = longest.max().expect("some");
    assert!(longest < Duration::from_secs(1), "{longest:?}");
    let (first, last) = (told[0].at, told[told.len() - 1].at);
    let rate =
        f64::from(u32::try_from(reached).expect("a count")) / last.since(first).as_secs_f64();
    assert!((20.0..=26.0).contains(&rate), "{rate} a second");
    tell(&format!(
        "broadcast: {reached} of {CHATS} chats at {rate:.1} a second; {CRITICAL} critical alerts meanwhile, the longest wait {longest:?}"
    ));
    // Who has left is told of, and not with a notice for each.
    assert_eq!(room.state("dead"), (BLOCKED + GONE).to_string());
    let notices = room
        .world
        .ask("SELECT count(*) FROM outbox WHERE kind='notice'");
    let notices: usize = notices.parse().expect("a count");
    assert!((1..=4).contains(&notices), "{notices}");
    room.world.all_invariants_hold();
}
