//! The tick's heartbeat: a row, or, while the database is held, a file beside it.

use super::{Db, StoreError, beside};
use crate::model::Timestamp;
use rusqlite::{OptionalExtension, named_params};
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// When ticks happened; `None` for what never did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heartbeat {
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
}

const TICK: &str = "tick";

pub fn tick_started(db: &Db, now: Timestamp) -> Result<(), StoreError> {
    const STARTED: &str = "\
INSERT INTO heartbeat(name,started_at) VALUES(:name,:now)
ON CONFLICT(name) DO UPDATE SET started_at=:now";
    // What did not say that it ended before the next began.
    const UNFINISHED: &str = "\
INSERT INTO tally(name,channel,label)
SELECT 'tick','','unfinished' FROM heartbeat WHERE name=:name AND started_at>coalesce(finished_at,0)
    ON CONFLICT DO UPDATE SET n=n+1";
    db.prepare_cached(UNFINISHED)?
        .execute(named_params! {":name": TICK})?;
    db.prepare_cached(STARTED)?
        .execute(named_params! {":name": TICK, ":now": now.unix_seconds()})?;
    Ok(())
}

/// `report` is the tick's one-line summary.
pub fn tick_finished(db: &Db, report: &str, now: Timestamp) -> Result<(), StoreError> {
    const FINISHED: &str = "\
INSERT INTO heartbeat(name,started_at,finished_at,report) VALUES(:name,:now,:now,:report)
ON CONFLICT(name) DO UPDATE SET finished_at=:now,report=:report";
    const TOOK: &str = "\
INSERT INTO tally(name,channel,label,seconds)
SELECT 'tick','','finished',max(finished_at-coalesce(started_at,finished_at),0) FROM heartbeat WHERE name=:name
    ON CONFLICT DO UPDATE SET n=n+1,seconds=seconds+excluded.seconds";
    db.prepare_cached(FINISHED)?
        .execute(named_params! {":name": TICK, ":now": now.unix_seconds(), ":report": report})?;
    db.prepare_cached(TOOK)?
        .execute(named_params! {":name": TICK})?;
    Ok(())
}

/// The row alone; see [`read`] for the truth.
pub fn tick(db: &Db) -> Result<Heartbeat, StoreError> {
    const READ: &str = "SELECT started_at,finished_at FROM heartbeat WHERE name=:name";
    let found = db
        .prepare_cached(READ)?
        .query_row(named_params! {":name": TICK}, |row| {
            let (started, finished): (Option<f64>, Option<f64>) = (row.get(0)?, row.get(1)?);
            Ok(Heartbeat {
                started_at: started.map(Timestamp::from_unix_seconds),
                finished_at: finished.map(Timestamp::from_unix_seconds),
            })
        })
        .optional()?;
    Ok(found.unwrap_or_default())
}

/// A file further ahead than this was written under a wrong clock.
const AHEAD: Duration = Duration::from_mins(1);

/// The row and the file together: the later word counts, unless no clock has come that far.
pub fn read(db: &Db, database: &Path, now: Timestamp) -> Result<Heartbeat, StoreError> {
    let mut heartbeat = tick(db)?;
    let file = file(database).filter(|time| *time <= now + AHEAD);
    heartbeat.started_at = heartbeat.started_at.max(file);
    Ok(heartbeat)
}

/// Writes the file that stands in for the row while the database cannot be written.
pub fn write_file(database: &Path, now: Timestamp) -> io::Result<()> {
    let (path, fresh) = (
        beside(database, ".heartbeat"),
        beside(database, ".heartbeat.new"),
    );
    fs::write(&fresh, format!("{}\n", now.unix_seconds()))?;
    fs::rename(fresh, path)
}

/// Removes the file once a row says more.
pub fn remove_file(database: &Path) -> io::Result<()> {
    match fs::remove_file(beside(database, ".heartbeat")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What the file says; `None` when there is none that can be read.
fn file(database: &Path) -> Option<Timestamp> {
    let text = fs::read_to_string(beside(database, ".heartbeat")).ok()?;
    text.trim().parse().ok().map(Timestamp::from_unix_seconds)
}
