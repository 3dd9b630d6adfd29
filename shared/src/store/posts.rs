//! What webhooks bring: each delivery once, its items stored before it is answered; and the threads
//! that some of those items begin and others end.

use super::{Db, StoreError};
use crate::model::{Category, DedupKey, Destination, Entry, Rating, Severity, Timestamp};
use rusqlite::{OptionalExtension, named_params};
use std::time::Duration;

/// How the URL of a webhook's row among the feeds begins; its name follows.
pub const SCHEME: &str = "webhook:";

/// How long deliveries are remembered. GitHub redelivers for three days, by hand
/// (docs.github.com, "Redelivering webhooks").
const REMEMBERED: Duration = Duration::from_hours(30 * 24);
/// That one transaction forgets.
const AT_ONCE: i64 = 100;

/// When a body that has come before is a delivery that has come before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// So near in time.
    Within(Duration),
    /// The same, and nothing else of its webhook came in between: a thing that is up and down again says
    /// the same twice.
    InARow(Duration),
}

/// One delivery to a webhook, verified and read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Of the webhook.
    pub name: String,
    /// As its sender numbers it; `None` when it does not.
    pub delivery: Option<String>,
    /// A hash of the body.
    pub body: String,
    /// When the same body is the same delivery, whatever its number: that is not signed.
    pub repeats: Repeats,
    /// At most a hundred; a transaction is short.
    pub posts: Vec<Post>,
}

/// One thing that a delivery tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    pub entry: Entry,
    /// The same for the same happening, however often it is posted.
    pub key: DedupKey,
    /// What goes on (an outage, a failing workflow): what begins it and what ends it share this.
    pub thread: Option<DedupKey>,
    /// It tells the end of its thread, which is news to nobody but who heard of the beginning.
    pub is_end: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    Stored {
        /// Items that wait for a verdict now.
        new: usize,
        known: usize,
    },
    /// It came before, then.
    Repeated(Timestamp),
}

/// Stores what a delivery brings. Once this commits it may be answered: nothing of it gets lost.
pub fn receive(db: &Db, arrival: &Arrival, now: Timestamp) -> Result<Received, StoreError> {
    const FEED: &str = "\
INSERT INTO feed(url,title,seeded_at,seed_told_at,attempted_at,succeeded_at) VALUES(:url,:name,:now,:now,:now,:now)
    ON CONFLICT(url) DO UPDATE SET attempted_at=:now,succeeded_at=:now,failures=0,last_error=NULL,left_at=NULL RETURNING id";
    const ARRIVED: &str = "\
INSERT INTO arrival(feed_id,delivery,body,items,at) VALUES(:feed,:delivery,:body,:items,:now)";
    let url = format!("{SCHEME}{}", arrival.name);
    let seconds = now.unix_seconds();
    let feed_id: i64 = db.prepare_cached(FEED)?.query_row(
        named_params! {":url": url, ":name": arrival.name, ":now": seconds},
        |row| row.get(0),
    )?;
    if let Some(at) = arrived(db, feed_id, arrival, now)? {
        return Ok(Received::Repeated(at));
    }
    db.prepare_cached(ARRIVED)?.execute(named_params! {
        ":feed": feed_id, ":delivery": arrival.delivery, ":body": arrival.body,
        ":items": i64::try_from(arrival.posts.len()).unwrap_or(i64::MAX), ":now": seconds,
    })?;
    let (mut new, mut known) = (0, 0);
    for post in &arrival.posts {
        if keep(db, feed_id, post, now)? {
            new += 1;
        } else {
            known += 1;
        }
    }
    if new > 0 {
        db.prepare_cached("UPDATE feed SET new_item_at=:now WHERE id=:id")?
            .execute(named_params! {":now": seconds, ":id": feed_id})?;
    }
    Ok(Received::Stored { new, known })
}

/// From now on a webhook is expected to be called.
pub fn expect(db: &Db, name: &str, now: Timestamp) -> Result<(), StoreError> {
    const EXPECT: &str = "\
INSERT INTO feed(url,title,seeded_at,seed_told_at) VALUES(:url,:name,:now,:now) ON CONFLICT(url) DO NOTHING";
    db.prepare_cached(EXPECT)?.execute(named_params! {
        ":url": format!("{SCHEME}{name}"), ":name": name, ":now": now.unix_seconds(),
    })?;
    Ok(())
}

/// A tick looks at who is silent. When the last one that did so was longer ago than `most_apart`, nobody may
/// have heard anything since: that time is nobody's silence.
pub fn look(db: &Db, most_apart: Duration, now: Timestamp) -> Result<(), StoreError> {
    const LAST: &str = "SELECT finished_at FROM heartbeat WHERE name='webhooks'";
    const LOOKED: &str = "\
INSERT INTO heartbeat(name,finished_at) VALUES('webhooks',:now) ON CONFLICT(name) DO UPDATE SET finished_at=:now";
    const EXCUSE: &str = "\
UPDATE feed SET seeded_at=min(max(seeded_at,coalesce(succeeded_at,0))+:away,:now)
 WHERE url GLOB 'webhook:*' AND seeded_at IS NOT NULL AND quiet_told_at IS NULL";
    let last: Option<f64> = db
        .prepare_cached(LAST)?
        .query_row([], |row| row.get(0))
        .optional()?;
    let away = last.map(|last| now.since(Timestamp::from_unix_seconds(last)));
    if let Some(away) = away.filter(|away| *away > most_apart) {
        db.prepare_cached(EXCUSE)?
            .execute(named_params! {":away": away.as_secs_f64(), ":now": now.unix_seconds()})?;
    }
    db.prepare_cached(LOOKED)?
        .execute(named_params! {":now": now.unix_seconds()})?;
    Ok(())
}

/// When the same delivery came first.
fn arrived(
    db: &Db,
    feed_id: i64,
    arrival: &Arrival,
    now: Timestamp,
) -> Result<Option<Timestamp>, StoreError> {
    const NUMBERED: &str = "SELECT at FROM arrival WHERE feed_id=:feed AND delivery=:delivery";
    const SAME_BODY: &str = "\
SELECT at FROM arrival WHERE feed_id=:feed AND body=:body AND at BETWEEN :since AND :until
   AND NOT(:in_a_row AND EXISTS(SELECT 1 FROM arrival AS later WHERE later.feed_id=:feed AND later.id>arrival.id AND later.body<>:body))
 ORDER BY at LIMIT 1";
    let numbered: Option<f64> = db
        .prepare_cached(NUMBERED)?
        .query_row(
            named_params! {":feed": feed_id, ":delivery": arrival.delivery},
            |row| row.get(0),
        )
        .optional()?;
    // Both ways: what was spooled is taken in after what came later.
    let (within, in_a_row) = match arrival.repeats {
        Repeats::Within(time) => (time, false),
        Repeats::InARow(time) => (time, true),
    };
    let since = now.minus(within).unix_seconds();
    let until = (now + within).unix_seconds();
    let at = match numbered {
        Some(at) => Some(at),
        None => db
            .prepare_cached(SAME_BODY)?
            .query_row(
                named_params! {":feed": feed_id, ":body": arrival.body, ":since": since, ":until": until, ":in_a_row": in_a_row},
                |row| row.get(0),
            )
            .optional()?,
    };
    Ok(at.map(Timestamp::from_unix_seconds))
}

/// Whether the item is new.
fn keep(db: &Db, feed_id: i64, post: &Post, now: Timestamp) -> Result<bool, StoreError> {
    const SEEN: &str = "UPDATE item SET last_seen_at=:now WHERE feed_id=:feed AND dedup_key=:key";
    const NEW: &str = "\
INSERT INTO item(feed_id,dedup_key,title,summary,link,guid,tags,published_at,first_seen_at,last_seen_at,state,
                 said_severity,said_category,thread,is_end)
VALUES(:feed,:key,:title,:summary,:link,:guid,:tags,:published,:now,:now,'pending',
       :severity,:category,:thread,:is_end)";
    let seconds = now.unix_seconds();
    let key = post.key.as_str();
    let seen = db
        .prepare_cached(SEEN)?
        .execute(named_params! {":now": seconds, ":feed": feed_id, ":key": key})?;
    if seen > 0 {
        return Ok(false);
    }
    let entry = &post.entry;
    let tags =
        serde_json::to_string(&entry.tags).map_err(|error| StoreError::Bug(error.to_string()))?;
    db.prepare_cached(NEW)?.execute(named_params! {
        ":feed": feed_id, ":key": key, ":title": entry.title, ":summary": entry.summary,
        ":link": entry.link, ":guid": entry.guid, ":tags": tags,
        ":published": entry.published.map(Timestamp::unix_seconds), ":now": seconds,
        ":severity": entry.rating.map(|rating| rating.severity.name()),
        ":category": entry.rating.map(|rating| rating.category.name()),
        ":thread": post.thread.as_ref().map(DedupKey::as_str), ":is_end": post.is_end,
    })?;
    Ok(true)
}

/// What its source said of an item.
pub(super) fn rating(severity: Option<&str>, category: Option<&str>) -> Option<Rating> {
    let severity: Severity = severity?.parse().ok()?;
    let category = category.and_then(|name| name.parse().ok());
    Some(Rating {
        severity,
        category: category.unwrap_or(Category::Other),
    })
}

/// What an item that tells an end is the end of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thread {
    /// Its beginning has no verdict yet: the end waits.
    Undecided,
    /// Nothing goes on that anybody was told of.
    Closed,
    Open(Beginning),
}

/// What was told of the beginning, and to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning {
    pub short_id: String,
    pub severity: Severity,
    pub to: Vec<Destination>,
}

/// What the item `item_id` ends.
pub fn thread(db: &Db, item_id: i64) -> Result<Thread, StoreError> {
    const LAST: &str = "\
SELECT last.is_end,last.state,last.alert_id,last.dedup_key,coalesce(last.severity,'')
  FROM item AS own JOIN item AS last ON last.feed_id=own.feed_id AND last.thread=own.thread AND last.id<own.id
 WHERE own.id=:id AND (last.is_end OR last.state='pending' OR last.alert_id IS NOT NULL)
 ORDER BY last.id DESC LIMIT 1";
    let last = db
        .prepare_cached(LAST)?
        .query_row(named_params! {":id": item_id}, |row| {
            let (is_end, state): (bool, String) = (row.get(0)?, row.get(1)?);
            let alert: Option<i64> = row.get(2)?;
            let (key, severity): (String, String) = (row.get(3)?, row.get(4)?);
            Ok((is_end, state == "pending", alert, key, severity))
        })
        .optional()?;
    let Some((false, is_pending, alert, key, severity)) = last else {
        return Ok(Thread::Closed);
    };
    if is_pending {
        return Ok(Thread::Undecided);
    }
    Ok(Thread::Open(Beginning {
        short_id: DedupKey::new(key).short_id().to_owned(),
        severity: severity.parse().unwrap_or(Severity::Normal),
        to: told_to(db, alert)?,
    }))
}

/// To whom an alert was owed, and the milder one before it; nobody when they were pruned since.
pub fn told_to(db: &Db, alert_id: Option<i64>) -> Result<Vec<Destination>, StoreError> {
    const TO: &str = "\
SELECT channel,chat_id FROM outbox WHERE alert_id IN(:alert,(SELECT raised_from FROM alert WHERE id=:alert)) AND kind='alert' GROUP BY channel,chat_id ORDER BY min(id)";
    let mut statement = db.prepare_cached(TO)?;
    let to = statement.query_map(named_params! {":alert": alert_id}, |row| {
        Ok(Destination {
            channel: row.get(0)?,
            chat_id: row.get(1)?,
        })
    })?;
    Ok(to.collect::<rusqlite::Result<_>>()?)
}

/// Forgets a hundred old deliveries. Their items stay known. Returns how many went.
pub fn prune(db: &Db, now: Timestamp) -> Result<usize, StoreError> {
    const PRUNE: &str = "\
DELETE FROM arrival WHERE id IN(SELECT id FROM arrival WHERE at<:before ORDER BY at LIMIT :limit)";
    Ok(db.prepare_cached(PRUNE)?.execute(named_params! {
        ":before": now.minus(REMEMBERED).unix_seconds(), ":limit": AT_ONCE,
    })?)
}
