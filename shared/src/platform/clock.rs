//! The one clock: wall time enters the programs here and travels as a value.

use crate::model::Timestamp;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tells the wall time. Clones tell the same time.
#[derive(Clone)]
pub struct Clock(Source);

#[derive(Clone)]
enum Source {
    System,
    Set(Arc<AtomicI64>),
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that stands still until [`set_to`](Self::set_to) or [`advance`](Self::advance).
    pub fn set(start: Timestamp) -> Self {
        Self(Source::Set(Arc::new(AtomicI64::new(start.unix_millis()))))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one clock that the rule points to"
    )]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::Set(millis) => Timestamp::from_unix_millis(millis.load(Ordering::SeqCst)),
            Source::System => {
                let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
                Timestamp::EPOCH + since_epoch.unwrap_or_default()
            }
        }
    }

    /// Moves a set clock to `time`, forward or back. The machine's clock is not ours to move.
    pub fn set_to(&self, time: Timestamp) {
        if let Source::Set(millis) = &self.0 {
            millis.store(time.unix_millis(), Ordering::SeqCst);
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
