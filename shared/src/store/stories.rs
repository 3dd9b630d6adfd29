//! Stories: what several feeds bring is told once; what has grown worse is told again.

use super::outbox::{text, to_json};
use super::{Db, StoreError};
use crate::model::{DedupKey, Severity, Timestamp};
use crate::policy::story::{is_of_one_page, is_of_the_same_ids, is_the_same_title};
use rusqlite::{Row, named_params};
use std::time::Duration;

/// An address or a set of CVE ids tells the same story for so long.
const WEEK: Duration = Duration::from_hours(7 * 24);
/// A title does for so long.
const DAY: Duration = Duration::from_hours(24);
/// An alert that another clock has dated later than this tells no story: it would for as long. Bad time
/// servers are wrong by hours.
const AHEAD: Duration = DAY;

/// By what an item may be known to tell a story that was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    pub title: String,
    /// The CVE ids of its title, sorted, with commas between.
    pub cves: Option<String>,
    /// The keys of its page under the other names of its host.
    pub other_pages: Vec<DedupKey>,
    /// Its link leads to a page of its own, as far as an address can tell.
    pub has_a_page: bool,
    /// Its title alone may tell: no status page, no release, whose words are everybody's.
    pub has_a_telling_title: bool,
}

/// The alert that tells a story already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub alert_id: i64,
    pub short_id: String,
    pub severity: Severity,
}

/// How an item is compared with what was told.
struct Way<'s> {
    /// The alerts that come into question.
    from: &'static str,
    within: Duration,
    /// By the title of the alert, and the CVE ids of that.
    is_same: &'s dyn Fn(&str, Option<&str>) -> bool,
}

/// A page of which either feed knows a single item.
const OF_ONE_PAGE: &str = "\
FROM item AS own
  JOIN (SELECT link_key AS key FROM item WHERE id=:item UNION SELECT value FROM json_each(:pages)) AS page
  CROSS JOIN item AS other ON other.link_key=page.key AND other.alert_id IS NOT NULL
  CROSS JOIN alert ON alert.id=other.alert_id
 WHERE own.id=:item AND own.link_key IS NOT NULL
   AND NOT EXISTS(SELECT 1 FROM item AS more WHERE more.feed_id=own.feed_id AND more.link_key=own.link_key AND more.id<>own.id)
   AND NOT EXISTS(SELECT 1 FROM item AS more WHERE more.feed_id=other.feed_id AND more.link_key=other.link_key AND more.id<>other.id)";
const OF_THE_SAME_IDS: &str = "\
FROM alert WHERE cves=:cves";
const OF_LATE: &str = "\
FROM alert WHERE cves IS NULL AND alert.id>(SELECT coalesce(max(id),0)-500 FROM alert)";

/// Alerts that are or will be delivered, brought by other feeds only: two items of one feed are two
/// stories.
const ALIVE: &str = "\
alert.created_at BETWEEN :since AND :until
 AND EXISTS(SELECT 1 FROM outbox WHERE alert_id=alert.id AND state IN('ready','leased','folded','moved','sent'))
 AND NOT EXISTS(SELECT 1 FROM item WHERE alert_id=alert.id AND feed_id=(SELECT feed_id FROM item WHERE id=:item))";

/// The last alert that tells the story of an item: by its page, else by equal CVE ids, else by its
/// title.
pub fn told(
    db: &Db,
    item_id: i64,
    story: &Story,
    now: Timestamp,
) -> Result<Option<Told>, StoreError> {
    let own = story.cves.as_deref();
    let of_one_page = |title: &str, cves: Option<&str>| {
        (cves.is_none() || own.is_none() || cves == own) && is_of_one_page(title, &story.title)
    };
    let of_the_same_ids =
        |title: &str, cves: Option<&str>| cves == own && is_of_the_same_ids(title, &story.title);
    let of_late = |title: &str, _: Option<&str>| is_the_same_title(title, &story.title);
    let mut ways = Vec::new();
    if story.has_a_page {
        ways.push(Way {
            from: OF_ONE_PAGE,
            within: WEEK,
            is_same: &of_one_page,
        });
    }
    if own.is_some() {
        ways.push(Way {
            from: OF_THE_SAME_IDS,
            within: WEEK,
            is_same: &of_the_same_ids,
        });
    } else if story.has_a_telling_title {
        ways.push(Way {
            from: OF_LATE,
            within: DAY,
            is_same: &of_late,
        });
    }
    for way in ways {
        if let Some(told) = first(db, item_id, story, &way, now)? {
            return Ok(Some(told));
        }
    }
    Ok(None)
}

fn first(
    db: &Db,
    item_id: i64,
    story: &Story,
    way: &Way<'_>,
    now: Timestamp,
) -> Result<Option<Told>, StoreError> {
    let statement = format!(
        "SELECT alert.id,json_extract(alert.payload,'$.short_id'),alert.severity,alert.title,alert.cves
           {} AND {ALIVE} ORDER BY alert.id DESC",
        way.from
    );
    let mut statement = db.prepare_cached(&statement)?;
    let mut values: Vec<(&str, &dyn rusqlite::ToSql)> = Vec::new();
    let (since, until) = (
        now.minus(way.within).unix_seconds(),
        (now + AHEAD).unix_seconds(),
    );
    values.extend_from_slice(named_params! {":item": item_id, ":since": since, ":until": until});
    if statement.parameter_index(":cves")?.is_some() {
        values.push((":cves", &story.cves));
    }
    let pages: Vec<&str> = story.other_pages.iter().map(DedupKey::as_str).collect();
    let pages = to_json(&pages)?;
    if statement.parameter_index(":pages")?.is_some() {
        values.push((":pages", &pages));
    }
    let mut rows = statement.query(values.as_slice())?;
    while let Some(row) = rows.next()? {
        let cves: Option<String> = row.get(4)?;
        if (way.is_same)(&text(row, 3)?, cves.as_deref()) {
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
