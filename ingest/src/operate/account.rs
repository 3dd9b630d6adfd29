//! The account of one item, or of one row of the outbox: every stage it went through, and in one
//! sentence whether it reached anybody, and why.

use super::{name_of, public};
use crate::know::named_by;
use serde_json::{Value, json};
use shared::config::Config;
use shared::model::{Attempt, Content, DeliveryState, Severity, Timestamp};
use shared::platform::term;
use shared::policy::text::{one_line, span};
use shared::store::edits::{self, History};
use shared::store::explain::{self, Alert, Seen, Sent, Subject};
use shared::store::health::{self, Health};
use shared::store::{Db, StoreError};
use std::io::{self, Write};

/// Everything that is told of one subject.
pub(super) struct Account {
    /// `None`: a row that no item stands behind.
    seen: Option<Seen>,
    feed: Option<Health>,
    feed_name: String,
    alert: Option<Alert>,
    sent: Vec<Sent>,
    edits: Option<History>,
    /// The rows of the last edit that was told.
    sent_edit: Vec<Sent>,
}

const SEEDED: &str =
    "Not told: it stood in the feed already when that was read for the first time.";

impl Account {
    /// `None` when it was forgotten meanwhile.
    pub(super) fn of(
        db: &Db,
        subject: Subject,
        config: &Config,
    ) -> Result<Option<Self>, StoreError> {
        let seen = match subject {
            Subject::Item(id) => match explain::item(db, id)? {
                None => return Ok(None),
                found => found,
            },
            Subject::Row(id) => {
                return Ok(explain::row(db, id)?.map(|sent| Self {
                    seen: None,
                    feed: None,
                    feed_name: String::new(),
                    alert: None,
                    sent: vec![sent],
                    edits: None,
                    sent_edit: Vec::new(),
                }));
            }
        };
        let feed_id = seen.as_ref().map(|seen| seen.feed_id);
        let feeds = health::all(db)?;
        let feed = feeds.into_iter().find(|feed| Some(feed.id) == feed_id);
        let alert_id = seen.as_ref().and_then(|seen| seen.alert_id);
        let (alert, sent) = match alert_id {
            Some(id) => (explain::alert(db, id)?, explain::deliveries(db, id)?),
            None => (None, Vec::new()),
        };
        let edits = match &seen {
            Some(seen) => edits::history(db, seen.id)?,
            None => None,
        };
        let sent_edit = match edits.and_then(|edits| edits.alert_id) {
            Some(id) => explain::deliveries(db, id)?,
            None => Vec::new(),
        };
        Ok(Some(Self {
            edits,
            sent_edit,
            feed_name: feed
                .as_ref()
                .map_or_else(String::new, |feed| name_of(feed, config)),
            seen,
            feed,
            alert,
            sent,
        }))
    }

    fn title(&self) -> String {
        let of_row = |sent: &Sent| match &sent.row.content {
            Content::Alert(alert) => alert.title.clone(),
            Content::Raw { text, body } => text.clone().unwrap_or_else(|| body.clone()),
            Content::Digest(alerts) => format!("{} alerts", alerts.len()),
            Content::Unreadable(why) => why.clone(),
        };
        let title = match (&self.seen, self.sent.first()) {
            (Some(seen), _) => seen.entry.title.clone(),
            (None, sent) => sent.map(of_row).unwrap_or_default(),
        };
        one_line(&title)
    }

    /// Its number, as `explain` takes it again.
    fn number(&self) -> i64 {
        let row = self.sent.first().map(|sent| sent.row.id);
        self.seen.as_ref().map_or(row.unwrap_or(0), |seen| seen.id)
    }

    /// Number, state, title and source: a line of a list.
    pub(super) fn row(&self) -> [String; 4] {
        let state = match &self.seen {
            None => "row".to_owned(),
            Some(seen) => match &seen.verdict {
                Some(verdict) => verdict.severity.to_string(),
                None => seen.state.clone(),
            },
        };
        let source = one_line(&self.feed_name);
        [self.number().to_string(), state, self.title(), source]
    }

    /// The one sentence: did it reach anybody, and why, or why not.
    pub(super) fn answer(&self) -> String {
        let Some(seen) = &self.seen else {
            return fate(&self.sent);
        };
        match (seen.state.as_str(), &seen.verdict) {
            ("pending", _) => {
                "On its way: it waits for its verdict, which the next tick gives.".to_owned()
            }
            ("seeded", _) => SEEDED.to_owned(),
            (_, Some(verdict)) if verdict.severity == Severity::Ignore => format!(
                "Not told: it was judged to be ignored, by {}: {}.",
                verdict.judge,
                one_line(&verdict.reason)
            ),
            _ => self.why_told(),
        }
    }

    fn why_told(&self) -> String {
        match &self.alert {
            None => {
                "It was told; the record of its alert was deleted after the retention.".to_owned()
            }
            Some(Alert {
                not_owed: Some(why),
                ..
            }) if self.sent.is_empty() => format!("Not told: {}.", one_line(why)),
            Some(_) => fate(&self.sent),
        }
    }

    /// For a person.
    pub(super) fn print(
        &self,
        config: &Config,
        now: Timestamp,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        writeln!(out, "{}", self.answer())?;
        let what = if self.seen.is_some() { "item" } else { "row" };
        let line = |name: &str, text: &str| format!("{name:<9} {text}");
        writeln!(
            out,
            "{}",
            line(what, &format!("{}  {}", self.number(), self.title()))
        )?;
        for (name, text) in self.stages(config, now) {
            writeln!(out, "{}", line(name, &text))?;
        }
        Ok(())
    }

    /// Name and text of each stage, in their order.
    fn stages(&self, config: &Config, now: Timestamp) -> Vec<(&'static str, String)> {
        let local = |time| term::local(time, &config.timezone);
        let mut stages = Vec::new();
        if let Some(seen) = &self.seen {
            let link = seen.entry.link.as_deref();
            stages.push(("link", one_line(link.unwrap_or("none"))));
            if let Some(feed) = &self.feed {
                let url = public(&feed.url);
                let name = one_line(&self.feed_name);
                let name = if name == url {
                    name
                } else {
                    format!("{name} ({url})")
                };
                stages.push(("feed", format!("{name}; {}", last_fetch(feed, now, &local))));
            }
            stages.push(("known", known(seen, &local)));
            if let Some(verdict) = &seen.verdict {
                stages.push((
                    "verdict",
                    format!(
                        "{} {}, {}, by {}: {}",
                        local(verdict.at),
                        verdict.severity,
                        verdict.category,
                        verdict.judge,
                        one_line(&verdict.reason)
                    ),
                ));
            }
        }
        if let Some(route) = self.seen.as_ref().and_then(|seen| seen.route.as_ref()) {
            stages.push(("route", one_line(route)));
        }
        if let Some(alert) = &self.alert {
            let own = self
                .seen
                .as_ref()
                .is_none_or(|seen| seen.key.starts_with(&alert.short_id));
            stages.push(("alert", of_alert(alert, own, &local)));
        }
        stages.extend(rows(&self.sent, &local));
        if let Some(edits) = &self.edits {
            stages.push(("edits", edited(edits, &local)));
            stages.extend(rows(&self.sent_edit, &local));
        }
        stages
    }

    pub(super) fn to_json(&self) -> Value {
        let seconds = |time: Option<Timestamp>| time.map(Timestamp::unix_seconds);
        let feed = self.feed.as_ref().map(|feed| json!({
            "name": self.feed_name, "url": public(&feed.url), "attempted_at": seconds(feed.attempted_at),
            "succeeded_at": seconds(feed.succeeded_at), "failures": feed.failures, "last_error": feed.last_error,
        }));
        let item = self.seen.as_ref().map(|seen| json!({
            "id": seen.id, "title": seen.entry.title, "link": seen.entry.link, "guid": seen.entry.guid,
            "published_at": seconds(seen.entry.published), "first_seen_at": seen.first_seen.unix_seconds(),
            "last_seen_at": seen.last_seen.unix_seconds(), "known_by": named_by(&seen.entry, &seen.key),
            "state": seen.state,
        }));
        let verdict = self.seen.as_ref().and_then(|seen| seen.verdict.as_ref());
        let verdict = verdict.map(|verdict| {
            json!({
                "severity": verdict.severity.name(), "category": verdict.category.name(),
                "judge": verdict.judge, "reason": verdict.reason, "at": verdict.at.unix_seconds(),
            })
        });
        let alert = self.alert.as_ref().map(|alert| json!({
            "id": alert.id, "short_id": alert.short_id, "severity": alert.severity, "title": alert.title,
            "source": alert.source, "created_at": alert.created_at.unix_seconds(), "also": alert.also,
            "raised_from": alert.raised_from, "not_owed": alert.not_owed, "seen": alert.seen,
        }));
        let deliveries: Vec<Value> = self.sent.iter().map(sent_json).collect();
        let edits = self.edits.map(|edits| json!({
            "told": edits.told, "told_at": seconds(edits.told_at), "untold_since": seconds(edits.changed_at),
            "alert": edits.alert_id, "deliveries": self.sent_edit.iter().map(sent_json).collect::<Vec<_>>(),
        }));
        json!({
            "answer": self.answer(), "item": item, "feed": feed, "verdict": verdict,
            "route": self.seen.as_ref().and_then(|seen| seen.route.clone()), "alert": alert,
            "deliveries": deliveries, "edits": edits,
        })
    }
}

fn rows(sent: &[Sent], local: &dyn Fn(Timestamp) -> String) -> Vec<(&'static str, String)> {
    let mut stages = Vec::new();
    for sent in sent {
        stages.push(("delivery", delivery(sent, local)));
        let tries = sent.attempts.iter();
        stages.extend(tries.map(|attempt| ("  try", tried(attempt, local))));
        if let Some(repeats) = repeats(sent) {
            stages.push(("repeats", repeats));
        }
    }
    stages
}

fn edited(edits: &History, local: &dyn Fn(Timestamp) -> String) -> String {
    let last = edits.told_at.map(local).unwrap_or_default();
    let told = match edits.told {
        0 => None,
        1 => Some(format!("one was told, {last}")),
        times => Some(format!("{times} were told, the last {last}")),
    };
    let untold = edits.changed_at.map(|at| {
        format!(
            "it was changed {} and that is not told yet: once a day for one entry",
            local(at)
        )
    });
    let parts: Vec<String> = told.into_iter().chain(untold).collect();
    if parts.is_empty() {
        return "none was worth telling".to_owned();
    }
    parts.join("; ")
}

fn last_fetch(feed: &Health, now: Timestamp, local: &dyn Fn(Timestamp) -> String) -> String {
    let Some(at) = feed.attempted_at else {
        return "not fetched yet".to_owned();
    };
    let when = format!("last fetched {} ({} ago)", local(at), span(now.since(at)));
    match &feed.last_error {
        Some(error) => format!(
            "{when}, failed {} times in a row: {}",
            feed.failures,
            one_line(error)
        ),
        None => format!("{when}, with success"),
    }
}

fn known(seen: &Seen, local: &dyn Fn(Timestamp) -> String) -> String {
    let how = match seen.state.as_str() {
        "seeded" => "; known from then on, not news",
        "pending" => "; waits for its verdict",
        _ => "",
    };
    let by = named_by(&seen.entry, &seen.key);
    let last = local(seen.last_seen);
    format!(
        "since {}, by {by}, last shown {last}{how}",
        local(seen.first_seen)
    )
}

fn of_alert(alert: &Alert, own: bool, local: &dyn Fn(Timestamp) -> String) -> String {
    let told_by = (!own).then(|| {
        let (source, title) = (one_line(&alert.source), one_line(&alert.title));
        format!("told by {source} before: {title:?}")
    });
    let raised = alert.raised_from.as_ref();
    let also = Some(&alert.also).filter(|also| !also.is_empty());
    let not_owed = alert.not_owed.as_deref();
    let severity = &alert.severity;
    let parts = [
        Some(format!(
            "#{} {}, {severity}",
            alert.short_id,
            local(alert.created_at)
        )),
        told_by,
        raised.map(|milder| format!("raised from #{milder}")),
        also.map(|also| format!("also in {}", one_line(&also.join(", ")))),
        not_owed.map(|why| format!("owed to nobody: {}", one_line(why))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn delivery(sent: &Sent, local: &dyn Fn(Timestamp) -> String) -> String {
    let row = &sent.row;
    let to = one_line(&row.destination.to_string());
    let onward = sent.onward.map(|onward| format!(" (row {onward})"));
    let state = format!("{}{}", row.state, onward.unwrap_or_default());
    let tries = match row.attempts {
        0 => format!("not tried yet, due {}", local(row.due_at)),
        1 => "1 try".to_owned(),
        many => format!("{many} tries"),
    };
    let receipt = row.message_id.as_deref();
    let error = row.last_error.as_deref().filter(|_| receipt.is_none());
    let parts = [
        Some(format!("row {} to {to}: {}", row.id, row.priority)),
        Some(state),
        Some(tries),
        receipt.map(|receipt| format!("receipt {}", one_line(receipt))),
        error.map(|error| format!("last error: {}", one_line(error))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn tried(attempt: &Attempt, local: &dyn Fn(Timestamp) -> String) -> String {
    let outcome = attempt.outcome.as_deref().unwrap_or("under way");
    let detail = attempt.detail.as_deref().map(one_line);
    let detail = detail
        .map(|detail| format!(": {detail}"))
        .unwrap_or_default();
    format!(
        "{} {} {outcome}{detail}",
        attempt.n,
        local(attempt.started_at)
    )
}

/// Copies that may have arrived before the last try.
fn repeats(sent: &Sent) -> Option<String> {
    let unclear =
        |attempt: &&Attempt| matches!(attempt.outcome.as_deref(), Some("unknown" | "interrupted"));
    match sent.attempts.iter().filter(unclear).count() {
        0 => None,
        1 => Some(
            "1 try may have arrived without an answer, so what came after it was marked".to_owned(),
        ),
        many => Some(format!(
            "{many} tries may have arrived without an answer, so what came after them was marked"
        )),
    }
}

/// What became of the rows, in one sentence.
fn fate(sent: &[Sent]) -> String {
    let to = |wanted: &[DeliveryState]| -> Vec<String> {
        let rows = sent.iter().filter(|sent| wanted.contains(&sent.row.state));
        rows.map(|sent| one_line(&sent.row.destination.to_string()))
            .collect()
    };
    let groups = [
        ("sent to", to(&[DeliveryState::Sent])),
        ("moved on from", to(&[DeliveryState::Moved])),
        (
            "on its way to",
            to(&[
                DeliveryState::Ready,
                DeliveryState::Leased,
                DeliveryState::Folded,
            ]),
        ),
        ("given up for", to(&[DeliveryState::Dead])),
        ("expired for", to(&[DeliveryState::Expired])),
        ("cancelled for", to(&[DeliveryState::Cancelled])),
    ];
    let parts: Vec<String> = groups
        .iter()
        .filter(|(_, to)| !to.is_empty())
        .map(|(what, to)| format!("{what} {}", to.join(", ")))
        .collect();
    let said = parts.join("; ");
    let mut letters = said.chars();
    match letters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        None => "It has no row in the outbox.".to_owned(),
    }
}

fn sent_json(sent: &Sent) -> Value {
    let row = &sent.row;
    let attempts: Vec<Value> = sent
        .attempts
        .iter()
        .map(|attempt| {
            json!({
                "n": attempt.n, "started_at": attempt.started_at.unix_seconds(),
                "ended_at": attempt.ended_at.map(Timestamp::unix_seconds),
                "outcome": attempt.outcome, "detail": attempt.detail,
            })
        })
        .collect();
    json!({
        "row": row.id, "kind": row.kind, "channel": row.destination.channel, "chat_id": row.destination.chat_id,
        "state": row.state.name(), "priority": row.priority.name(), "onward": sent.onward,
        "due_at": row.due_at.unix_seconds(), "last_error": row.last_error, "receipt": row.message_id,
        "attempts": attempts,
    })
}
