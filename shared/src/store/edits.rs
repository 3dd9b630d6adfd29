//! Edits of known items, for feeds that want them told: what an item said when it was last told of,
//! and since when it says something else.

use super::known::Known;
use super::outbox::{optional_text, text};
use super::{Db, StoreError};
use crate::model::{Entry, Severity, Timestamp};
use crate::store::items::Pending;
use rusqlite::{OptionalExtension, named_params};

/// An item that says something else than what a person knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The item as it stands.
    pub item: Pending,
    pub old_title: String,
    pub old_summary: String,
    /// Of its verdict; `None` for an item of a first reading.
    pub severity: Option<Severity>,
    /// The alert that told the item.
    pub alert_id: Option<i64>,
    /// When an edit of it was told last.
    pub told_at: Option<Timestamp>,
    /// How many were.
    pub told: i64,
}

/// An item says something new, before that is written: remembered until it is told, or until it says
/// again what it said. Of an item without a verdict nobody knows anything yet. A text that is left out
/// says nothing new.
pub(super) fn note(
    db: &Db,
    known: &Known,
    entry: &Entry,
    now: Timestamp,
) -> Result<(), StoreError> {
    const NOTE: &str = "\
INSERT INTO edit(item_id,title,summary,changed_at)
SELECT id,title,summary,:now FROM item WHERE id=:id AND state<>'pending'
ON CONFLICT(item_id) DO UPDATE
   SET changed_at=CASE WHEN title=:title AND summary=:summary THEN NULL ELSE coalesce(changed_at,:now) END";
    let other_text = known.summary != entry.summary && !entry.summary.is_empty();
    if known.title == entry.title && !other_text {
        return Ok(());
    }
    db.prepare_cached(NOTE)?.execute(named_params! {
        ":id": known.id, ":title": entry.title, ":summary": entry.summary,
        ":now": now.unix_seconds(),
    })?;
    Ok(())
}

/// The edits that nobody was told of: first those of items of which no edit was told yet.
pub fn untold(db: &Db, limit: u32) -> Result<Vec<Edit>, StoreError> {
    const UNTOLD: &str = "\
SELECT item.id,feed_id,feed.url AS feed_url,feed.title AS feed_title,dedup_key,item.title,item.summary,link,guid,tags,
       published_at,first_seen_at,severity,item.alert_id,
       edit.title AS old_title,edit.summary AS old_summary,told_at,told
  FROM edit CROSS JOIN item ON item.id=item_id JOIN feed ON feed.id=feed_id
 WHERE changed_at IS NOT NULL ORDER BY told_at,item_id LIMIT :limit";
    let mut statement = db.prepare_cached(UNTOLD)?;
    let rows = statement.query_map(named_params! {":limit": limit}, |row| {
        let time = |name: &str| -> rusqlite::Result<Option<Timestamp>> {
            let seconds: Option<f64> = row.get(name)?;
            Ok(seconds.map(Timestamp::from_unix_seconds))
        };
        let severity: Option<String> = row.get("severity")?;
        Ok(Edit {
            item: Pending {
                id: row.get("id")?,
                feed_id: row.get("feed_id")?,
                feed_url: text(row, "feed_url")?,
                feed_title: optional_text(row, "feed_title")?,
                key: text(row, "dedup_key")?,
                entry: Entry {
                    title: text(row, "title")?,
                    summary: text(row, "summary")?,
                    link: optional_text(row, "link")?,
                    guid: optional_text(row, "guid")?,
                    tags: serde_json::from_str(&text(row, "tags")?).unwrap_or_default(),
                    published: time("published_at")?,
                    rating: None,
                },
                first_seen: time("first_seen_at")?.unwrap_or_default(),
                is_end: false,
            },
            old_title: text(row, "old_title")?,
            old_summary: text(row, "old_summary")?,
            severity: severity.and_then(|name| name.parse().ok()),
            alert_id: row.get("alert_id")?,
            told_at: time("told_at")?,
            told: row.get("told")?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// A person was told what the item says now, by that alert; run it in the transaction that enqueues
/// that. `None`: it is not worth telling, and what it says next is compared with this.
pub fn settle(
    db: &Db,
    edit: &Edit,
    alert_id: Option<i64>,
    now: Timestamp,
) -> Result<(), StoreError> {
    const SETTLE: &str = "\
UPDATE edit SET title=:title,summary=:summary,changed_at=NULL,
       told=told+(:alert IS NOT NULL),alert_id=coalesce(:alert,alert_id),
       told_at=CASE WHEN :alert IS NULL THEN told_at ELSE :now END WHERE item_id=:id";
    let entry = &edit.item.entry;
    db.prepare_cached(SETTLE)?.execute(named_params! {
        ":title": entry.title, ":summary": entry.summary, ":alert": alert_id,
        ":now": now.unix_seconds(), ":id": edit.item.id,
    })?;
    Ok(())
}

/// What became of the edits of one item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct History {
    pub told: i64,
    pub told_at: Option<Timestamp>,
    /// The alert that told the last one.
    pub alert_id: Option<i64>,
    /// Since when it says what nobody was told.
    pub changed_at: Option<Timestamp>,
}

/// `None`: it was never edited, or its feed does not want that told.
pub fn history(db: &Db, item_id: i64) -> Result<Option<History>, StoreError> {
    const HISTORY: &str = "SELECT told,told_at,alert_id,changed_at FROM edit WHERE item_id=:id";
    let found = db
        .prepare_cached(HISTORY)?
        .query_row(named_params! {":id": item_id}, |row| {
            let time = |column: usize| -> rusqlite::Result<Option<Timestamp>> {
                let seconds: Option<f64> = row.get(column)?;
                Ok(seconds.map(Timestamp::from_unix_seconds))
            };
            Ok(History {
                told: row.get(0)?,
                told_at: time(1)?,
                alert_id: row.get(2)?,
                changed_at: time(3)?,
            })
        });
    Ok(found.optional()?)
}
