//! Opens the file: creates it once, sets what every connection must have, and refuses what it
//! cannot trust, each with its own sentence.

use super::error::StoreError;
use crate::platform::mount;
use rusqlite::{Connection, OpenFlags};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Before it, two connections could corrupt the file when one checkpointed while the other wrote
/// (<https://sqlite.org/wal.html>, "the WAL-reset bug"; STACK: fixed in 3.51.3).
pub const OLDEST_SQLITE: i32 = 3_051_003;

/// How long one statement waits for a lock before it gives the word back to its caller. The
/// writer then lets others take their turn and asks again.
pub(super) const BUSY_TRIES: u32 = 250;

/// Every statement of the writer is prepared once.
const CACHED_STATEMENTS: usize = 64;

/// `state.db` → `state.db.lock`: the files that stand beside the database.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Creates an empty file, writable by its group too, when there is none. SQLite's own -wal and
/// -shm inherit the mode; a umask alone would not give it.
pub(super) fn create(path: &Path) -> Result<(), StoreError> {
    let created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o660)
        .open(path)
        .and_then(|file| file.set_permissions(PermissionsExt::from_mode(0o660)));
    match created {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(StoreError::cannot_open(path, &error))
        }
        _ => Ok(()),
    }
}

/// A connection for the writer thread. The file must exist.
pub(super) fn read_write(path: &Path) -> Result<Connection, StoreError> {
    refuse_what_cannot_be_trusted(path)?;
    let db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    db.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    db.execute_batch(
        "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA journal_size_limit=16777216;",
    )
    .map_err(|error| StoreError::from_sqlite(&error, path))?;
    Ok(db)
}

/// A connection for the pool, which only reads.
pub(super) fn read_only(path: &Path) -> Result<Connection, StoreError> {
    refuse_what_cannot_be_trusted(path)?;
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let named = |error: rusqlite::Error| StoreError::from_sqlite(&error, path);
    let mut db = Connection::open_with_flags(path, flags).map_err(named)?;
    db.busy_handler(Some(wait_a_millisecond)).map_err(named)?;
    db.execute_batch(
        "PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;",
    )
    .map_err(named)?;
    Ok(db)
}

/// SQLite's stock handler backs off up to 100 ms and so starves against a process in a tight
/// loop (measured: 6.09 s); a constant millisecond does not (0.557 s).
#[expect(
    clippy::disallowed_methods,
    reason = "waiting for another process's lock has no other form"
)]
fn wait_a_millisecond(tries: i32) -> bool {
    std::thread::sleep(Duration::from_millis(1));
    tries.unsigned_abs() < BUSY_TRIES
}

fn refuse_what_cannot_be_trusted(path: &Path) -> Result<(), StoreError> {
    match path.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(StoreError::Missing(path.to_owned()));
        }
        Err(error) => return Err(StoreError::cannot_open(path, &error)),
        Ok(found) if !found.is_file() => {
            return Err(StoreError::CannotOpen {
                path: path.to_owned(),
                why: "it is not a regular file".to_owned(),
            });
        }
        Ok(_) => {}
    }
    if let Some(kind) = mount::network_file_system(path) {
        return Err(StoreError::NetworkFileSystem {
            path: path.to_owned(),
            kind,
        });
    }
    if rusqlite::version_number() < OLDEST_SQLITE {
        return Err(StoreError::Bug(format!(
            "linked with SQLite {}, which can corrupt its file",
            rusqlite::version()
        )));
    }
    Ok(())
}
