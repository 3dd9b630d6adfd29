//! Enqueue: from a verdict to the alert and its rows, stored in one transaction.

use crate::classify::FeedFacts;
use crate::know;
use crate::route::{in_words, route};
use shared::config::Config;
use shared::model::{Alert, DedupKey, Destination, Entry, Severity, Timestamp, Verdict};
use shared::store::items::{self, Pending};
use shared::store::models;
use shared::store::outbox::{self, Addressee, Enqueued, Owed};
use shared::store::posts::{self, Beginning, Thread};
use shared::store::stories::{self, Story, Told};
use shared::store::{Db, StoreError};

/// One item with its verdict, and, when it matters, what is owed for it.
#[derive(Clone, Debug)]
pub struct Decision {
    pub item_id: i64,
    pub verdict: Verdict,
    pub owed: Option<Owed>,
    pub story: Story,
    /// Which route takes it, in words; `None` when it is not told.
    pub route: Option<String>,
    /// A model had said so of the same words before.
    pub remembered: bool,
    /// It tells the end of something, to those who heard of the beginning.
    pub is_end: bool,
}

/// What follows from `verdict`: pure.
pub fn decide(
    pending: &Pending,
    facts: &FeedFacts,
    verdict: Verdict,
    config: &Config,
    now: Timestamp,
) -> Decision {
    let mut words = None;
    let story = if pending.is_posted() {
        // What is posted concerns this user's own: no feed tells the same.
        know::no_story(&pending.entry)
    } else {
        know::story(&pending.entry, verdict.category, &config.same_hosts)
    };
    let owed = verdict.severity.priority().map(|priority| {
        let alert = alert_of(pending, facts, &verdict);
        let to = route(&alert, &facts.tags, config, now);
        words = Some(in_words(&alert, &facts.tags, config));
        Owed {
            dedup_key: format!("i:{}:{}", pending.feed_id, pending.key),
            cves: story.cves.clone(),
            raised_from: None,
            not_owed: to.is_empty().then(|| "no channel is configured".to_owned()),
            priority,
            alert,
            to,
        }
    });
    Decision {
        item_id: pending.id,
        verdict,
        owed,
        story,
        route: words,
        remembered: false,
        is_end: pending.is_end,
    }
}

fn alert_of(pending: &Pending, facts: &FeedFacts, verdict: &Verdict) -> Alert {
    let entry = &pending.entry;
    Alert {
        v: Alert::VERSION,
        short_id: DedupKey::new(pending.key.clone()).short_id().to_owned(),
        severity: verdict.severity,
        category: verdict.category,
        title: title(entry),
        summary: verdict.summary.clone(),
        link: entry.link.clone(),
        source: facts.name.clone(),
        also: Vec::new(),
        reason: verdict.reason.clone(),
        judge: verdict.judge,
        published: entry.published,
    }
}

/// How an entry is called.
pub(crate) fn title(entry: &Entry) -> String {
    match (entry.title.as_str(), &entry.link) {
        ("", Some(link)) => link.clone(),
        ("", None) => "(an entry without a title)".to_owned(),
        (title, _) => title.to_owned(),
    }
}

/// Stores verdict, alert and rows: together, or none of them. Returns how many rows are new; `None`:
/// nothing is stored, for what it ends has no verdict yet.
pub fn store(db: &Db, decision: &Decision, now: Timestamp) -> Result<Option<usize>, StoreError> {
    if !decision.is_end {
        return keep(db, decision, now).map(Some);
    }
    let decision = match posts::thread(db, decision.item_id)? {
        Thread::Undecided => return Ok(None),
        Thread::Closed => decision.of_nothing(),
        Thread::Open(beginning) => decision.of(&beginning),
    };
    keep(db, &decision, now).map(Some)
}

impl Decision {
    /// An end that nobody waits for.
    fn of_nothing(&self) -> Self {
        let verdict = Verdict {
            severity: Severity::Ignore,
            reason: "nothing that was told ends with it".to_owned(),
            ..self.verdict.clone()
        };
        Self {
            verdict,
            owed: None,
            route: None,
            ..self.clone()
        }
    }

    /// An end goes where its beginning went, and is no more urgent than news are.
    fn of(&self, beginning: &Beginning) -> Self {
        let severity = beginning.severity.max(Severity::Normal);
        let (Some(owed), Some(priority)) = (&self.owed, severity.priority()) else {
            return self.clone();
        };
        let reason = format!("the end of #{}", beginning.short_id);
        let mut owed = owed.clone();
        if !beginning.to.is_empty() {
            owed.to = where_told(&beginning.to, &owed.to);
            owed.not_owed = None;
        }
        owed.priority = priority;
        owed.alert.severity = severity;
        owed.alert.reason.clone_from(&reason);
        let verdict = Verdict {
            severity,
            reason,
            ..self.verdict.clone()
        };
        Self {
            verdict,
            owed: Some(owed),
            route: Some(format!("where #{} was told", beginning.short_id)),
            ..self.clone()
        }
    }
}

fn keep(db: &Db, decision: &Decision, now: Timestamp) -> Result<usize, StoreError> {
    let (alert_id, rows) = match &decision.owed {
        Some(owed) => tell(db, decision, owed, now).map(|(id, rows)| (Some(id), rows))?,
        None => (None, 0),
    };
    items::judged(db, decision.item_id, &decision.verdict, alert_id, now)?;
    if let Some(route) = &decision.route {
        items::routed(db, decision.item_id, route)?;
    }
    models::is_judged(db, decision.item_id)?;
    Ok(rows)
}

/// A story that another feed brought before is told already; unless it has grown worse.
fn tell(
    db: &Db,
    decision: &Decision,
    owed: &Owed,
    now: Timestamp,
) -> Result<(i64, usize), StoreError> {
    let item_id = decision.item_id;
    let told = stories::told(db, item_id, &decision.story, now)?;
    let enqueued = match told {
        None => outbox::enqueue(db, owed, now)?,
        Some(told) if owed.alert.severity < told.severity => {
            outbox::enqueue(db, &raised(owed, &told), now)?
        }
        Some(told) => {
            stories::also(db, told.alert_id, item_id, &owed.alert.source, now)?;
            let rows = outbox::extend(db, told.alert_id, owed, now)?;
            return Ok((told.alert_id, rows));
        }
    };
    Ok(match enqueued {
        Enqueued::New { alert_id, rows } => (alert_id, rows),
        Enqueued::Known { alert_id } => (alert_id, 0),
    })
}

fn raised(owed: &Owed, told: &Told) -> Owed {
    let mut raised = owed.clone();
    let reason = &owed.alert.reason;
    raised.alert.reason = format!(
        "raised from #{} ({}); {reason}",
        told.short_id, told.severity
    );
    raised.raised_from = Some(told.alert_id);
    raised
}

/// The end of something goes to those who were told of it, each as the route has it today.
pub(crate) fn where_told(told: &[Destination], routed: &[Addressee]) -> Vec<Addressee> {
    let addressees = told.iter().map(|told| {
        let same = routed.iter().find(|routed| routed.destination == *told);
        same.cloned()
            .unwrap_or_else(|| Addressee::from(told.clone()))
    });
    addressees.collect()
}

/// Where notices of the tick go: as an alert of that severity and category would.
pub fn notices(alert: &Alert, config: &Config) -> Option<Destination> {
    // What watchalert says about itself waits for no morning.
    let addressees = route(alert, &[], config, Timestamp::EPOCH).into_iter();
    addressees.map(|addressee| addressee.destination).next()
}
