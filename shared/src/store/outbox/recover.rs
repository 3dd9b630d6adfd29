//! Recovery: a new sender takes over under a new epoch; backoff that no clock reaches is healed.

use super::row::text;
use super::waiting::horizon;
use crate::model::{Destination, LONGEST_BACKOFF, Timestamp};
use crate::store::{Db, StoreError};
use rusqlite::named_params;
use std::time::Duration;

/// The number that fences one sender from the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(i64);

impl Epoch {
    pub fn number(self) -> i64 {
        self.0
    }
}

const BUMP: &str = "\
UPDATE sender_lease SET epoch=epoch+1,holder=:holder,since=:now,stepped=0 WHERE one=1 RETURNING epoch";
const INTERRUPTED: &str = "\
UPDATE attempt SET ended_at=:now,outcome='interrupted',detail='the sender ended before the outcome was known'
 WHERE ended_at IS NULL";
/// Before they are ended.
const UNDER_WAY: &str = "\
SELECT DISTINCT channel,chat_id FROM outbox
 WHERE id IN(SELECT outbox_id FROM attempt WHERE ended_at IS NULL)";
const RECOVER: &str = "\
UPDATE outbox SET state='ready',lease_epoch=NULL,single=1,updated_at=:now
 WHERE state='leased' AND lease_epoch<>:epoch";

/// What a new sender found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenOver {
    pub epoch: Epoch,
    /// Attempts that were under way when the last sender ended: each may have arrived.
    pub interrupted: usize,
    /// Where they went, up to a moment ago.
    pub places: Vec<Destination>,
}

/// Starts a new epoch and takes back what the last sender held. The caller holds the sender's
/// file lock and has replayed the journal of completions, which carry the old epoch. Backoff under
/// a wrong clock is left to [`heal`].
pub fn take_over(db: &Db, holder: &str, now: Timestamp) -> Result<TakenOver, StoreError> {
    let now_seconds = now.unix_seconds();
    let epoch: i64 = db.query_row(
        BUMP,
        named_params! {":holder": holder, ":now": now_seconds},
        |row| row.get(0),
    )?;
    let places = under_way(db)?;
    let interrupted = db.execute(INTERRUPTED, named_params! {":now": now_seconds})?;
    db.execute(
        RECOVER,
        named_params! {":now": now_seconds, ":epoch": epoch},
    )?;
    Ok(TakenOver {
        epoch: Epoch(epoch),
        interrupted,
        places,
    })
}

fn under_way(db: &Db) -> Result<Vec<Destination>, StoreError> {
    let mut under_way = db.prepare(UNDER_WAY)?;
    let places = under_way.query_map([], |row| {
        Ok(Destination {
            channel: text(row, 0)?,
            chat_id: text(row, 1)?,
        })
    })?;
    Ok(places.collect::<rusqlite::Result<_>>()?)
}

/// A transaction touches no more rows, so that others are not kept out.
const AT_ONCE: i64 = 100;

const HEAL: &str = "\
UPDATE outbox SET next_attempt=:latest WHERE id IN(
 SELECT id FROM outbox WHERE state='ready' AND due_at>:latest AND next_attempt>:latest LIMIT :limit)";

/// A backoff that was set by a clock which ran ahead of this one.
const FOREIGN: &str = "\
UPDATE outbox SET next_attempt=:now,updated_at=:now WHERE id IN(
 SELECT id FROM outbox WHERE state='ready' AND due_at>:due AND next_attempt>:due AND attempts>0
    AND updated_at>:soon LIMIT :limit)";
/// Who writes takes his time first.
const AHEAD: Duration = Duration::from_secs(60);

/// Shortens backoff that lies beyond [`LONGEST_BACKOFF`], and ends what a clock that ran ahead has
/// set, a hundred rows at a time. Returns how many; call again until it is 0. `not_before` is
/// somebody's intent and is left alone.
pub fn heal(db: &Db, now: Timestamp) -> Result<usize, StoreError> {
    let (latest, soon) = (now + LONGEST_BACKOFF, now + AHEAD);
    let foreign = db.prepare_cached(FOREIGN)?.execute(named_params! {
        ":now": now.unix_seconds(), ":due": horizon(now), ":soon": soon.unix_seconds(), ":limit": AT_ONCE,
    })?;
    let far = db.prepare_cached(HEAL)?.execute(named_params! {
        ":latest": latest.unix_seconds(), ":limit": AT_ONCE,
    })?;
    Ok(foreign + far)
}
