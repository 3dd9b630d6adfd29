//! How much one webhook takes: all of its minute at once, and no more than that in the long run; and how
//! often anybody can make us write a line of the log.

use crate::enqueue::notices;
use shared::config::Config;
use shared::model::{Alert, Severity, Timestamp};
use shared::store::outbox::Notice;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);

/// Calls of one heartbeat in a minute: jobs call once or twice, and whoever knows a name can call.
const BEATS: u32 = 60;

/// Each webhook's, by its name, and each heartbeat's, by `heartbeat/` and its name.
pub(super) struct Pacer {
    of: Mutex<BTreeMap<String, Count>>,
}

struct Count {
    pace: Pace,
    refused: Seldom,
    too_many: Seldom,
    owes_notice: bool,
}

impl Pacer {
    pub(super) fn new(config: &Config, now: Instant) -> Self {
        let per_minute = u32::try_from(config.listen.per_minute).unwrap_or(u32::MAX);
        let count = |name: String, per_minute| {
            let count = Count {
                pace: Pace::new(per_minute, now),
                refused: Seldom::default(),
                too_many: Seldom::default(),
                owes_notice: false,
            };
            (name, count)
        };
        let webhooks = config.webhooks.iter();
        let webhooks = webhooks.map(|webhook| count(webhook.name.clone(), per_minute));
        let beats = config.beats.iter();
        let beats = beats.map(|beat| count(of_beat(&beat.name), BEATS));
        Self {
            of: Mutex::new(webhooks.chain(beats).collect()),
        }
    }

    /// Whether one more of what is proven to be its may come now.
    pub(super) fn takes(&self, name: &str, now: Instant) -> bool {
        let mut of = self.lock();
        of.get_mut(name).is_none_or(|of| of.pace.take(now))
    }

    /// How many refusals without proof are not told yet, when this one is told.
    pub(super) fn tells_refusal(&self, webhook: &str, now: Instant) -> Option<u64> {
        let mut of = self.lock();
        of.get_mut(webhook)?.refused.tell(now)
    }

    /// The same of those that came too fast; and a notice is owed.
    pub(super) fn tells_too_many(&self, name: &str, now: Instant) -> Option<u64> {
        let mut of = self.lock();
        let count = of.get_mut(name)?;
        count.owes_notice = true;
        count.too_many.tell(now)
    }

    /// Of whom it must be told. What comes too fast from now on is owed anew.
    pub(super) fn take_owed(&self) -> Vec<String> {
        let mut of = self.lock();
        let owing = of.iter_mut().filter(|(_, count)| count.owes_notice);
        owing
            .map(|(name, count)| {
                count.owes_notice = false;
                name.clone()
            })
            .collect()
    }

    /// It could not be told.
    pub(super) fn owe_notice(&self, name: &str) {
        if let Some(count) = self.lock().get_mut(name) {
            count.owes_notice = true;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Count>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn of_beat(name: &str) -> String {
    format!("heartbeat/{name}")
}

/// What is told of a webhook, once an hour; of a heartbeat the log tells it.
pub(super) fn notice(name: &str, config: &Config, now: Timestamp) -> Option<Notice> {
    let most = config.listen.per_minute;
    if !config.webhooks.iter().any(|webhook| webhook.name == name) {
        return None;
    }
    let hour = now.unix_millis() / 3_600_000;
    let alert = Alert::about_ourselves(
        Severity::High,
        format!("The webhook {name} gets more than it takes"),
        format!(
            "More than {most} deliveries came within a minute; what is beyond is answered with 429, and lost unless \
             its sender tries again. Find out who sends so much, or raise listen.per_minute."
        ),
        "what is refused is always told",
        hour,
    );
    Some(Notice {
        event: "too-many".to_owned(),
        about: format!("{name}.{hour}"),
        to: notices(&alert, config)?,
        alert,
    })
}

/// A bucket that holds a minute's deliveries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    per_minute: f64,
    left: f64,
    at: Instant,
}

impl Pace {
    pub(super) fn new(per_minute: u32, now: Instant) -> Self {
        let per_minute = f64::from(per_minute);
        Self {
            per_minute,
            left: per_minute,
            at: now,
        }
    }

    /// Whether one more may come now.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        let come = passed * self.per_minute / MINUTE.as_secs_f64();
        self.left = (self.left + come).min(self.per_minute);
        self.at = now;
        let may = self.left >= 1.0;
        if may {
            self.left -= 1.0;
        }
        may
    }
}

/// A line of the log that anybody can cause: one a minute, with how many there were.
#[derive(Debug, Default)]
pub(super) struct Seldom {
    last: Option<Instant>,
    untold: u64,
}

impl Seldom {
    /// How many were left out before this one, when it may be told now.
    pub(super) fn tell(&mut self, now: Instant) -> Option<u64> {
        if self.last.is_some_and(|last| now < last + MINUTE) {
            self.untold += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::{Pace, Seldom};
    use std::time::Duration;
    use tokio::time::Instant;

    fn taken(pace: &mut Pace, offered: u32, now: Instant) -> u32 {
        (0..offered).map(|_| u32::from(pace.take(now))).sum()
    }

    #[test]
    fn a_minutes_deliveries_may_come_at_once_and_then_as_many_a_minute() {
        let now = Instant::now();
        let mut pace = Pace::new(60, now);
        assert_eq!(taken(&mut pace, 100, now), 60);
        assert_eq!(taken(&mut pace, 100, now + Duration::from_secs(10)), 10);
        let hours = Duration::from_secs(7_200);
        assert_eq!(taken(&mut pace, 100, now + hours), 60);
    }

    #[test]
    fn a_line_is_told_once_a_minute_with_how_many_were_left_out() {
        let now = Instant::now();
        let after = |seconds| now + Duration::from_secs(seconds);
        let mut seldom = Seldom::default();
        let told = [0, 1, 59, 60, 61, 200].map(|seconds| seldom.tell(after(seconds)));
        assert_eq!(told, [Some(0), None, None, Some(2), None, Some(1)]);
    }
}
