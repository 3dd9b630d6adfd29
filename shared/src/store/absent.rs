//! Feeds that left the configuration: for how long, and that they are forgotten at last.

use super::{Db, StoreError};
use crate::model::Timestamp;
use rusqlite::{Row, named_params};
use std::time::Duration;

/// Items that one transaction deletes, so that others are not kept out.
const AT_ONCE: i64 = 100;

/// A feed that is registered and not configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// When a tick missed it first.
    pub since: Timestamp,
    /// When that was counted last.
    pub counted_at: Timestamp,
    /// A sum of the time between two counts, and not what the clock says since: that may be wrong.
    pub lasted: Duration,
}

impl Absence {
    pub(super) fn of(row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        let time = |name: &str| -> rusqlite::Result<Option<Timestamp>> {
            let seconds: Option<f64> = row.get(name)?;
            Ok(seconds.map(Timestamp::from_unix_seconds))
        };
        let (since, counted_at) = (time("left_at")?, time("left_counted_at")?);
        let lasted = Duration::try_from_secs_f64(row.get("left_for")?).unwrap_or_default();
        Ok(since.map(|since| Self {
            since,
            counted_at: counted_at.unwrap_or(since),
            lasted,
        }))
    }
}

/// It is gone for so long; `None`: it is configured again.
pub fn keep(db: &Db, feed_id: i64, absence: Option<Absence>) -> Result<(), StoreError> {
    const KEEP: &str = "\
UPDATE feed SET left_at=:since,left_counted_at=:counted,left_for=:lasted WHERE id=:id";
    db.prepare_cached(KEEP)?.execute(named_params! {
        ":since": absence.map(|absence| absence.since.unix_seconds()),
        ":counted": absence.map(|absence| absence.counted_at.unix_seconds()),
        ":lasted": absence.map_or(0.0, |absence| absence.lasted.as_secs_f64()), ":id": feed_id,
    })?;
    Ok(())
}

/// Forgets a hundred items of a feed, and, when none is left, the feed. It is a new one from the
/// first of them on: were it read again now, that would be a first reading. Returns how many items
/// went; call again until it is 0. An item without a verdict stays until it has one.
pub fn forget(db: &Db, feed_id: i64) -> Result<usize, StoreError> {
    const NEW: &str = "\
UPDATE feed SET seeded_at=NULL,seed_told_at=NULL,full_at=NULL,etag=NULL,last_modified=NULL,prints=NULL
 WHERE id=:id AND (seeded_at IS NOT NULL OR prints IS NOT NULL)";
    const ITEMS: &str = "\
DELETE FROM item WHERE id IN(
 SELECT id FROM item WHERE feed_id=:id AND state<>'pending' ORDER BY id LIMIT :limit)";
    const FEED: &str = "\
DELETE FROM feed WHERE id=:id AND NOT EXISTS(SELECT 1 FROM item WHERE feed_id=:id)";
    let id = named_params! {":id": feed_id};
    db.prepare_cached(NEW)?.execute(id)?;
    let gone = db
        .prepare_cached(ITEMS)?
        .execute(named_params! {":id": feed_id, ":limit": AT_ONCE})?;
    db.prepare_cached(FEED)?.execute(id)?;
    Ok(gone)
}
