//! How long items will wait for a model that answers one after the other; pure.

use std::time::Duration;

/// What decides how fast a queue moves.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// One answer, on average.
    pub takes: Duration,
    /// Answers at the same time.
    pub at_once: usize,
    /// A tick asks for so long …
    pub deadline: Duration,
    /// … of each so long.
    pub interval: Duration,
    /// Nobody waits longer.
    pub give_up_after: Duration,
}

/// How many places of a queue are reached in time by someone who has waited for `waited` already. The
/// first place always is: what takes too long is found out by asking.
pub fn places_in_time(waits: &Waits, waited: Duration) -> usize {
    let left = waits.give_up_after.saturating_sub(waited).as_secs_f64();
    let takes = waits.takes.as_secs_f64().max(0.001);
    let share = waits.deadline.as_secs_f64() / waits.interval.as_secs_f64().max(1.0);
    let at_once = f64::from(u32::try_from(waits.at_once).unwrap_or(u32::MAX));
    let places = (left * share.min(1.0) * at_once / takes).clamp(1.0, 1e9);
    Duration::from_secs_f64(places)
        .as_secs()
        .try_into()
        .unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(takes_millis: u64, at_once: usize, waited: u64) -> usize {
        let waits = Waits {
            takes: Duration::from_millis(takes_millis),
            at_once,
            deadline: Duration::from_secs(100),
            interval: Duration::from_secs(120),
            give_up_after: Duration::from_secs(600),
        };
        places_in_time(&waits, Duration::from_secs(waited))
    }

    #[test]
    fn a_slow_model_reaches_few_a_fast_one_many() {
        // 600 s of waiting hold five ticks of 100 s.
        assert_eq!(places(5_000, 1, 0), 100);
        assert_eq!(places(5_000, 2, 0), 200);
        assert_eq!(places(500, 1, 0), 1_000);
        assert_eq!(places(5_000, 1, 300), 50);
        assert_eq!(places(60_000, 1, 0), 8);
    }

    #[test]
    fn the_first_is_asked_about_whatever_happens() {
        assert_eq!(places(5_000, 1, 10_000), 1);
        assert_eq!(places(10_000_000, 1, 0), 1);
        assert!(places(0, 8, 0) > 100_000);
    }
}
