//! Locks between processes: exclusive locks on files that are never unlinked.
//!
//! Never on the database file itself: closing any descriptor of it drops SQLite's own locks.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

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
    /// Creates the file when there is none, for the group too: whoever of it comes first must not
    /// lock the others out. A umask would.
    pub fn open(path: &Path) -> io::Result<Self> {
        let existing = OpenOptions::new().read(true).write(true).open(path);
        let file = match existing {
            Err(error) if error.kind() == io::ErrorKind::NotFound => create(path)?,
            existing => existing?,
        };
        Ok(Self { file })
    }

    /// Asks for the lock each millisecond, `tries` times; `None` when another process kept it. A
    /// holder that was stopped (Ctrl-Z, a dead disk) must not stop everybody else.
    #[expect(
        clippy::disallowed_methods,
        reason = "waiting for another process's lock has no other form"
    )]
    pub fn wait(&self, tries: u32) -> io::Result<Option<Turn<'_>>> {
        for _ in 0..tries {
            match self.file.try_lock() {
                Ok(()) => return Ok(Some(Turn { file: &self.file })),
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
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

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.mode(0o660).open(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o660))?;
    Ok(file)
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // An error here means that the descriptor is gone, and the lock with it.
        drop(self.file.unlock());
    }
}

/// The process that holds the lock, by what the kernel lists; `None` when nobody does. Unlike
/// trying the lock, looking disturbs nobody who is about to take it.
pub fn holder(path: &Path) -> Option<u32> {
    let inode = path.metadata().ok()?.ino().to_string();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| holder_in(line, &inode))
}

/// Whether somebody holds the lock. The kernel does not list a holder in another container, so an
/// answer "nobody" is made sure of by trying it, for a moment.
pub fn is_held(path: &Path) -> bool {
    if holder(path).is_some() {
        return true;
    }
    let Ok(file) = OpenOptions::new().read(true).write(true).open(path) else {
        return false;
    };
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// `1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF`
fn holder_in(line: &str, inode: &str) -> Option<u32> {
    let mut fields = line.split_whitespace().skip(1);
    if fields.next() != Some("FLOCK") {
        return None;
    }
    let pid = fields.nth(2)?;
    let file = fields.next()?;
    (file.rsplit(':').next() == Some(inode))
        .then(|| pid.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_by_one_and_seen_by_all() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("lock");
        let open = || LockFile::open(&path).expect("opened");
        assert_eq!(holder(&path), None);
        let held = open().take().expect("locked");
        assert!(held.is_some() && is_held(&path));
        assert!(open().take().expect("asked").is_none());
        assert_eq!(holder(&path), Some(std::process::id()));
        drop(held);
        assert!(!is_held(&path) && !is_held(&dir.path().join("none")));
        assert!(open().take().expect("locked").is_some());
    }

    #[test]
    fn other_locks_are_not_taken_for_ours() {
        let line = "3: POSIX  ADVISORY  WRITE 4711 fe:00:1234 0 EOF";
        assert_eq!(holder_in(line, "1234"), None);
        let line = "3: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF";
        assert_eq!(holder_in(line, "1234"), Some(4711));
        assert_eq!(holder_in(line, "234"), None);
    }
}
