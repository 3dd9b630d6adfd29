//! Silences: written by a person, heeded by whoever enqueues; what they hold is due at their end.

use super::outbox::text;
use super::{Db, StoreError};
use crate::model::{Alert, Timestamp};
use regex::Regex;
use rusqlite::named_params;

/// A pattern that is searched for in title, summary and source; capitals and small letters are the same.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl Pattern {
    /// # Errors
    /// Why it is no regular expression, in one line.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("an empty pattern would silence everything".to_owned());
        }
        let read = Regex::new(&format!("(?i:{text})"));
        read.map(Self).map_err(|error| {
            let drawn = error.to_string();
            let gist = drawn.lines().last().unwrap_or_default();
            format!(
                "no regular expression: {}",
                gist.trim_start_matches("error: ")
            )
        })
    }

    pub fn holds(&self, alert: &Alert) -> bool {
        let mut texts = [&alert.title, &alert.summary, &alert.source].into_iter();
        texts.any(|text| self.0.is_match(text))
    }
}

/// A silence that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silence {
    pub id: i64,
    pub pattern: String,
    pub until: Timestamp,
    /// Rows that it holds.
    pub held: i64,
}

/// Those that have not ended, the one that ends last first.
pub fn active(db: &Db, now: Timestamp) -> Result<Vec<Silence>, StoreError> {
    const ACTIVE: &str = "\
SELECT id,pattern,until,(SELECT count(*) FROM outbox WHERE state='ready' AND silenced_by=silence.id AND silenced_by IS NOT NULL)
  FROM silence WHERE ended_at IS NULL AND until>:now ORDER BY until DESC,id";
    let mut statement = db.prepare_cached(ACTIVE)?;
    let rows = statement.query_map(named_params! {":now": now.unix_seconds()}, |row| {
        Ok(Silence {
            id: row.get(0)?,
            pattern: text(row, 1)?,
            until: Timestamp::from_unix_seconds(row.get(2)?),
            held: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The silence that holds `alert` the longest. A pattern that cannot be read holds nothing.
pub(super) fn over(db: &Db, alert: &Alert, now: Timestamp) -> Result<Option<Silence>, StoreError> {
    let holds = |silence: &Silence| {
        Pattern::new(&silence.pattern).is_ok_and(|pattern| pattern.holds(alert))
    };
    Ok(active(db, now)?.into_iter().find(holds))
}

/// Begins one. Returns its number, and how many alerts that wait already it holds.
pub fn begin(
    db: &Db,
    text: &str,
    until: Timestamp,
    now: Timestamp,
) -> Result<(i64, usize), StoreError> {
    const BEGIN: &str = "\
INSERT INTO silence(pattern,until,created_at) VALUES(:pattern,:until,:now) RETURNING id";
    const WAITING: &str = "SELECT id,payload FROM outbox WHERE state='ready' AND kind='alert'";
    const HOLD: &str = "\
UPDATE outbox SET not_before=max(not_before,:until),silenced_by=:silence WHERE id=:id AND state='ready' AND not_before<:until";
    let pattern = Pattern::new(text).map_err(StoreError::Bug)?;
    let id: i64 = db.query_row(
        BEGIN,
        named_params! {":pattern": text, ":until": until.unix_seconds(), ":now": now.unix_seconds()},
        |row| row.get(0),
    )?;
    let mut held = Vec::new();
    let mut statement = db.prepare(WAITING)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let alert = serde_json::from_str::<Alert>(&self::text(row, 1)?);
        if alert.is_ok_and(|alert| pattern.holds(&alert)) {
            held.push(row.get::<_, i64>(0)?);
        }
    }
    for row in &held {
        db.prepare_cached(HOLD)?.execute(named_params! {
            ":until": until.unix_seconds(), ":silence": id, ":id": row,
        })?;
    }
    Ok((id, held.len()))
}

/// Ends one before its time: what it held is due. `None`: there is none of that number any more.
pub fn end(db: &Db, id: i64, now: Timestamp) -> Result<Option<usize>, StoreError> {
    const END: &str =
        "UPDATE silence SET ended_at=:now WHERE id=:id AND ended_at IS NULL AND until>:now";
    const RELEASE: &str = "\
UPDATE outbox SET not_before=0,silenced_by=NULL WHERE state='ready' AND silenced_by=:id AND silenced_by IS NOT NULL";
    let ended = db.execute(END, named_params! {":id": id, ":now": now.unix_seconds()})?;
    if ended == 0 {
        return Ok(None);
    }
    Ok(Some(db.execute(RELEASE, named_params! {":id": id})?))
}
