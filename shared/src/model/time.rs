//! Wall-clock time as the database stores it: Unix seconds, here with millisecond precision.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::Add;
use std::time::Duration;

/// A moment on the wall clock. In SQL it is a REAL number of Unix seconds, so that
/// `datetime(created_at,'unixepoch')` reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    millis: i64,
}

impl Timestamp {
    /// 1970-01-01T00:00:00Z; in the outbox "at once".
    pub const EPOCH: Self = Self { millis: 0 };

    pub const fn from_unix_millis(millis: i64) -> Self {
        Self { millis }
    }

    /// From Unix seconds as SQL holds them. Not-a-number becomes the epoch, what is out of
    /// range the nearest end: a row written by a stranger's script must never stop the sender.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "float to integer casts saturate, which is what is wanted"
    )]
    pub fn from_unix_seconds(seconds: f64) -> Self {
        Self {
            millis: (seconds * 1000.0).round() as i64,
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "exact for every millisecond of the next 285,000 years"
    )]
    pub fn unix_seconds(self) -> f64 {
        self.millis as f64 / 1000.0
    }

    pub const fn unix_millis(self) -> i64 {
        self.millis
    }

    /// The time since `earlier`; zero when `earlier` is in fact later (a clock that went back).
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(
            self.millis
                .saturating_sub(earlier.millis)
                .max(0)
                .unsigned_abs(),
        )
    }

    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self {
            millis: self.millis.saturating_sub(whole_millis(duration)),
        }
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self {
            millis: self.millis.saturating_add(whole_millis(duration)),
        }
    }
}

fn whole_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.unix_seconds())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::from_unix_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_millisecond_survives_the_round_trip_through_sql() {
        for millis in [0, 1, 1_796_070_000_123, -62_135_596_800_000] {
            let time = Timestamp::from_unix_millis(millis);
            assert_eq!(Timestamp::from_unix_seconds(time.unix_seconds()), time);
        }
    }

    #[test]
    fn numbers_no_clock_shows_do_not_panic() {
        assert_eq!(Timestamp::from_unix_seconds(f64::NAN), Timestamp::EPOCH);
        let end = Timestamp::from_unix_seconds(f64::INFINITY);
        assert_eq!(end + Duration::MAX, end);
        assert_eq!(Timestamp::EPOCH.since(end), Duration::ZERO);
    }
}
