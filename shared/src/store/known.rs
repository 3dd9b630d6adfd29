//! Known once: which items of a parse are known already, by their key, their link, or as an edit of
//! one that they replace; and which ones only look new because a publisher renamed them all.
//!
//! Taking an item for a known one hides it. So where key and link say that it is new, a known one is
//! given away once, to one item, and only for more than a title: a machine's events have the same
//! titles every day.

use super::{Db, StoreError};
use crate::model::{DedupKey, Item, Timestamp};
use crate::policy::edit::{is_correction, is_edit, is_promotion};
use rusqlite::{OptionalExtension, Row, named_params};
use std::collections::{BTreeSet, HashMap, HashSet};
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
    /// The same, of many that all look new, and are each like one that was shown last.
    Renamed(Known),
}

const COLUMNS: &str = "id,dedup_key,title,summary,guid,published_at,last_seen_at";
/// An edit that changes even the address comes soon, or never.
const EDIT_WITHIN: Duration = Duration::from_hours(48);
/// The same page, title and text under a later date: dated again, if it is no later than this.
const REDATED: Duration = Duration::from_hours(24);
/// With another text it happened again, if it is later than this.
const LATER: Duration = Duration::from_hours(1);
/// So many at once are a storm, when they are four fifths of the document.
const STORM: usize = 5;
/// How stale the time at which an item was last seen may be: a feed that shows 50 known items each tick
/// must not cost 50 writes each tick.
pub(super) const SEEN_PRECISION: Duration = Duration::from_hours(24);

/// What each item of a parse is, in the order of the document. Ask before the feed itself is updated.
pub(super) fn find(
    db: &Db,
    feed_id: i64,
    items: &[Item],
    guids_unreliable: bool,
    now: Timestamp,
) -> Result<Vec<Found>, StoreError> {
    let mut reading = Reading::begin(db, feed_id, items, guids_unreliable, now)?;
    let mut by_key = Vec::new();
    for item in items {
        by_key.push(reading.by_key(&item.key)?);
    }
    let kept = by_key.iter().flatten().map(|known| known.id);
    reading.taken.extend(kept);
    reading.oldest_shown = reading.taken.first().copied();
    let mut found = Vec::new();
    for (item, known) in std::iter::zip(items, by_key) {
        found.push(match known {
            Some(known) => reading.promoted(item, known)?,
            None => reading.find(item)?,
        });
    }
    reading.calm(&mut found)?;
    Ok(found)
}

/// One document on its way into the file.
struct Reading<'r> {
    db: &'r Db,
    feed_id: i64,
    items: &'r [Item],
    now: Timestamp,
    /// The document before this one.
    last_full: Timestamp,
    /// With this document its guids have failed: the items known by them have other keys.
    guids_failed: bool,
    shown: HashSet<&'r str>,
    /// The items known by their keys, and what else was given away.
    taken: BTreeSet<i64>,
    /// The oldest item that the document shows still.
    oldest_shown: Option<i64>,
    recent: Option<Vec<Known>>,
}

impl<'r> Reading<'r> {
    fn begin(
        db: &'r Db,
        feed_id: i64,
        items: &'r [Item],
        guids_unreliable: bool,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        const FEED: &str = "SELECT coalesce(full_at,0),guids_unreliable FROM feed WHERE id=:feed";
        let before = db
            .prepare_cached(FEED)?
            .query_row(named_params! {":feed": feed_id}, |row| {
                Ok((row.get::<_, f64>(0)?, row.get::<_, bool>(1)?))
            })
            .optional()?;
        let (last_full, were_unreliable) = before.unwrap_or((0.0, false));
        Ok(Self {
            db,
            feed_id,
            items,
            now,
            last_full: Timestamp::from_unix_seconds(last_full),
            guids_failed: guids_unreliable && !were_unreliable,
            shown: items.iter().map(|item| item.key.as_str()).collect(),
            taken: BTreeSet::new(),
            oldest_shown: None,
            recent: None,
        })
    }

    /// Of an item whose key is unknown.
    fn find(&mut self, item: &Item) -> Result<Found, StoreError> {
        if let Some(known) = self.by_link(item)? {
            self.taken.insert(known.id);
            return Ok(Found::Known(known));
        }
        let replaced = match self.by_guid(item)? {
            Some(known) => Some(known),
            None => self.by_title(item)?,
        };
        Ok(match replaced {
            Some(known) => {
                self.taken.insert(known.id);
                Found::Corrected(known)
            }
            None => Found::New,
        })
    }

    fn promoted(&self, item: &Item, known: Known) -> Result<Found, StoreError> {
        let (old, new) = (&known.title, &item.entry.title);
        if old == new || !is_promotion(old, new) {
            return Ok(Found::Known(known));
        }
        let key = release_key(&item.key);
        Ok(match self.by_key(&key)? {
            Some(_) => Found::Known(known),
            None => Found::Promoted(key, known),
        })
    }

    fn by_key(&self, key: &DedupKey) -> Result<Option<Known>, StoreError> {
        let by_key = format!("SELECT {COLUMNS} FROM item WHERE feed_id=:feed AND dedup_key=:key");
        let mut by_key = self.db.prepare_cached(&by_key)?;
        let values = named_params! {":feed": self.feed_id, ":key": key.as_str()};
        Ok(by_key.query_row(values, known).optional()?)
    }

    fn by_link(&self, item: &Item) -> Result<Option<Known>, StoreError> {
        for link in item.link_key.iter().chain(&item.other_link_keys) {
            if let Some(known) = self.by_one_link(item, link)? {
                return Ok(Some(known));
            }
        }
        Ok(None)
    }

    fn by_one_link(&self, item: &Item, link: &DedupKey) -> Result<Option<Known>, StoreError> {
        let by_link = format!(
            "SELECT {COLUMNS} FROM item WHERE feed_id=:feed AND link_key=:link ORDER BY id DESC LIMIT 20"
        );
        let mut by_link = self.db.prepare_cached(&by_link)?;
        let values = named_params! {":feed": self.feed_id, ":link": link.as_str()};
        for row in by_link.query_map(values, known)? {
            let row = row?;
            // Without titles the texts tell the stories apart.
            let entry = &item.entry;
            let (old, new) = match (row.title.as_str(), entry.title.as_str()) {
                ("", "") => (&row.summary, &entry.summary),
                _ => (&row.title, &entry.title),
            };
            let is_shown = self.shown.contains(row.key.as_str());
            if is_edit(old, new) && !is_shown && !is_another_occurrence(&row, item) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// One that was known by the guid which its feed has given to several now.
    fn by_guid(&self, item: &Item) -> Result<Option<Known>, StoreError> {
        let (true, Some(guid)) = (self.guids_failed, &item.entry.guid) else {
            return Ok(None);
        };
        let of_this_guid = self
            .items
            .iter()
            .filter(|item| item.entry.guid.as_ref() == Some(guid));
        if of_this_guid.count() > 1 {
            return Ok(None);
        }
        let by_guid = format!("SELECT {COLUMNS} FROM item WHERE feed_id=:feed AND guid=:guid");
        let mut by_guid = self.db.prepare_cached(&by_guid)?;
        let values = named_params! {":feed": self.feed_id, ":guid": guid};
        let found = by_guid.query_row(values, known).optional()?;
        Ok(found.filter(|known| !self.taken.contains(&known.id)))
    }

    /// A recent item that was taken from the document, and that this one may be after a correction
    /// which changed its id and its address too, as where both hold the headline. What is older than
    /// everything that is shown may have been pushed out. A date without a time is that of many.
    fn by_title(&mut self, item: &Item) -> Result<Option<Known>, StoreError> {
        let Some(published) = item.entry.published.filter(|at| has_a_time(*at)) else {
            return Ok(None);
        };
        let Some(oldest_shown) = self.oldest_shown else {
            return Ok(None);
        };
        if self.recent.is_none() {
            self.recent = Some(self.recent()?);
        }
        let recent = self.recent.iter().flatten();
        let mut replaced = recent.filter(|known| {
            known.id > oldest_shown
                && !self.taken.contains(&known.id)
                && known.published == Some(published)
                && is_correction(&known.title, &item.entry.title)
        });
        Ok(replaced.next().cloned())
    }

    fn recent(&self) -> Result<Vec<Known>, StoreError> {
        // The last ones first, and then by time: a long history is not walked.
        let recent = format!(
            "SELECT {COLUMNS} FROM (SELECT * FROM item WHERE feed_id=:feed ORDER BY id DESC LIMIT 200)
              WHERE first_seen_at>=:since"
        );
        let since = self.now.minus(EDIT_WITHIN).unix_seconds();
        let mut recent = self.db.prepare_cached(&recent)?;
        let recent = recent.query_map(
            named_params! {":feed": self.feed_id, ":since": since},
            known,
        )?;
        Ok(recent.collect::<rusqlite::Result<_>>()?)
    }

    /// Where nearly the whole document looks new, and is like the last one, item for item, it was
    /// renamed, and nothing of it is news.
    fn calm(&mut self, found: &mut [Found]) -> Result<(), StoreError> {
        let looks_new = |found: &Found| matches!(found, Found::New | Found::Corrected(_));
        let new = found.iter().filter(|found| looks_new(found)).count();
        if new < STORM || new * 5 < found.len() * 4 {
            return Ok(());
        }
        let mut left = self.shown_last(found)?;
        let alike: Vec<Option<Known>> = std::iter::zip(self.items, found.iter())
            .map(|(item, found)| {
                let known = left
                    .get_mut(&item.entry.title)
                    .filter(|_| looks_new(found))?;
                let place = known.iter().position(|known| is_alike(known, item))?;
                Some(known.swap_remove(place))
            })
            .collect();
        let renamed = alike.iter().flatten().count();
        if renamed >= STORM && renamed * 5 >= found.len() * 4 {
            for (found, known) in std::iter::zip(found, alike) {
                if let Some(known) = known {
                    *found = Found::Renamed(known);
                }
            }
        }
        Ok(())
    }

    /// What the document before this one showed and this one does not, as far as is known, by title.
    fn shown_last(&self, found: &[Found]) -> Result<HashMap<String, Vec<Known>>, StoreError> {
        let last = format!(
            "SELECT {COLUMNS} FROM (SELECT * FROM item WHERE feed_id=:feed ORDER BY id DESC LIMIT 2000)
              WHERE last_seen_at>=:since AND title<>''"
        );
        let since = self.last_full.minus(SEEN_PRECISION).unix_seconds();
        let mut last = self.db.prepare_cached(&last)?;
        let rows = last.query_map(
            named_params! {":feed": self.feed_id, ":since": since},
            known,
        )?;
        let kept: HashSet<i64> = found
            .iter()
            .filter_map(|found| match found {
                Found::Known(known) | Found::Promoted(_, known) => Some(known.id),
                Found::New | Found::Corrected(_) | Found::Renamed(_) => None,
            })
            .collect();
        let mut by_title: HashMap<String, Vec<Known>> = HashMap::new();
        for row in rows {
            let row = row?;
            if !kept.contains(&row.id) {
                by_title.entry(row.title.clone()).or_default().push(row);
            }
        }
        Ok(by_title)
    }
}

/// Of the release that a pre-release became; its first digits differ, for people see them.
fn release_key(key: &DedupKey) -> DedupKey {
    let reversed: String = key.as_str().chars().rev().collect();
    DedupKey::new(format!("{reversed}-release"))
}

/// The same page and title under another id, and later: it happened again. A guid alone may be made
/// anew each day, with its date.
fn is_another_occurrence(known: &Known, item: &Item) -> bool {
    let entry = &item.entry;
    let has_other_id = known.guid.is_some() && entry.guid.is_some() && known.guid != entry.guid;
    let says_other = !entry.summary.is_empty() && known.summary != entry.summary;
    has_other_id
        && match (known.published, entry.published) {
            (Some(old), Some(new)) => new > old + REDATED || (new > old + LATER && says_other),
            _ => says_other,
        }
}

/// Whether an item under the same title is the known one: by its date, or, where that says little, by its
/// text.
fn is_alike(known: &Known, item: &Item) -> bool {
    let entry = &item.entry;
    let says_the_same = !entry.summary.is_empty() && known.summary == entry.summary;
    match (known.published, entry.published) {
        (Some(old), Some(new)) => old == new && (has_a_time(new) || says_the_same),
        (None, None) => says_the_same,
        _ => false,
    }
}

/// Whether it is more than a day, or an hour by a plan, in whatever time zone: those are all multiples of
/// a quarter of an hour.
fn has_a_time(at: Timestamp) -> bool {
    at.unix_millis() % 900_000 != 0
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
