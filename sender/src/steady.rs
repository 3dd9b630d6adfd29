//! How long the wall clock has been steady: age may kill a delivery only when ages can be believed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// After a start, or a step of the wall clock, nothing dies of age for this long: a machine that
/// boots with a wrong clock would bury everything that waits at its first failure.
pub(crate) const UNSURE: Duration = Duration::from_secs(600);

/// Clones share the moment.
#[derive(Clone, Debug)]
pub(crate) struct Steady(Arc<Mutex<Instant>>);

impl Steady {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    /// The wall clock was set.
    pub(crate) fn reset(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Whether ages can be believed.
    pub(crate) fn is_sure(&self) -> bool {
        let since = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        since.elapsed() >= UNSURE
    }
}
