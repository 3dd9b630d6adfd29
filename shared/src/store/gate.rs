//! Gates: read and written in the transaction of the claim or the settlement that they belong to.

use super::{Db, StoreError};
use crate::model::{Breaker, Gate, GateKeys, Gates, Scope, Timestamp};
use rusqlite::{OptionalExtension, Row, named_params};
use std::time::Duration;

const LOAD: &str = "\
SELECT next_at,ring,stretch,clean_since,failing_since,refused_since,blocked_until,blocked_for,breaker,strikes,reason,folded_at,paused_until
  FROM gate WHERE scope=:scope AND key=:key";

const SAVE: &str = "\
INSERT INTO gate(scope,key,next_at,ring,stretch,clean_since,failing_since,refused_since,blocked_until,blocked_for,breaker,strikes,reason,folded_at)
VALUES(:scope,:key,:next_at,:ring,:stretch,:clean_since,:failing_since,:refused_since,:blocked_until,:blocked_for,:breaker,:strikes,:reason,:folded_at)
ON CONFLICT(scope,key) DO UPDATE SET next_at=:next_at,ring=:ring,stretch=:stretch,clean_since=:clean_since,
  failing_since=:failing_since,refused_since=:refused_since,blocked_until=:blocked_until,blocked_for=:blocked_for,breaker=:breaker,strikes=:strikes,reason=:reason,folded_at=:folded_at";

/// Changes the gates before a destination, in the transaction of the settlement that tells of them.
pub fn adjust(db: &Db, keys: &GateKeys, change: &dyn Fn(&mut Gates)) -> Result<(), StoreError> {
    let before = load(db, keys)?;
    let mut after = before.clone();
    change(&mut after);
    save(db, keys, &before, &after)
}

/// Opens gates earlier that a clock which went back left closed: no wait becomes longer than it was
/// told. Returns how many.
pub fn heal(db: &Db, now: Timestamp) -> Result<usize, StoreError> {
    const HEAL: &str = "\
UPDATE gate SET blocked_until=:now+blocked_for WHERE blocked_until>:now+blocked_for";
    // What has begun has not begun later than now.
    const BEGUN: &str = "\
UPDATE gate SET clean_since=min(clean_since,:now),failing_since=min(failing_since,:now),
       refused_since=min(refused_since,:now)
 WHERE clean_since>:now OR failing_since>:now OR refused_since>:now";
    let mut healed = 0;
    for statement in [HEAL, BEGUN] {
        let mut statement = db.prepare_cached(statement)?;
        healed += statement.execute(named_params! {":now": now.unix_seconds()})?;
    }
    Ok(healed)
}

/// Moves the waits of all gates along with a wall clock that was set by `seconds` and showed `before`.
pub(super) fn shift(db: &Db, seconds: f64, before: Timestamp) -> Result<(), StoreError> {
    let rows: Vec<(String, String)> = db
        .prepare_cached("SELECT scope,key FROM gate")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (scope, key) in rows {
        if let Ok(scope) = scope.parse::<Scope>() {
            write(
                db,
                scope,
                &key,
                &moved(one(db, scope, &key)?, seconds, before),
            )?;
        }
    }
    Ok(())
}

/// What never was stays that, and so does what another clock has dated later than now.
fn moved(gate: Gate, seconds: f64, before: Timestamp) -> Gate {
    let later = |at: Timestamp| match at {
        Timestamp::EPOCH => at,
        at => Timestamp::from_unix_seconds(at.unix_seconds() + seconds),
    };
    let past = |at: Timestamp| if at <= before { later(at) } else { at };
    Gate {
        next_at: later(gate.next_at),
        ring: gate.ring.into_iter().map(past).collect(),
        clean_since: gate.clean_since.map(past),
        blocked_until: later(gate.blocked_until),
        failing_since: gate.failing_since.map(past),
        refused_since: gate.refused_since.map(past),
        folded_at: past(gate.folded_at),
        ..gate
    }
}

/// The chat behind the gate `old` has the id `chat` from now on, and the gate `new`, which takes
/// over what was learnt of it.
pub fn rename(db: &Db, old: &str, new: &str, chat: &str) -> Result<(), StoreError> {
    const RENAME: &str = "\
INSERT INTO gate(scope,key,alias_of) VALUES('chat',:old,:chat) ON CONFLICT(scope,key) DO UPDATE SET alias_of=:chat";
    const PAUSE: &str = "\
UPDATE gate SET paused_until=max(paused_until,:until) WHERE scope='chat' AND key=:new";
    let (was, is) = (one(db, Scope::Chat, old)?, one(db, Scope::Chat, new)?);
    let paused_until = was.paused_until.unix_seconds();
    write(db, Scope::Chat, new, &joined(is, was))?;
    db.prepare_cached(PAUSE)?
        .execute(named_params! {":until": paused_until, ":new": new})?;
    db.prepare_cached(RENAME)?
        .execute(named_params! {":old": old, ":chat": chat})?;
    Ok(())
}

/// What is known of one chat under two names: the stricter of each.
fn joined(mut gate: Gate, other: Gate) -> Gate {
    gate.ring.extend(other.ring);
    gate.ring.sort_unstable();
    if gate.blocked_until < other.blocked_until {
        (gate.blocked_until, gate.blocked_for) = (other.blocked_until, other.blocked_for);
        (gate.breaker, gate.reason) = (other.breaker, other.reason);
    }
    Gate {
        next_at: gate.next_at.max(other.next_at),
        stretch: gate.stretch.max(other.stretch),
        strikes: gate.strikes.max(other.strikes),
        clean_since: gate.clean_since.max(other.clean_since),
        failing_since: gate.failing_since.or(other.failing_since),
        refused_since: gate.refused_since.or(other.refused_since),
        folded_at: gate.folded_at.max(other.folded_at),
        ..gate
    }
}

/// The gates whose chats have other ids by now, with these.
pub fn renamed(db: &Db) -> Result<Vec<(String, String)>, StoreError> {
    let mut statement =
        db.prepare("SELECT key,alias_of FROM gate WHERE scope='chat' AND alias_of IS NOT NULL")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
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

/// Whether nothing passes to that destination at `now`, as far as is known: a gate that was closed and
/// through which nothing has passed since is no open one, nor is a chat for which something failed and
/// nothing has passed since, as behind a server that is silent to it alone.
pub fn is_closed(db: &Db, keys: &GateKeys, now: Timestamp) -> Result<bool, StoreError> {
    let gates = load(db, keys)?;
    let all = [&gates.channel, &gates.bot, &gates.method, &gates.chat];
    let is_closed = |gate: &&Gate| gate.closed_until(now) > now || gate.breaker != Breaker::Closed;
    Ok(all.iter().any(is_closed) || gates.chat.failing_since.is_some())
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
        ":refused_since": gate.refused_since.map(Timestamp::unix_seconds),
        ":failing_since": gate.failing_since.map(Timestamp::unix_seconds),
        ":blocked_until": gate.blocked_until.unix_seconds(), ":blocked_for": gate.blocked_for.as_secs_f64(),
        ":breaker": gate.breaker.name(),
        ":strikes": gate.strikes, ":reason": gate.reason, ":folded_at": gate.folded_at.unix_seconds(),
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
        refused_since: time("refused_since")?,
        blocked_until: time("blocked_until")?.unwrap_or_default(),
        blocked_for: seconds(row.get("blocked_for")?),
        breaker: breaker.parse().unwrap_or(Breaker::Closed),
        strikes: row.get("strikes")?,
        reason: row.get("reason")?,
        folded_at: time("folded_at")?.unwrap_or_default(),
        paused_until: time("paused_until")?.unwrap_or_default(),
    })
}

fn seconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number).unwrap_or_default()
}

fn moments(bytes: &[u8]) -> Vec<Timestamp> {
    let numbers = bytes
        .chunks_exact(8)
        .filter_map(|bytes| bytes.try_into().ok());
    numbers
        .map(|bytes| Timestamp::from_unix_millis(i64::from_be_bytes(bytes)))
        .collect()
}
