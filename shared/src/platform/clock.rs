//! The one clock: wall time enters the programs here and travels as a value.

use crate::model::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tells the wall time. Clones tell the same time.
#[derive(Clone)]
pub struct Clock(Source);

#[derive(Clone)]
enum Source {
    System,
    Set(Arc<Hands>),
}

/// Milliseconds of a set clock.
struct Hands {
    wall: AtomicI64,
    steady: AtomicI64,
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that stands still until [`set_to`](Self::set_to) or [`advance`](Self::advance).
    pub fn set(start: Timestamp) -> Self {
        Self(Source::Set(Arc::new(Hands {
            wall: AtomicI64::new(start.unix_millis()),
            steady: AtomicI64::new(0),
        })))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one clock that the rule points to"
    )]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::Set(hands) => Timestamp::from_unix_millis(hands.wall.load(Ordering::SeqCst)),
            Source::System => {
                let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
                Timestamp::EPOCH + since_epoch.unwrap_or_default()
            }
        }
    }

    /// The time since some moment before the start of the program, which no setting of the wall
    /// clock changes; time that the machine slept counts too.
    pub fn steady(&self) -> Duration {
        match &self.0 {
            Source::Set(hands) => {
                let millis = hands.steady.load(Ordering::SeqCst);
                Duration::from_millis(millis.unsigned_abs())
            }
            Source::System => {
                let time = clock_gettime(ClockId::Boottime);
                Duration::try_from(time).unwrap_or_default()
            }
        }
    }

    /// Which start of the machine the steady time counts from; of a set clock always the same.
    pub fn boot(&self) -> String {
        let id = match &self.0 {
            Source::Set(_) => return "set".to_owned(),
            Source::System => fs::read_to_string("/proc/sys/kernel/random/boot_id"),
        };
        id.map(|id| id.trim().to_owned()).unwrap_or_default()
    }

    /// Lets the time of a set clock pass until `time`; when that is past, the clock is turned back.
    /// The machine's clock is not ours to move.
    pub fn set_to(&self, time: Timestamp) {
        if let Source::Set(hands) = &self.0 {
            let passed = time.since(self.now()).as_millis();
            let passed = i64::try_from(passed).unwrap_or(i64::MAX);
            hands.steady.fetch_add(passed, Ordering::SeqCst);
        }
        self.turn_to(time);
    }

    /// Turns a set clock to `time`, forward or back, while no time passes.
    pub fn turn_to(&self, time: Timestamp) {
        if let Source::Set(hands) = &self.0 {
            hands.wall.store(time.unix_millis(), Ordering::SeqCst);
        }
    }

    pub fn advance(&self, duration: Duration) {
        self.set_to(self.now() + duration);
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Source::System => f.write_str("Clock(system)"),
            Source::Set(_) => write!(f, "Clock(set to {})", self.now().unix_seconds()),
        }
    }
}
