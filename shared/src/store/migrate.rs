//! Brings the file to the schema of this program: once, under a lock, in one transaction a step.

use super::error::StoreError;
use super::{adopt, open};
use crate::platform::lock::LockFile;
use rusqlite::{Connection, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One script per schema version; the last one's number is [`SCHEMA`].
const STEPS: [&str; 2] = [
    include_str!("../../sql/0001_outbox.sql"),
    include_str!("../../sql/0002_sources.sql"),
];

/// The schema that this program reads and writes (`PRAGMA user_version`).
pub const SCHEMA: i64 = 2;

/// Marks a file as ours (`PRAGMA application_id`): "watc".
const APPLICATION: i32 = 0x7761_7463;

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
    let article = whose(db, path)? == Whose::Articles;
    let found = version(db)?;
    if found > SCHEMA {
        return Err(newer(path, found));
    }
    if found == SCHEMA {
        return write_ahead(db);
    }
    prepare_file(db)?;
    // References of the article's other tables to its outbox lead to ours, under the same ids.
    db.pragma_update(None, "foreign_keys", false)?;
    for (step, script) in (1..).zip(STEPS) {
        if step > found {
            let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let adopted = article && step == 1;
            if adopted {
                adopt::set_aside(&transaction, &STEPS)?;
            }
            transaction.execute_batch(script)?;
            if adopted {
                adopt::take_in(&transaction)?;
            }
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", step)?;
            transaction.commit()?;
        }
    }
    Ok(())
}

/// Who made a file, as far as we may touch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Ours,
    Articles,
    Nobodys,
}

/// # Errors
/// `NotOurs` for a file of some other program.
fn whose(db: &Connection, path: &Path) -> Result<Whose, StoreError> {
    let not_ours = |why: &str| StoreError::NotOurs {
        path: path.to_owned(),
        why: why.to_owned(),
    };
    if application(db)? == APPLICATION {
        return Ok(Whose::Ours);
    }
    if version(db)? != 0 {
        return Err(not_ours("it has a schema version and not our mark"));
    }
    let things: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if things == 0 {
        return Ok(Whose::Nobodys);
    }
    if !adopt::is_the_articles(db)? {
        return Err(not_ours("it has tables, and no outbox to adopt"));
    }
    match adopt::in_the_way(db, &STEPS)? {
        None => Ok(Whose::Articles),
        Some(name) => Err(not_ours(&format!(
            "beside its outbox it has a `{name}` of its own, a name that watchalert needs"
        ))),
    }
}

/// What must stand before the first table: page reclaim in steps, and WAL.
fn prepare_file(db: &Connection) -> Result<(), StoreError> {
    let vacuum: i64 = db.pragma_query_value(None, "auto_vacuum", |row| row.get(0))?;
    if vacuum != 2 {
        db.execute_batch("PRAGMA auto_vacuum=INCREMENTAL; VACUUM;")?;
    }
    write_ahead(db)
}

/// SQLite answers with the mode that it stays in, and calls that no error, when the disk fails just
/// then. With any other mode whoever reads would keep the writers out.
fn write_ahead(db: &Connection) -> Result<(), StoreError> {
    let mut mode: String = db.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if mode != "wal" {
        mode = db.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    }
    if mode == "wal" {
        return Ok(());
    }
    Err(StoreError::Disk {
        path: PathBuf::new(),
        detail: format!("it cannot be given a write-ahead log, its journal mode stays {mode}"),
    })
}

fn application(db: &Connection) -> Result<i32, StoreError> {
    Ok(db.pragma_query_value(None, "application_id", |row| row.get(0))?)
}

pub(super) fn version(db: &Connection) -> Result<i64, StoreError> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// For connections that do not migrate: the schema must be exactly ours.
pub(super) fn require_current(db: &Connection, path: &Path) -> Result<(), StoreError> {
    check_current(db, path).map_err(|error| error.at(path))
}

fn check_current(db: &Connection, path: &Path) -> Result<(), StoreError> {
    whose(db, path)?;
    match version(db)? {
        SCHEMA => Ok(()),
        found if found > SCHEMA => Err(newer(path, found)),
        found => Err(StoreError::Older {
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
