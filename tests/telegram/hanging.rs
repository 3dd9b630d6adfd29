//! Three chats hang at every request, for 30 s or for ever, while urgent alerts for a fourth come at
//! any moment: none of them waits for the others, not even when those time out.

use super::Life;
use super::Room;
use shared::model::{Priority, Timestamp};
use std::time::Duration;
use watchalert_tests::programs::tell;
use watchalert_tests::telegram::{Fault, Limits};
use watchalert_tests::world::{START, to};

const HANGING: [i64; 3] = [1, 2, 3];
const IDLE: i64 = 4;
/// The watch: long enough for several time-outs in each of the three.
const WATCH: Duration = Duration::from_secs(300);
const AT_ONCE: Duration = Duration::from_millis(100);
/// After this long the sender gives a request up, and asks whether the bot is well.
const GIVEN_UP: Duration = Duration::from_secs(40);

/// Every 3.1 s, so that they come at all moments of the others' waits; and around the first
/// time-out, twelve in the two seconds in which the sender finds out what it means.
fn moments() -> Vec<Timestamp> {
    let regular = (1..97).map(|number| START + Duration::from_millis(3_100) * number);
    let around = GIVEN_UP.saturating_sub(Duration::from_secs(5));
    let dense = (0..12).map(|number| START + around + Duration::from_millis(1_060) * number);
    let mut moments: Vec<Timestamp> = regular.chain(dense).collect();
    moments.sort_unstable();
    // A chat takes one a second, whoever hangs.
    moments.dedup_by(|next, before| next.since(*before) < Duration::from_millis(1_060));
    moments
}

async fn watch(life: &Life<'_>) {
    for chat in HANGING {
        for number in 0..20 {
            let key = format!("slow {chat} {number}");
            let priority = Priority::ALL[number % 4];
            life.enqueue(&key, &to("ops", &chat.to_string()), priority)
                .await;
        }
    }
    for (number, at) in moments().into_iter().enumerate() {
        life.pass(at.since(life.now())).await;
        let key = format!("urgent {number}");
        let chat = to("ops", &IDLE.to_string());
        life.enqueue(&key, &chat, Priority::Critical).await;
    }
    life.pass((START + WATCH).since(life.now())).await;
}

/// How long each of the urgent ones took to the wire.
fn waits(room: &Room) -> Vec<Duration> {
    let arrived = room.telegram.accepted_in(IDLE);
    let moments = moments();
    assert_eq!(arrived.len(), moments.len(), "each once");
    let pairs = moments.into_iter().zip(arrived);
    pairs
        .map(|(committed, message)| message.at.since(committed))
        .collect()
}

fn nobody_waits_for(hanging: impl Fn(i64) -> Fault, how: &str) {
    let room = Room::new();
    room.telegram
        .script(HANGING.map(|chat| hanging(chat).times(1_000)));
    room.live(async |life| watch(life).await);
    let waits = waits(&room);
    let longest = waits.iter().max().copied().unwrap_or_default();
    assert!(longest < AT_ONCE, "{how}: {waits:?}");
    assert_eq!(room.telegram.answers_429(), []);
    assert_eq!(room.telegram.breaches(Limits::strict()), []);
    room.world.all_invariants_hold();
    tell(&format!(
        "telegram: three chats {how} for 300 s, {} urgent alerts for a fourth: the longest wait {longest:?}",
        waits.len()
    ));
}

#[test]
fn an_urgent_alert_does_not_wait_for_chats_that_answer_after_30_s() {
    let held = |chat| Fault::hold(Duration::from_secs(30)).in_chat(chat);
    nobody_waits_for(held, "answer after 30 s");
}

#[test]
fn an_urgent_alert_does_not_wait_for_chats_that_never_answer() {
    nobody_waits_for(|chat| Fault::hang().in_chat(chat), "never answer");
}

#[test]
fn an_urgent_alert_does_not_wait_for_chats_that_take_messages_and_never_answer() {
    let taken = |chat| Fault::hang_after().in_chat(chat);
    nobody_waits_for(taken, "take messages and never answer");
}
