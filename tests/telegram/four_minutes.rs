//! The day that started this: 28 alerts in four minutes, of which seven were lost. Here each arrives,
//! once, and as soon as the limits let it.

use super::Life;
use super::{GROUP, PERSON, Room};
use shared::model::{Priority, Timestamp};
use std::time::Duration;
use watchalert_tests::programs::tell;
use watchalert_tests::telegram::Limits;
use watchalert_tests::world::{START, to};

const ALERTS: u32 = 28;
const FOUR_MINUTES: Duration = Duration::from_secs(240);
/// Between two messages to a chat: the limit's second and the sender's margin of 5 %.
const GAP: Duration = Duration::from_millis(1_050);
/// What a commit may take to get on the wire.
const AT_ONCE: Duration = Duration::from_millis(100);

/// When each alert is committed, and how long after that it may arrive.
type Day = Vec<(Timestamp, Duration)>;

/// One each 8.6 s: nothing is in the way of any of them.
fn one_by_one() -> Day {
    let every = FOUR_MINUTES / ALERTS;
    let day = (0..ALERTS).map(|number| (START + every * number, AT_ONCE));
    day.collect()
}

/// Seven at once, four times: each waits for those before it in its clump, and for nothing else.
fn in_clumps() -> Day {
    let clump = |number| START + FOUR_MINUTES / 4 * (number / 7);
    let day = (0..ALERTS).map(|number| (clump(number), GAP * (number % 7) + AT_ONCE));
    day.collect()
}

async fn commit(life: &Life<'_>, day: &Day, chat: &str) {
    for (number, (at, _)) in day.iter().enumerate() {
        life.pass(at.since(life.now())).await;
        let priority = Priority::ALL[number % 3];
        let key = format!("alert {number:02}");
        life.enqueue(&key, &to("ops", chat), priority).await;
    }
    life.drain(FOUR_MINUTES).await;
}

/// Every alert of the day once, within its bound, and nothing refused; the longest wait.
fn arrived(room: &Room, day: &Day) -> Duration {
    let mut longest = Duration::ZERO;
    // Of those that were committed together the graver ones go first.
    let mut arrivals: Vec<Timestamp> = Vec::new();
    for number in 0..day.len() {
        let copies = room.copies(&format!("alert {number:02}"));
        assert_eq!(copies.len(), 1, "alert {number}");
        arrivals.push(copies[0].at);
    }
    arrivals.sort_unstable();
    for ((committed, bound), at) in day.iter().zip(arrivals) {
        let wait = at.since(*committed);
        assert!(at >= *committed && wait <= *bound, "{wait:?} of {bound:?}");
        longest = longest.max(wait);
    }
    assert_eq!(room.state("sent"), ALERTS.to_string());
    assert_eq!(room.telegram.accepted_count(), day.len());
    assert_eq!(room.telegram.answers_429(), []);
    assert_eq!(room.telegram.breaches(Limits::strict()), []);
    room.world.all_invariants_hold();
    longest
}

#[test]
fn twenty_eight_alerts_in_four_minutes_arrive_at_once_one_by_one() {
    for chat in [PERSON, GROUP] {
        let (room, day) = (Room::new(), one_by_one());
        room.live(async |life| commit(life, &day, chat).await);
        let longest = arrived(&room, &day);
        tell(&format!(
            "telegram: 28 alerts in four minutes to {chat}: all arrived, the longest wait {longest:?}, no 429"
        ));
    }
}

#[test]
fn four_clumps_of_seven_wait_for_no_more_than_those_before_them() {
    for chat in [PERSON, GROUP] {
        let (room, day) = (Room::new(), in_clumps());
        room.live(async |life| commit(life, &day, chat).await);
        let longest = arrived(&room, &day);
        tell(&format!(
            "telegram: four clumps of 7 alerts to {chat}: all arrived, the longest wait {longest:?}, no 429"
        ));
    }
}
