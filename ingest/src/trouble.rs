//! What is told of a feed itself, each event once: that it fails, that it is gone, that it brings
//! nothing new, that it renamed its items, and that all is well again; pure.

use shared::model::Timestamp;
use shared::store::health::{Health, Told};
use std::time::Duration;

/// A failure is told when it has lasted so long and come so often.
pub const FAILING_FOR: Duration = Duration::from_hours(1);
pub const FAILING_TIMES: u32 = 3;
/// Without one success for so long it is told, however few the tries were: some feeds are asked
/// once a day, and some servers want to be left alone for as long.
pub const DEAD_AFTER: Duration = Duration::from_hours(24);
/// A pause twice as long as those that the feed is used to is out of its rhythm.
const RHYTHM: u32 = 2;
/// Of at least so many pauses the longest is an exception: a holiday, an outage.
const PAUSES: usize = 5;
/// However slow the rhythm: after that, quiet is told.
const LONGEST_PATIENCE: Duration = Duration::from_hours(3 * 366 * 24);
/// So many of the last days with news show the rhythm.
pub const RHYTHM_DAYS: u32 = 20;

/// Something to tell of one feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Telling {
    pub what: Told,
    /// When it began; what is over, when that was told. It tells the event from others of its kind.
    pub at: Timestamp,
}

/// What is to be told of a feed now. A feed that a person paused is left alone.
pub fn tellings(feed: &Health, now: Timestamp) -> Vec<Telling> {
    if feed.is_paused(now) {
        return Vec::new();
    }
    let mut tellings: Vec<Telling> = [of_fetches(feed, now), of_names(feed)]
        .into_iter()
        .flatten()
        .collect();
    tellings.extend(heard(feed));
    tellings
}

fn of_fetches(feed: &Health, now: Timestamp) -> Option<Telling> {
    let telling = |what, at| Some(Telling { what, at });
    if let Some(at) = feed.gone_at {
        return match feed.gone_told_at {
            None => telling(Told::Gone, at),
            Some(_) => None,
        };
    }
    if feed.failures == 0 {
        let told = feed.failing_told_at.or(feed.gone_told_at)?;
        return telling(Told::Works, told);
    }
    let since = feed.failing_since?;
    let is_lasting = feed.failures >= FAILING_TIMES && now.since(since) >= FAILING_FOR;
    let is_lasting = is_lasting || is_dead(feed, now);
    match feed.failing_told_at {
        None if is_lasting => telling(Told::Failing, since),
        _ => None,
    }
}

fn is_dead(feed: &Health, now: Timestamp) -> bool {
    let since = feed.failing_since;
    feed.failures > 0 && since.is_some_and(|since| now.since(since) >= DEAD_AFTER)
}

/// A failure may be over and not yet known to be: it is told when a try after that hour failed too,
/// or when there was no success for a day. Others that fail for an hour are told with it, for they
/// may have one cause.
pub fn is_confirmed(feed: &Health, now: Timestamp) -> bool {
    let has_failed_again = match (feed.failing_since, feed.attempted_at) {
        (Some(since), Some(last)) => last.since(since) >= FAILING_FOR,
        _ => false,
    };
    has_failed_again || is_dead(feed, now)
}

fn of_names(feed: &Health) -> Option<Telling> {
    let at = feed.storm_at?;
    let is_told = feed.storm_told_at.is_some_and(|told| told >= at);
    (!is_told).then_some(Telling {
        what: Told::Renamed,
        at,
    })
}

/// It was told to be quiet, and something came.
fn heard(feed: &Health) -> Option<Telling> {
    let told = feed.quiet_told_at?;
    let is_heard = feed.new_item_at.is_some_and(|new| new > told);
    is_heard.then_some(Telling {
        what: Told::Heard,
        at: told,
    })
}

/// Since when nothing new came, when that is at least `quiet_after` and not told: whether it is
/// too long, the feed's own rhythm decides.
pub fn silent_since(feed: &Health, quiet_after: Duration, now: Timestamp) -> Option<Timestamp> {
    let since = feed.seeded_at?.max(feed.new_item_at.unwrap_or_default());
    let is_well = feed.failures == 0 && feed.gone_at.is_none() && !feed.is_paused(now);
    let is_news = feed.quiet_told_at.is_none() && now.since(since) >= quiet_after;
    (is_well && is_news).then_some(since)
}

/// Whether a feed that is silent since then is quiet for longer than it ever was, judged by when
/// its newest items came, a day each, in any order.
pub fn quiet(
    since: Timestamp,
    arrivals: &[Timestamp],
    quiet_after: Duration,
    now: Timestamp,
) -> Option<Telling> {
    let is_quiet = now.since(since) >= patience(arrivals, quiet_after);
    is_quiet.then_some(Telling {
        what: Told::Quiet,
        at: since,
    })
}

/// How long a feed may bring nothing new: `quiet_after`, but at least twice the longest pause that it
/// is used to, so that one which posts yearly is not nagged; at most three years, unless `quiet_after`
/// is longer. Of many pauses the longest one is an exception, and the second longest counts.
pub fn patience(arrivals: &[Timestamp], quiet_after: Duration) -> Duration {
    let mut arrivals = arrivals.to_vec();
    arrivals.sort_unstable();
    let later = arrivals.iter().skip(1);
    let mut pauses: Vec<Duration> = std::iter::zip(&arrivals, later)
        .map(|(one, next)| next.since(*one))
        .collect();
    pauses.sort_unstable();
    if pauses.len() >= PAUSES {
        pauses.pop();
    }
    let usual = pauses.last().copied().unwrap_or_default();
    usual
        .saturating_mul(RHYTHM)
        .min(LONGEST_PATIENCE)
        .max(quiet_after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::schedule::backoff;

    /// 2026-11-30T08:00:00Z
    const START: Timestamp = Timestamp::from_unix_millis(1_796_025_600_000);
    const MINUTE: Duration = Duration::from_mins(1);
    const DAY: Duration = Duration::from_hours(24);
    const MONTH: Duration = Duration::from_hours(30 * 24);

    fn feed() -> Health {
        Health {
            seeded_at: Some(START),
            ..Health::default()
        }
    }

    /// A feed at a tick every two minutes, which is fetched when it is due and fails while `fails`:
    /// what is told, and after how many minutes.
    fn schedule(minutes: u64, fails: impl Fn(u64) -> bool) -> Vec<(u64, Told)> {
        schedule_at(2 * MINUTE, minutes, fails)
    }

    /// The same for a feed with another interval.
    fn schedule_at(
        interval: Duration,
        minutes: u64,
        fails: impl Fn(u64) -> bool,
    ) -> Vec<(u64, Told)> {
        let (mut feed, mut told, mut next) = (feed(), Vec::new(), 0);
        for minute in (0..minutes).step_by(2) {
            let now = START + MINUTE * u32::try_from(minute).unwrap();
            if minute >= next && fails(minute) {
                if feed.failures == 0 {
                    feed.failing_since = Some(now);
                }
                feed.failures += 1;
            } else if minute >= next {
                feed.failures = 0;
            }
            if minute >= next {
                feed.attempted_at = Some(now);
                next = minute + backoff(interval, feed.failures).as_secs() / 60;
            }
            for telling in tellings(&feed, now) {
                if telling.what == Told::Failing && !is_confirmed(&feed, now) {
                    continue;
                }
                told.push((minute, telling.what));
                match telling.what {
                    Told::Failing => feed.failing_told_at = Some(now),
                    Told::Works => feed.failing_told_at = None,
                    other => panic!("{other:?}"),
                }
            }
        }
        told
    }

    #[test]
    fn a_failure_is_told_after_an_hour_once_and_so_is_its_end() {
        let day = 24 * 60;
        for (what, fails, told) in [
            ("never", (0, 0), vec![]),
            ("for fifty minutes", (10, 60), vec![]),
            ("for good", (0, u64::MAX), vec![(62, Told::Failing)]),
            (
                "for five hours, seen at the next try",
                (0, 300),
                vec![(62, Told::Failing), (510, Told::Works)],
            ),
        ] {
            assert_eq!(
                schedule(day, |minute| (fails.0..fails.1).contains(&minute)),
                told,
                "{what}"
            );
        }
    }

    #[test]
    fn a_feed_without_a_success_for_a_day_is_told_however_few_its_tries_were() {
        let hours = |hours: u32| 60 * MINUTE * hours;
        let week = 7 * 24 * 60;
        for (interval, ends, told) in [
            (hours(6), u64::MAX, vec![(12 * 60, Told::Failing)]),
            (hours(12), u64::MAX, vec![(24 * 60, Told::Failing)]),
            (hours(24), u64::MAX, vec![(24 * 60, Told::Failing)]),
            (
                hours(72),
                1,
                vec![(24 * 60, Told::Failing), (72 * 60, Told::Works)],
            ),
            (hours(12), 60, vec![]),
        ] {
            let fails = |minute| minute < ends;
            assert_eq!(schedule_at(interval, week, fails), told, "{interval:?}");
        }
    }

    #[test]
    fn a_feed_that_fails_every_other_time_is_no_news() {
        assert_eq!(schedule(7 * 24 * 60, |minute| minute % 4 == 0), []);
    }

    #[test]
    fn a_feed_that_is_gone_is_told_once_and_not_as_failing() {
        let mut gone = Health {
            failures: 9,
            failing_since: Some(START),
            gone_at: Some(START),
            ..feed()
        };
        let later = START + DAY;
        let told = |feed: &Health| tellings(feed, later).first().map(|telling| telling.what);
        assert_eq!(told(&gone), Some(Told::Gone));
        gone.gone_told_at = Some(START);
        assert_eq!(told(&gone), None);
        (gone.gone_at, gone.failures) = (None, 0);
        assert_eq!(told(&gone), Some(Told::Works));
    }

    #[test]
    fn a_paused_feed_is_left_alone_until_its_pause_ends() {
        let paused = Health {
            failures: 9,
            failing_since: Some(START),
            paused_at: Some(START),
            paused_until: Some(START + DAY),
            ..feed()
        };
        assert_eq!(tellings(&paused, START + DAY / 2), []);
        assert_eq!(tellings(&paused, START + DAY).len(), 1);
    }

    #[test]
    fn new_names_are_told_once_for_each_storm() {
        let mut storm = Health {
            storm_at: Some(START),
            ..feed()
        };
        let told = |feed: &Health| tellings(feed, START + DAY).len();
        assert_eq!(told(&storm), 1);
        storm.storm_told_at = Some(START);
        assert_eq!(told(&storm), 0);
        storm.storm_at = Some(START + DAY);
        assert_eq!(told(&storm), 1);
    }

    #[test]
    fn patience_follows_the_rhythm_of_the_feed() {
        let every =
            |pause: Duration| -> Vec<Timestamp> { (0..5).map(|n| START + pause * n).collect() };
        for (arrivals, days) in [
            (vec![], 30),
            (vec![START], 30),
            (every(Duration::ZERO), 30),
            (every(DAY), 30),
            (every(20 * DAY), 40),
            (every(365 * DAY), 730),
            (every(3_000 * DAY), 3 * 366),
        ] {
            assert_eq!(patience(&arrivals, MONTH), DAY * days);
        }
        assert_eq!(patience(&[START, START + DAY], 3_000 * DAY), 3_000 * DAY);
    }

    #[test]
    fn one_long_pause_is_an_exception_and_several_are_the_rhythm() {
        let days = |days: &[u32]| -> Vec<Timestamp> {
            days.iter().map(|day| START + DAY * *day).collect()
        };
        for (what, arrivals, patient_days) in [
            ("daily, and a holiday", vec![0, 1, 2, 62, 63, 64, 65], 2),
            ("weekly", vec![0, 7, 14, 21, 28, 35], 14),
            ("weekly, one left out", vec![0, 7, 14, 28, 35, 42, 49], 14),
            ("weekly, two left out", vec![0, 7, 21, 28, 42, 49, 56], 28),
            (
                "twice a year for some days",
                vec![0, 1, 2, 180, 181, 360, 361],
                356,
            ),
            ("too few to tell", vec![0, 1, 2, 62], 120),
        ] {
            assert_eq!(
                patience(&days(&arrivals), DAY),
                DAY * patient_days,
                "{what}"
            );
        }
    }

    /// The days on which quiet and its end are told over three years, for a feed with these posts.
    fn days_told(posts: &[u32]) -> Vec<(u32, Told)> {
        days_told_after(MONTH, posts)
    }

    fn days_told_after(quiet_after: Duration, posts: &[u32]) -> Vec<(u32, Told)> {
        let (mut feed, mut told) = (feed(), Vec::new());
        let mut arrivals = vec![START.minus(2 * DAY), START.minus(DAY)];
        for day in 1..3 * 366 {
            let now = START + DAY * day;
            if posts.contains(&day) {
                feed.new_item_at = Some(now);
                arrivals.push(now);
            }
            let silent = silent_since(&feed, quiet_after, now);
            let quiet = silent.and_then(|since| quiet(since, &arrivals, quiet_after, now));
            for telling in tellings(&feed, now).into_iter().chain(quiet) {
                told.push((day, telling.what));
                feed.quiet_told_at = Some(now).filter(|_| telling.what == Told::Quiet);
            }
        }
        told
    }

    #[test]
    fn quiet_is_told_once_and_so_is_what_ends_it() {
        use Told::{Heard, Quiet};
        let weekly: Vec<u32> = (1..157).map(|week| week * 7).collect();
        let stops: Vec<u32> = weekly.iter().copied().filter(|day| *day < 100).collect();
        assert_eq!(days_told(&weekly), []);
        assert_eq!(days_told(&[]), [(30, Quiet)]);
        assert_eq!(days_told(&stops), [(128, Quiet)]);
        let yearly = [365, 730, 1_095];
        let told = [(30, Quiet), (365, Heard), (1_095, Heard)];
        assert_eq!(
            days_told(&yearly)[..2],
            told[..2],
            "the rhythm is not known yet"
        );
        assert_eq!(days_told(&yearly).len(), 2, "and then it is");
    }

    #[test]
    fn a_weekly_feed_does_not_alarm_each_week_and_a_holiday_hides_no_silence() {
        use Told::{Heard, Quiet};
        let weekly: Vec<u32> = (1..157).map(|week| week * 7).collect();
        let told = days_told_after(DAY, &weekly);
        assert_eq!(
            told,
            [(2, Quiet), (7, Heard)],
            "the rhythm is not known yet"
        );
        let mut daily: Vec<u32> = (1..200).collect();
        daily.retain(|day| !(100..160).contains(day));
        assert_eq!(
            days_told(&daily),
            [(129, Quiet), (160, Heard), (229, Quiet)],
            "thirty days, not twice the holiday"
        );
    }

    #[test]
    fn a_feed_that_fails_is_not_called_quiet() {
        let mut failing = feed();
        failing.failures = 1;
        assert_eq!(silent_since(&failing, MONTH, START + 2 * MONTH), None);
        failing.failures = 0;
        assert_eq!(
            silent_since(&failing, MONTH, START + 2 * MONTH),
            Some(START)
        );
    }
}
