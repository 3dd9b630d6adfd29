//! Enqueue: from a verdict to the alert and its rows, stored in one transaction.

use crate::classify::FeedFacts;
use crate::route::route;
use shared::config::Config;
use shared::model::{Alert, DedupKey, Destination, Timestamp, Verdict};
use shared::store::items::{self, Pending};
use shared::store::outbox::{self, Enqueued, Owed};
use shared::store::{Db, StoreError};

/// One item with its verdict, and, when it matters, what is owed for it.
#[derive(Clone, Debug)]
pub struct Decision {
    pub item_id: i64,
    pub verdict: Verdict,
    pub owed: Option<Owed>,
}

/// What follows from `verdict`: pure.
pub fn decide(pending: &Pending, facts: &FeedFacts, verdict: Verdict, config: &Config) -> Decision {
    let owed = verdict.severity.priority().map(|priority| {
        let alert = alert_of(pending, facts, &verdict);
        let to = route(&alert, &facts.tags, config);
        Owed {
            dedup_key: format!("i:{}:{}", pending.feed_id, pending.key),
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
    }
}

fn alert_of(pending: &Pending, facts: &FeedFacts, verdict: &Verdict) -> Alert {
    let entry = &pending.entry;
    let title = match (entry.title.as_str(), &entry.link) {
        ("", Some(link)) => link.clone(),
        ("", None) => "(an entry without a title)".to_owned(),
        (title, _) => title.to_owned(),
    };
    Alert {
        v: Alert::VERSION,
        short_id: DedupKey::new(pending.key.clone()).short_id().to_owned(),
        severity: verdict.severity,
        category: verdict.category,
        title,
        summary: verdict.summary.clone(),
        link: entry.link.clone(),
        source: facts.name.clone(),
        reason: verdict.reason.clone(),
        judge: verdict.judge,
        published: entry.published,
    }
}

/// Stores verdict, alert and rows: together, or none of them. Returns how many rows are new.
pub fn store(db: &Db, decision: &Decision, now: Timestamp) -> Result<usize, StoreError> {
    let enqueued = match &decision.owed {
        Some(owed) => Some(outbox::enqueue(db, owed, now)?),
        None => None,
    };
    let alert_id = enqueued.map(Enqueued::alert_id);
    items::judged(db, decision.item_id, &decision.verdict, alert_id, now)?;
    Ok(match enqueued {
        Some(Enqueued::New { rows, .. }) => rows,
        _ => 0,
    })
}

/// Where notices of the tick go: as an alert of that severity and category would.
pub fn notices(alert: &Alert, config: &Config) -> Option<Destination> {
    route(alert, &[], config).into_iter().next()
}
