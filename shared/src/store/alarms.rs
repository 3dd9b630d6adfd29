//! Alarms about watchalert itself: each is told once when it begins, and once when it is over.

use super::outbox::{Notice, notify, text};
use super::{Db, StoreError};
use crate::model::{Destination, Timestamp};
use rusqlite::{OptionalExtension, named_params};

/// What has changed about an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Begun,
    /// It had begun then.
    Over(Timestamp),
}

/// Notes whether the alarm `name` holds, and enqueues what `notice` says of a change. The end of what
/// could be told nowhere is not told.
pub fn note(
    db: &Db,
    name: &str,
    holds: bool,
    notice: impl FnOnce(Turn) -> Option<Notice>,
    now: Timestamp,
) -> Result<Option<Turn>, StoreError> {
    const SINCE: &str = "SELECT since,told FROM alarm WHERE name=:name";
    const BEGIN: &str = "INSERT INTO alarm(name,since) VALUES(:name,:now)";
    const TOLD: &str = "UPDATE alarm SET told=1 WHERE name=:name";
    const END: &str = "DELETE FROM alarm WHERE name=:name";
    let known: Option<(f64, bool)> = db
        .prepare_cached(SINCE)?
        .query_row(named_params! {":name": name}, |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let was_told = known.is_none_or(|(_, told)| told);
    let turn = match (known, holds) {
        (None, true) => {
            db.prepare_cached(BEGIN)?
                .execute(named_params! {":name": name, ":now": now.unix_seconds()})?;
            Turn::Begun
        }
        (Some((since, _)), false) => {
            db.prepare_cached(END)?
                .execute(named_params! {":name": name})?;
            Turn::Over(Timestamp::from_unix_seconds(since))
        }
        (None, false) | (Some(_), true) => return Ok(None),
    };
    if let Some(notice) = notice(turn).filter(|_| was_told) {
        notify(db, &notice, now)?;
        db.prepare_cached(TOLD)?
            .execute(named_params! {":name": name})?;
    }
    Ok(Some(turn))
}

/// The names of the alarms that hold and begin with `prefix`.
pub fn held(db: &Db, prefix: &str) -> Result<Vec<String>, StoreError> {
    const HELD: &str = "SELECT name FROM alarm WHERE substr(name,1,length(:prefix))=:prefix";
    let mut statement = db.prepare_cached(HELD)?;
    let names = statement.query_map(named_params! {":prefix": prefix}, |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

/// For whom something waits that was meant to be sent by now, whatever holds it; since when, and how many
/// such there are: the one that waits longest. What watchalert says about itself does not count.
pub fn oldest(
    db: &Db,
    now: Timestamp,
) -> Result<Option<(Destination, Timestamp, i64)>, StoreError> {
    const OLDEST: &str = "\
SELECT channel,chat_id,min(since),count(*)
  FROM (SELECT channel,chat_id,max(not_before,created_at,coalesce(revived_at,0)) AS since FROM outbox
         WHERE state='ready' AND not_before<=:now AND kind<>'notice'
        UNION ALL
        SELECT channel,chat_id,max(not_before,created_at,coalesce(revived_at,0)) FROM outbox WHERE state='leased' AND kind<>'notice')
HAVING count(*)>0";
    let oldest =
        db.prepare_cached(OLDEST)?
            .query_row(named_params! {":now": now.unix_seconds()}, |row| {
                let to = Destination {
                    channel: text(row, 0)?,
                    chat_id: text(row, 1)?,
                };
                Ok((to, Timestamp::from_unix_seconds(row.get(2)?), row.get(3)?))
            });
    Ok(oldest.optional()?)
}
