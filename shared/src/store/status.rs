//! What a person asks first: what waits, since when, what is dead, and what runs.

use super::outbox::{optional_text, text};
use super::{Db, StoreError};
use crate::model::{Destination, Priority, Timestamp};
use rusqlite::{OptionalExtension, Row, named_params};

/// Everything of one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    pub epoch: i64,
    pub epoch_since: Timestamp,
    pub backlog: Vec<Backlog>,
    pub dead: i64,
    pub last_sent: Option<Timestamp>,
    pub repeats_marked: i64,
    pub gates: Vec<Gate>,
    pub feeds: i64,
    pub feeds_failing: i64,
    pub items_pending: i64,
}

/// What waits for one destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backlog {
    pub destination: Destination,
    /// Rows by priority, the gravest first.
    pub waiting: [i64; Priority::ALL.len()],
    pub oldest: Timestamp,
    pub next_due: Timestamp,
}

impl Backlog {
    pub fn total(&self) -> i64 {
        self.waiting.iter().sum()
    }
}

/// A gate that somebody closed: the other side, a breaker, the operator. The limiter's own pace is
/// not among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    pub scope: String,
    pub key: String,
    pub closed_until: Timestamp,
    pub breaker: String,
    pub reason: Option<String>,
    /// Since when it stays closed until a person does something about it: a token that is not known, a
    /// chat that does not want us.
    pub refused_since: Option<Timestamp>,
}

/// The partial index over finished rows serves only statements that repeat its condition.
const LAST_SENT: &str = "\
SELECT updated_at FROM outbox INDEXED BY outbox_finished
 WHERE state IN('sent','moved','cancelled','expired') AND state='sent' ORDER BY updated_at DESC LIMIT 1";

pub fn status(db: &Db, now: Timestamp) -> Result<Status, StoreError> {
    let snapshot = db.unchecked_transaction()?;
    let (epoch, since): (i64, f64) =
        snapshot.query_row("SELECT epoch,since FROM sender_lease", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    let count = |sql: &str| -> Result<i64, StoreError> {
        Ok(snapshot.query_row(sql, [], |row| row.get(0))?)
    };
    let last_sent: Option<Option<f64>> = snapshot
        .query_row(LAST_SENT, [], |row| row.get(0))
        .optional()?;
    Ok(Status {
        epoch,
        epoch_since: Timestamp::from_unix_seconds(since),
        backlog: backlog(&snapshot)?,
        dead: count("SELECT count(*) FROM outbox WHERE state='dead'")?,
        last_sent: last_sent.flatten().map(Timestamp::from_unix_seconds),
        repeats_marked: count("SELECT n FROM ledger WHERE name='repeat_marked'")?,
        gates: gates(&snapshot, now)?,
        feeds: count("SELECT count(*) FROM feed WHERE left_at IS NULL")?,
        feeds_failing: count("SELECT count(*) FROM feed WHERE failures>0 AND left_at IS NULL")?,
        items_pending: count("SELECT count(*) FROM item WHERE state='pending'")?,
    })
}

/// Each state by its name, or its partial index does not serve.
fn backlog(db: &Db) -> Result<Vec<Backlog>, StoreError> {
    const BACKLOG: &str = "\
SELECT channel,chat_id,
       count(*) FILTER(WHERE priority=0),count(*) FILTER(WHERE priority=1),
       count(*) FILTER(WHERE priority=2),count(*) FILTER(WHERE priority=3),
       min(created_at),min(due_at)
  FROM (SELECT channel,chat_id,priority,created_at,due_at FROM outbox WHERE state='ready'
        UNION ALL
        SELECT channel,chat_id,priority,created_at,due_at FROM outbox WHERE state='leased')
 GROUP BY channel,chat_id ORDER BY min(created_at)";
    let mut statement = db.prepare(BACKLOG)?;
    let rows = statement.query_map([], |row| {
        Ok(Backlog {
            destination: Destination {
                channel: text(row, 0)?,
                chat_id: text(row, 1)?,
            },
            waiting: [row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?],
            oldest: time(row, 6)?,
            next_due: time(row, 7)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Those that are closed now, whatever they stand before.
pub fn closed_gates(db: &Db, now: Timestamp) -> Result<Vec<Gate>, StoreError> {
    let mut closed = gates(db, now)?;
    closed.retain(|gate| gate.closed_until > now);
    Ok(closed)
}

/// These, and those that let a probe through now and then and refuse it.
fn gates(db: &Db, now: Timestamp) -> Result<Vec<Gate>, StoreError> {
    const CLOSED: &str = "\
SELECT scope,key,max(blocked_until,paused_until) AS until,breaker,reason,refused_since FROM gate
 WHERE until>:now OR refused_since IS NOT NULL ORDER BY scope,key";
    let mut statement = db.prepare(CLOSED)?;
    let rows = statement.query_map(named_params! {":now": now.unix_seconds()}, |row| {
        Ok(Gate {
            scope: text(row, 0)?,
            key: text(row, 1)?,
            closed_until: time(row, 2)?,
            breaker: text(row, 3)?,
            reason: optional_text(row, 4)?,
            refused_since: row
                .get::<_, Option<f64>>(5)?
                .map(Timestamp::from_unix_seconds),
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    Ok(Timestamp::from_unix_seconds(row.get(column)?))
}
