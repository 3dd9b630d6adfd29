//! When a feed is due: its interval, its failures, its server's wishes; pure.

use shared::model::Timestamp;
use std::time::{Duration, UNIX_EPOCH};

/// The longest pause between two attempts at a feed that fails, unless its interval is longer.
pub const LONGEST_BACKOFF: Duration = Duration::from_hours(6);
/// The longest wish of a server that is heeded.
pub const LONGEST_RETRY_AFTER: Duration = Duration::from_hours(24);
/// The longest time without a look that a server is granted for its ttl: news are to arrive
/// within minutes, and programs that write feeds set an hour without anybody having thought of it.
pub const LONGEST_TTL: Duration = Duration::from_mins(15);
/// Waits vary by this share up and down, so that feeds added together drift apart.
const JITTER: f64 = 0.1;
/// A timer does not fire to the second: what is due this soon is due now (or a feed whose
/// interval is the timer's would come only every other time), but never more than a quarter of
/// the wait early.
const SLACK: Duration = Duration::from_secs(30);
/// `x-ratelimit-reset` is seconds from now at some servers, a Unix time at others; this is
/// 2001-09-09 as the latter and 31 years as the former.
const SURELY_UNIX_TIME: f64 = 1e9;

/// What the decision rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedState {
    pub interval: Duration,
    /// `None`: never tried.
    pub last_attempt: Option<Timestamp>,
    /// In a row, up to now.
    pub failures: u32,
    /// The last attempt's time plus its [`retry_after`](super::FetchFault::retry_after).
    pub retry_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    Now,
    At(Timestamp),
}

/// Whether a feed is due. `chance` is uniform in 0..1; draw it once per attempt, not once per
/// look, or the earliest draw wins. A `forced` feed is due whatever its state.
///
/// An attempt that lies in the future was made before the clock went back: how long ago it
/// really was nobody knows, and waiting for the clock to catch up could take years, so the feed
/// is due.
pub fn due(feed: &FeedState, now: Timestamp, chance: f64, forced: bool) -> Due {
    let past_attempt = feed.last_attempt.filter(|last| *last <= now);
    let (false, Some(last)) = (forced, past_attempt) else {
        return Due::Now;
    };
    let wait = jittered(backoff(feed.interval, feed.failures), chance);
    let own = last + wait.saturating_sub(SLACK.min(wait / 4));
    let wished = feed.retry_at.map(|at| at.min(last + LONGEST_RETRY_AFTER));
    let at = wished.map_or(own, |wished| own.max(wished));
    if at <= now { Due::Now } else { Due::At(at) }
}

fn jittered(wait: Duration, chance: f64) -> Duration {
    let factor = 1.0 - JITTER + 2.0 * JITTER * chance;
    Duration::try_from_secs_f64(wait.as_secs_f64() * factor).unwrap_or(wait)
}

/// The least time between two attempts at a feed whose server says that nothing is new for `ttl`.
pub fn pace(interval: Duration, ttl: Option<Duration>) -> Duration {
    ttl.map_or(interval, |ttl| interval.max(ttl.min(LONGEST_TTL)))
}

/// The pause after so many failures in a row: the interval, doubled from the second failure on,
/// up to [`LONGEST_BACKOFF`]. It is never endless and never shorter than the interval.
pub fn backoff(interval: Duration, failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(31);
    let doubled = interval.saturating_mul(1 << doublings);
    doubled.min(LONGEST_BACKOFF).max(interval)
}

/// The pause that a 429 or 503 asks for: `Retry-After` in seconds or as an HTTP date, else
/// `x-ratelimit-reset`; `None` when neither can be read.
pub(super) fn retry_after(
    retry_after: Option<&str>,
    ratelimit_reset: Option<&str>,
    now: Timestamp,
) -> Option<Duration> {
    let asked = retry_after.and_then(|text| seconds(text).or_else(|| until_date(text, now)));
    let pause = asked.or_else(|| reset(ratelimit_reset?, now))?;
    Some(pause.min(LONGEST_RETRY_AFTER))
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.trim().parse().ok()?;
    if !seconds.is_finite() {
        return None;
    }
    Duration::try_from_secs_f64(seconds.min(LONGEST_RETRY_AFTER.as_secs_f64())).ok()
}

fn until_date(text: &str, now: Timestamp) -> Option<Duration> {
    let date = httpdate::parse_http_date(text.trim()).ok()?;
    let since_epoch = date.duration_since(UNIX_EPOCH).ok()?;
    Some((Timestamp::EPOCH + since_epoch).since(now))
}

fn reset(text: &str, now: Timestamp) -> Option<Duration> {
    let number: f64 = text.trim().parse().ok()?;
    if number.is_finite() && number > SURELY_UNIX_TIME {
        return Some(Timestamp::from_unix_seconds(number).since(now));
    }
    seconds(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-30T12:00:00Z
    const NOW: Timestamp = Timestamp::from_unix_millis(1_796_040_000_000);
    const MINUTE: Duration = Duration::from_mins(1);
    const HOUR: Duration = Duration::from_hours(1);
    const NO_JITTER: f64 = 0.5;

    fn feed(interval: Duration, since_last: Duration, failures: u32) -> FeedState {
        FeedState {
            interval,
            last_attempt: Some(NOW.minus(since_last)),
            failures,
            retry_at: None,
        }
    }

    fn is_due(feed: &FeedState, chance: f64) -> bool {
        due(feed, NOW, chance, false) == Due::Now
    }

    #[test]
    fn a_feed_never_tried_is_due() {
        let mut fresh = feed(HOUR, MINUTE, 0);
        assert!(!is_due(&fresh, NO_JITTER));
        fresh.last_attempt = None;
        assert!(is_due(&fresh, NO_JITTER));
    }

    #[test]
    fn a_feed_at_the_timers_pace_is_due_at_every_tick() {
        for chance in [0.0, 0.5, 0.999] {
            for late in [106, 120, 134] {
                assert!(is_due(
                    &feed(2 * MINUTE, Duration::from_secs(late), 0),
                    chance
                ));
            }
            assert!(!is_due(&feed(2 * MINUTE, MINUTE, 0), chance));
        }
    }

    #[test]
    fn waits_vary_by_a_tenth() {
        for (chance, minutes) in [(0.0, 54.0), (0.5, 60.0), (1.0, 66.0)] {
            let Due::At(at) = due(&feed(HOUR, Duration::ZERO, 0), NOW, chance, false) else {
                panic!("due at once");
            };
            let wait = at.since(NOW) + SLACK;
            assert!(
                (wait.as_secs_f64() / 60.0 - minutes).abs() < 0.01,
                "{wait:?}"
            );
        }
    }

    #[test]
    fn a_servers_ttl_lengthens_the_interval_up_to_a_cap() {
        for (interval, ttl, expected) in [
            (2, None, 2),
            (2, Some(0), 2),
            (2, Some(5), 5),
            (2, Some(60), 15),
            (30, Some(60), 30),
        ] {
            let pace = pace(interval * MINUTE, ttl.map(|ttl| ttl * MINUTE));
            assert_eq!(pace, expected * MINUTE, "{interval} {ttl:?}");
        }
    }

    #[test]
    fn backoff_doubles_to_six_hours_and_stays_there() {
        let minutes = |interval, failures| backoff(interval, failures).as_secs() / 60;
        let of_a_fast_feed: Vec<u64> = (0..11).map(|n| minutes(2 * MINUTE, n)).collect();
        assert_eq!(of_a_fast_feed, [2, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360]);
        assert_eq!(minutes(2 * MINUTE, u32::MAX), 360);
        let slow_feed = 24 * HOUR;
        assert_eq!(backoff(slow_feed, 5), slow_feed);
    }

    #[test]
    fn a_feed_that_always_fails_is_tried_again_and_again() {
        for failures in [1, 10, 1_000, u32::MAX] {
            assert!(is_due(&feed(2 * MINUTE, 7 * HOUR, failures), 1.0));
        }
        assert!(!is_due(&feed(2 * MINUTE, 5 * HOUR, u32::MAX), 0.0));
    }

    #[test]
    fn a_servers_wish_is_heeded_up_to_a_day() {
        let mut feed = feed(2 * MINUTE, HOUR, 1);
        for (wish, expected) in [
            (NOW.minus(MINUTE), Due::Now),
            (NOW, Due::Now),
            (NOW + MINUTE, Due::At(NOW + MINUTE)),
            (NOW + HOUR * 1_000, Due::At(NOW + HOUR * 23)),
        ] {
            feed.retry_at = Some(wish);
            assert_eq!(due(&feed, NOW, NO_JITTER, false), expected);
        }
    }

    #[test]
    fn a_short_wish_does_not_shorten_the_backoff() {
        let mut feed = feed(2 * MINUTE, HOUR, 20);
        feed.retry_at = Some(NOW.minus(MINUTE));
        assert!(!is_due(&feed, NO_JITTER));
    }

    #[test]
    fn a_forced_feed_is_due_whatever_its_state() {
        let mut feed = feed(HOUR, MINUTE, 9);
        feed.retry_at = Some(NOW + HOUR);
        assert_eq!(due(&feed, NOW, NO_JITTER, true), Due::Now);
    }

    #[test]
    fn a_clock_that_went_back_holds_no_feed_up() {
        for ahead in [MINUTE, 10 * HOUR, 10_000 * HOUR] {
            let mut feed = feed(2 * MINUTE, Duration::ZERO, 20);
            feed.last_attempt = Some(NOW + ahead);
            feed.retry_at = Some(NOW + ahead + HOUR);
            assert!(is_due(&feed, NO_JITTER));
        }
    }

    #[test]
    fn a_servers_wish_is_read_in_all_its_forms() {
        let pause = |after, reset| retry_after(after, reset, NOW).map(|pause| pause.as_secs());
        for (after, reset, seconds) in [
            (Some("120"), None, Some(120)),
            (Some(" 0 "), None, Some(0)),
            (Some("1.5"), None, Some(1)),
            (Some("Mon, 30 Nov 2026 12:01:00 GMT"), None, Some(60)),
            (Some("Monday, 30-Nov-26 12:01:00 GMT"), None, Some(60)),
            (Some("Mon, 30 Nov 2026 11:00:00 GMT"), None, Some(0)),
            (Some("9999999999999999999999"), None, Some(86_400)),
            (Some("Fri, 31 Dec 2100 00:00:00 GMT"), None, Some(86_400)),
            (None, Some("42"), Some(42)),
            (None, Some("42.0"), Some(42)),
            (None, Some("1796040090"), Some(90)),
            (Some("soon"), Some("7"), Some(7)),
            (Some("5"), Some("7"), Some(5)),
            (Some("-1"), None, None),
            (Some("NaN"), Some("inf"), None),
            (Some(""), None, None),
            (None, None, None),
        ] {
            assert_eq!(pause(after, reset), seconds, "{after:?} {reset:?}");
        }
    }
}
