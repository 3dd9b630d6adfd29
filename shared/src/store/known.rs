//! Known once: which items of a parse are known already, by their key, their link, or as an edit of
//! one that they replace; and which ones only look new because a publisher renamed them all.

use super::{Db, StoreError};
use crate::model::{DedupKey, Item, Timestamp};
use crate::policy::edit::{is_edit, is_promotion, is_same_story};
use rusqlite::{OptionalExtension, Row, named_params};
use std::collections::HashSet;
use std::time::Duration;

/// What is remembered of an item, as far as it may change or tells it from another.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) id: i64,
    key: String,
    pub(super) title: String,
    pub(super) summary: String,
    guid: Option<String>,
    published: Option<Timestamp>,
    pub(super) last_seen: Timestamp,
}

/// What an item of a parse is.
#[derive(Clone, Debug)]
pub(super) enum Found {
    Known(Known),
    /// An edit of the known one, which goes by this one's names from now on.
    Corrected(Known),
    New,
    /// A pre-release that became a release under its old name: news under this key, and an edit of
    /// the known one.
    Promoted(DedupKey, Known),
    /// One of many that all look new, under titles that are all known.
    Renamed,
}

const COLUMNS: &str = "id,dedup_key,title,summary,guid,published_at,last_seen_at";
/// An edit that changes even the address comes soon, or never.
const EDIT_WITHIN: Duration = Duration::from_hours(48);
/// Two datings of one entry are no further apart.
const REDATED: Duration = Duration::from_hours(1);
/// So many at once are a storm, when four fifths of them have known titles and no known item is left.
const STORM: usize = 5;

/// What each item of a parse is, in the order of the document. Membership decides, never a date.
pub(super) fn find(
    db: &Db,
    feed_id: i64,
    items: &[Item],
    now: Timestamp,
) -> Result<Vec<Found>, StoreError> {
    let shown: HashSet<&str> = items.iter().map(|item| item.key.as_str()).collect();
    let mut found = Vec::new();
    for item in items {
        found.push(one(db, feed_id, item, &shown, now)?);
    }
    let new = found.iter().filter(|found| matches!(found, Found::New));
    if new.count() == found.len() && found.len() >= STORM {
        let known = titles(db, feed_id)?;
        let is_renamed = |item: &&Item| known.contains(&item.entry.title);
        let renamed = items.iter().filter(is_renamed).count();
        if renamed * 5 >= items.len() * 4 {
            for (found, item) in found.iter_mut().zip(items) {
                if is_renamed(&item) {
                    *found = Found::Renamed;
                }
            }
        }
    }
    Ok(found)
}

fn one(
    db: &Db,
    feed_id: i64,
    item: &Item,
    shown: &HashSet<&str>,
    now: Timestamp,
) -> Result<Found, StoreError> {
    if let Some(known) = by_key(db, feed_id, &item.key)? {
        return promoted(db, feed_id, item, known);
    }
    if let Some(known) = by_link(db, feed_id, item, shown)? {
        return Ok(Found::Known(known));
    }
    let replaced = by_title(db, feed_id, item, shown, now)?;
    Ok(replaced.map_or(Found::New, Found::Corrected))
}

fn promoted(db: &Db, feed_id: i64, item: &Item, known: Known) -> Result<Found, StoreError> {
    let (old, new) = (&known.title, &item.entry.title);
    if old == new || !is_promotion(old, new) {
        return Ok(Found::Known(known));
    }
    let key = release_key(&item.key);
    Ok(match by_key(db, feed_id, &key)? {
        Some(_) => Found::Known(known),
        None => Found::Promoted(key, known),
    })
}

/// Of the release that a pre-release became; its first digits differ, for people see them.
fn release_key(key: &DedupKey) -> DedupKey {
    let reversed: String = key.as_str().chars().rev().collect();
    DedupKey::new(format!("{reversed}-release"))
}

fn by_key(db: &Db, feed_id: i64, key: &DedupKey) -> Result<Option<Known>, StoreError> {
    let by_key = format!("SELECT {COLUMNS} FROM item WHERE feed_id=:feed AND dedup_key=:key");
    let mut by_key = db.prepare_cached(&by_key)?;
    let values = named_params! {":feed": feed_id, ":key": key.as_str()};
    Ok(by_key.query_row(values, known).optional()?)
}

fn by_link(
    db: &Db,
    feed_id: i64,
    item: &Item,
    shown: &HashSet<&str>,
) -> Result<Option<Known>, StoreError> {
    let Some(link) = &item.link_key else {
        return Ok(None);
    };
    let by_link = format!(
        "SELECT {COLUMNS} FROM item WHERE feed_id=:feed AND link_key=:link ORDER BY id DESC LIMIT 20"
    );
    let mut by_link = db.prepare_cached(&by_link)?;
    let values = named_params! {":feed": feed_id, ":link": link.as_str()};
    for row in by_link.query_map(values, known)? {
        let row = row?;
        // Without titles the texts tell the stories apart.
        let entry = &item.entry;
        let (old, new) = match (row.title.as_str(), entry.title.as_str()) {
            ("", "") => (&row.summary, &entry.summary),
            _ => (&row.title, &entry.title),
        };
        if is_edit(old, new) && !is_another_occurrence(&row, item, shown) {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// The same page and title, but another id, a later date and other words: it happened again.
fn is_another_occurrence(known: &Known, item: &Item, shown: &HashSet<&str>) -> bool {
    let entry = &item.entry;
    let is_later = match (known.published, entry.published) {
        (Some(old), Some(new)) => new > old + REDATED,
        _ => false,
    };
    let has_other_id = known.guid.is_some() && entry.guid.is_some() && known.guid != entry.guid;
    let says_more = !entry.summary.is_empty() && known.summary != entry.summary;
    (has_other_id && is_later && says_more) || shown.contains(known.key.as_str())
}

/// A recent item that the document shows no more, and that this one may be after a correction which
/// changed its id and its address too, as where both hold the headline.
fn by_title(
    db: &Db,
    feed_id: i64,
    item: &Item,
    shown: &HashSet<&str>,
    now: Timestamp,
) -> Result<Option<Known>, StoreError> {
    let recent = format!(
        "SELECT {COLUMNS} FROM item
          WHERE feed_id=:feed AND first_seen_at>=:since ORDER BY id DESC LIMIT 200"
    );
    let since = now.minus(EDIT_WITHIN).unix_seconds();
    let mut recent = db.prepare_cached(&recent)?;
    let entry = &item.entry;
    for row in recent.query_map(named_params! {":feed": feed_id, ":since": since}, known)? {
        let row = row?;
        let is_gone = !shown.contains(row.key.as_str());
        let is_dated_alike = row.published.is_some() && row.published == entry.published;
        if is_gone && is_dated_alike && is_same_story(&row.title, &entry.title) {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

fn titles(db: &Db, feed_id: i64) -> Result<HashSet<String>, StoreError> {
    const TITLES: &str = "\
SELECT title FROM item WHERE feed_id=:feed AND title<>'' ORDER BY id DESC LIMIT 2000";
    let mut titles = db.prepare_cached(TITLES)?;
    let titles = titles.query_map(named_params! {":feed": feed_id}, |row| row.get(0))?;
    Ok(titles.collect::<rusqlite::Result<_>>()?)
}

fn known(row: &Row<'_>) -> rusqlite::Result<Known> {
    let published: Option<f64> = row.get(5)?;
    Ok(Known {
        id: row.get(0)?,
        key: row.get(1)?,
        title: row.get(2)?,
        summary: row.get(3)?,
        guid: row.get(4)?,
        published: published.map(Timestamp::from_unix_seconds),
        last_seen: Timestamp::from_unix_seconds(row.get(6)?),
    })
}
