//! The small pool of read-only connections, for everything that only looks.

use super::error::StoreError;
use super::{Db, migrate, open};
use r2d2::{ManageConnection, Pool, PooledConnection};
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
    readers_within(path, CHECKOUT)
}

fn readers_within(path: &Path, checkout: Duration) -> Pool<Readers> {
    Pool::builder()
        .max_size(CONNECTIONS)
        .min_idle(Some(0))
        .connection_timeout(checkout)
        .error_handler(Box::new(r2d2::NopErrorHandler))
        .thread_pool(Arc::new(ScheduledThreadPool::new(1)))
        .build_unchecked(Readers {
            path: path.to_owned(),
        })
}

/// A connection of the pool. The pool knows only that it waited in vain; one more, opened here,
/// says why.
pub(super) fn checkout(
    readers: &Pool<Readers>,
    path: &Path,
) -> Result<PooledConnection<Readers>, StoreError> {
    readers.get().map_err(|_waited| {
        let manager = Readers {
            path: path.to_owned(),
        };
        match manager.connect() {
            Err(why) => why,
            Ok(_) => StoreError::Locked {
                path: path.to_owned(),
                waited: readers.connection_timeout(),
            },
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Remedy, migrate};

    const SOON: Duration = Duration::from_millis(500);

    #[test]
    fn readers_that_are_all_busy_are_waited_for_and_a_lost_file_is_named() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("state.db");
        migrate::migrate(&path).expect("a fresh file");
        let readers = readers_within(&path, SOON);
        let held: Vec<_> = (0..CONNECTIONS)
            .map(|_| checkout(&readers, &path).expect("one of the pool"))
            .collect();
        let busy = checkout(&readers, &path).expect_err("all are held");
        assert!(
            matches!(busy, StoreError::Locked { waited: SOON, .. }),
            "{busy}"
        );
        assert_eq!(busy.remedy(), Remedy::Wait);
        drop(held);
        checkout(&readers, &path).expect("free again");

        std::fs::remove_file(&path).expect("removed");
        let lost = checkout(&readers_within(&path, SOON), &path).expect_err("no file");
        assert_eq!(lost, StoreError::Missing(path));
    }
}
