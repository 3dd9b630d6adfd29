//! The sender's time: it goes on steadily whatever is done to the wall clock, and the file's times
//! move along when that is set. Age may kill a delivery only when ages can be believed.

use shared::model::Timestamp;
use shared::platform::clock::Clock;
use shared::store::{Db, StoreError, timeline};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// After a start, or a step of the wall clock, nothing dies of age for this long: a machine that
/// boots with a wrong clock would bury everything that waits at its first failure.
pub(crate) const UNSURE: Duration = Duration::from_secs(600);
/// Wall and steady clock further apart than this, and than a clock that is drawn to the right time goes
/// wrong meanwhile (half a thousandth): the wall clock was set. Less is followed silently.
const SLACK: Duration = Duration::from_millis(50);
const DRAWN: u32 = 1_000;
/// A step that makes ages wrong.
const LARGE: i64 = 2_000;
/// Two clocks that were read further apart tell nothing of each other.
const TOGETHER: Duration = Duration::from_millis(5);

/// A reading of the steady clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Duration);

/// The wall clock was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Milliseconds by which it was set in all since the sender began.
    pub(crate) to: i64,
    /// Of that, what is new.
    pub(crate) by: i64,
    /// What it shows now.
    pub(crate) now: Timestamp,
}

impl Step {
    pub(crate) fn is_large(self) -> bool {
        self.by.abs() > LARGE
    }
}

/// Clones tell the same time.
#[derive(Clone, Debug)]
pub struct Steady {
    clock: Clock,
    known: Arc<Mutex<Known>>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    /// What the wall clock would have shown at the steady clock's zero; without the steps.
    origin: Timestamp,
    /// Milliseconds, as the file knows them.
    stepped: i64,
    /// The start, or the last large step.
    since: Moment,
    /// When the clocks were last compared.
    looked: Moment,
}

impl Steady {
    pub(crate) fn new(clock: Clock) -> Self {
        let since = Moment(clock.steady());
        let known = Known {
            origin: clock.now().minus(since.0),
            stepped: 0,
            since,
            looked: since,
        };
        Self {
            clock,
            known: Arc::new(Mutex::new(known)),
        }
    }

    pub fn moment(&self) -> Moment {
        Moment(self.clock.steady())
    }

    /// A moment as the file counts it; within the transaction that it is written in.
    ///
    /// # Errors
    /// What the database says.
    pub fn in_file(&self, db: &Db, moment: Moment) -> Result<Timestamp, StoreError> {
        Ok(self.known().at(moment, timeline::stepped(db)?))
    }

    /// Now, as the file counts it when no step is on its way.
    pub fn now(&self) -> Timestamp {
        let known = self.known();
        known.at(self.moment(), known.stepped)
    }

    /// Whether the wall clock was set, as far as the file does not know of it yet.
    pub(crate) fn step(&self) -> Option<Step> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (moment, now) = (self.moment(), self.clock.now());
        if self.moment().0.saturating_sub(moment.0) > TOGETHER {
            return None;
        }
        let by = now.unix_millis() - known.at(moment, known.stepped).unix_millis();
        let drawn = moment.0.saturating_sub(known.looked.0) / DRAWN;
        known.looked = moment;
        if u128::from(by.unsigned_abs()) > (SLACK + drawn).as_millis() {
            let to = known.stepped.saturating_add(by);
            return Some(Step { to, by, now });
        }
        let origin = known.origin.unix_millis().saturating_add(by);
        known.origin = Timestamp::from_unix_millis(origin);
        None
    }

    /// The file has followed a step.
    pub(crate) fn followed(&self, step: Step) {
        let since = self.moment();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.stepped = step.to;
        if step.is_large() {
            known.since = since;
        }
    }

    /// Whether ages can be believed.
    pub(crate) fn is_sure(&self) -> bool {
        let since = self.known().since;
        self.step().is_none() && self.moment().0.saturating_sub(since.0) >= UNSURE
    }

    fn known(&self) -> Known {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn at(&self, moment: Moment, stepped: i64) -> Timestamp {
        let unset = self.origin + moment.0;
        Timestamp::from_unix_millis(unset.unix_millis().saturating_add(stepped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_unix_millis(1_796_025_600_000);
    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn time_that_passes_is_no_step_however_long_it_was() {
        let clock = Clock::set(START);
        let steady = Steady::new(clock.clone());
        clock.advance(HOUR * 24 * 365);
        assert_eq!(steady.step(), None);
        assert_eq!(steady.now(), clock.now());
        assert!(steady.is_sure());
    }

    #[test]
    fn a_clock_that_is_set_changes_nothing_before_the_file_has_followed() {
        let clock = Clock::set(START);
        let steady = Steady::new(clock.clone());
        clock.advance(HOUR);
        clock.turn_to(START.minus(HOUR * 24));
        assert_eq!(steady.now(), START + HOUR);
        assert!(
            !steady.is_sure(),
            "nothing dies of an age that may be wrong"
        );
        let step = steady.step().expect("a step");
        assert_eq!(step.to, -25 * 3_600_000);
        steady.followed(step);
        assert_eq!(
            (steady.step(), steady.now()),
            (None, START.minus(HOUR * 24))
        );
        clock.turn_to(START);
        let step = steady.step().expect("another");
        assert_eq!((step.to, step.by), (-3_600_000, 24 * 3_600_000));
    }

    #[test]
    fn a_small_step_is_a_step_and_leaves_ages_believable() {
        let clock = Clock::set(START);
        let steady = Steady::new(clock.clone());
        clock.advance(HOUR);
        assert_eq!(steady.step(), None);
        clock.turn_to(clock.now() + Duration::from_millis(400));
        let step = steady.step().expect("a step");
        assert_eq!((step.by, step.is_large()), (400, false));
        steady.followed(step);
        assert_eq!((steady.step(), steady.now()), (None, clock.now()));
        assert!(steady.is_sure());
    }

    #[test]
    fn a_clock_that_is_drawn_slowly_is_followed_silently() {
        let clock = Clock::set(START);
        let steady = Steady::new(clock.clone());
        for _ in 0..100 {
            clock.turn_to(clock.now() + Duration::from_millis(50));
            assert_eq!(steady.step(), None);
            assert_eq!(steady.now(), clock.now());
        }
    }
}
