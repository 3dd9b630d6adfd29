//! Items: stored with their feed's new validators in one transaction, judged in a later one.

use super::edits;
use super::known::{self, Found, Known, SEEN_PRECISION};
use super::moves;
use super::posts;
use super::{Db, StoreError};
use crate::model::{DedupKey, Entry, Item, Prints, Timestamp, Validators, Verdict};
use rusqlite::{Row, named_params};
use std::collections::HashSet;
use std::time::Duration;

/// One good parse of one feed.
#[derive(Clone, Debug)]
pub struct Parsed {
    pub feed_id: i64,
    pub title: Option<String>,
    pub items: Vec<Item>,
    /// Of the items, those that stand as they stood at the last reading; they may lack their summary.
    pub unchanged: HashSet<DedupKey>,
    /// Of all entries of the document.
    pub prints: Prints,
    pub guids_unreliable: bool,
    pub validators: Validators,
    /// For so long, the server says, there is nothing new.
    pub ttl: Option<Duration>,
    /// Where permanent redirects led to this document, or where it is known to have moved to.
    pub moved_to: Option<String>,
    /// A first parse seeds: its items are known, not told.
    pub seed: bool,
    /// What known items say otherwise is remembered, to be told.
    pub tells_edits: bool,
}

/// What a parse brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Items that wait for a verdict now.
    pub new: usize,
    pub known: usize,
    pub seeded: usize,
    /// Of the known ones, those that all came under new names at once.
    pub renamed: usize,
}

const FEED: &str = "\
UPDATE feed SET title=coalesce(:title,title),etag=:etag,last_modified=:modified,
       guids_unreliable=max(guids_unreliable,:unreliable),
       full_at=:now,prints=:prints,ttl=:ttl,
       seeded_at=coalesce(seeded_at,:now),
       seed_told_at=CASE WHEN seeded_at IS NULL AND NOT :seed THEN :now ELSE seed_told_at END,
       attempted_at=:now,succeeded_at=:now,failures=0,retry_at=0,gone_at=NULL,last_error=NULL
 WHERE id=:id RETURNING seeded_at IS NOT NULL";

const INSERT: &str = "\
INSERT INTO item(feed_id,dedup_key,link_key,title,summary,link,guid,tags,published_at,first_seen_at,last_seen_at,state)
VALUES(:feed,:key,:link_key,:title,:summary,:link,:guid,:tags,:published,:now,:now,:state)";

/// Stores a parse: validators and items together, so that no crash separates them.
pub fn store(db: &Db, parsed: &Parsed, now: Timestamp) -> Result<Stored, StoreError> {
    let first = is_first(db, parsed.feed_id)?;
    let found = known::find(
        db,
        parsed.feed_id,
        &parsed.items,
        parsed.guids_unreliable,
        now,
    )?;
    store_feed(db, parsed, now)?;
    let state = if first && parsed.seed {
        "seeded"
    } else {
        "pending"
    };
    let mut stored = Stored::default();
    let mut forgotten = false;
    for (item, found) in parsed.items.iter().zip(found) {
        match keep(db, parsed, item, found, state, now)? {
            Kept::New if state == "seeded" => stored.seeded += 1,
            Kept::New => stored.new += 1,
            Kept::Known => stored.known += 1,
            Kept::Renamed => {
                stored.known += 1;
                stored.renamed += 1;
            }
            Kept::Forgotten => forgotten = true,
        }
    }
    note(db, parsed.feed_id, &stored, now)?;
    if forgotten {
        read_all_again(db, parsed.feed_id)?;
    }
    // Of what was read there from the first, nothing else is known.
    let is_known_here = first || stored.known > 0;
    let moved_to = parsed.moved_to.as_deref();
    moves::seen_in_full(db, parsed.feed_id, moved_to, is_known_here, now)?;
    prune(db, parsed.feed_id, now)?;
    Ok(stored)
}

enum Kept {
    New,
    Known,
    Renamed,
    /// It stands as it stood, and is not known: the next document is read in full.
    Forgotten,
}

fn keep(
    db: &Db,
    parsed: &Parsed,
    item: &Item,
    found: Found,
    state: &str,
    now: Timestamp,
) -> Result<Kept, StoreError> {
    // Of what stands as it stood, only what its identity needs was read.
    let unchanged = parsed.unchanged.contains(&item.key);
    Ok(match found {
        Found::Known(known) if unchanged => {
            seen(db, &known, now)?;
            Kept::Known
        }
        Found::Known(known) => {
            note_edit(db, parsed, &known, item, now)?;
            refresh(db, &known, &item.entry, now)?;
            Kept::Known
        }
        // Its feed has stopped to tell items apart by their guids.
        Found::Corrected(known) if unchanged => {
            rename(db, &known, item)?;
            Kept::Known
        }
        Found::Corrected(known) => {
            note_edit(db, parsed, &known, item, now)?;
            rename(db, &known, item)?;
            refresh(db, &known, &item.entry, now)?;
            Kept::Known
        }
        _ if unchanged => Kept::Forgotten,
        Found::Renamed(known) => {
            rename(db, &known, item)?;
            refresh(db, &known, &item.entry, now)?;
            Kept::Renamed
        }
        Found::New => {
            insert(db, parsed.feed_id, item, &item.key, state, now)?;
            Kept::New
        }
        Found::Promoted(key, known) => {
            refresh(db, &known, &item.entry, now)?;
            insert(db, parsed.feed_id, item, &key, state, now)?;
            Kept::New
        }
    })
}

fn note_edit(
    db: &Db,
    parsed: &Parsed,
    known: &Known,
    item: &Item,
    now: Timestamp,
) -> Result<(), StoreError> {
    if !parsed.tells_edits {
        return Ok(());
    }
    edits::note(db, known, &item.entry, now)
}

/// When something new came last, and when everything came under new names.
fn note(db: &Db, feed_id: i64, stored: &Stored, now: Timestamp) -> Result<(), StoreError> {
    const NEW: &str = "UPDATE feed SET new_item_at=:now WHERE id=:id";
    const STORM: &str = "UPDATE feed SET storm_at=:now,storm_items=:items WHERE id=:id";
    let seconds = now.unix_seconds();
    if stored.new > 0 {
        db.prepare_cached(NEW)?
            .execute(named_params! {":now": seconds, ":id": feed_id})?;
    }
    if stored.renamed > 0 {
        let items = i64::try_from(stored.renamed).unwrap_or(i64::MAX);
        db.prepare_cached(STORM)?
            .execute(named_params! {":now": seconds, ":items": items, ":id": feed_id})?;
    }
    Ok(())
}

/// So old, and so far behind: what a feed may still show again is remembered, whatever a clock says.
const PRUNED_AFTER: Duration = Duration::from_hours(180 * 24);
const REMEMBERED: i64 = 1_000;

/// Forgets what a feed has not shown for long; only after a good parse, so that no outage does.
fn prune(db: &Db, feed_id: i64, now: Timestamp) -> Result<(), StoreError> {
    const PRUNE: &str = "\
DELETE FROM item WHERE id IN(
 SELECT id FROM item INDEXED BY item_last_seen WHERE feed_id=:feed AND last_seen_at<:before AND state<>'pending'
    AND id<(SELECT id FROM item WHERE feed_id=:feed ORDER BY id DESC LIMIT 1 OFFSET :remembered)
  LIMIT 100)";
    let before = now.minus(PRUNED_AFTER).unix_seconds();
    db.prepare_cached(PRUNE)?.execute(named_params! {
        ":feed": feed_id, ":before": before, ":remembered": REMEMBERED,
    })?;
    Ok(())
}

fn store_feed(db: &Db, parsed: &Parsed, now: Timestamp) -> Result<(), StoreError> {
    db.prepare_cached(FEED)?.query_row(
        named_params! {
            ":title": parsed.title, ":etag": parsed.validators.etag,
            ":modified": parsed.validators.last_modified, ":unreliable": parsed.guids_unreliable,
            ":seed": parsed.seed, ":prints": parsed.prints.to_bytes(),
            ":ttl": parsed.ttl.map(|ttl| ttl.as_secs_f64()),
            ":now": now.unix_seconds(), ":id": parsed.feed_id,
        },
        |_| Ok(()),
    )?;
    Ok(())
}

fn is_first(db: &Db, feed_id: i64) -> Result<bool, StoreError> {
    Ok(db
        .prepare_cached("SELECT seeded_at IS NULL FROM feed WHERE id=:id")?
        .query_row(named_params! {":id": feed_id}, |row| row.get(0))?)
}

/// An item that came without its summary, because it was known, is not known: the next reading
/// brings it whole.
fn read_all_again(db: &Db, feed_id: i64) -> Result<(), StoreError> {
    const FORGET: &str = "UPDATE feed SET prints=NULL,etag=NULL,last_modified=NULL WHERE id=:id";
    db.prepare_cached(FORGET)?
        .execute(named_params! {":id": feed_id})?;
    Ok(())
}

fn seen(db: &Db, known: &Known, now: Timestamp) -> Result<(), StoreError> {
    if now.since(known.last_seen) > SEEN_PRECISION {
        db.prepare_cached("UPDATE item SET last_seen_at=:now WHERE id=:id")?
            .execute(named_params! {":now": now.unix_seconds(), ":id": known.id})?;
    }
    Ok(())
}

/// An edit is an edit: it is kept, and whoever judges the item later judges the new words.
fn refresh(db: &Db, known: &Known, entry: &Entry, now: Timestamp) -> Result<(), StoreError> {
    const REFRESH: &str =
        "UPDATE item SET title=:title,summary=:summary,last_seen_at=:now WHERE id=:id";
    let edited = known.title != entry.title || known.summary != entry.summary;
    if edited || now.since(known.last_seen) > SEEN_PRECISION {
        db.prepare_cached(REFRESH)?.execute(named_params! {
            ":title": entry.title, ":summary": entry.summary, ":now": now.unix_seconds(),
            ":id": known.id,
        })?;
    }
    Ok(())
}

/// It would not be known again under its new names otherwise.
fn rename(db: &Db, known: &Known, item: &Item) -> Result<(), StoreError> {
    const RENAME: &str = "\
UPDATE item SET dedup_key=:key,link_key=:link_key,link=:link,guid=:guid WHERE id=:id";
    db.prepare_cached(RENAME)?.execute(named_params! {
        ":key": item.key.as_str(), ":link_key": item.link_key.as_ref().map(DedupKey::as_str),
        ":link": item.entry.link, ":guid": item.entry.guid, ":id": known.id,
    })?;
    Ok(())
}

fn insert(
    db: &Db,
    feed_id: i64,
    item: &Item,
    key: &DedupKey,
    state: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let entry = &item.entry;
    let tags =
        serde_json::to_string(&entry.tags).map_err(|error| StoreError::Bug(error.to_string()))?;
    db.prepare_cached(INSERT)?.execute(named_params! {
        ":feed": feed_id, ":key": key.as_str(),
        ":link_key": item.link_key.as_ref().map(DedupKey::as_str),
        ":title": entry.title, ":summary": entry.summary, ":link": entry.link, ":guid": entry.guid,
        ":tags": tags, ":published": entry.published.map(Timestamp::unix_seconds),
        ":now": now.unix_seconds(), ":state": state,
    })?;
    Ok(())
}

/// An item that waits for its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    pub id: i64,
    pub feed_id: i64,
    pub feed_url: String,
    pub feed_title: Option<String>,
    pub key: String,
    pub entry: Entry,
    pub first_seen: Timestamp,
    /// It tells the end of its thread.
    pub is_end: bool,
}

impl Pending {
    /// Whether a webhook brought it, and no feed.
    pub fn is_posted(&self) -> bool {
        self.feed_url.starts_with(posts::SCHEME)
    }
}

/// The oldest items without a verdict behind the item `after`, also those that an earlier tick
/// left behind.
pub fn pending(db: &Db, after: i64, limit: u32) -> Result<Vec<Pending>, StoreError> {
    const PENDING: &str = "\
SELECT item.id,feed_id,feed.url,feed.title,dedup_key,item.title,summary,link,guid,tags,published_at,
       first_seen_at,is_end,said_severity,said_category
  FROM item JOIN feed ON feed.id=feed_id WHERE state='pending' AND item.id>:after
 ORDER BY item.id LIMIT :limit";
    let mut statement = db.prepare_cached(PENDING)?;
    let rows = statement.query_map(
        named_params! {":after": after, ":limit": limit},
        pending_row,
    )?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// How many items have no verdict.
pub fn count_pending(db: &Db) -> Result<usize, StoreError> {
    const COUNT: &str = "SELECT count(*) FROM item WHERE state='pending'";
    let count: i64 = db.prepare_cached(COUNT)?.query_row([], |row| row.get(0))?;
    Ok(usize::try_from(count).unwrap_or_default())
}

fn pending_row(row: &Row<'_>) -> rusqlite::Result<Pending> {
    let tags: String = row.get(9)?;
    let published: Option<f64> = row.get(10)?;
    let severity: Option<String> = row.get(13)?;
    let category: Option<String> = row.get(14)?;
    Ok(Pending {
        id: row.get(0)?,
        feed_id: row.get(1)?,
        feed_url: row.get(2)?,
        feed_title: row.get(3)?,
        key: row.get(4)?,
        entry: Entry {
            title: row.get(5)?,
            summary: row.get(6)?,
            link: row.get(7)?,
            guid: row.get(8)?,
            tags: serde_json::from_str(&tags).unwrap_or_default(),
            published: published.map(Timestamp::from_unix_seconds),
            rating: posts::rating(severity.as_deref(), category.as_deref()),
        },
        first_seen: Timestamp::from_unix_seconds(row.get(11)?),
        is_end: row.get(12)?,
    })
}

/// Stores a verdict, and with it the alert that tells the item; run it in the transaction that
/// enqueues that alert. `alert_id` is `None` exactly when the severity is `ignore`.
pub fn judged(
    db: &Db,
    item_id: i64,
    verdict: &Verdict,
    alert_id: Option<i64>,
    now: Timestamp,
) -> Result<(), StoreError> {
    const JUDGED: &str = "\
UPDATE item SET state='judged',severity=:severity,category=:category,reason=:reason,judge=:judge,
       verdict_summary=:summary,judged_at=:now,alert_id=:alert WHERE id=:id AND state='pending'";
    db.prepare_cached(JUDGED)?.execute(named_params! {
        ":severity": verdict.severity.name(), ":category": verdict.category.name(),
        ":reason": verdict.reason, ":judge": verdict.judge.name(), ":summary": verdict.summary,
        ":now": now.unix_seconds(), ":alert": alert_id, ":id": item_id,
    })?;
    Ok(())
}

/// Which route took an item, in words: for whoever asks why it came where it came.
pub fn routed(db: &Db, item_id: i64, route: &str) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE item SET route=:route WHERE id=:id")?
        .execute(named_params! {":route": route, ":id": item_id})?;
    Ok(())
}

/// Which items of a parse are not known yet, by place: what [`store`] would add, without writing.
pub fn unknown(
    db: &Db,
    feed_id: i64,
    items: &[Item],
    guids_unreliable: bool,
    now: Timestamp,
) -> Result<Vec<bool>, StoreError> {
    let found = known::find(db, feed_id, items, guids_unreliable, now)?;
    let is_news = |found: &Found| matches!(found, Found::New | Found::Promoted(..));
    Ok(found.iter().map(is_news).collect())
}
