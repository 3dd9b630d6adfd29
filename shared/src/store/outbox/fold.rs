//! Fold: what waits for one chat becomes a few digests, in the transaction of a claim; and what was in
//! a digest that is given up goes out by itself.

use super::row;
use super::waiting::horizon;
use crate::model::{Alert, Content, Destination, Folding, Gatekeeper, Timestamp};
use crate::store::{Db, StoreError};
use rusqlite::{OptionalExtension, named_params};
use serde_json::json;

/// More than three digests of ninety alerts are never made at once.
const AT_ONCE: i64 = 300;

/// These words, or the partial index does not serve: an alert that is not critical, of which no copy may
/// have arrived, and that was in no digest which was refused.
const FOLDABLE: &str = "\
state='ready' AND kind='alert' AND priority>0 AND single=0
   AND channel=:channel AND chat_id=:chat AND due_at<=:now";

/// Whether alerts for `to` are folded now, or wait for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crowd {
    /// So few wait that each goes out by itself.
    No,
    Now,
    /// Meanwhile only what is never folded goes out.
    At(Timestamp),
}

/// Counts what waits, no further than it matters.
pub(super) fn crowd(
    db: &Db,
    to: &Destination,
    folding: Folding,
    folded_at: Timestamp,
    now: Timestamp,
) -> Result<Crowd, StoreError> {
    let more = db
        .prepare_cached(&format!(
            "SELECT 1 FROM outbox WHERE {FOLDABLE} LIMIT 1 OFFSET :singles"
        ))?
        .query_row(
            named_params! {
                ":channel": to.channel, ":chat": to.chat_id, ":now": horizon(now),
                ":singles": i64::try_from(folding.singles).unwrap_or(i64::MAX),
            },
            |_| Ok(()),
        )
        .optional()?;
    let next = folded_at + folding.window;
    Ok(match more {
        None => Crowd::No,
        // A clock that went back makes no window longer.
        Some(()) if next > now && folded_at <= now => Crowd::At(next),
        Some(()) => Crowd::Now,
    })
}

/// One that waits to be folded.
struct Member {
    id: i64,
    priority: i64,
    created_at: f64,
    fallback_at: Option<f64>,
}

/// Folds what waits for `to` into as many digests as `gatekeeper` makes of it: the gravest, then the
/// oldest first. Returns how many alerts were folded.
pub(super) fn fold(
    db: &Db,
    to: &Destination,
    gatekeeper: &dyn Gatekeeper,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let (members, alerts) = foldable(db, to, now)?;
    let mut rest = members.as_slice();
    let mut folded = 0;
    for size in gatekeeper.pack(to, &alerts) {
        let Some((of_this, others)) = rest.split_at_checked(size) else {
            break;
        };
        // One alert is no digest.
        if size > 1 {
            digest(db, to, of_this, now)?;
            folded += size;
        }
        rest = others;
    }
    Ok(folded)
}

fn foldable(
    db: &Db,
    to: &Destination,
    now: Timestamp,
) -> Result<(Vec<Member>, Vec<Alert>), StoreError> {
    let statement = format!(
        "SELECT id,priority,created_at,payload,fallback_at FROM outbox WHERE {FOLDABLE} ORDER BY priority,id LIMIT {AT_ONCE}"
    );
    let mut statement = db.prepare_cached(&statement)?;
    let mut rows = statement.query(named_params! {
        ":channel": to.channel, ":chat": to.chat_id, ":now": horizon(now),
    })?;
    let (mut members, mut alerts) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next()? {
        // What cannot be read is refused by itself, and takes no other with it.
        if let Content::Alert(alert) = row::content(&row::text(row, 3)?) {
            alerts.push(*alert);
            members.push(Member {
                id: row.get(0)?,
                priority: row.get(1)?,
                created_at: row.get(2)?,
                fallback_at: row.get(4)?,
            });
        }
    }
    Ok((members, alerts))
}

/// As old as the oldest in it, and as grave as the gravest. When the first of them would go to
/// another channel the digest is dissolved; it goes to no channel itself.
const DIGEST: &str = "\
INSERT INTO outbox(idempotency_key,kind,channel,chat_id,payload,priority,next_attempt,created_at,
                   fallback_at,fallback_channel,fallback_chat_id)
VALUES(:key,'digest',:channel,:chat,:payload,:priority,0,:created,
       :fallback_at,iif(:fallback_at IS NULL,NULL,''),iif(:fallback_at IS NULL,NULL,'')) RETURNING id";

/// It is due, and stays that, whatever is done to the clock while it is in there.
const FOLD: &str = "\
UPDATE outbox SET state='folded',parent_id=:digest,next_attempt=0,updated_at=:now
 WHERE id=:id AND state='ready' AND single=0";

fn digest(db: &Db, to: &Destination, members: &[Member], now: Timestamp) -> Result<(), StoreError> {
    let (Some(first), Some(last)) = (members.first(), members.last()) else {
        return Ok(());
    };
    let count = members.len();
    let ids: Vec<i64> = members.iter().map(|member| member.id).collect();
    let created = members.iter().map(|member| member.created_at);
    let fallback = members.iter().filter_map(|member| member.fallback_at);
    let digest: i64 = db.prepare_cached(DIGEST)?.query_row(
        named_params! {
            ":key": key(db, &format!("d:{}:{}:{count}:", first.id, last.id))?,
            ":channel": to.channel, ":chat": to.chat_id,
            ":payload": json!({"title": format!("{count} alerts"), "rows": ids}).to_string(),
            ":priority": first.priority, ":created": created.fold(f64::MAX, f64::min),
            ":fallback_at": fallback.reduce(f64::min),
        },
        |row| row.get(0),
    )?;
    for id in ids {
        let folded = db.prepare_cached(FOLD)?.execute(named_params! {
            ":digest": digest, ":now": now.unix_seconds(), ":id": id,
        })?;
        if folded != 1 {
            return Err(StoreError::Bug(format!("row {id} could not be folded")));
        }
    }
    Ok(())
}

/// The same alerts may be folded again, when a digest was dissolved that nobody can have got.
fn key(db: &Db, name: &str) -> Result<String, StoreError> {
    const BEFORE: &str =
        "SELECT count(*) FROM outbox WHERE idempotency_key>=:name AND idempotency_key<:name||'~'";
    let mut statement = db.prepare_cached(BEFORE)?;
    let before: i64 = statement.query_row(named_params! {":name": name}, |row| row.get(0))?;
    Ok(format!("{name}{before}"))
}

/// What is told in one message, in the order in which it was folded.
pub(super) fn members(db: &Db, digest: i64) -> Result<Content, StoreError> {
    const MEMBERS: &str =
        "SELECT id,payload FROM outbox WHERE parent_id=:digest ORDER BY priority,id";
    let mut statement = db.prepare_cached(MEMBERS)?;
    let mut rows = statement.query(named_params! {":digest": digest})?;
    let mut alerts = Vec::new();
    while let Some(row) = rows.next()? {
        let Content::Alert(alert) = row::content(&row::text(row, 1)?) else {
            let id: i64 = row.get(0)?;
            return Ok(Content::Unreadable(format!(
                "row {id} in it cannot be read"
            )));
        };
        alerts.push(*alert);
    }
    if alerts.is_empty() {
        return Ok(Content::Unreadable("there is nothing in it".to_owned()));
    }
    Ok(Content::Digest(alerts))
}

const RELEASE: &str = "\
UPDATE outbox SET state='ready',parent_id=NULL,released_from=:digest,updated_at=:now,
       single=max(single,:refused,(SELECT single FROM outbox WHERE id=:digest))
 WHERE parent_id=:digest AND state='folded'";

/// A digest that is given up is cancelled. What was in it goes out by itself, when it was refused or
/// may have arrived; else it may be folded again.
pub(super) fn dissolve(
    db: &Db,
    digest: i64,
    was_refused: bool,
    now: Timestamp,
) -> Result<(), StoreError> {
    const CANCEL: &str = "UPDATE outbox SET state='cancelled',updated_at=:now WHERE id=:digest";
    let seconds = now.unix_seconds();
    db.prepare_cached(RELEASE)?.execute(named_params! {
        ":digest": digest, ":refused": was_refused, ":now": seconds,
    })?;
    db.prepare_cached(CANCEL)?
        .execute(named_params! {":digest": digest, ":now": seconds})?;
    Ok(())
}
