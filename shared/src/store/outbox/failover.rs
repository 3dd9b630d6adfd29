//! Failover and expiry: what one channel cannot deliver in time goes to another; what is of no use any
//! more, by somebody's explicit word, is told to have expired.

use super::enqueue::{Notice, notify};
use super::fold;
use super::row::text;
use crate::model::{Alert, Destination, Severity, Timestamp};
use crate::store::{Db, StoreError};
use rusqlite::{OptionalExtension, named_params};

/// A transaction touches no more rows, so that others are not kept out.
const AT_ONCE: i64 = 100;

/// The destinations of which something should have been delivered by now, and has another way.
pub fn overdue(db: &Db, now: Timestamp) -> Result<Vec<Destination>, StoreError> {
    const OVERDUE: &str = "\
SELECT DISTINCT channel,chat_id FROM outbox INDEXED BY outbox_fallback
 WHERE state='ready' AND fallback_at IS NOT NULL AND fallback_at<=:now AND not_before<=:now";
    let mut statement = db.prepare_cached(OVERDUE)?;
    let rows = statement.query_map(named_params! {":now": now.unix_seconds()}, |row| {
        Ok(Destination {
            channel: text(row, 0)?,
            chat_id: text(row, 1)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Only what was tried, by itself or in a digest, unless nothing passes to this place: what merely
/// waits for its turn does so after a sender that was away, too.
const LATE: &str = "\
SELECT id,kind,fallback_channel FROM outbox INDEXED BY outbox_fallback
 WHERE state='ready' AND fallback_at IS NOT NULL AND fallback_at<=:now AND not_before<=:now
   AND channel=:channel AND chat_id=:chat AND (:closed OR attempts>0 OR released_from IS NOT NULL) LIMIT :limit";

/// As old as what was owed is: nobody waited less for it, nor for longer. One that may have arrived is marked, and so in no digest.
const COPY: &str = "\
INSERT INTO outbox(idempotency_key,kind,alert_id,channel,chat_id,payload,priority,next_attempt,created_at,single)
SELECT 'f:'||id||':'||fallback_channel,kind,alert_id,fallback_channel,fallback_chat_id,payload,priority,0,
       max(created_at,not_before,coalesce(revived_at,0)),single&1
  FROM outbox WHERE id=:id AND fallback_channel<>'' RETURNING id";

/// A row of the same alert for that place: its own, or of another that failed over to it.
const SERVED: &str = "\
SELECT other.id FROM outbox AS late JOIN outbox AS other ON other.alert_id=late.alert_id
 WHERE late.id=:id AND other.id<>late.id AND other.channel=late.fallback_channel
   AND other.chat_id=late.fallback_chat_id AND other.state NOT IN('dead','cancelled','expired') LIMIT 1";

/// Nobody can be found there: it stays where it is.
const STAYS: &str =
    "UPDATE outbox SET fallback_at=NULL,fallback_channel=NULL,fallback_chat_id=NULL WHERE id=:id";

const MOVE: &str = "\
UPDATE outbox SET state='moved',moved_to=:to,updated_at=:now,
       last_error=coalesce(last_error,'not delivered in time')
 WHERE id=:id AND state='ready'";

/// Moves what is overdue for `place` to its fallback, a hundred rows at a time; a digest is dissolved,
/// and what was in it moves by itself. `closed`: nothing passes to `place` now. Returns how many; call
/// again until it is 0.
pub fn fail_over(
    db: &Db,
    place: &Destination,
    closed: bool,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let mut statement = db.prepare_cached(LATE)?;
    let late: Vec<(i64, String, String)> = statement
        .query_map(
            named_params! {
                ":now": now.unix_seconds(), ":channel": place.channel, ":chat": place.chat_id,
                ":closed": closed, ":limit": AT_ONCE,
            },
            |row| Ok((row.get(0)?, row.get(1)?, text(row, 2)?)),
        )?
        .collect::<rusqlite::Result<_>>()?;
    for (id, kind, fallback) in &late {
        if kind == "digest" {
            fold::dissolve(db, *id, false, now)?;
        } else if !hand_over(db, *id, now)? {
            tracing::error!(
                row = id,
                fallback,
                "it has no fallback that takes it, and stays"
            );
            stay(db, *id)?;
        }
    }
    Ok(late.len())
}

/// It is delivered where it is, or nowhere.
pub(super) fn stay(db: &Db, id: i64) -> Result<(), StoreError> {
    db.prepare_cached(STAYS)?
        .execute(named_params! {":id": id})?;
    Ok(())
}

/// What moves from row to row and comes back is owed nowhere.
const LEADS_BACK: &str = "\
WITH RECURSIVE way(id) AS (
 SELECT :from UNION SELECT moved_to FROM outbox JOIN way USING(id) WHERE moved_to IS NOT NULL)
SELECT id FROM way WHERE id=:id";

/// Moves one row that waits to its fallback, whatever its time. `false`: it has none, or none that
/// takes it.
pub(super) fn hand_over(db: &Db, id: i64, now: Timestamp) -> Result<bool, StoreError> {
    let find = |statement| {
        let mut statement = db.prepare_cached(statement)?;
        let found = statement.query_row(named_params! {":id": id}, |row| row.get::<_, i64>(0));
        found.optional()
    };
    let to = match find(SERVED)? {
        // Two places that are each other's fallback: both were tried, and it stays at the second.
        Some(served) if leads_back(db, served, id)? => return Ok(false),
        Some(served) => served,
        None => match find(COPY)? {
            Some(copy) => copy,
            None => return Ok(false),
        },
    };
    let moved = db
        .prepare_cached(MOVE)?
        .execute(named_params! {":id": id, ":to": to, ":now": now.unix_seconds()})?;
    Ok(moved == 1)
}

fn leads_back(db: &Db, from: i64, id: i64) -> Result<bool, StoreError> {
    let mut statement = db.prepare_cached(LEADS_BACK)?;
    let found = statement.query_row(named_params! {":from": from, ":id": id}, |_| Ok(()));
    Ok(found.optional()?.is_some())
}

const EXPIRED: &str = "\
UPDATE outbox SET state='expired',updated_at=:now,last_error='expired: its own time was over' WHERE id IN(
 SELECT id FROM outbox INDEXED BY outbox_expires
  WHERE state='ready' AND expires_at IS NOT NULL AND expires_at<=:now LIMIT :limit)";

/// What its own time has run out for is not sent any more, and that is told, once an hour at most.
/// Returns how many; call again until it is 0.
pub fn expire(db: &Db, told: Option<&Destination>, now: Timestamp) -> Result<usize, StoreError> {
    let expired = db
        .prepare_cached(EXPIRED)?
        .execute(named_params! {":now": now.unix_seconds(), ":limit": AT_ONCE})?;
    let Some(to) = told.filter(|_| expired > 0) else {
        return Ok(expired);
    };
    let hour = now.unix_millis().div_euclid(3_600_000);
    let title = "Messages expired before they could be delivered".to_owned();
    let summary =
        "See `watchalert-sender queue list --finished`; `queue retry ID` sends one all the same."
            .to_owned();
    let why = "nothing ends silently";
    let notice = Notice {
        event: "expired".to_owned(),
        about: hour.to_string(),
        to: to.clone(),
        alert: Alert::about_ourselves(Severity::Normal, title, summary, why, hour),
    };
    notify(db, &notice, now)?;
    Ok(expired)
}
