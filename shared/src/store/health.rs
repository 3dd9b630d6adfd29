//! The health of each feed: how its fetches went, what was told of it, and what a person decided.

use super::absent::Absence;
use super::outbox::{optional_text, text};
use super::{Db, StoreError};
use crate::model::Timestamp;
use rusqlite::{Row, named_params};
use std::collections::HashMap;

/// Everything that is remembered of one feed for people.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    pub id: i64,
    pub url: String,
    /// As the feed says it.
    pub title: Option<String>,
    pub attempted_at: Option<Timestamp>,
    pub succeeded_at: Option<Timestamp>,
    pub seeded_at: Option<Timestamp>,
    pub new_item_at: Option<Timestamp>,
    pub retry_at: Timestamp,
    /// Failed fetches in a row.
    pub failures: u32,
    /// The first of them; of the last row when there is none now.
    pub failing_since: Option<Timestamp>,
    pub failing_told_at: Option<Timestamp>,
    pub last_error: Option<String>,
    /// When its server answered 410.
    pub gone_at: Option<Timestamp>,
    pub gone_told_at: Option<Timestamp>,
    pub quiet_told_at: Option<Timestamp>,
    /// When all its items came under new names, how many, and when that was told.
    pub storm_at: Option<Timestamp>,
    pub storm_items: i64,
    pub storm_told_at: Option<Timestamp>,
    pub paused_at: Option<Timestamp>,
    /// `None` with `paused_at`: until a person resumes it.
    pub paused_until: Option<Timestamp>,
    /// It is not in the configuration.
    pub absence: Option<Absence>,
}

impl Health {
    /// A person paused it, and that holds.
    pub fn is_paused(&self, now: Timestamp) -> bool {
        self.paused_at.is_some() && self.paused_until.is_none_or(|until| until > now)
    }
}

/// Every feed ever registered.
pub fn all(db: &Db) -> Result<Vec<Health>, StoreError> {
    let mut statement = db.prepare_cached("SELECT * FROM feed ORDER BY id")?;
    let rows = statement.query_map([], health)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// How many items of each feed are remembered, by its id.
pub fn counts(db: &Db) -> Result<HashMap<i64, i64>, StoreError> {
    const COUNTS: &str = "\
SELECT id,(SELECT count(*) FROM item WHERE feed_id=feed.id) FROM feed";
    let mut statement = db.prepare(COUNTS)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// When the newest items of a feed came, the last of each day (UTC), the newest first, at most `limit`
/// days: as the feed dates them, but not later than they were first seen.
pub fn arrivals(db: &Db, feed_id: i64, limit: u32) -> Result<Vec<Timestamp>, StoreError> {
    const ARRIVALS: &str = "\
SELECT max(at) AS at FROM
 (SELECT min(coalesce(published_at,first_seen_at),first_seen_at) AS at FROM item
   WHERE feed_id=:feed ORDER BY id DESC LIMIT 500)
 GROUP BY CAST(at/86400 AS INTEGER) ORDER BY at DESC LIMIT :limit";
    let mut statement = db.prepare_cached(ARRIVALS)?;
    let rows = statement.query_map(named_params! {":feed": feed_id, ":limit": limit}, |row| {
        Ok(Timestamp::from_unix_seconds(row.get(0)?))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Something about a feed that is told, or was told and is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Failing,
    Works,
    Gone,
    Quiet,
    Heard,
    Renamed,
}

/// Remembers that it was told, in the transaction that enqueues the notice.
pub fn told(db: &Db, feed_id: i64, what: Told, now: Timestamp) -> Result<(), StoreError> {
    let (set, at) = match what {
        Told::Failing => ("failing_told_at=:at", Some(now)),
        Told::Works => ("failing_told_at=:at,gone_told_at=NULL", None),
        Told::Gone => ("gone_told_at=:at", Some(now)),
        Told::Quiet => ("quiet_told_at=:at", Some(now)),
        Told::Heard => ("quiet_told_at=:at", None),
        Told::Renamed => ("storm_told_at=:at", Some(now)),
    };
    db.prepare_cached(&format!("UPDATE feed SET {set} WHERE id=:id"))?
        .execute(named_params! {":at": at.map(Timestamp::unix_seconds), ":id": feed_id})?;
    Ok(())
}

/// The server said that the feed is gone for good (410).
pub fn gone(db: &Db, feed_id: i64, now: Timestamp) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE feed SET gone_at=coalesce(gone_at,:now) WHERE id=:id")?
        .execute(named_params! {":now": now.unix_seconds(), ":id": feed_id})?;
    Ok(())
}

/// A person pauses a feed: until then, or until it is resumed.
pub fn pause(
    db: &Db,
    feed_id: i64,
    until: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE feed SET paused_at=:now,paused_until=:until WHERE id=:id")?
        .execute(named_params! {
            ":now": now.unix_seconds(), ":until": until.map(Timestamp::unix_seconds),
            ":id": feed_id,
        })?;
    Ok(())
}

/// It is due with the next tick, whatever its failures were.
pub fn resume(db: &Db, feed_id: i64) -> Result<(), StoreError> {
    const RESUME: &str = "\
UPDATE feed SET paused_at=NULL,paused_until=NULL,gone_at=NULL,gone_told_at=NULL,retry_at=0,attempted_at=NULL
 WHERE id=:id";
    db.prepare_cached(RESUME)?
        .execute(named_params! {":id": feed_id})?;
    Ok(())
}

fn health(row: &Row<'_>) -> rusqlite::Result<Health> {
    let time = |name: &str| -> rusqlite::Result<Option<Timestamp>> {
        let seconds: Option<f64> = row.get(name)?;
        Ok(seconds.map(Timestamp::from_unix_seconds))
    };
    Ok(Health {
        id: row.get("id")?,
        url: text(row, "url")?,
        title: optional_text(row, "title")?,
        attempted_at: time("attempted_at")?,
        succeeded_at: time("succeeded_at")?,
        seeded_at: time("seeded_at")?,
        new_item_at: time("new_item_at")?,
        retry_at: time("retry_at")?.unwrap_or_default(),
        failures: row.get("failures")?,
        failing_since: time("failing_since")?,
        failing_told_at: time("failing_told_at")?,
        last_error: optional_text(row, "last_error")?,
        gone_at: time("gone_at")?,
        gone_told_at: time("gone_told_at")?,
        quiet_told_at: time("quiet_told_at")?,
        storm_at: time("storm_at")?,
        storm_items: row
            .get::<_, Option<i64>>("storm_items")?
            .unwrap_or_default(),
        storm_told_at: time("storm_told_at")?,
        paused_at: time("paused_at")?,
        paused_until: time("paused_until")?,
        absence: Absence::of(row)?,
    })
}
