//! What is remembered of each feed between two ticks.

use super::absent::Absence;
use super::{Db, StoreError, moves};
use crate::model::{Prints, Timestamp, Validators};
use rusqlite::{Row, named_params};
use std::time::Duration;

/// A feed as the last tick left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedState {
    pub id: i64,
    pub url: String,
    pub title: Option<String>,
    pub validators: Validators,
    /// When it last came in full.
    pub full_at: Option<Timestamp>,
    /// A guid was repeated once, so links identify its items.
    pub guids_unreliable: bool,
    /// Its first items were taken as known.
    pub seeded: bool,
    pub attempted_at: Option<Timestamp>,
    /// Not before then, said the server; the epoch when it said nothing.
    pub retry_at: Timestamp,
    /// Failed fetches in a row.
    pub failures: u32,
    /// Its server answered 410, and nothing better since.
    pub gone_at: Option<Timestamp>,
    /// A person paused it.
    pub paused_at: Option<Timestamp>,
    /// `None` with `paused_at`: until a person resumes it.
    pub paused_until: Option<Timestamp>,
    /// Of the entries of its last document.
    pub prints: Prints,
    /// For so long after a document, its server said, there is nothing new.
    pub ttl: Option<Duration>,
    /// Where it lives now, when it was seen to have moved for good.
    pub location: Option<String>,
    /// It is not in the configuration.
    pub absence: Option<Absence>,
}

impl FeedState {
    /// A feed that was never read.
    pub fn new(url: String) -> Self {
        Self {
            id: 0,
            url,
            title: None,
            validators: Validators::NONE,
            full_at: None,
            guids_unreliable: false,
            seeded: false,
            attempted_at: None,
            retry_at: Timestamp::EPOCH,
            failures: 0,
            gone_at: None,
            paused_at: None,
            paused_until: None,
            prints: Prints::NONE,
            ttl: None,
            location: None,
            absence: None,
        }
    }
}

/// Makes sure that each URL has a row. Rows of feeds that left the configuration stay for a while:
/// their items are known should the feed come back.
pub fn register(db: &Db, urls: &[String]) -> Result<(), StoreError> {
    let mut statement =
        db.prepare_cached("INSERT INTO feed(url) VALUES(:url) ON CONFLICT(url) DO NOTHING")?;
    for url in urls {
        statement.execute(named_params! {":url": url})?;
    }
    Ok(())
}

/// Every feed ever registered.
pub fn all(db: &Db) -> Result<Vec<FeedState>, StoreError> {
    const ALL: &str = "\
SELECT id,url,title,etag,last_modified,full_at,guids_unreliable,seeded_at IS NOT NULL AS seeded,
       attempted_at,retry_at,failures,gone_at,paused_at,paused_until,prints,ttl,location,
       left_at,left_counted_at,left_for FROM feed";
    let mut statement = db.prepare_cached(ALL)?;
    let rows = statement.query_map([], state)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The server said that nothing changed, and by permanent redirects, where the feed is.
pub fn not_modified(
    db: &Db,
    id: i64,
    validators: &Validators,
    moved_to: Option<&str>,
    now: Timestamp,
) -> Result<(), StoreError> {
    const NOT_MODIFIED: &str = "\
UPDATE feed SET etag=:etag,last_modified=:modified,attempted_at=:now,succeeded_at=:now,
       failures=0,retry_at=0,gone_at=NULL,last_error=NULL WHERE id=:id";
    db.prepare_cached(NOT_MODIFIED)?.execute(named_params! {
        ":etag": validators.etag, ":modified": validators.last_modified,
        ":now": now.unix_seconds(), ":id": id,
    })?;
    moves::seen_unread(db, id, moved_to)
}

/// The fetch or the parse failed. Nothing that is known is touched.
pub fn failed(
    db: &Db,
    id: i64,
    error: &str,
    retry_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), StoreError> {
    const FAILED: &str = "\
UPDATE feed SET attempted_at=:now,failing_since=CASE WHEN failures=0 OR failing_since>:now THEN :now ELSE failing_since END,
       failures=failures+1,retry_at=:retry_at,last_error=:error WHERE id=:id";
    db.prepare_cached(FAILED)?.execute(named_params! {
        ":now": now.unix_seconds(), ":error": error, ":id": id,
        ":retry_at": retry_at.unwrap_or_default().unix_seconds(),
    })?;
    Ok(())
}

/// Feeds whose first fetch has not been told yet, and how many items each brought.
pub fn seeded_untold(db: &Db) -> Result<Vec<(i64, i64)>, StoreError> {
    const UNTOLD: &str = "\
SELECT id,(SELECT count(*) FROM item WHERE feed_id=feed.id) FROM feed
 WHERE seeded_at IS NOT NULL AND seed_told_at IS NULL";
    let mut statement = db.prepare_cached(UNTOLD)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub fn seed_told(db: &Db, ids: &[i64], now: Timestamp) -> Result<(), StoreError> {
    let mut statement = db.prepare_cached(
        "UPDATE feed SET seed_told_at=:now WHERE id=:id AND seed_told_at IS NULL",
    )?;
    for id in ids {
        statement.execute(named_params! {":now": now.unix_seconds(), ":id": id})?;
    }
    Ok(())
}

fn state(row: &Row<'_>) -> rusqlite::Result<FeedState> {
    let time = |name: &str| -> rusqlite::Result<Option<Timestamp>> {
        let seconds: Option<f64> = row.get(name)?;
        Ok(seconds.map(Timestamp::from_unix_seconds))
    };
    let prints: Option<Vec<u8>> = row.get("prints")?;
    let ttl: Option<f64> = row.get("ttl")?;
    Ok(FeedState {
        prints: prints.map_or(Prints::NONE, |bytes| Prints::from_bytes(&bytes)),
        ttl: ttl.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        location: row.get("location")?,
        absence: Absence::of(row)?,
        id: row.get("id")?,
        url: row.get("url")?,
        title: row.get("title")?,
        validators: Validators {
            etag: row.get("etag")?,
            last_modified: row.get("last_modified")?,
        },
        full_at: time("full_at")?,
        guids_unreliable: row.get("guids_unreliable")?,
        seeded: row.get("seeded")?,
        attempted_at: time("attempted_at")?,
        retry_at: time("retry_at")?.unwrap_or_default(),
        failures: row.get("failures")?,
        gone_at: time("gone_at")?,
        paused_at: time("paused_at")?,
        paused_until: time("paused_until")?,
    })
}
