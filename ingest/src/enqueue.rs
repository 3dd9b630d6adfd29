//! Enqueue: from a verdict to the alert and its rows, stored in one transaction.

use crate::classify::FeedFacts;
use crate::know;
use crate::route::{in_words, route};
use shared::config::Config;
use shared::model::{Alert, DedupKey, Destination, Entry, Timestamp, Verdict};
use shared::store::items::{self, Pending};
use shared::store::models;
use shared::store::outbox::{self, Enqueued, Owed};
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
    let story = know::story(&pending.entry, verdict.category, &config.same_hosts);
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

/// Stores verdict, alert and rows: together, or none of them. Returns how many rows are new.
pub fn store(db: &Db, decision: &Decision, now: Timestamp) -> Result<usize, StoreError> {
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

/// Where notices of the tick go: as an alert of that severity and category would.
pub fn notices(alert: &Alert, config: &Config) -> Option<Destination> {
    // What watchalert says about itself waits for no morning.
    let addressees = route(alert, &[], config, Timestamp::EPOCH).into_iter();
    addressees.map(|addressee| addressee.destination).next()
}
