//! A snapshot of the file while both programs run, and whether it would do.

use super::invariants::{self, Violation};
use super::{StoreError, migrate, open, verify};
use crate::model::Timestamp;
use rusqlite::named_params;
use std::fs::File;
use std::path::Path;

/// What was found in a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub bytes: u64,
    pub audit: verify::Audit,
    /// Empty: all invariants hold.
    pub violations: Vec<Violation>,
}

/// Writes one moment of the database at `from` to `to`, which must not be there yet, to the disk.
/// Readers and writers are not kept waiting.
///
/// # Errors
/// Also when SQLite finds the snapshot damaged; it is left there to look at.
pub fn write(from: &Path, to: &Path, now: Timestamp) -> Result<Snapshot, StoreError> {
    if to.try_exists().unwrap_or(true) {
        return Err(StoreError::CannotOpen {
            path: to.to_owned(),
            why: "there is something already; a snapshot replaces nothing".to_owned(),
        });
    }
    let source = open::read_only(from)?;
    migrate::require_current(&source, from)?;
    let name = to.to_str().ok_or_else(|| StoreError::CannotOpen {
        path: to.to_owned(),
        why: "its name is not text".to_owned(),
    })?;
    source
        .execute("VACUUM INTO :to", named_params! {":to": name})
        .map_err(|error| StoreError::from_sqlite(&error, to))?;
    settle(to)?;
    check(to, now)
}

/// On the disk, and its name too.
fn settle(path: &Path) -> Result<(), StoreError> {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = whole.parent().unwrap_or(&whole);
    for path in [&*whole, folder] {
        File::open(path)
            .and_then(|file| file.sync_all())
            .map_err(|error| StoreError::cannot_open(path, &error))?;
    }
    Ok(())
}

/// Reads all of a snapshot: every page, the books, the invariants.
pub fn check(path: &Path, now: Timestamp) -> Result<Snapshot, StoreError> {
    let named = |error: rusqlite::Error| StoreError::from_sqlite(&error, path);
    let db = open::read_only(path)?;
    migrate::require_current(&db, path)?;
    let sound: String = db
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(named)?;
    if sound != "ok" {
        return Err(StoreError::CannotOpen {
            path: path.to_owned(),
            why: format!("SQLite finds it damaged: {sound}"),
        });
    }
    let bytes = path.metadata().map_or(0, |found| found.len());
    Ok(Snapshot {
        bytes,
        audit: verify::audit(&db)?,
        violations: invariants::check(&db, now)?,
    })
}
