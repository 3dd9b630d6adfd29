//! Claim: gates, row and attempt advance in one transaction, before the network is touched.

use super::fold::{self, Crowd};
use super::recover::Epoch;
use super::row;
use super::waiting::horizon;
use crate::model::{Content, Delivery, Destination, Gatekeeper, Lease, Pass, Priority, Timestamp};
use crate::store::{Db, Remedy, StoreError, gate, stories};
use rusqlite::{OptionalExtension, named_params};
use std::time::Duration;

/// What a destination has for us.
#[derive(Debug)]
pub enum Claim {
    Leased(Box<Lease<Delivery>>),
    /// Nothing before then: a backoff, or a closed gate; what waits is of that priority, as far as
    /// is known.
    NotBefore(Timestamp, Priority),
    /// Something of that priority is due, and everything of its channel waits until then, unless it
    /// is graver.
    Held(Timestamp, Priority),
    Nothing,
}

/// A destination, and what it has for us or what is wrong with it.
pub type Claimed = (Destination, Result<Claim, StoreError>);

/// The gravest, then the oldest, of those that are due: one in backoff never blocks the others.
const NEXT: &str = "\
SELECT id,priority,max(created_at,not_before) FROM outbox
 WHERE state='ready' AND channel=:channel AND chat_id=:chat AND due_at<=:now
 ORDER BY priority,id LIMIT 1";

const NEXT_TIME: &str =
    "SELECT min(due_at) FROM outbox WHERE state='ready' AND channel=:channel AND chat_id=:chat";

const NEXT_SINGLE_TIME: &str = "\
SELECT min(due_at) FROM outbox
 WHERE state='ready' AND (kind<>'alert' OR priority=0 OR single>0)
   AND channel=:channel AND chat_id=:chat";

/// Of what is never folded; in these words, or the partial index does not serve.
const NEXT_SINGLE: &str = "\
SELECT id,priority,max(created_at,not_before) FROM outbox
 WHERE state='ready' AND (kind<>'alert' OR priority=0 OR single>0)
   AND channel=:channel AND chat_id=:chat AND due_at<=:now
 ORDER BY priority,id LIMIT 1";

/// DESIGN.md, "The sender".
const AGES: Duration = Duration::from_mins(15);

/// Its backoff is over, and stays that, whatever is done to the clock while it is under way.
const LEASE: &str = "\
UPDATE outbox SET state='leased',lease_epoch=:epoch,attempts=attempts+1,single=single|2,next_attempt=0,updated_at=:now
 WHERE id=:id AND state='ready' AND (SELECT epoch FROM sender_lease WHERE one=1)=:epoch
RETURNING attempts";

const ATTEMPT: &str = "INSERT INTO attempt(outbox_id,n,epoch,started_at,is_repeat) VALUES(:id,:n,:epoch,:now,:repeat)";

const REPEAT: &str = "UPDATE ledger SET n=n+1 WHERE name='repeat_marked'";

/// Claims for several destinations in one transaction. What is wrong with one destination's rows
/// is its own result and takes nothing from the others.
///
/// # Errors
/// What concerns all of them: [`Remedy::Wait`] and [`Remedy::Stop`].
pub fn claim_each(
    db: &Db,
    epoch: Epoch,
    destinations: &[Destination],
    gatekeeper: &dyn Gatekeeper,
    now: Timestamp,
) -> Result<Vec<Claimed>, StoreError> {
    let mut claims = Vec::new();
    for destination in destinations {
        db.execute_batch("SAVEPOINT claim")?;
        let claim = claim(db, epoch, destination, gatekeeper, now);
        match &claim {
            Ok(_) => db.execute_batch("RELEASE claim")?,
            Err(error) if error.remedy() == Remedy::Skip => {
                db.execute_batch("ROLLBACK TO claim; RELEASE claim")?;
            }
            Err(error) => return Err(error.clone()),
        }
        claims.push((destination.clone(), claim));
    }
    Ok(claims)
}

/// Leases the next due delivery of `destination`, when `gatekeeper` lets it pass: its gates advance
/// with the lease, so that a restart, or a second sender, keeps the limits.
///
/// # Errors
/// `Fenced` when another sender has taken over.
pub fn claim(
    db: &Db,
    epoch: Epoch,
    destination: &Destination,
    gatekeeper: &dyn Gatekeeper,
    now: Timestamp,
) -> Result<Claim, StoreError> {
    let keys = gatekeeper.keys(destination);
    let known = gate::load(db, &keys)?;
    let gates = gatekeeper.believable(destination, &known, now);
    gate::save(db, &keys, &known, &gates)?;
    let crowd = match gatekeeper.folding(destination) {
        Some(folding) => fold::crowd(db, destination, folding, gates.chat.folded_at, now)?,
        None => Crowd::No,
    };
    let next = match crowd {
        Crowd::No | Crowd::Now => next(db, NEXT, destination, now)?,
        Crowd::At(_) => next(db, NEXT_SINGLE, destination, now)?,
    };
    let Some((id, priority)) = next else {
        return match crowd {
            // What is never folded may be due before.
            Crowd::At(at) => Ok(match next_time(db, NEXT_SINGLE_TIME, destination)? {
                Claim::NotBefore(due, priority) if due < at => Claim::NotBefore(due, priority),
                _ => Claim::NotBefore(at, Priority::High),
            }),
            Crowd::No | Crowd::Now => next_time(db, NEXT_TIME, destination),
        };
    };
    match gatekeeper.pass(destination, &gates, priority, now) {
        Pass::At(at) => Ok(Claim::NotBefore(at, priority)),
        Pass::Held(at) => Ok(Claim::Held(at, priority)),
        Pass::Now(mut spent) => {
            let mut id = id;
            if crowd == Crowd::Now && fold::fold(db, destination, gatekeeper, now)? > 0 {
                spent.chat.folded_at = now;
                id = self::next(db, NEXT, destination, now)?.map_or(id, |(id, _)| id);
            }
            gate::save(db, &keys, &gates, &spent)?;
            let refused_since = gates.chat.refused_since;
            let lease = lease(db, epoch, id, refused_since, now)?;
            Ok(Claim::Leased(Box::new(lease)))
        }
    }
}

/// What waits long is no longer last: it may use what low priority leaves to others.
fn aged(priority: Priority, waits: Duration) -> Priority {
    if waits >= AGES {
        priority.min(Priority::Normal)
    } else {
        priority
    }
}

fn next(
    db: &Db,
    statement: &str,
    destination: &Destination,
    now: Timestamp,
) -> Result<Option<(i64, Priority)>, StoreError> {
    let next = db.prepare_cached(statement)?.query_row(
        named_params! {
            ":channel": destination.channel, ":chat": destination.chat_id, ":now": horizon(now),
        },
        |row| {
            let priority = Priority::from_rank(row.get(1)?).unwrap_or(Priority::Low);
            let owed_since = Timestamp::from_unix_seconds(row.get(2)?);
            Ok((row.get(0)?, aged(priority, now.since(owed_since))))
        },
    );
    Ok(next.optional()?)
}

fn next_time(db: &Db, statement: &str, destination: &Destination) -> Result<Claim, StoreError> {
    let time: Option<f64> = db.prepare_cached(statement)?.query_row(
        named_params! {":channel": destination.channel, ":chat": destination.chat_id},
        |row| row.get(0),
    )?;
    Ok(time.map_or(Claim::Nothing, |time| {
        Claim::NotBefore(Timestamp::from_unix_seconds(time), Priority::Low)
    }))
}

fn lease(
    db: &Db,
    epoch: Epoch,
    id: i64,
    refused_since: Option<Timestamp>,
    now: Timestamp,
) -> Result<Lease<Delivery>, StoreError> {
    let attempt: Option<i64> = db
        .prepare_cached(LEASE)?
        .query_row(
            named_params! {":epoch": epoch.number(), ":now": now.unix_seconds(), ":id": id},
            |row| row.get(0),
        )
        .optional()?;
    let attempt = attempt.ok_or(StoreError::Fenced(epoch.number()))?;
    let raw = db
        .prepare_cached(&format!("SELECT {} FROM outbox WHERE id=:id", row::COLUMNS))?
        .query_row(named_params! {":id": id}, row::raw)?;
    let mut delivery = Delivery {
        refused_since,
        ..row::delivery(db, raw)?
    };
    if let Content::Alert(alert) = &mut delivery.content {
        alert.also = stories::others(db, id)?;
        alert.also.retain(|source| *source != alert.source);
    }
    db.prepare_cached(ATTEMPT)?.execute(named_params! {
        ":id": id, ":n": attempt, ":epoch": epoch.number(), ":now": now.unix_seconds(),
        ":repeat": delivery.possible_repeat,
    })?;
    if delivery.possible_repeat {
        db.prepare_cached(REPEAT)?.execute([])?;
    }
    Ok(Lease::new(delivery, epoch.number(), attempt))
}
