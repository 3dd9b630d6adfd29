//! Enqueue: an alert and one row per destination, in one transaction; and notices.

use crate::model::{Alert, Destination, Priority, Timestamp};
use crate::store::{Db, StoreError, silences};
use rusqlite::{OptionalExtension, named_params};
use serde::Serialize;
use std::collections::BTreeSet;
use std::time::Duration;

/// An alert and where it must go.
#[derive(Clone, Debug)]
pub struct Owed {
    /// The identity of the story: a second alert with the same key is the same alert.
    pub dedup_key: String,
    pub alert: Alert,
    pub priority: Priority,
    /// One row each, named twice or not. Empty only together with `not_owed`.
    pub to: Vec<Addressee>,
    /// The CVE ids of the story, sorted, with commas between.
    pub cves: Option<String>,
    /// The alert of the same story that was less grave.
    pub raised_from: Option<i64>,
    /// Why nobody is owed this alert.
    pub not_owed: Option<String>,
}

/// To whom an alert is owed, from when on, and who gets it when they do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addressee {
    pub destination: Destination,
    /// [`Timestamp::EPOCH`]: at once.
    pub not_before: Timestamp,
    pub fallback: Option<Fallback>,
}

/// Another channel, for what is not delivered within a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    pub to: Destination,
    pub after: Duration,
}

impl From<Destination> for Addressee {
    fn from(destination: Destination) -> Self {
        Self {
            destination,
            not_before: Timestamp::EPOCH,
            fallback: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    New {
        alert_id: i64,
        rows: usize,
    },
    /// The story was told before; no row was written.
    Known {
        alert_id: i64,
    },
}

impl Enqueued {
    pub fn alert_id(self) -> i64 {
        match self {
            Self::New { alert_id, .. } | Self::Known { alert_id } => alert_id,
        }
    }
}

const ALERT: &str = "\
INSERT INTO alert(dedup_key,payload,severity,title,source,link,cves,raised_from,not_owed,created_at)
VALUES(:key,:payload,:severity,:title,:source,:link,:cves,:raised_from,:not_owed,:now) RETURNING id";

const SEEN: &str = "UPDATE alert SET seen=seen+1 WHERE dedup_key=:key RETURNING id";

/// `next_attempt` is 0, "at once", and not the time: that may be of a clock that runs ahead.
const ROW: &str = "\
INSERT INTO outbox(idempotency_key,kind,alert_id,channel,chat_id,payload,priority,not_before,next_attempt,created_at,
                   fallback_at,fallback_channel,fallback_chat_id,silenced_by)
VALUES(:key,'alert',:alert,:channel,:chat,:payload,:priority,:not_before,0,:now,
       :fallback_at,:fallback_channel,:fallback_chat,:silence)";

/// Accepts an alert: once this commits it is owed until it is delivered or a person says otherwise.
///
/// # Errors
/// `Bug` when nobody is owed it and no reason is given, or when a destination gets no row: such an
/// alert would vanish silently.
pub fn enqueue(db: &Db, owed: &Owed, now: Timestamp) -> Result<Enqueued, StoreError> {
    if owed.to.is_empty() != owed.not_owed.is_some() {
        return Err(StoreError::Bug(format!(
            "alert {} must have destinations or the reason why it has none",
            owed.dedup_key
        )));
    }
    let known = db
        .prepare_cached(SEEN)?
        .query_row(named_params! {":key": owed.dedup_key}, |row| row.get(0))
        .optional()?;
    if let Some(alert_id) = known {
        return Ok(Enqueued::Known { alert_id });
    }
    let alert = &owed.alert;
    let payload = to_json(alert)?;
    let alert_id: i64 = db.prepare_cached(ALERT)?.query_row(
        named_params! {
            ":key": owed.dedup_key, ":payload": payload, ":severity": alert.severity.name(),
            ":title": alert.title, ":source": alert.source, ":link": alert.link,
            ":cves": owed.cves, ":raised_from": owed.raised_from,
            ":not_owed": owed.not_owed, ":now": now.unix_seconds(),
        },
        |row| row.get(0),
    )?;
    let rows = owe(db, alert_id, &payload, owed, now)?;
    Ok(Enqueued::New { alert_id, rows })
}

/// One row for each destination. Returns how many.
fn owe(
    db: &Db,
    alert_id: i64,
    payload: &str,
    owed: &Owed,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let silence = silences::over(db, &owed.alert, now)?;
    let silent_until = silence.as_ref().map(|silence| silence.until);
    let mut served = BTreeSet::new();
    for addressee in &owed.to {
        let destination = &addressee.destination;
        if !served.insert(destination) {
            continue;
        }
        let fallback = addressee.fallback.as_ref();
        let not_before = addressee.not_before.max(silent_until.unwrap_or_default());
        let from = now.max(not_before);
        let written = db.prepare_cached(ROW)?.execute(named_params! {
            ":key": format!("a:{alert_id}:{}:{}", destination.channel, destination.chat_id),
            ":alert": alert_id, ":channel": destination.channel, ":chat": destination.chat_id,
            ":payload": payload, ":priority": owed.priority.rank(), ":now": now.unix_seconds(),
            ":not_before": not_before.unix_seconds(), ":silence": silence.as_ref().map(|silence| silence.id),
            ":fallback_at": fallback.map(|fallback| (from + fallback.after).unix_seconds()),
            ":fallback_channel": fallback.map(|fallback| &fallback.to.channel),
            ":fallback_chat": fallback.map(|fallback| &fallback.to.chat_id),
        })?;
        if written != 1 {
            return Err(StoreError::Bug(format!(
                "alert {} got no row for {destination}",
                owed.dedup_key
            )));
        }
    }
    Ok(served.len())
}

/// Another feed brought the story of an alert, and its route leads further: who was not owed the
/// alert so far is owed it as it stands. Returns how many rows are new.
pub fn extend(db: &Db, alert_id: i64, owed: &Owed, now: Timestamp) -> Result<usize, StoreError> {
    const SERVED: &str = "\
SELECT 1 FROM outbox WHERE alert_id=:alert AND idempotency_key=:key";
    let mut further = owed.clone();
    further.to.clear();
    for addressee in &owed.to {
        let to = &addressee.destination;
        let key = format!("a:{alert_id}:{}:{}", to.channel, to.chat_id);
        let served = db
            .prepare_cached(SERVED)?
            .query_row(named_params! {":alert": alert_id, ":key": key}, |_| Ok(()))
            .optional()?;
        if served.is_none() {
            further.to.push(addressee.clone());
        }
    }
    let payload: String = db
        .prepare_cached("SELECT payload FROM alert WHERE id=:id")?
        .query_row(named_params! {":id": alert_id}, |row| row.get(0))?;
    owe(db, alert_id, &payload, &further, now)
}

/// Something watchalert says about itself.
#[derive(Clone, Debug)]
pub struct Notice {
    /// What happened and to what, for instance `seeded` and the tick: each is told once.
    pub event: String,
    pub about: String,
    pub to: Destination,
    pub alert: Alert,
}

/// The row of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notified {
    pub id: i64,
    /// `false`: it had been told before.
    pub new: bool,
}

const TOLD: &str = "SELECT id FROM outbox WHERE idempotency_key=:key";

const NOTICE: &str = "\
INSERT INTO outbox(idempotency_key,kind,channel,chat_id,payload,priority,next_attempt,created_at)
VALUES(:key,'notice',:channel,:chat,:payload,:priority,0,:now) RETURNING id";

/// Enqueues a notice, once.
pub fn notify(db: &Db, notice: &Notice, now: Timestamp) -> Result<Notified, StoreError> {
    let to = &notice.to;
    let key = format!(
        "n:{}:{}:{}:{}",
        notice.event, notice.about, to.channel, to.chat_id
    );
    let told = db
        .prepare_cached(TOLD)?
        .query_row(named_params! {":key": key}, |row| row.get(0))
        .optional()?;
    if let Some(id) = told {
        return Ok(Notified { id, new: false });
    }
    let priority = notice.alert.severity.priority().unwrap_or(Priority::Low);
    let id = db.prepare_cached(NOTICE)?.query_row(
        named_params! {
            ":key": key, ":channel": to.channel, ":chat": to.chat_id,
            ":payload": to_json(&notice.alert)?, ":priority": priority.rank(),
            ":now": now.unix_seconds(),
        },
        |row| row.get(0),
    )?;
    Ok(Notified { id, new: true })
}

pub(in crate::store) fn to_json(value: &(impl Serialize + ?Sized)) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Bug(error.to_string()))
}
