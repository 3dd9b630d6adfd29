//! What a tick remembers to watch over ourselves: the clocks, whether the sender drains, and what no
//! channel could tell.

use super::outbox::text;
use super::{Db, StoreError, status};
use crate::model::Timestamp;
use rusqlite::{OptionalExtension, named_params};
use std::time::Duration;

/// What both clocks showed at a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    pub wall: Timestamp,
    /// Which nobody sets; counts from the machine's start.
    pub steady: Duration,
    /// Which start that was.
    pub boot: String,
}

const CLOCK: &str = "clock";
const SENDER: &str = "sender";

/// Of the last tick.
pub fn reading(db: &Db) -> Result<Option<Reading>, StoreError> {
    const READ: &str = "\
SELECT started_at,steady,boot FROM heartbeat WHERE name=:name AND steady IS NOT NULL AND boot IS NOT NULL";
    let row = db
        .prepare_cached(READ)?
        .query_row(named_params! {":name": CLOCK}, |row| {
            Ok(Reading {
                wall: Timestamp::from_unix_seconds(row.get(0)?),
                steady: Duration::try_from_secs_f64(row.get(1)?).unwrap_or_default(),
                boot: text(row, 2)?,
            })
        });
    Ok(row.optional()?)
}

pub fn keep_reading(db: &Db, reading: &Reading) -> Result<(), StoreError> {
    const KEEP: &str = "\
INSERT INTO heartbeat(name,started_at,steady,boot) VALUES(:name,:wall,:steady,:boot)
ON CONFLICT(name) DO UPDATE SET started_at=:wall,steady=:steady,boot=:boot";
    db.prepare_cached(KEEP)?.execute(named_params! {
        ":name": CLOCK, ":wall": reading.wall.unix_seconds(),
        ":steady": reading.steady.as_secs_f64(), ":boot": reading.boot,
    })?;
    Ok(())
}

/// In each tick from then on the sender seemed not to drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspicion {
    pub since: Timestamp,
    pub looked_at: Timestamp,
}

pub fn suspicion(db: &Db) -> Result<Option<Suspicion>, StoreError> {
    const READ: &str = "\
SELECT started_at,finished_at FROM heartbeat
 WHERE name=:name AND started_at IS NOT NULL AND finished_at IS NOT NULL";
    let row = db
        .prepare_cached(READ)?
        .query_row(named_params! {":name": SENDER}, |row| {
            Ok(Suspicion {
                since: Timestamp::from_unix_seconds(row.get(0)?),
                looked_at: Timestamp::from_unix_seconds(row.get(1)?),
            })
        });
    Ok(row.optional()?)
}

pub fn keep_suspicion(db: &Db, suspicion: Option<Suspicion>) -> Result<(), StoreError> {
    const KEEP: &str = "\
INSERT INTO heartbeat(name,started_at,finished_at) VALUES(:name,:since,:looked)
ON CONFLICT(name) DO UPDATE SET started_at=:since,finished_at=:looked";
    db.prepare_cached(KEEP)?.execute(named_params! {
        ":name": SENDER,
        ":since": suspicion.map(|suspicion| suspicion.since.unix_seconds()),
        ":looked": suspicion.map(|suspicion| suspicion.looked_at.unix_seconds()),
    })?;
    Ok(())
}

/// What the outbox shows of the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drain {
    /// How many senders there have been, and when the last one began.
    pub epoch: i64,
    pub began_at: Timestamp,
    /// Since when the oldest row is due, or leased, that no closed gate holds.
    pub waits_since: Option<Timestamp>,
    /// When a row was last claimed, deferred or settled.
    pub moved_at: Option<Timestamp>,
}

/// Rows of channels that are not `configured` wait for a person.
pub fn drain(
    db: &Db,
    configured: &dyn Fn(&str) -> bool,
    now: Timestamp,
) -> Result<Drain, StoreError> {
    const LEASE: &str = "SELECT epoch,since FROM sender_lease WHERE one=1";
    const PLACES: &str = "\
SELECT channel,chat_id,min(since),max(moved) FROM
 (SELECT channel,chat_id,CASE WHEN due_at<=:now THEN max(created_at,due_at) END AS since,updated_at AS moved
    FROM outbox WHERE state='ready'
  UNION ALL SELECT channel,chat_id,updated_at,updated_at FROM outbox WHERE state='leased')
 GROUP BY channel,chat_id";
    const FINISHED: &str = "\
SELECT updated_at FROM outbox INDEXED BY outbox_finished
 WHERE state IN('sent','moved','cancelled','expired') ORDER BY updated_at DESC LIMIT 1";
    let closed = status::closed_gates(db, now)?;
    let (epoch, began_at) = db
        .prepare_cached(LEASE)?
        .query_row([], |row| Ok((row.get(0)?, time(row.get(1)?))))?;
    let mut drain = Drain {
        epoch,
        began_at: began_at.unwrap_or_default(),
        ..Drain::default()
    };
    let mut places = db.prepare_cached(PLACES)?;
    let mut rows = places.query(named_params! {":now": now.unix_seconds()})?;
    while let Some(row) = rows.next()? {
        let (channel, chat) = (text(row, 0)?, text(row, 1)?);
        drain.moved_at = drain.moved_at.max(time(row.get(3)?));
        // A bot's gate does not say whose it is, so it excuses everybody: such gates close for
        // minutes, or for as long as the other side has asked for.
        let is_held = closed.iter().any(|gate| match gate.scope.as_str() {
            "channel" => gate.key == channel,
            "chat" => gate.key.ends_with(&format!("/{chat}")),
            _ => true,
        });
        let since = time(row.get(2)?).filter(|_| !is_held && configured(&channel));
        drain.waits_since = match (drain.waits_since, since) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
    let finished: Option<Option<f64>> = db
        .prepare_cached(FINISHED)?
        .query_row([], |row| row.get(0))
        .optional()?;
    drain.moved_at = drain.moved_at.max(time(finished.flatten()));
    Ok(drain)
}

fn time(seconds: Option<f64>) -> Option<Timestamp> {
    seconds.map(Timestamp::from_unix_seconds)
}

/// What no channel could tell, in words: dead letters without a notice, and alarms about ourselves.
pub fn untold(db: &Db) -> Result<Vec<String>, StoreError> {
    const DEAD: &str = "SELECT count(*) FROM outbox WHERE state='dead' AND told_by IS NULL";
    const ALARMS: &str = "SELECT name FROM alarm WHERE NOT told ORDER BY name";
    let dead: i64 = db.prepare_cached(DEAD)?.query_row([], |row| row.get(0))?;
    let mut untold = Vec::new();
    if dead > 0 {
        untold.push(format!("{dead} dead letters that no channel could tell"));
    }
    let mut alarms = db.prepare_cached(ALARMS)?;
    for name in alarms.query_map([], |row| row.get::<_, String>(0))? {
        untold.push(format!(
            "the alarm {:?}, which no channel could tell",
            name?
        ));
    }
    Ok(untold)
}
