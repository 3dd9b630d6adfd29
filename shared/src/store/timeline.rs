//! The file's times and a wall clock that is set: by how much it was set since the sender began is
//! kept here, and waits are moved along with it in the same transaction. So a sender that reads its
//! own steady clock, and this number within its transaction, always counts as the file does.

use super::outbox::{Epoch, horizon};
use super::{Db, StoreError, gate};
use crate::model::Timestamp;
use rusqlite::named_params;

/// Milliseconds by which the wall clock was set since the current sender began.
pub fn stepped(db: &Db) -> Result<i64, StoreError> {
    const STEPPED: &str = "SELECT stepped FROM sender_lease WHERE one=1";
    Ok(db
        .prepare_cached(STEPPED)?
        .query_row([], |row| row.get(0))?)
}

/// Backoff, and what has come due by the clock before: that stays due, whoever wrote it. What a script
/// wrote for later is its intent and stays.
const ROWS: &str = "\
UPDATE outbox SET next_attempt=next_attempt+:seconds
 WHERE state='ready' AND due_at>:from AND next_attempt>:from AND (attempts>0 OR next_attempt<=:before)";
const STEPPED: &str = "UPDATE sender_lease SET stepped=:to WHERE one=1 AND epoch=:epoch";

/// The wall clock shows `now` and was set by `to` milliseconds since this sender began: every wait
/// moves along, in one transaction, however many there are: half of them would be wrong.
///
/// # Errors
/// `Fenced` when another sender has taken over.
pub fn follow(db: &Db, epoch: Epoch, to: i64, now: Timestamp) -> Result<(), StoreError> {
    let by = to - stepped(db)?;
    let seconds = Timestamp::from_unix_millis(by).unix_seconds();
    let before = Timestamp::from_unix_millis(now.unix_millis().saturating_sub(by));
    gate::shift(db, seconds, before)?;
    let from = before.min(now).unix_seconds();
    db.prepare_cached(ROWS)?.execute(named_params! {
        ":seconds": seconds, ":from": from, ":before": horizon(before),
    })?;
    let followed = db
        .prepare_cached(STEPPED)?
        .execute(named_params! {":to": to, ":epoch": epoch.number()})?;
    match followed {
        1 => Ok(()),
        _ => Err(StoreError::Fenced(epoch.number())),
    }
}
