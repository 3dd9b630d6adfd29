//! The database: the only place where the two programs meet, and the only place that knows SQL.
//!
//! Callers compose named functions of the submodules into one job:
//! `store.write(|db| outbox::claim(db, …)).await`. Nothing inside a job waits for a network.

pub mod absent;
mod adopt;
pub mod alarms;
pub mod backup;
pub mod beats;
pub mod edits;
mod error;
pub mod explain;
pub mod feeds;
pub mod gate;
pub mod health;
pub mod heartbeats;
pub mod invariants;
pub mod items;
pub mod journal;
mod known;
pub mod metrics;
mod migrate;
pub mod models;
mod moves;
mod open;
pub mod outbox;
mod pool;
pub mod posts;
pub mod room;
pub mod silences;
pub mod status;
pub mod stories;
pub mod timeline;
pub mod verify;
pub mod watch;
mod writer;

pub use error::{Remedy, StoreError, mebibytes};
pub use migrate::SCHEMA;
pub use open::{OLDEST_SQLITE, beside};
pub use writer::PATIENCE;

use pool::Readers;
use r2d2::Pool;
use std::path::{Path, PathBuf};
use writer::Writer;

/// A connection, seen from the programs: something to hand to the functions of this module.
pub type Db = rusqlite::Connection;

/// The open database: one writer thread, a few readers.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    writer: Writer,
    readers: Pool<Readers>,
}

impl Store {
    /// Creates, adopts or upgrades the file as needed, then opens it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        migrate::migrate(path)?;
        Self::open_existing(path)
    }

    /// Opens the file as it is: it must be there and have this program's schema.
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            path: path.to_owned(),
            writer: Writer::start(path)?,
            readers: pool::readers(path),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` in a transaction and returns after its COMMIT; see the writer thread for how.
    /// `work` may run twice, so it must write nothing but the database.
    pub async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Db) -> Result<T, StoreError> + Send + 'static,
    {
        let result = self.writer.write(work).await;
        result.map_err(|error| error.at(&self.path))
    }

    /// Runs `work` on a read-only connection, off the runtime's thread.
    pub async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Db) -> Result<T, StoreError> + Send + 'static,
    {
        let readers = self.readers.clone();
        let path = self.path.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let db = pool::checkout(&readers, &path)?;
            work(&db).map_err(|error| error.at(&path))
        });
        reading
            .await
            .unwrap_or_else(|panic| Err(StoreError::Bug(format!("a read: {panic}"))))
    }

    /// A number that changes when, and only when, another process has committed. Answering it
    /// also shows that the writer thread is alive.
    pub async fn data_version(&self) -> Result<i64, StoreError> {
        self.writer
            .look(|db| Ok(db.pragma_query_value(None, "data_version", |row| row.get(0))?))
            .await
    }

    /// Gives pages that nothing is in back to the disk, two megabytes at a time. Returns how many
    /// pages are left that could be.
    pub async fn shrink(&self) -> Result<i64, StoreError> {
        self.writer
            .look(|db| {
                db.execute_batch("PRAGMA incremental_vacuum(512)")?;
                Ok(db.pragma_query_value(None, "freelist_count", |row| row.get(0))?)
            })
            .await
    }

    /// Bytes of the file itself.
    pub fn file_size(&self) -> u64 {
        self.path.metadata().map_or(0, |found| found.len())
    }

    /// Bytes of the write-ahead log. Large: somebody has had a transaction open for a while.
    pub fn log_size(&self) -> u64 {
        beside(&self.path, "-wal")
            .metadata()
            .map_or(0, |found| found.len())
    }

    /// Moves what the write-ahead log holds into the file, as far as nobody is reading it.
    pub async fn checkpoint(&self) -> Result<(), StoreError> {
        self.writer
            .look(|db| Ok(db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?))
            .await
    }
}

/// Opens the file read-only, for commands that only look: nothing in it is changed. SQLite still
/// reads its `-wal` and `-shm`, and makes them when they are not there: without them, a user who may
/// not write the folder, or a disk that is read-only, is refused.
#[derive(Debug)]
pub struct Viewer {
    db: Db,
    path: PathBuf,
}

impl Viewer {
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let db = open::read_only(path)?;
        migrate::require_current(&db, path)?;
        Ok(Self {
            db,
            path: path.to_owned(),
        })
    }

    pub fn read<T>(
        &self,
        work: impl FnOnce(&Db) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        work(&self.db).map_err(|error| error.at(&self.path))
    }
}
