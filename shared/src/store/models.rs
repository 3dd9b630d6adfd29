//! The models that judge: how they fare, what the cloud was asked today, and what they said before.

use super::{Db, StoreError};
use crate::model::{Judge, Timestamp};
use rusqlite::{OptionalExtension, named_params};
use std::time::Duration;

/// How long an answer is remembered: a text that comes back later is asked about again.
pub const MEMORY: Duration = Duration::from_hours(30 * 24);

/// Of the two models that there can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    Ollama,
    Cloud,
}

impl Name {
    const fn text(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::Cloud => "cloud",
        }
    }
}

/// How a model fares, over ticks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    /// Requests without an answer, in a row.
    pub failures: u32,
    /// What a person was told, and since when it is so.
    pub trouble: Option<(String, Timestamp)>,
    /// What a request takes on average; `None` before the first.
    pub takes: Option<Duration>,
}

pub fn health(db: &Db, name: Name) -> Result<Health, StoreError> {
    const HEALTH: &str =
        "SELECT failures,trouble,trouble_since,seconds FROM model WHERE name=:name";
    let row =
        db.prepare_cached(HEALTH)?
            .query_row(named_params! {":name": name.text()}, |row| {
                let trouble: Option<String> = row.get(1)?;
                let since: Option<f64> = row.get(2)?;
                let seconds: Option<f64> = row.get(3)?;
                Ok(Health {
                    failures: row.get(0)?,
                    trouble: trouble.zip(since.map(Timestamp::from_unix_seconds)),
                    takes: seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
                })
            })?;
    Ok(row)
}

pub fn keep_health(db: &Db, name: Name, health: &Health) -> Result<(), StoreError> {
    const KEEP: &str = "\
UPDATE model SET failures=:failures,trouble=:trouble,trouble_since=:since,seconds=:seconds WHERE name=:name";
    let trouble = health.trouble.as_ref();
    db.prepare_cached(KEEP)?.execute(named_params! {
        ":name": name.text(), ":failures": health.failures,
        ":trouble": trouble.map(|(what, _)| what),
        ":since": trouble.map(|(_, since)| since.unix_seconds()),
        ":seconds": health.takes.map(|takes| takes.as_secs_f64()),
    })?;
    Ok(())
}

/// Takes one request out of the cloud's budget of the day; `false` when there is none left.
/// Taken before the request goes out: one that a crash cut off has cost something too.
pub fn spend(db: &Db, daily_limit: u32, now: Timestamp) -> Result<bool, StoreError> {
    const SPEND: &str = "\
UPDATE model SET requests=CASE WHEN day=:day THEN requests+1 ELSE 1 END,day=:day
 WHERE name='cloud' AND (day<>:day OR requests<:limit)";
    let day = now.unix_millis().div_euclid(86_400_000);
    let spent = db
        .prepare_cached(SPEND)?
        .execute(named_params! {":day": day, ":limit": daily_limit})?;
    Ok(spent == 1)
}

/// What was answered to this prompt, and by whom.
pub fn answer(db: &Db, prompt: &str) -> Result<Option<(String, Judge)>, StoreError> {
    const ANSWER: &str = "SELECT answer,judge FROM answer WHERE prompt=:prompt";
    let found = db
        .prepare_cached(ANSWER)?
        .query_row(named_params! {":prompt": prompt}, |row| {
            Ok((row.get(0)?, row.get::<_, String>(1)?))
        })
        .optional()?;
    Ok(found.and_then(|(answer, judge)| Some((answer, judge.parse().ok()?))))
}

pub fn remember(
    db: &Db,
    prompt: &str,
    answer: &str,
    judge: Judge,
    now: Timestamp,
) -> Result<(), StoreError> {
    const REMEMBER: &str = "\
INSERT INTO answer(prompt,answer,judge,made_at) VALUES(:prompt,:answer,:judge,:now)
 ON CONFLICT(prompt) DO UPDATE SET answer=:answer,judge=:judge,made_at=:now";
    db.prepare_cached(REMEMBER)?.execute(named_params! {
        ":prompt": prompt, ":answer": answer, ":judge": judge.name(), ":now": now.unix_seconds(),
    })?;
    Ok(())
}

/// Forgets answers older than [`MEMORY`].
pub fn forget(db: &Db, now: Timestamp) -> Result<(), StoreError> {
    const FORGET: &str = "DELETE FROM answer WHERE made_at<:until";
    let until = now.unix_seconds() - MEMORY.as_secs_f64();
    db.prepare_cached(FORGET)?
        .execute(named_params! {":until": until})?;
    Ok(())
}

/// How often this item was asked about in vain.
pub fn unusable(db: &Db, item_id: i64) -> Result<u32, StoreError> {
    const UNUSABLE: &str = "SELECT answers FROM unusable WHERE item_id=:item";
    let found = db
        .prepare_cached(UNUSABLE)?
        .query_row(named_params! {":item": item_id}, |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or_default())
}

/// Once more.
pub fn was_unusable(db: &Db, item_id: i64) -> Result<(), StoreError> {
    const WAS: &str = "\
INSERT INTO unusable(item_id,answers) VALUES(:item,1) ON CONFLICT(item_id) DO UPDATE SET answers=answers+1";
    db.prepare_cached(WAS)?
        .execute(named_params! {":item": item_id})?;
    Ok(())
}

/// The item is judged: nobody asks about it again.
pub fn is_judged(db: &Db, item_id: i64) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM unusable WHERE item_id=:item")?
        .execute(named_params! {":item": item_id})?;
    Ok(())
}
