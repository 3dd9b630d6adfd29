//! Stories: what several feeds bring is told once; what has grown worse is told again.

use super::outbox::text;
use super::{Db, StoreError};
use crate::model::{Severity, Timestamp};
use rusqlite::{OptionalExtension, Row, named_params};
use std::time::Duration;

/// An address or a set of CVE ids tells the same story for so long.
const WEEK: Duration = Duration::from_hours(7 * 24);
/// A title does for so long.
const DAY: Duration = Duration::from_hours(24);

/// The alert that tells a story already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub alert_id: i64,
    pub short_id: String,
    pub severity: Severity,
}

const TOLD: &str = "alert.id,json_extract(alert.payload,'$.short_id'),alert.severity";

/// The last alert that tells the story of an item, brought by other feeds only: two items of one
/// feed are two stories. By the item's own address, else by equal sets of CVE ids, else by a title
/// that `is_same`.
pub fn told(
    db: &Db,
    item_id: i64,
    cves: Option<&str>,
    is_same: &dyn Fn(&str) -> bool,
    now: Timestamp,
) -> Result<Option<Told>, StoreError> {
    if let Some(told) = by_link(db, item_id, now)? {
        return Ok(Some(told));
    }
    match cves {
        Some(cves) => by_cves(db, item_id, cves, now),
        None => by_title(db, item_id, is_same, now),
    }
}

fn by_link(db: &Db, item_id: i64, now: Timestamp) -> Result<Option<Told>, StoreError> {
    let by_link = format!(
        "SELECT {TOLD} FROM item AS own JOIN item AS other ON other.link_key=own.link_key
           JOIN alert ON alert.id=other.alert_id
          WHERE own.id=:item AND other.link_key IS NOT NULL AND other.alert_id IS NOT NULL
            AND other.feed_id<>own.feed_id AND alert.created_at>=:since
          ORDER BY alert.id DESC LIMIT 1"
    );
    let since = now.minus(WEEK).unix_seconds();
    let mut by_link = db.prepare_cached(&by_link)?;
    let found = by_link.query_row(named_params! {":item": item_id, ":since": since}, told_row);
    Ok(found.optional()?)
}

/// None of its items is of the feed of this one.
const ELSEWHERE: &str = "\
NOT EXISTS(SELECT 1 FROM item WHERE alert_id=alert.id AND feed_id=(SELECT feed_id FROM item WHERE id=:item))";

fn by_cves(db: &Db, item_id: i64, cves: &str, now: Timestamp) -> Result<Option<Told>, StoreError> {
    let by_cves = format!(
        "SELECT {TOLD} FROM alert WHERE cves=:cves AND created_at>=:since AND {ELSEWHERE}
          ORDER BY id DESC LIMIT 1"
    );
    let since = now.minus(WEEK).unix_seconds();
    let mut by_cves = db.prepare_cached(&by_cves)?;
    let values = named_params! {":cves": cves, ":item": item_id, ":since": since};
    Ok(by_cves.query_row(values, told_row).optional()?)
}

fn by_title(
    db: &Db,
    item_id: i64,
    is_same: &dyn Fn(&str) -> bool,
    now: Timestamp,
) -> Result<Option<Told>, StoreError> {
    let by_title = format!(
        "SELECT {TOLD},title FROM alert
          WHERE id>(SELECT coalesce(max(id),0)-500 FROM alert) AND cves IS NULL
            AND created_at>=:since AND {ELSEWHERE} ORDER BY id DESC"
    );
    let since = now.minus(DAY).unix_seconds();
    let mut by_title = db.prepare_cached(&by_title)?;
    let mut rows = by_title.query(named_params! {":item": item_id, ":since": since})?;
    while let Some(row) = rows.next()? {
        if is_same(&text(row, 3)?) {
            return Ok(Some(told_row(row)?));
        }
    }
    Ok(None)
}

fn told_row(row: &Row<'_>) -> rusqlite::Result<Told> {
    let severity: String = row.get(2)?;
    Ok(Told {
        alert_id: row.get(0)?,
        short_id: text(row, 1)?,
        // What cannot be read is taken for the least: an alert too many.
        severity: severity.parse().unwrap_or(Severity::Low),
    })
}

/// The item tells a story that was told already: its source is named where that alert is not sent
/// yet.
pub fn also(
    db: &Db,
    alert_id: i64,
    item_id: i64,
    source: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    const ALSO: &str = "\
INSERT INTO also(alert_id,item_id,source,at) VALUES(:alert,:item,:source,:now) ON CONFLICT DO NOTHING";
    db.prepare_cached(ALSO)?.execute(named_params! {
        ":alert": alert_id, ":item": item_id, ":source": source, ":now": now.unix_seconds(),
    })?;
    Ok(())
}

/// The other sources of a row's alert, those that came first, at most ten.
pub(super) fn others(db: &Db, outbox_id: i64) -> Result<Vec<String>, StoreError> {
    const OTHERS: &str = "\
SELECT source FROM also WHERE alert_id=(SELECT alert_id FROM outbox WHERE id=:id)
 GROUP BY source ORDER BY min(at),source LIMIT 10";
    let mut others = db.prepare_cached(OTHERS)?;
    let found = others.query_map(named_params! {":id": outbox_id}, |row| text(row, 0))?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}
