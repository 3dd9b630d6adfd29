//! Backoff: how long to wait after failures in a row.

use std::time::Duration;

/// The doubling ends here.
pub const CEILING: Duration = Duration::from_mins(5);

/// `max(retry_after, min(2^failures s, 300 s) × U(0.5, 1.5))`, plus up to a second when the
/// receiver set the wait, so that many who were told the same do not come back together.
///
/// `failures` counts from 1; `chance` is uniform in `[0, 1)`.
pub fn backoff(failures: u32, retry_after: Option<Duration>, chance: f64) -> Duration {
    let doubled = Duration::from_secs(1_u64.checked_shl(failures).unwrap_or(u64::MAX));
    let own = doubled.min(CEILING).mul_f64(0.5 + chance);
    match retry_after {
        Some(told) if told >= own => told + Duration::from_secs(1).mul_f64(chance),
        _ => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_from_two_seconds_to_five_minutes() {
        let schedule: Vec<u64> = (1..=10)
            .map(|failures| backoff(failures, None, 0.5).as_secs())
            .collect();
        assert_eq!(schedule, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(backoff(u32::MAX, None, 0.5), CEILING);
    }

    #[test]
    fn chance_spreads_it_by_half_each_way() {
        assert_eq!(backoff(3, None, 0.0), Duration::from_secs(4));
        assert_eq!(
            backoff(3, None, 0.999),
            Duration::from_secs_f64(8.0 * 1.499)
        );
    }

    #[test]
    fn what_the_receiver_asks_for_is_never_undercut() {
        let told = Duration::from_secs(43_838);
        assert_eq!(backoff(1, Some(told), 0.0), told);
        assert!(backoff(1, Some(told), 0.9) < told + Duration::from_secs(1));
        assert_eq!(backoff(9, Some(Duration::from_secs(1)), 0.5), CEILING);
    }
}
