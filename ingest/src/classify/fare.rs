//! How a model fares in a tick, and what a person is told of it: each trouble once, and its end; pure.

use super::fault::{Fault, FaultKind};
use shared::model::Timestamp;
use shared::store::models::Health;
use std::time::Duration;

/// What passes by itself is told when it has happened so often in a row.
const PATIENCE: u32 = 3;

/// A model's health while a tick asks it.
#[derive(Clone, Debug, Default)]
pub struct Fare {
    pub health: Health,
    last: Option<Fault>,
    /// How long the answers of this tick took.
    took: Vec<Duration>,
}

/// What a person is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    Trouble(String),
    /// It works again; since when it had not, and why.
    Works {
        since: Timestamp,
        after: String,
    },
}

impl Fare {
    pub fn of(health: Health) -> Self {
        Self {
            health,
            ..Self::default()
        }
    }

    /// How long an answer takes in this tick: the median, so that neither the first one, for which the
    /// model had to be loaded, nor a slow item speaks for the others. `None` before the second.
    pub fn typical(&self) -> Option<Duration> {
        let mut took = self.took.clone();
        took.sort_unstable();
        let middle = took.len().checked_sub(1)? / 2;
        took.get(middle).copied().filter(|_| took.len() > 1)
    }

    pub fn worked(&mut self, took: Duration) {
        self.health.failures = 0;
        self.last = None;
        self.took.push(took);
        // Of the last five answers or so.
        let before = self.health.takes.unwrap_or(took);
        self.health.takes = Some((before * 4 + took) / 5);
    }

    pub fn failed(&mut self, fault: &Fault) {
        self.health.failures = self.health.failures.saturating_add(1);
        self.last = Some(fault.clone());
    }

    /// The health to keep, and what is new of it.
    pub fn settle(mut self, now: Timestamp) -> (Health, Option<News>) {
        let news = match (self.health.trouble.take(), self.last) {
            (Some((after, since)), None) if !self.took.is_empty() => {
                Some(News::Works { since, after })
            }
            (None, Some(fault)) if is_told(&fault, self.health.failures) => {
                self.health.trouble = Some((fault.to_string(), now));
                Some(News::Trouble(fault.to_string()))
            }
            (trouble, _) => {
                self.health.trouble = trouble;
                None
            }
        };
        (self.health, news)
    }
}

/// A missing model and a refusal wait for a person: they are told at once.
fn is_told(fault: &Fault, failures: u32) -> bool {
    matches!(fault.kind, FaultKind::ModelMissing | FaultKind::Rejected) || failures >= PATIENCE
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_unix_millis(1_000_000);

    fn tick(health: &mut Health, faults: &[FaultKind]) -> Option<News> {
        let mut fare = Fare::of(health.clone());
        if faults.is_empty() {
            fare.worked(Duration::from_secs(5));
        }
        for kind in faults {
            fare.failed(&Fault::new(*kind, "d"));
        }
        let (kept, news) = fare.settle(NOW);
        *health = kept;
        news
    }

    #[test]
    fn a_missing_model_is_told_at_once_and_once_and_its_return_too() {
        let mut health = Health::default();
        let missing = [FaultKind::ModelMissing];
        let told = "does not have the model (d)".to_owned();
        assert_eq!(
            tick(&mut health, &missing),
            Some(News::Trouble(told.clone()))
        );
        assert_eq!(tick(&mut health, &missing), None);
        assert_eq!(tick(&mut health, &[FaultKind::Busy]), None);
        let works = News::Works {
            since: NOW,
            after: told,
        };
        assert_eq!(tick(&mut health, &[]), Some(works));
        assert_eq!(tick(&mut health, &[]), None);
    }

    #[test]
    fn what_passes_by_itself_is_told_when_it_does_not() {
        for kind in [FaultKind::Busy, FaultKind::Timeout, FaultKind::BadOutput] {
            let mut health = Health::default();
            assert_eq!(tick(&mut health, &[kind]), None);
            assert_eq!(tick(&mut health, &[kind]), None);
            assert!(tick(&mut health, &[kind]).is_some());
            assert_eq!(tick(&mut health, &[kind]), None);
        }
        let mut health = Health::default();
        for _ in 0..5 {
            assert_eq!(tick(&mut health, &[FaultKind::Busy, FaultKind::Busy]), None);
            assert_eq!(tick(&mut health, &[]), None);
        }
    }

    #[test]
    fn neither_the_first_answer_nor_a_slow_one_speaks_for_a_tick() {
        let typical = |seconds: &[u64]| {
            let mut fare = Fare::default();
            for seconds in seconds {
                fare.worked(Duration::from_secs(*seconds));
            }
            fare.typical().map(|takes| takes.as_secs())
        };
        assert_eq!(typical(&[]), None);
        assert_eq!(typical(&[60]), None);
        assert_eq!(typical(&[60, 2]), Some(2));
        assert_eq!(typical(&[60, 2, 3]), Some(3));
        assert_eq!(typical(&[2, 2, 60, 2, 50]), Some(2));
        assert_eq!(typical(&[40, 41, 39]), Some(40));
    }

    #[test]
    fn the_average_follows_the_last_answers() {
        let mut fare = Fare::default();
        fare.worked(Duration::from_secs(10));
        assert_eq!(fare.health.takes, Some(Duration::from_secs(10)));
        for _ in 0..30 {
            fare.worked(Duration::from_secs(1));
        }
        let takes = fare.health.takes.unwrap();
        assert!(takes < Duration::from_millis(1_020), "{takes:?}");
    }
}
