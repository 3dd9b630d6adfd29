//! When a heartbeat is late, missed, too long under way, failed, or well again: over values.
//!
//! A beat is missed when its grace has passed by the clock *and* we were there to hear it for that
//! long, or for an hour. So a machine that was off, or a clock that is set ahead, makes nothing
//! missed at once: what beats often shows itself meanwhile. What has still not come then is told: it
//! may have come unheard, and only a person can find that out.

use crate::model::{Pulse, Signal, Timestamp, Told, Trouble};
use std::time::Duration;

/// Who was there so long to hear something has heard it.
const LISTENED: Duration = Duration::from_hours(1);
/// A time further ahead than this was written under another clock.
const AHEAD: Duration = Duration::from_mins(1);

/// What is asked of a beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// When it is due, as its schedule counts from [`comes_after`].
    pub due: Timestamp,
    /// So much later it is missed.
    pub grace: Duration,
    /// So long after its start a run must have ended.
    pub longest_run: Duration,
    /// What is wrong for so long is told again, as critical.
    pub critical_after: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It has never come, and need not have come yet.
    New,
    Up,
    /// A run goes on.
    Running,
    /// It is due, and its grace is not over.
    Late,
    Troubled(Trouble),
}

impl Phase {
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Up => "up",
            Self::Running => "running",
            Self::Late => "late",
            Self::Troubled(trouble) => trouble.name(),
        }
    }
}

/// From when on the schedule counts.
pub fn comes_after(pulse: &Pulse) -> Timestamp {
    pulse.seen_at.unwrap_or(pulse.known_at)
}

pub fn phase(pulse: &Pulse, terms: &Terms, now: Timestamp) -> Phase {
    let over = is_over(pulse, terms, now);
    if pulse.started_at.is_some() {
        return if over {
            Phase::Troubled(Trouble::Overrun)
        } else {
            Phase::Running
        };
    }
    if pulse.is_failed {
        return Phase::Troubled(Trouble::Failed);
    }
    if now < terms.due {
        return match pulse.seen_at {
            Some(_) => Phase::Up,
            None => Phase::New,
        };
    }
    if over {
        Phase::Troubled(Trouble::Missed)
    } else {
        Phase::Late
    }
}

/// From when until when something is waited for; `None`: nothing is.
fn window(pulse: &Pulse, terms: &Terms, now: Timestamp) -> Option<(Timestamp, Timestamp)> {
    match pulse.started_at {
        Some(started) => Some((started, started + terms.longest_run)),
        None if pulse.is_failed => None,
        None => (now >= terms.due).then(|| (terms.due, terms.due + terms.grace)),
    }
}

fn is_over(pulse: &Pulse, terms: &Terms, now: Timestamp) -> bool {
    window(pulse, terms, now).is_some_and(|(from, until)| {
        let waited = match pulse.waits_since {
            Some(since) if since == from => pulse.waited,
            _ => Duration::ZERO,
        };
        now >= until && waited >= until.since(from).min(LISTENED)
    })
}

/// A tick looks: what was waited for is counted. Who last looked longer than `most_apart` ago was not
/// there.
#[must_use]
pub fn look(pulse: &Pulse, terms: &Terms, most_apart: Duration, now: Timestamp) -> Pulse {
    let mut next = pulse.clone();
    next.looked_at = Some(now);
    let ahead = newest(pulse).filter(|newest| *newest > now + AHEAD);
    let window = window(pulse, terms, now).map(|(from, _)| from);
    next.waits_since = ahead.or(window);
    if next.waits_since != pulse.waits_since {
        next.waited = Duration::ZERO;
    }
    let Some((since, last)) = next.waits_since.zip(pulse.looked_at) else {
        return next;
    };
    let is_there = now >= last && now.since(last) <= most_apart;
    if is_there {
        // What stands ahead of the clock is waited for since it was seen.
        let from = if ahead.is_some() {
            last
        } else {
            last.max(since)
        };
        next.waited += now.since(from);
    }
    // A clock that is wrong for an hour is the clock.
    if ahead.is_some() && next.waited >= LISTENED {
        believe(&mut next, now);
        if let Some(told) = &mut next.told {
            told.due = None;
        }
    }
    next
}

/// The newest time that stands in it.
fn newest(pulse: &Pulse) -> Option<Timestamp> {
    let times = [pulse.seen_at, pulse.failed_at, pulse.started_at];
    let newest = times.into_iter().flatten().max();
    newest.max(Some(pulse.known_at))
}

/// What lies ahead of `now` was `now` at the latest.
fn believe(pulse: &mut Pulse, now: Timestamp) {
    let latest = |time: Option<Timestamp>| time.map(|time| time.min(now));
    pulse.known_at = pulse.known_at.min(now);
    pulse.seen_at = latest(pulse.seen_at);
    pulse.failed_at = latest(pulse.failed_at);
    pulse.started_at = latest(pulse.started_at);
}

/// A call that came at `at`. What comes now is the last word, whatever other clocks wrote before; what
/// came earlier, and waited in a file, changes nothing that came after it.
#[must_use]
pub fn hear(
    pulse: &Pulse,
    signal: Signal,
    note: Option<String>,
    at: Timestamp,
    now: Timestamp,
) -> Pulse {
    let mut next = pulse.clone();
    if at >= now {
        believe(&mut next, at);
    }
    let last_end = next.seen_at.max(next.failed_at);
    let is_last = last_end.is_none_or(|end| at >= end);
    if is_last {
        next.note = note;
    }
    match signal {
        Signal::Start if is_last => {
            next.started_at = Some(next.started_at.map_or(at, |first| first.min(at)));
        }
        Signal::Start => {}
        Signal::Success | Signal::Status(0) => {
            next.seen_at = next.seen_at.max(Some(at));
            ended(&mut next, is_last, false, at);
            if let Some(told) = &mut next.told {
                told.is_past |= is_last;
            }
        }
        Signal::Fail | Signal::Status(_) => {
            next.failed_at = next.failed_at.max(Some(at));
            if is_last {
                next.status = match signal {
                    Signal::Status(status) => Some(status),
                    _ => None,
                };
            }
            ended(&mut next, is_last, true, at);
        }
    }
    next
}

fn ended(pulse: &mut Pulse, is_last: bool, is_failed: bool, at: Timestamp) {
    if is_last {
        pulse.is_failed = is_failed;
    }
    pulse.started_at = pulse.started_at.filter(|started| *started > at);
}

/// What is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    Begun(Trouble),
    /// It goes on for long.
    Lasts(Told),
    Over(Told),
}

/// One trouble is told once, or twice when it lasts, whatever else becomes of it; and its end, which only a
/// success is, or another schedule: a clock that goes back behind what was due makes nothing well.
pub fn news(pulse: &Pulse, terms: &Terms, phase: Phase, now: Timestamp) -> Option<News> {
    match (pulse.told, phase) {
        (None, Phase::Troubled(trouble)) => Some(News::Begun(trouble)),
        (Some(told), Phase::New | Phase::Up | Phase::Late | Phase::Running) => {
            let is_waited_for = pulse.is_failed || phase == Phase::Running;
            let is_otherwise = !is_waited_for && told.due.is_some_and(|due| due != terms.due);
            (told.is_past && !pulse.is_failed || is_otherwise).then_some(News::Over(told))
        }
        (Some(told), Phase::Troubled(_)) => {
            let after = terms.critical_after.filter(|_| !told.is_raised);
            after
                .is_some_and(|after| now.since(told.at) >= after)
                .then_some(News::Lasts(told))
        }
        (None, _) => None,
    }
}

/// What is told of a trouble that begins.
pub fn told(trouble: Trouble, terms: &Terms, at: Timestamp) -> Told {
    Told {
        trouble,
        at,
        due: (trouble == Trouble::Missed).then_some(terms.due),
        is_past: false,
        is_raised: false,
        alert_id: None,
    }
}

/// The name of how it is: what was told and is not over goes before what the clock says.
pub fn state(pulse: &Pulse, terms: &Terms, now: Timestamp) -> &'static str {
    let phase = phase(pulse, terms, now);
    match pulse.told {
        Some(told) if !told.is_past && phase != Phase::Running => told.trouble.name(),
        _ => phase.name(),
    }
}

#[cfg(test)]
mod tests;
