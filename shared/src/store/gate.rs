//! Gates: read and written in the transaction of the claim or the settlement that they belong to.

use super::{Db, StoreError};
use crate::model::{Breaker, Gate, GateKeys, Gates, Scope, Timestamp};
use rusqlite::{OptionalExtension, Row, named_params};

const LOAD: &str = "\
SELECT next_at,ring,stretch,clean_since,failing_since,blocked_until,breaker,strikes,reason,paused_until
  FROM gate WHERE scope=:scope AND key=:key";

const SAVE: &str = "\
INSERT INTO gate(scope,key,next_at,ring,stretch,clean_since,failing_since,blocked_until,breaker,strikes,reason)
VALUES(:scope,:key,:next_at,:ring,:stretch,:clean_since,:failing_since,:blocked_until,:breaker,:strikes,:reason)
ON CONFLICT(scope,key) DO UPDATE SET next_at=:next_at,ring=:ring,stretch=:stretch,clean_since=:clean_since,
  failing_since=:failing_since,blocked_until=:blocked_until,breaker=:breaker,strikes=:strikes,reason=:reason";

/// Changes the gates before a destination, in the transaction of the settlement that tells of them.
pub fn adjust(db: &Db, keys: &GateKeys, change: &dyn Fn(&mut Gates)) -> Result<(), StoreError> {
    let before = load(db, keys)?;
    let mut after = before.clone();
    change(&mut after);
    save(db, keys, &before, &after)
}

/// The four gates before a destination. One that was never written is open.
pub(super) fn load(db: &Db, keys: &GateKeys) -> Result<Gates, StoreError> {
    Ok(Gates {
        channel: one(db, Scope::Channel, &keys.channel)?,
        bot: one(db, Scope::Bot, &keys.bot)?,
        method: one(db, Scope::Method, &keys.method)?,
        chat: one(db, Scope::Chat, &keys.chat)?,
    })
}

/// Writes those that changed.
pub(super) fn save(
    db: &Db,
    keys: &GateKeys,
    before: &Gates,
    after: &Gates,
) -> Result<(), StoreError> {
    for (scope, key, old, new) in [
        (
            Scope::Channel,
            &keys.channel,
            &before.channel,
            &after.channel,
        ),
        (Scope::Bot, &keys.bot, &before.bot, &after.bot),
        (Scope::Method, &keys.method, &before.method, &after.method),
        (Scope::Chat, &keys.chat, &before.chat, &after.chat),
    ] {
        if old != new {
            write(db, scope, key, new)?;
        }
    }
    Ok(())
}

fn one(db: &Db, scope: Scope, key: &str) -> Result<Gate, StoreError> {
    let found = db
        .prepare_cached(LOAD)?
        .query_row(named_params! {":scope": scope.name(), ":key": key}, gate)
        .optional()?;
    Ok(found.unwrap_or_default())
}

fn write(db: &Db, scope: Scope, key: &str, gate: &Gate) -> Result<(), StoreError> {
    let ring: Vec<u8> = gate
        .ring
        .iter()
        .flat_map(|at| at.unix_millis().to_be_bytes())
        .collect();
    db.prepare_cached(SAVE)?.execute(named_params! {
        ":scope": scope.name(), ":key": key, ":next_at": gate.next_at.unix_seconds(),
        ":ring": (!ring.is_empty()).then_some(ring), ":stretch": gate.stretch,
        ":clean_since": gate.clean_since.map(Timestamp::unix_seconds),
        ":failing_since": gate.failing_since.map(Timestamp::unix_seconds),
        ":blocked_until": gate.blocked_until.unix_seconds(), ":breaker": gate.breaker.name(),
        ":strikes": gate.strikes, ":reason": gate.reason,
    })?;
    Ok(())
}

fn gate(row: &Row<'_>) -> rusqlite::Result<Gate> {
    let time = |column: &str| -> rusqlite::Result<Option<Timestamp>> {
        let seconds: Option<f64> = row.get(column)?;
        Ok(seconds.map(Timestamp::from_unix_seconds))
    };
    let ring: Option<Vec<u8>> = row.get("ring")?;
    let breaker: String = row.get("breaker")?;
    Ok(Gate {
        next_at: time("next_at")?.unwrap_or_default(),
        ring: ring.as_deref().map(moments).unwrap_or_default(),
        stretch: row.get("stretch")?,
        clean_since: time("clean_since")?,
        failing_since: time("failing_since")?,
        blocked_until: time("blocked_until")?.unwrap_or_default(),
        breaker: breaker.parse().unwrap_or(Breaker::Closed),
        strikes: row.get("strikes")?,
        reason: row.get("reason")?,
        paused_until: time("paused_until")?.unwrap_or_default(),
    })
}

fn moments(bytes: &[u8]) -> Vec<Timestamp> {
    let numbers = bytes
        .chunks_exact(8)
        .filter_map(|bytes| bytes.try_into().ok());
    numbers
        .map(|bytes| Timestamp::from_unix_millis(i64::from_be_bytes(bytes)))
        .collect()
}
