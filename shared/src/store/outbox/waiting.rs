//! Says which destinations have something waiting, and when: the scheduler's eyes.

use crate::model::{Destination, Priority, Timestamp};
use crate::store::{Db, StoreError};
use rusqlite::{Row, ToSql, named_params};
use std::time::Duration;

/// A destination, the earliest moment at which it has something due, and the gravest priority of
/// what is due by then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub destination: Destination,
    pub due_at: Timestamp,
    pub priority: Priority,
}

/// What waits for `from` goes to `to`; 100 rows at a time, `true` when there may be more.
pub fn address(
    db: &Db,
    from: &Destination,
    to: &Destination,
    now: Timestamp,
) -> Result<bool, StoreError> {
    const ADDRESS: &str = "\
UPDATE outbox SET channel=:channel,chat_id=:chat,updated_at=:now
 WHERE id IN(SELECT id FROM outbox
              WHERE state='ready' AND channel=:from_channel AND chat_id=:from_chat LIMIT 100)";
    let changed = db.prepare_cached(ADDRESS)?.execute(named_params! {
        ":channel": to.channel, ":chat": to.chat_id, ":now": now.unix_seconds(),
        ":from_channel": from.channel, ":from_chat": from.chat_id,
    })?;
    Ok(changed == 100)
}

/// Everything that waits: at start, and each minute in case something was missed.
pub fn all(db: &Db, now: Timestamp) -> Result<Vec<Waiting>, StoreError> {
    const ALL: &str = "\
SELECT channel,chat_id,min(due_at),min(priority) FILTER(WHERE due_at<=:now)
  FROM outbox WHERE state='ready' GROUP BY channel,chat_id";
    read(db, ALL, named_params! {":now": horizon(now)})
}

/// What is new since the row `after`, and what became due since `since`: after each wake.
pub fn fresh(
    db: &Db,
    after: i64,
    since: Timestamp,
    now: Timestamp,
) -> Result<Vec<Waiting>, StoreError> {
    // By row id, which the index over waiting rows would not give.
    const NEW: &str = "\
SELECT channel,chat_id,min(due_at),min(priority) FILTER(WHERE due_at<=:now)
  FROM outbox NOT INDEXED WHERE id>:after AND state='ready' GROUP BY channel,chat_id";
    const DUE: &str = "\
SELECT channel,chat_id,min(due_at),min(priority) FROM outbox INDEXED BY outbox_due
 WHERE state='ready' AND due_at>:since AND due_at<=:now GROUP BY channel,chat_id";
    let mut found = read(
        db,
        NEW,
        named_params! {":after": after, ":now": horizon(now)},
    )?;
    let since = since.minus(OVERLAP).unix_seconds();
    found.extend(read(
        db,
        DUE,
        named_params! {":since": since, ":now": horizon(now)},
    )?);
    Ok(found)
}

/// Somebody's `now` may be older than our last look by the time that it is committed.
const OVERLAP: Duration = Duration::from_secs(5);

/// Times are whole milliseconds here and fractions in SQL: what rounds to `now` is due, or the
/// scheduler and the claim would disagree, and ask each other in a circle.
pub(in crate::store) fn horizon(now: Timestamp) -> f64 {
    now.unix_seconds() + 0.0005
}

/// The last id ever given, so that [`fresh`] can go on from there.
pub fn high_water(db: &Db) -> Result<i64, StoreError> {
    const LAST: &str = "SELECT coalesce(max(seq),0) FROM sqlite_sequence WHERE name='outbox'";
    Ok(db.prepare_cached(LAST)?.query_row([], |row| row.get(0))?)
}

fn read(
    db: &Db,
    statement: &str,
    values: &[(&str, &dyn ToSql)],
) -> Result<Vec<Waiting>, StoreError> {
    let mut statement = db.prepare_cached(statement)?;
    let rows = statement.query_map(values, waiting)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn waiting(row: &Row<'_>) -> rusqlite::Result<Waiting> {
    let priority: Option<i64> = row.get(3)?;
    Ok(Waiting {
        destination: Destination {
            channel: row.get(0)?,
            chat_id: row.get(1)?,
        },
        due_at: Timestamp::from_unix_seconds(row.get(2)?),
        priority: priority
            .and_then(Priority::from_rank)
            .unwrap_or(Priority::Low),
    })
}
