//! Brings the file to the schema of this program: once, under a lock, in one transaction a step.

use super::error::StoreError;
use super::open;
use crate::platform::lock::LockFile;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use std::path::Path;
use std::time::Duration;

/// One script per schema version; the last one's number is [`SCHEMA`].
const STEPS: [&str; 2] = [
    include_str!("../../sql/0001_outbox.sql"),
    include_str!("../../sql/0002_sources.sql"),
];

/// The schema that this program reads and writes (`PRAGMA user_version`).
pub const SCHEMA: i64 = 2;

const _: () = assert!(STEPS.len() == 2 && SCHEMA == 2, "a step without its number");

/// How often, once a millisecond, the lock is asked for: longer than any migration so far.
const LOCK_TRIES: u32 = 30_000;

/// Creates the file when there is none, adopts one made by the article's code, and runs the
/// steps that are missing. Any number of processes may do this at once.
pub(super) fn migrate(path: &Path) -> Result<(), StoreError> {
    // Switching to WAL and creating tables race even with a busy time-out; a file lock does not.
    let lock = LockFile::open(&open::beside(path, ".lock"))
        .map_err(|error| StoreError::cannot_open(path, &error))?;
    let turn = lock
        .wait(LOCK_TRIES)
        .map_err(|error| StoreError::cannot_open(path, &error))?;
    let Some(_turn) = turn else {
        return Err(StoreError::Locked {
            path: path.to_owned(),
            waited: Duration::from_millis(u64::from(LOCK_TRIES)),
        });
    };
    open::create(path)?;
    let mut db = open::read_write(path)?;
    bring_up_to_date(&mut db, path).map_err(|error| error.at(path))
}

fn bring_up_to_date(db: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let found = version(db)?;
    if found > SCHEMA {
        return Err(newer(path, found));
    }
    if found == SCHEMA {
        return Ok(());
    }
    prepare_file(db)?;
    for (step, script) in (1..).zip(STEPS) {
        if step > found {
            let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let adopted = step == 1 && set_the_articles_table_aside(&transaction)?;
            transaction.execute_batch(script)?;
            if adopted {
                adopt(&transaction)?;
            }
            transaction.pragma_update(None, "user_version", step)?;
            transaction.commit()?;
        }
    }
    Ok(())
}

/// What must stand before the first table: page reclaim in steps, and WAL.
fn prepare_file(db: &Connection) -> Result<(), StoreError> {
    let vacuum: i64 = db.pragma_query_value(None, "auto_vacuum", |row| row.get(0))?;
    if vacuum != 2 {
        db.execute_batch("PRAGMA auto_vacuum=INCREMENTAL; VACUUM;")?;
    }
    db.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    Ok(())
}

/// A file made by the article's code has an `outbox` without our states.
fn set_the_articles_table_aside(db: &Connection) -> Result<bool, StoreError> {
    let found = db
        .query_row(
            "SELECT 1 FROM sqlite_schema WHERE type='table' AND name='outbox'",
            [],
            |_| Ok(()),
        )
        .optional()?;
    if found.is_some() {
        db.execute_batch("ALTER TABLE outbox RENAME TO article_outbox")?;
    }
    Ok(found.is_some())
}

/// Its rows become ready under their own ids. A payload that is no JSON object is kept as the
/// text of one, a chat that no destination can have as 'x' and its bytes: it was accepted once, so
/// it is owed. Its `attempts` are not ours to continue.
fn adopt(db: &Connection) -> Result<(), StoreError> {
    const ADOPT: &str = "\
INSERT INTO outbox(id,chat_id,payload,next_attempt,created_at)
SELECT id, CASE WHEN chat GLOB '*[^ -~]*' OR length(chat)<>length(CAST(chat AS BLOB))
                THEN 'x'||hex(chat) ELSE chat END,
       CASE WHEN json_valid(CAST(payload AS TEXT)) AND json_type(CAST(payload AS TEXT))='object'
            THEN CAST(payload AS TEXT)
            ELSE json_object('text',coalesce(CAST(payload AS TEXT),'')) END,
       CAST(coalesce(next_attempt,0) AS REAL), CAST(coalesce(created_at,0) AS REAL)
  FROM (SELECT *,coalesce(CAST(chat_id AS TEXT),'') AS chat FROM article_outbox) ORDER BY id";
    db.execute(ADOPT, [])?;
    let lost: i64 = db.query_row(
        "SELECT (SELECT count(*) FROM article_outbox)-(SELECT count(*) FROM outbox)",
        [],
        |row| row.get(0),
    )?;
    if lost != 0 {
        return Err(StoreError::Bug(format!(
            "adopting the old outbox would lose {lost} rows"
        )));
    }
    db.execute_batch("DROP TABLE article_outbox")?;
    Ok(())
}

pub(super) fn version(db: &Connection) -> Result<i64, StoreError> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// For connections that do not migrate: the schema must be exactly ours.
pub(super) fn require_current(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let found = version(db).map_err(|error| error.at(path))?;
    match found {
        SCHEMA => Ok(()),
        newer_one if newer_one > SCHEMA => Err(newer(path, found)),
        _ => Err(StoreError::Older {
            path: path.to_owned(),
            found,
            known: SCHEMA,
        }),
    }
}

fn newer(path: &Path, found: i64) -> StoreError {
    StoreError::Newer {
        path: path.to_owned(),
        found,
        known: SCHEMA,
    }
}
