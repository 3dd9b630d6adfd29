//! Locks between processes: exclusive locks on files that are never unlinked.
//!
//! Never on the database file itself: closing any descriptor of it drops SQLite's own locks.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A file that processes lock in turn. The kernel frees the lock when its holder dies.
#[derive(Debug)]
pub struct LockFile {
    file: File,
}

/// Held until dropped.
#[derive(Debug)]
pub struct Turn<'a> {
    file: &'a File,
}

/// Held until dropped, together with its file.
#[derive(Debug)]
pub struct Held {
    _file: File,
}

impl LockFile {
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        Ok(Self {
            file: options.mode(0o660).open(path)?,
        })
    }

    /// Waits until the lock is free.
    pub fn wait(&self) -> io::Result<Turn<'_>> {
        self.file.lock()?;
        Ok(Turn { file: &self.file })
    }

    /// Takes the lock if it is free; `None` when another process holds it.
    pub fn take(self) -> io::Result<Option<Held>> {
        match self.file.try_lock() {
            Ok(()) => Ok(Some(Held { _file: self.file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // An error here means that the descriptor is gone, and the lock with it.
        drop(self.file.unlock());
    }
}
