//! The tick's watch over the rest of us: that the sender drains, that nobody sets the clock, and what no
//! channel could tell. Each is told once, and so is its end; the outside ping hears of it meanwhile.

use crate::enqueue::notices;
use shared::config::Config;
use shared::model::{Alert, Severity, Timestamp};
use shared::platform::clock::Clock;
use shared::platform::lock;
use shared::policy::text::span;
use shared::store::alarms::{self, Turn};
use shared::store::outbox::{self, Notice};
use shared::store::watch::{self, Drain, Reading, Suspicion};
use shared::store::{Db, Store, StoreError, beside};
use std::time::Duration;

/// So long may something be due while nothing moves.
const OLD: Duration = Duration::from_mins(5);
/// So long must it seem so, in each tick, before it is told: restarts and machines that were off are
/// over by then.
const SEEMS: Duration = Duration::from_mins(5);
/// Who looked more ticks ago than these did not see what was between.
const MOST_APART: u32 = 3;
/// What the clock is set by less does nobody any harm: nothing that we do is counted in less than
/// minutes but by the steady clock, and at a start clocks are often set by seconds.
const LARGE: Duration = Duration::from_mins(1);
/// The alarm's name.
const SENDER: &str = "sender";

/// Why nothing is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standstill {
    /// No process holds the sender's lock.
    Absent,
    /// Something is due, and nothing moves.
    Stuck { waits_since: Timestamp },
}

fn standstill(drain: &Drain, runs: bool, now: Timestamp) -> Option<Standstill> {
    // Who has never seen a sender runs the ingest alone.
    if drain.epoch == 0 {
        return None;
    }
    if !runs {
        return Some(Standstill::Absent);
    }
    let waits_since = drain.waits_since?;
    let last_moved = drain.moved_at.max(Some(drain.began_at)).unwrap_or_default();
    let is_still = now.since(waits_since) >= OLD && now.since(last_moved) >= OLD;
    is_still.then_some(Standstill::Stuck { waits_since })
}

/// Since when it has seemed so without a gap.
fn suspect(
    before: Option<Suspicion>,
    seems_so: bool,
    most_apart: Duration,
    now: Timestamp,
) -> Option<Suspicion> {
    if !seems_so {
        return None;
    }
    let goes_on = before.filter(|before| {
        before.since <= before.looked_at
            && before.looked_at <= now
            && now.since(before.looked_at) <= most_apart
    });
    Some(Suspicion {
        since: goes_on.map_or(now, |before| before.since),
        looked_at: now,
    })
}

/// By how many milliseconds the wall clock was set between two ticks of one run of the machine; `None`
/// when that is little, or cannot be known.
fn step(before: &Reading, after: &Reading) -> Option<i64> {
    let passed = after.steady.checked_sub(before.steady)?;
    if before.boot != after.boot || after.boot.is_empty() {
        return None;
    }
    let expected = before.wall + passed;
    let by = after.wall.unix_millis() - expected.unix_millis();
    (u128::from(by.unsigned_abs()) >= LARGE.as_millis()).then_some(by)
}

/// What a look has found.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    pub(crate) rows: usize,
    /// What a person must know who hears of us by the outside ping alone, in words.
    pub(crate) troubles: Vec<String>,
}

/// Looks, and tells what is new, in one transaction with the fact that it was told.
pub(crate) async fn look(
    store: &Store,
    config: &Config,
    clock: &Clock,
) -> Result<Watched, StoreError> {
    let now = clock.now();
    let runs = lock::is_held(&beside(store.path(), ".sender"));
    let names: Vec<String> = config.channels.iter().map(|one| one.name.clone()).collect();
    let (drain, before, known, untold) = store
        .read(move |db| {
            let configured = |name: &str| name.is_empty() || names.iter().any(|one| one == name);
            let drain = watch::drain(db, &configured, now)?;
            let (before, known) = (watch::suspicion(db)?, watch::reading(db)?);
            Ok((drain, before, known, watch::untold(db)?))
        })
        .await?;
    let reading = Reading {
        wall: now,
        steady: clock.steady(),
        boot: clock.boot(),
    };
    let stepped = known.and_then(|known| step(&known, &reading));
    // Under a clock that was just set nobody knows how long anything waits.
    let standstill = standstill(&drain, runs, now).filter(|_| stepped.is_none());
    let most_apart = config.ingest.interval * MOST_APART;
    let after = suspect(before, standstill.is_some(), most_apart, now);
    let found = standstill
        .zip(after)
        .filter(|(_, suspicion)| now.since(suspicion.since.max(drain.began_at)) >= SEEMS);
    let clock_notice = stepped.and_then(|by| clock_notice(by, config, now));
    let sender_notices = SenderNotices::of(found, config, now);
    let holds = found.is_some();
    let rows = store
        .write(move |db: &Db| {
            let mut rows = 0;
            watch::keep_reading(db, &reading)?;
            if let Some(notice) = &clock_notice {
                rows += usize::from(outbox::notify(db, notice, now)?.new);
            }
            if before.is_some() || after.is_some() {
                watch::keep_suspicion(db, after)?;
                let turn = alarms::note(db, SENDER, holds, |turn| sender_notices.at(turn), now)?;
                rows += usize::from(turn.is_some());
            }
            Ok(rows)
        })
        .await?;
    let mut troubles = untold;
    if let Some((standstill, _)) = found {
        let said = standstill.in_words(now);
        tracing::error!("{said}");
        troubles.insert(0, said);
    }
    if let Some(by) = stepped {
        tracing::warn!(milliseconds = by, "the clock was set");
    }
    Ok(Watched { rows, troubles })
}

impl Standstill {
    fn in_words(self, now: Timestamp) -> String {
        match self {
            Self::Absent => "no sender runs".to_owned(),
            Self::Stuck { waits_since } => format!(
                "the sender does not drain: something is due for {}, and nothing moves",
                span(now.since(waits_since))
            ),
        }
    }
}

/// What is said when it begins and when it ends.
struct SenderNotices {
    begun: Option<Notice>,
    /// Its summary lacks for how long.
    over: Option<Notice>,
    now: Timestamp,
}

impl SenderNotices {
    fn of(found: Option<(Standstill, Suspicion)>, config: &Config, now: Timestamp) -> Self {
        let begun = found.and_then(|(standstill, _)| {
            let what = match standstill {
                Standstill::Absent => "See `systemctl status watchalert-sender`.",
                Standstill::Stuck { .. } => {
                    "It runs; `watchalert-sender status` and `journalctl -u watchalert-sender` say more."
                }
            };
            let title = format!("Nothing was sent: {}", standstill.in_words(now));
            notice("sender", Severity::High, title, what.to_owned(), config, now)
        });
        let title = "The sender drains again".to_owned();
        Self {
            begun,
            over: notice(
                "sender-over",
                Severity::Normal,
                title,
                String::new(),
                config,
                now,
            ),
            now,
        }
    }

    fn at(&self, turn: Turn) -> Option<Notice> {
        match turn {
            Turn::Begun => self.begun.clone(),
            Turn::Over(since) => {
                let mut over = self.over.clone()?;
                let lasted = span(self.now.since(since));
                over.alert.summary = format!("It was told {lasted} ago that it did not.");
                Some(over)
            }
        }
    }
}

fn clock_notice(by: i64, config: &Config, now: Timestamp) -> Option<Notice> {
    let size = span(Duration::from_millis(by.unsigned_abs()));
    let way = if by > 0 { "ahead" } else { "back" };
    let title = format!("This machine's clock was set {way} by {size}");
    let summary =
        "Times that were told before are so much off. Is a time service running (`timedatectl`)?";
    notice(
        "clock",
        Severity::Low,
        title,
        summary.to_owned(),
        config,
        now,
    )
}

fn notice(
    event: &str,
    severity: Severity,
    title: String,
    summary: String,
    config: &Config,
    now: Timestamp,
) -> Option<Notice> {
    let about = now.unix_millis() / 1000;
    let reason = "watchalert watches itself";
    let alert = Alert::about_ourselves(severity, title, summary, reason, about);
    Some(Notice {
        event: event.to_owned(),
        about: about.to_string(),
        to: notices(&alert, config)?,
        alert,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-30T08:00:00Z
    const START: Timestamp = Timestamp::from_unix_millis(1_796_025_600_000);
    const MINUTE: Duration = Duration::from_mins(1);

    fn minutes(minutes: u32) -> Timestamp {
        START + MINUTE * minutes
    }

    #[test]
    fn a_sender_is_at_a_standstill_when_it_is_not_there_or_nothing_moves() {
        let drain = |waits: Option<u32>, moved: Option<u32>| Drain {
            epoch: 1,
            began_at: START,
            waits_since: waits.map(minutes),
            moved_at: moved.map(minutes),
        };
        let stuck = |minute| {
            Some(Standstill::Stuck {
                waits_since: minutes(minute),
            })
        };
        let now = minutes(60);
        for (drain, runs, expected) in [
            (drain(None, None), true, None),
            (drain(None, None), false, Some(Standstill::Absent)),
            (drain(Some(55), None), true, stuck(55)),
            (drain(Some(56), None), true, None),
            (drain(Some(10), Some(55)), true, stuck(10)),
            // Something else is sent: the limits decide.
            (drain(Some(10), Some(56)), true, None),
            (Drain::default(), false, None),
        ] {
            assert_eq!(standstill(&drain, runs, now), expected, "{drain:?} {runs}");
        }
        // Who has just begun has not had its chance.
        let fresh = Drain {
            began_at: minutes(58),
            ..drain(Some(10), None)
        };
        assert_eq!(standstill(&fresh, true, now), None);
    }

    #[test]
    fn what_seems_so_is_believed_after_five_minutes_without_a_gap() {
        let apart = 6 * MINUTE;
        let mut suspicion = None;
        for minute in [0, 2, 4, 6] {
            suspicion = suspect(suspicion, true, apart, minutes(minute));
        }
        assert_eq!(suspicion.map(|one| one.since), Some(START));
        // A machine that was off, and a clock that was set: counted anew.
        let off = suspect(suspicion, true, apart, minutes(20));
        assert_eq!(off.map(|one| one.since), Some(minutes(20)));
        let back = suspect(suspicion, true, apart, minutes(3));
        assert_eq!(back.map(|one| one.since), Some(minutes(3)));
        assert_eq!(suspect(suspicion, false, apart, minutes(8)), None);
    }

    #[test]
    fn a_step_is_what_the_wall_clock_went_further_than_the_steady_one() {
        let reading = |wall: i64, steady: u64, boot: &str| Reading {
            wall: Timestamp::from_unix_millis(START.unix_millis() + wall * 1_000),
            steady: Duration::from_secs(steady),
            boot: boot.to_owned(),
        };
        let before = reading(0, 1_000, "one");
        for (after, by) in [
            (reading(120, 1_120, "one"), None),
            // A laptop that slept: both went on.
            (reading(86_400, 87_400, "one"), None),
            (reading(179, 1_120, "one"), None),
            (reading(180, 1_120, "one"), Some(60_000)),
            (reading(-3_480, 1_120, "one"), Some(-3_600_000)),
            // Another start of the machine: nobody knows.
            (reading(86_400, 5_000, "two"), None),
            (reading(86_400, 20, "one"), None),
        ] {
            assert_eq!(step(&before, &after), by, "{after:?}");
        }
    }
}
