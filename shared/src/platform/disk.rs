//! How much room a disk has, and room that is taken beforehand.

use rustix::fs::{FallocateFlags, fallocate, statvfs};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Bytes that this user may still write where `path` lies, or would lie.
pub fn free(path: &Path) -> io::Result<u64> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let found = statvfs(folder.unwrap_or(Path::new(".")))?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Makes `path` a file that holds `bytes` of its disk. One that is there already is kept, when it is
/// whole.
pub fn reserve(path: &Path, bytes: u64) -> io::Result<()> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    if file.metadata()?.len() >= bytes {
        return Ok(());
    }
    fallocate(&file, FallocateFlags::empty(), 0, bytes).map_err(|error| {
        // Half of it helps nobody.
        drop(fs::remove_file(path));
        io::Error::from(error)
    })
}

/// Gives that room back. Whether there was any.
pub fn give_back(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_is_held_and_given_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.db.ballast");
        assert!(free(&path).expect("a disk") > 0);
        for _ in 0..2 {
            reserve(&path, 64 * 1024).expect("reserved");
            assert_eq!(fs::metadata(&path).expect("a file").len(), 64 * 1024);
        }
        let given = [give_back(&path).ok(), give_back(&path).ok()];
        assert_eq!(given, [Some(true), Some(false)]);
    }
}
