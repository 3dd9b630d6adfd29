//! The numbers of one moment for who draws curves of them: what waits, what is closed, and what the
//! table of counts holds.

use super::outbox::text;
use super::{Db, StoreError, heartbeats};
use crate::model::Timestamp;
use rusqlite::{Row, named_params};
use std::path::Path;

/// Everything of one moment. A channel is named as its rows name it, known or not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// How many senders there have been.
    pub epoch: i64,
    pub backlog: Vec<Backlog>,
    /// Dead letters that a person has not decided about, by channel.
    pub dead: Vec<(String, i64)>,
    pub gates: Vec<Gates>,
    pub tallies: Vec<Tally>,
    /// The bounds of every histogram, seconds, the last of them infinite.
    pub bounds: Vec<f64>,
    pub tick: heartbeats::Heartbeat,
    pub feeds: i64,
    pub feeds_failing: i64,
    pub items_pending: i64,
}

/// What has not arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct Backlog {
    pub channel: String,
    /// `ready`, `leased`, or `folded` into a digest that has not arrived.
    pub state: &'static str,
    /// As [`Priority::rank`](crate::model::Priority::rank) numbers it.
    pub rank: i64,
    pub rows: i64,
    /// Since when the oldest of them was meant to be there, whatever holds it; what watchalert says of
    /// itself does not count.
    pub due_since: Option<Timestamp>,
}

/// Gates of one scope whose breakers are in one state.
#[derive(Clone, Debug, PartialEq)]
pub struct Gates {
    pub scope: String,
    pub breaker: String,
    pub gates: i64,
    /// Those that let nothing through now, and when the last of them opens.
    pub closed: i64,
    pub opens_at: Timestamp,
    /// Those that wait for a person.
    pub refused: i64,
}

/// One row of the table of counts, which only grow.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    pub name: String,
    pub channel: String,
    pub label: String,
    /// Of a histogram: the bound up to which it counts, without what lies below the bound before.
    pub le: f64,
    pub n: i64,
    /// The sum of what was counted.
    pub seconds: f64,
}

/// Reads all of it in one transaction. `database` is where the file is.
pub fn read(db: &Db, database: &Path, now: Timestamp) -> Result<Metrics, StoreError> {
    const FEEDS: &str =
        "SELECT count(*),coalesce(sum(failures>0),0) FROM feed WHERE left_at IS NULL";
    const PENDING: &str = "SELECT count(*) FROM item WHERE state='pending'";
    let snapshot = db.unchecked_transaction()?;
    let count = |sql: &str| -> Result<i64, StoreError> {
        Ok(snapshot
            .prepare_cached(sql)?
            .query_row([], |row| row.get(0))?)
    };
    let (feeds, feeds_failing) = snapshot
        .prepare_cached(FEEDS)?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Metrics {
        epoch: count("SELECT epoch FROM sender_lease WHERE one=1")?,
        backlog: backlog(&snapshot, now)?,
        dead: dead(&snapshot)?,
        gates: gates(&snapshot, now)?,
        tallies: tallies(&snapshot)?,
        bounds: bounds(&snapshot)?,
        tick: heartbeats::read(&snapshot, database, now)?,
        feeds,
        feeds_failing,
        items_pending: count(PENDING)?,
    })
}

/// Each state by its name, or its partial index does not serve.
fn backlog(db: &Db, now: Timestamp) -> Result<Vec<Backlog>, StoreError> {
    const READY: &str = "\
SELECT channel,priority,count(*),
       min(max(created_at,not_before,coalesce(revived_at,0))) FILTER(WHERE not_before<=:now AND kind<>'notice')
  FROM outbox WHERE state='ready' GROUP BY channel,priority";
    const LEASED: &str = "\
SELECT channel,priority,count(*),
       min(max(created_at,not_before,coalesce(revived_at,0))) FILTER(WHERE not_before<=:now AND kind<>'notice')
  FROM outbox WHERE state='leased' GROUP BY channel,priority";
    const FOLDED: &str = "\
SELECT member.channel,member.priority,count(*),
       min(max(member.created_at,member.not_before,coalesce(member.revived_at,0))) FILTER(WHERE member.not_before<=:now)
  FROM (SELECT id FROM outbox WHERE state='ready' AND kind='digest'
        UNION ALL SELECT id FROM outbox WHERE state='leased' AND kind='digest') AS untold
       CROSS JOIN outbox AS member ON member.parent_id=untold.id
 GROUP BY member.channel,member.priority";
    let mut found = Vec::new();
    for (state, sql) in [("ready", READY), ("leased", LEASED), ("folded", FOLDED)] {
        let mut statement = db.prepare_cached(sql)?;
        let rows = statement.query_map(named_params! {":now": now.unix_seconds()}, |row| {
            Ok(Backlog {
                channel: text(row, 0)?,
                state,
                rank: row.get(1)?,
                rows: row.get(2)?,
                due_since: row
                    .get::<_, Option<f64>>(3)?
                    .map(Timestamp::from_unix_seconds),
            })
        })?;
        for row in rows {
            found.push(row?);
        }
    }
    Ok(found)
}

fn dead(db: &Db) -> Result<Vec<(String, i64)>, StoreError> {
    const DEAD: &str = "SELECT channel,count(*) FROM outbox WHERE state='dead' GROUP BY channel";
    all(db, DEAD, |row| Ok((text(row, 0)?, row.get(1)?)))
}

fn gates(db: &Db, now: Timestamp) -> Result<Vec<Gates>, StoreError> {
    // No clock that was set back makes a wait longer than it was told.
    const GATES: &str = "\
SELECT scope,breaker,count(*),count(*) FILTER(WHERE until>:now),max(until),count(refused_since)
  FROM (SELECT scope,breaker,refused_since,max(min(blocked_until,:now+blocked_for),paused_until) AS until FROM gate)
 GROUP BY scope,breaker";
    let mut statement = db.prepare_cached(GATES)?;
    let rows = statement.query_map(named_params! {":now": now.unix_seconds()}, |row| {
        Ok(Gates {
            scope: text(row, 0)?,
            breaker: text(row, 1)?,
            gates: row.get(2)?,
            closed: row.get(3)?,
            opens_at: Timestamp::from_unix_seconds(row.get(4)?),
            refused: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn tallies(db: &Db) -> Result<Vec<Tally>, StoreError> {
    all(
        db,
        "SELECT name,channel,label,le,n,seconds FROM tally",
        |row| {
            Ok(Tally {
                name: text(row, 0)?,
                channel: text(row, 1)?,
                label: text(row, 2)?,
                le: row.get(3)?,
                n: row.get(4)?,
                seconds: row.get(5)?,
            })
        },
    )
}

fn bounds(db: &Db) -> Result<Vec<f64>, StoreError> {
    all(db, "SELECT le FROM bound ORDER BY le", |row| row.get(0))
}

fn all<T>(
    db: &Db,
    sql: &str,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = db.prepare_cached(sql)?;
    let rows = statement.query_map([], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
