//! The small pool of read-only connections, for everything that only looks.

use super::error::StoreError;
use super::{Db, migrate, open};
use r2d2::{ManageConnection, Pool};
use scheduled_thread_pool::ScheduledThreadPool;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Two: one for the loop, one for whoever asks beside it.
const CONNECTIONS: u32 = 2;
/// A read waits this long for a connection, no longer.
const CHECKOUT: Duration = Duration::from_secs(10);

/// Opens read-only connections to one file. Unlike `r2d2_sqlite`'s it never creates the file, and
/// it takes back no connection with an open transaction.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
}

impl ManageConnection for Readers {
    type Connection = Db;
    type Error = StoreError;

    fn connect(&self) -> Result<Db, StoreError> {
        let db = open::read_only(&self.path)?;
        migrate::require_current(&db, &self.path)?;
        Ok(db)
    }

    fn is_valid(&self, db: &mut Db) -> Result<(), StoreError> {
        migrate::require_current(db, &self.path)
    }

    fn has_broken(&self, db: &mut Db) -> bool {
        !db.is_autocommit()
    }
}

/// No connection is opened before the first read.
pub(super) fn readers(path: &Path) -> Pool<Readers> {
    Pool::builder()
        .max_size(CONNECTIONS)
        .min_idle(Some(0))
        .connection_timeout(CHECKOUT)
        .error_handler(Box::new(r2d2::NopErrorHandler))
        .thread_pool(Arc::new(ScheduledThreadPool::new(1)))
        .build_unchecked(Readers {
            path: path.to_owned(),
        })
}
