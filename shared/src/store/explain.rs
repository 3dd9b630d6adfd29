//! What the file knows of anything that was ever seen, and the search for it.

use super::outbox::operator::{self, Entry as Row};
use super::outbox::{optional_text, text, to_json};
use super::{Db, StoreError};
use crate::model::{Attempt, Category, Entry, Severity, Timestamp};
use rusqlite::{OptionalExtension, named_params};
use std::collections::BTreeSet;

/// Something that can be explained, by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    Item(i64),
    /// A row of the outbox that no item stands behind: a notice, or what somebody else enqueued.
    Row(i64),
}

/// What a person may have meant; each part that is there is looked for.
#[derive(Clone, Debug, Default)]
pub struct Sought {
    /// Of an item, or of a row of the outbox.
    pub id: Option<i64>,
    /// The first digits of a key, as alerts show them.
    pub short_id: Option<String>,
    /// The aliases of the link, under each name of its host.
    pub aliases: Vec<String>,
}

/// An item and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub id: i64,
    pub feed_id: i64,
    pub key: String,
    pub entry: Entry,
    pub first_seen: Timestamp,
    pub last_seen: Timestamp,
    /// `seeded`, `pending` or `judged`.
    pub state: String,
    pub verdict: Option<Verdict>,
    /// Which route took it, in words.
    pub route: Option<String>,
    pub alert_id: Option<i64>,
}

/// A verdict as it was stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub severity: Severity,
    pub category: Category,
    pub reason: String,
    /// The name of who judged.
    pub judge: String,
    pub at: Timestamp,
}

/// The alert that tells an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    pub id: i64,
    pub short_id: String,
    pub severity: String,
    pub title: String,
    pub source: String,
    pub created_at: Timestamp,
    /// How often it was offered.
    pub seen: i64,
    /// The short id of the less grave alert of the same story.
    pub raised_from: Option<String>,
    pub not_owed: Option<String>,
    /// Other sources of the same story.
    pub also: Vec<String>,
}

/// One row of an alert with its attempts.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    pub row: Row,
    pub attempts: Vec<Attempt>,
    /// The row that it was folded into or moved to.
    pub onward: Option<i64>,
}

/// Every match that an index finds, the oldest first. An alert of a heartbeat, which no item stands
/// behind, is the first of its rows.
pub fn find(db: &Db, sought: &Sought) -> Result<Vec<Subject>, StoreError> {
    const ITEMS: &str = "\
SELECT id FROM item WHERE id=:id
 UNION SELECT item.id FROM json_each(:aliases) AS alias CROSS JOIN feed
   CROSS JOIN item ON item.feed_id=feed.id AND item.link_key=alias.value
 UNION SELECT item.id FROM feed
   CROSS JOIN item ON item.feed_id=feed.id AND dedup_key>=:short AND dedup_key<:short||'g'
 UNION SELECT id FROM item WHERE alert_id=(SELECT alert_id FROM outbox WHERE id=:id)
 UNION SELECT item_id FROM edit WHERE alert_id=(SELECT alert_id FROM outbox WHERE id=:id)";
    const ROWS: &str = "\
SELECT id FROM outbox WHERE id=:id AND NOT EXISTS(SELECT 1 FROM item WHERE item.alert_id=outbox.alert_id)
   AND NOT EXISTS(SELECT 1 FROM edit WHERE edit.alert_id=outbox.alert_id)
 UNION SELECT id FROM outbox WHERE :short IS NOT NULL AND kind='notice'
   AND json_extract(payload,'$.short_id')=:short
 UNION SELECT (SELECT min(id) FROM outbox WHERE alert_id=alert.id) AS first FROM alert
  WHERE :short IS NOT NULL AND dedup_key>='b:' AND dedup_key<'b;' AND json_extract(payload,'$.short_id')=:short
    AND first IS NOT NULL";
    let short = sought.short_id.as_deref();
    let items = ids_where(
        db,
        ITEMS,
        named_params! {":id": sought.id, ":aliases": to_json(&sought.aliases)?, ":short": short},
    )?;
    let rows = ids_where(db, ROWS, named_params! {":id": sought.id, ":short": short})?;
    let items = items.into_iter().map(Subject::Item);
    let found: BTreeSet<Subject> = items.chain(rows.into_iter().map(Subject::Row)).collect();
    Ok(found.into_iter().collect())
}

fn ids_where(
    db: &Db,
    statement: &str,
    values: &[(&str, &dyn rusqlite::ToSql)],
) -> Result<Vec<i64>, StoreError> {
    let mut statement = db.prepare(statement)?;
    let rows = statement.query_map(values, |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// An item, as far as a person may remember it.
#[derive(Clone, Copy, Debug)]
pub struct Glimpse<'g> {
    pub id: i64,
    pub title: &'g str,
    pub link: Option<&'g str>,
    pub guid: Option<&'g str>,
}

/// Shows each item to `look`, the newest first: reads a whole index, but no summary.
pub fn each(db: &Db, mut look: impl FnMut(Glimpse<'_>)) -> Result<(), StoreError> {
    let mut statement =
        db.prepare("SELECT id,title,link,guid FROM item INDEXED BY item_glimpse ORDER BY id DESC")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        // What is no text, which others may have written, is nothing that anybody remembers.
        let words = |column| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str().ok());
        look(Glimpse {
            id: row.get(0)?,
            title: words(1)?.unwrap_or_default(),
            link: words(2)?,
            guid: words(3)?,
        });
    }
    Ok(())
}

/// One item; `None` when it was forgotten meanwhile.
pub fn item(db: &Db, id: i64) -> Result<Option<Seen>, StoreError> {
    let mut statement = db.prepare("SELECT * FROM item WHERE id=:id")?;
    let found = statement.query_row(named_params! {":id": id}, |row| {
        let time = |name: &str| -> rusqlite::Result<Option<Timestamp>> {
            let seconds: Option<f64> = row.get(name)?;
            Ok(seconds.map(Timestamp::from_unix_seconds))
        };
        let word = |name: &str| optional_text(row, name).map(Option::unwrap_or_default);
        let judged_at = time("judged_at")?;
        let verdict = match word("severity")?.parse() {
            Ok(severity) => Some(Verdict {
                severity,
                category: word("category")?.parse().unwrap_or(Category::Other),
                reason: word("reason")?,
                judge: word("judge")?,
                at: judged_at.unwrap_or_default(),
            }),
            Err(_) => None,
        };
        Ok(Seen {
            id,
            feed_id: row.get("feed_id")?,
            key: text(row, "dedup_key")?,
            entry: Entry {
                guid: optional_text(row, "guid")?,
                link: optional_text(row, "link")?,
                title: text(row, "title")?,
                summary: text(row, "summary")?,
                tags: serde_json::from_str(&text(row, "tags")?).unwrap_or_default(),
                published: time("published_at")?,
                rating: None,
            },
            first_seen: time("first_seen_at")?.unwrap_or_default(),
            last_seen: time("last_seen_at")?.unwrap_or_default(),
            state: text(row, "state")?,
            verdict,
            route: optional_text(row, "route")?,
            alert_id: row.get("alert_id")?,
        })
    });
    Ok(found.optional()?)
}

/// One alert; `None` when its record was deleted after the retention.
pub fn alert(db: &Db, id: i64) -> Result<Option<Alert>, StoreError> {
    const ALERT: &str = "\
SELECT coalesce(json_extract(payload,'$.short_id'),''),severity,title,source,created_at,seen,not_owed,
       (SELECT json_extract(payload,'$.short_id') FROM alert AS milder WHERE milder.id=alert.raised_from)
  FROM alert WHERE id=:id";
    const ALSO: &str =
        "SELECT source FROM also WHERE alert_id=:id GROUP BY source ORDER BY min(at)";
    let mut also = db.prepare(ALSO)?;
    let also = also
        .query_map(named_params! {":id": id}, |row| text(row, 0))?
        .collect::<rusqlite::Result<Vec<String>>>()?;
    let found = db
        .prepare(ALERT)?
        .query_row(named_params! {":id": id}, |row| {
            Ok(Alert {
                id,
                short_id: text(row, 0)?,
                severity: text(row, 1)?,
                title: text(row, 2)?,
                source: text(row, 3)?,
                created_at: Timestamp::from_unix_seconds(row.get(4)?),
                seen: row.get(5)?,
                not_owed: optional_text(row, 6)?,
                raised_from: optional_text(row, 7)?,
                also,
            })
        });
    Ok(found.optional()?)
}

/// The rows of an alert, in the order of their ids.
pub fn deliveries(db: &Db, alert_id: i64) -> Result<Vec<Sent>, StoreError> {
    const ROWS: &str = "SELECT id FROM outbox WHERE alert_id=:alert ORDER BY id";
    let ids = ids_where(db, ROWS, named_params! {":alert": alert_id})?;
    let mut sent = Vec::new();
    for id in ids {
        sent.extend(row(db, id)?);
    }
    Ok(sent)
}

/// One row; `None` when there is none.
pub fn row(db: &Db, id: i64) -> Result<Option<Sent>, StoreError> {
    let Some((row, attempts)) = operator::show(db, id)? else {
        return Ok(None);
    };
    let onward = db
        .prepare("SELECT coalesce(moved_to,parent_id) FROM outbox WHERE id=:id")?
        .query_row(named_params! {":id": id}, |row| row.get(0))?;
    Ok(Some(Sent {
        row,
        attempts,
        onward,
    }))
}
