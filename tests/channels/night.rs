//! Quiet hours from evening to morning: what comes at night for a Telegram chat waits for the local morning
//! and comes folded, also in the nights in which the clocks are set; what is critical does not wait.

use super::{CHAT, House, MINUTE, SECOND};
use shared::model::{Severity, Timestamp};
use shared::store::Db;
use shared::store::outbox;
use std::time::Duration;
use watchalert_ingest::route::route;
use watchalert_tests::life::{Home, Life};
use watchalert_tests::telegram::Message;
use watchalert_tests::world::{owed, to};

const HOUR: Duration = Duration::from_secs(3_600);
const QUIET: &str = "timezone = \"Europe/Berlin\"\n[quiet]\nfrom = \"22:00\"\nto = \"07:00\"\nchannels = [\"ops\"]\n";
const SEVERITIES: [Severity; 3] = [Severity::Critical, Severity::Normal, Severity::Low];

fn at(house: &House, utc: &str) -> Timestamp {
    let seconds = house.world.ask(&format!("SELECT unixepoch('{utc}')"));
    Timestamp::from_unix_seconds(seconds.parse().expect("a time"))
}

/// One of each severity, to whom and from when on the tick's own rules say.
async fn commit(life: &Life<'_, House>, house: &House, number: usize) {
    let (config, now) = (house.scene().config, life.now());
    life.write(move |db: &Db| {
        for severity in SEVERITIES {
            let priority = severity.priority().expect("a severity that matters");
            let key = format!("{severity}-{number:02}.");
            let mut owed = owed(&key, &to("ops", CHAT), priority);
            owed.to = route(&owed.alert, &[], &config, now);
            outbox::enqueue(db, &owed, now)?;
        }
        Ok(())
    })
    .await;
}

fn copies(arrived: &[Message], severity: Severity, number: usize) -> Vec<&Message> {
    let title = format!("Title of {severity}-{number:02}.");
    let is_it = |message: &&Message| message.text.contains(&title);
    arrived.iter().filter(is_it).collect()
}

/// From an evening on, something comes each hour until the morning.
fn night(evening: &str, morning: &str, hours: usize) {
    let house = House {
        digests: true,
        more: QUIET,
        ..House::new()
    };
    let (evening, morning) = (at(&house, evening), at(&house, morning));
    house.world.clock.set_to(evening);
    house.live(async |life| {
        for number in 0..hours {
            let hour = evening + HOUR * u32::try_from(number).expect("few");
            life.pass_until(hour, || false).await;
            commit(life, &house, number).await;
        }
        life.pass_until(morning.minus(SECOND), || false).await;
        assert_eq!(house.ops.accepted_count(), hours, "what is critical alone");
        life.pass_until(morning + 5 * MINUTE, || false).await;
    });
    let arrived = house.ops.accepted();
    for number in 0..hours {
        for severity in SEVERITIES {
            let copies = copies(&arrived, severity, number);
            assert_eq!(copies.len(), 1, "{severity} {number}");
            let (from, until) = match severity {
                Severity::Critical => {
                    (evening + HOUR * number.try_into().expect("few"), 2 * SECOND)
                }
                _ => (morning, MINUTE),
            };
            let at = copies[0].at;
            let is_right = at >= from && at <= from + until;
            assert!(is_right, "{severity} {number}: {at:?}, not {from:?}");
        }
    }
    let digests = arrived.len() - hours;
    assert!(digests <= 3, "folded: {digests} messages");
    assert!(house.ops.answers_429().is_empty());
    assert_eq!(house.count("state NOT IN('sent','folded')"), 0);
    house.world.all_invariants_hold();
}

#[test]
fn what_comes_at_night_is_told_in_the_morning_and_what_is_critical_at_once() {
    night("2026-12-01T21:00:00Z", "2026-12-02T06:00:00Z", 9);
}

#[test]
fn in_the_night_in_which_the_clocks_go_forward_the_morning_comes_an_hour_earlier() {
    night("2027-03-27T21:00:00Z", "2027-03-28T05:00:00Z", 8);
}

#[test]
fn in_the_night_in_which_the_clocks_go_back_the_morning_comes_an_hour_later() {
    night("2027-10-30T20:00:00Z", "2027-10-31T06:00:00Z", 10);
}

#[test]
fn what_comes_before_the_evening_or_for_another_channel_does_not_wait() {
    let house = House {
        more: QUIET,
        ..House::new()
    };
    let config = house.scene().config;
    let waits = |utc: &str| {
        let owed = owed("a", &to("ops", CHAT), shared::model::Priority::Low);
        route(&owed.alert, &[], &config, at(&house, utc))[0].not_before
    };
    assert_eq!(waits("2026-12-01T20:59:59Z"), Timestamp::EPOCH);
    assert_eq!(
        waits("2026-12-01T21:00:00Z"),
        at(&house, "2026-12-02T06:00:00Z")
    );
    assert_eq!(waits("2026-12-02T06:00:00Z"), Timestamp::EPOCH);
    house.world.all_invariants_hold();
}
