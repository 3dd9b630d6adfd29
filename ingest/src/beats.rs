//! Heartbeats: what a call or a tick makes of one is stored together with what is told of it, in one
//! transaction, so that a crash neither loses nor repeats anything.

use crate::enqueue::where_told;
use crate::know::hash;
use crate::route::route;
use shared::config::{Beat, Config};
use shared::model::{
    Alert, Category, Heard, Judge, Priority, Pulse, Severity, Signal, Timestamp, Told, Trouble,
};
use shared::platform::term::local;
use shared::policy::beat::{self, News, Terms};
use shared::policy::text::span;
use shared::store::outbox::{self, Addressee, Enqueued, Owed};
use shared::store::{Db, Store, StoreError, beats, posts};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Who last looked more ticks ago than these was not there to hear anything.
const MOST_APART: u32 = 3;

/// A beat with all that a job of the writer thread must know.
#[derive(Clone, Debug)]
pub struct Watched {
    pub beat: Beat,
    most_apart: Duration,
    severity_of_end: Severity,
    begun: Vec<Addressee>,
    lasts: Vec<Addressee>,
    over: Vec<Addressee>,
}

/// What a call or a look has changed.
#[derive(Clone, Debug, Default)]
pub struct Changed {
    /// Rows of the outbox that are new.
    pub rows: usize,
    pub alerts: Vec<Owed>,
}

impl Watched {
    pub fn of(beat: &Beat, config: &Config, now: Timestamp) -> Self {
        let severity_of_end = beat.severity.max(Severity::Normal);
        let to = |severity| {
            let nothing = alert(beat, severity, String::new(), String::new(), "");
            route(&nothing, &beat.tags, config, now)
        };
        Self {
            begun: to(beat.severity),
            lasts: to(Severity::Critical),
            over: to(severity_of_end),
            severity_of_end,
            most_apart: config.ingest.interval * MOST_APART,
            beat: beat.clone(),
        }
    }

    /// A call came.
    pub fn hear(&self, db: &Db, heard: &Heard, now: Timestamp) -> Result<Changed, StoreError> {
        let known = beats::get(db, &self.beat.name)?;
        // Who calls before a tick has looked is known since then.
        let before = known.unwrap_or_else(|| new(heard.at.min(now)));
        let pulse = beat::hear(&before, heard.signal, heard.note.clone(), heard.at, now);
        let mut changed = self.settle(db, pulse.clone(), now)?;
        let is_failure = !matches!(
            heard.signal,
            Signal::Start | Signal::Success | Signal::Status(0)
        );
        let is_undone = !pulse.is_failed && pulse.failed_at > before.failed_at;
        if is_failure && is_undone {
            self.tell_of_the_past(db, heard, &mut changed, now)?;
        }
        Ok(changed)
    }

    /// A tick looks.
    pub fn look(&self, db: &Db, now: Timestamp) -> Result<Changed, StoreError> {
        let known = beats::get(db, &self.beat.name)?;
        let before = known.unwrap_or_else(|| new(now));
        let terms = self.beat.terms(&before);
        self.settle(db, beat::look(&before, &terms, self.most_apart, now), now)
    }

    fn settle(&self, db: &Db, mut pulse: Pulse, now: Timestamp) -> Result<Changed, StoreError> {
        let terms = self.beat.terms(&pulse);
        let phase = beat::phase(&pulse, &terms, now);
        let mut changed = Changed::default();
        match beat::news(&pulse, &terms, phase, now) {
            None => {}
            Some(News::Begun(trouble)) => {
                let owed = self.begun(&pulse, &terms, trouble, now);
                let alert_id = Some(changed.enqueue(db, owed, now)?);
                pulse.told = Some(Told {
                    alert_id,
                    ..beat::told(trouble, &terms, now)
                });
            }
            Some(News::Lasts(told)) => {
                let owed = self.lasts(&pulse, told, now);
                pulse.told = Some(Told {
                    alert_id: Some(changed.enqueue(db, owed, now)?),
                    is_raised: true,
                    ..told
                });
            }
            Some(News::Over(told)) => {
                let mut owed = self.over(told, now);
                let heard = posts::told_to(db, told.alert_id)?;
                if !heard.is_empty() {
                    owed.to = where_told(&heard, &owed.to);
                    owed.not_owed = None;
                }
                changed.enqueue(db, owed, now)?;
                pulse.told = None;
            }
        }
        beats::keep(db, &self.beat.name, &pulse)?;
        Ok(changed)
    }

    fn begun(&self, pulse: &Pulse, terms: &Terms, trouble: Trouble, now: Timestamp) -> Owed {
        let name = &self.beat.name;
        let (title, summary) = match trouble {
            Trouble::Missed => (
                format!("Heartbeat {name} is missing"),
                self.missed(pulse, terms, now),
            ),
            Trouble::Overrun => (
                format!("Heartbeat {name} does not end"),
                format!(
                    "A run began {} and has not ended in {}.",
                    self.local(pulse.started_at),
                    span(terms.longest_run)
                ),
            ),
            Trouble::Failed => (
                format!("Heartbeat {name} failed{}", status(pulse.status)),
                pulse.note.clone().unwrap_or_default(),
            ),
        };
        let key = format!("b:{name}:{trouble}:{}", now.unix_millis());
        self.owed(self.beat.severity, title, summary, key, &self.begun)
    }

    fn lasts(&self, pulse: &Pulse, told: Told, now: Timestamp) -> Owed {
        let name = &self.beat.name;
        let what = match told.trouble {
            Trouble::Missed => "is still missing",
            Trouble::Overrun => "does still not end",
            Trouble::Failed => "has not succeeded since it failed",
        };
        let last = match pulse.seen_at {
            Some(_) => format!("Its last success came {}.", self.local(pulse.seen_at)),
            None => "It has never succeeded.".to_owned(),
        };
        let summary = format!("That was told {} ago. {last}", span(now.since(told.at)));
        let key = format!("b:{name}:lasts:{}", now.unix_millis());
        let title = format!("Heartbeat {name} {what}");
        let mut owed = self.owed(Severity::Critical, title, summary, key, &self.lasts);
        owed.raised_from = told.alert_id;
        owed
    }

    fn missed(&self, pulse: &Pulse, terms: &Terms, now: Timestamp) -> String {
        let last = match pulse.seen_at {
            Some(_) => format!("It last came {}.", self.local(pulse.seen_at)),
            None => "It has never come.".to_owned(),
        };
        // Told later than it could have been: we were not there, or the clock was set.
        let unheard = if now.since(terms.due + terms.grace) > self.most_apart {
            " For a part of that time nobody here listened: it may have come unheard."
        } else {
            ""
        };
        format!(
            "It was due {}, and not later than {} after that. {last}{unheard}",
            self.local(Some(terms.due)),
            span(terms.grace)
        )
    }

    fn over(&self, told: Told, now: Timestamp) -> Owed {
        let name = &self.beat.name;
        let what = match told.trouble {
            Trouble::Missed => "missing",
            Trouble::Overrun => "not ending",
            Trouble::Failed => "failed",
        };
        let summary = if told.is_past {
            format!("It was {what} for {}.", span(now.since(told.at)))
        } else {
            format!("It was {what}, and by its schedule it is not any more.")
        };
        let key = format!("b:{name}:well:{}", now.unix_millis());
        let title = format!("Heartbeat {name} is back");
        self.owed(self.severity_of_end, title, summary, key, &self.over)
    }

    /// A failure that was kept in a file, while a success went by.
    fn tell_of_the_past(
        &self,
        db: &Db,
        heard: &Heard,
        changed: &mut Changed,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let name = &self.beat.name;
        let code = match heard.signal {
            Signal::Status(code) => Some(code),
            _ => None,
        };
        let title = format!("Heartbeat {name} had failed{}", status(code));
        let note = heard.note.as_deref().unwrap_or_default();
        let at = self.local(Some(heard.at));
        let summary = format!("That was {at}; it has succeeded since. {note}");
        let key = format!("b:{name}:was-failed:{}", heard.at.unix_millis());
        let summary = summary.trim_end().to_owned();
        let owed = self.owed(self.severity_of_end, title, summary, key, &self.over);
        changed.enqueue(db, owed, now).map(drop)
    }

    fn owed(
        &self,
        severity: Severity,
        title: String,
        summary: String,
        key: String,
        to: &[Addressee],
    ) -> Owed {
        Owed {
            alert: alert(&self.beat, severity, title, summary, &key),
            priority: severity.priority().unwrap_or(Priority::Low),
            to: to.to_vec(),
            cves: None,
            raised_from: None,
            not_owed: to.is_empty().then(|| "no channel is configured".to_owned()),
            dedup_key: key,
        }
    }

    fn local(&self, time: Option<Timestamp>) -> String {
        time.map_or_else(String::new, |time| local(time, &self.beat.timezone))
    }
}

impl Changed {
    fn enqueue(&mut self, db: &Db, owed: Owed, now: Timestamp) -> Result<i64, StoreError> {
        let enqueued = outbox::enqueue(db, &owed, now)?;
        if let Enqueued::New { rows, .. } = enqueued {
            self.rows += rows;
            self.alerts.push(owed);
        }
        Ok(enqueued.alert_id())
    }
}

fn new(known_at: Timestamp) -> Pulse {
    Pulse {
        known_at,
        ..Pulse::default()
    }
}

fn status(status: Option<u8>) -> String {
    status.map_or_else(String::new, |status| format!(" (exit status {status})"))
}

fn alert(beat: &Beat, severity: Severity, title: String, summary: String, key: &str) -> Alert {
    Alert {
        v: Alert::VERSION,
        short_id: hash("beat", &[key]).short_id().to_owned(),
        severity,
        category: Category::Operations,
        title,
        summary,
        link: None,
        source: format!("heartbeat {}", beat.name),
        also: Vec::new(),
        reason: "what is wrong with a heartbeat is told once, again when it lasts (critical_after), and so is its end".to_owned(),
        judge: Judge::Builtin,
        published: None,
    }
}

/// A tick looks at every beat, and forgets those that are not configured any more.
///
/// # Errors
/// The first that the database said; what it concerns waits for the next tick.
pub async fn look(
    store: &Arc<Store>,
    config: &Config,
    now: Timestamp,
) -> Result<Changed, StoreError> {
    let mut jobs = JoinSet::new();
    for beat in &config.beats {
        let (store, watched) = (Arc::clone(store), Watched::of(beat, config, now));
        jobs.spawn(async move { store.write(move |db| watched.look(db, now)).await });
    }
    let (mut all, mut first_error) = (Changed::default(), None);
    while let Some(done) = jobs.join_next().await {
        match done.unwrap_or_else(|panic| Err(StoreError::Bug(panic.to_string()))) {
            Ok(changed) => {
                all.rows += changed.rows;
                all.alerts.extend(changed.alerts);
            }
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    forget(store, config).await?;
    first_error.map_or(Ok(all), Err)
}

async fn forget(store: &Store, config: &Config) -> Result<(), StoreError> {
    let names: HashSet<&str> = config.beats.iter().map(|beat| &*beat.name).collect();
    for (name, _) in store.read(beats::all).await? {
        if !names.contains(name.as_str()) {
            store.write(move |db| beats::forget(db, &name)).await?;
        }
    }
    Ok(())
}
