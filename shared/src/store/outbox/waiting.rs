//! Says which destinations have something waiting, and when: the scheduler's eyes.

use crate::model::{Destination, Timestamp};
use crate::store::{Db, StoreError};
use rusqlite::{Row, named_params};

/// A destination and the earliest moment at which it has something due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub destination: Destination,
    pub due_at: Timestamp,
}

/// Rows that name no channel get the default one; 100 at a time, `true` when there may be more.
pub fn address(db: &Db, default_channel: &str, now: Timestamp) -> Result<bool, StoreError> {
    const ADDRESS: &str = "\
UPDATE outbox SET channel=:default,updated_at=:now
 WHERE id IN(SELECT id FROM outbox WHERE state='ready' AND channel='' LIMIT 100)";
    let changed = db
        .prepare_cached(ADDRESS)?
        .execute(named_params! {":default": default_channel, ":now": now.unix_seconds()})?;
    Ok(changed == 100)
}

/// Everything that waits: at start, and each minute in case something was missed.
pub fn all(db: &Db) -> Result<Vec<Waiting>, StoreError> {
    const ALL: &str = "\
SELECT channel,chat_id,min(due_at) FROM outbox WHERE state='ready' GROUP BY channel,chat_id";
    read(db, ALL, &[])
}

/// What is new since the row `after`, and what became due since `since`: after each wake.
pub fn fresh(
    db: &Db,
    after: i64,
    since: Timestamp,
    now: Timestamp,
) -> Result<Vec<Waiting>, StoreError> {
    const NEW: &str = "\
SELECT channel,chat_id,min(due_at) FROM outbox WHERE id>:after AND state='ready' GROUP BY channel,chat_id";
    const DUE: &str = "\
SELECT channel,chat_id,min(due_at) FROM outbox INDEXED BY outbox_due
 WHERE state='ready' AND due_at>:since AND due_at<=:now GROUP BY channel,chat_id";
    let mut found = read(db, NEW, &[(":after", &after)])?;
    found.extend(read(
        db,
        DUE,
        &[
            (":since", &since.unix_seconds()),
            (":now", &now.unix_seconds()),
        ],
    )?);
    Ok(found)
}

/// The last id ever given, so that [`fresh`] can go on from there.
pub fn high_water(db: &Db) -> Result<i64, StoreError> {
    const LAST: &str = "SELECT coalesce(max(seq),0) FROM sqlite_sequence WHERE name='outbox'";
    Ok(db.prepare_cached(LAST)?.query_row([], |row| row.get(0))?)
}

fn read(
    db: &Db,
    statement: &str,
    values: &[(&str, &dyn rusqlite::ToSql)],
) -> Result<Vec<Waiting>, StoreError> {
    let mut statement = db.prepare_cached(statement)?;
    let rows = statement.query_map(values, waiting)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn waiting(row: &Row<'_>) -> rusqlite::Result<Waiting> {
    Ok(Waiting {
        destination: Destination {
            channel: row.get(0)?,
            chat_id: row.get(1)?,
        },
        due_at: Timestamp::from_unix_seconds(row.get(2)?),
    })
}
