//! Room on the disk under the database: what intake leaves to deliveries, and what is taken
//! beforehand, for when the disk is full all the same.

use super::{StoreError, beside};
use crate::platform::disk;
use std::io;
use std::path::Path;

/// Two rounds of the write-ahead log, which is begun anew at 4 MB: receipts of what was sent, a
/// checkpoint and a prune go through when nothing else does.
const BALLAST: u64 = 8 * 1024 * 1024;

/// Refuses to take in anything new where less than `least` bytes are left: what is there already needs
/// them to be delivered. A disk that cannot be asked is not refused.
///
/// # Errors
/// `Scarce`.
pub fn require(database: &Path, least: u64) -> Result<(), StoreError> {
    match disk::free(database) {
        Ok(free) if free < least => Err(StoreError::Scarce {
            path: database.to_owned(),
            free,
            least,
        }),
        _ => Ok(()),
    }
}

/// Bytes that are left; `None` when the disk does not say.
pub fn left(database: &Path) -> Option<u64> {
    disk::free(database).ok()
}

/// Takes the ballast, when that leaves `least` bytes free. Whether it is there; a file system that
/// cannot keep room for a file has none.
pub fn take_ballast(database: &Path, least: u64) -> io::Result<bool> {
    let path = beside(database, ".ballast");
    if path.exists() {
        return Ok(true);
    }
    if disk::free(database)? < BALLAST + least {
        return Ok(false);
    }
    match disk::reserve(&path, BALLAST) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(false),
        Err(error) => Err(error),
    }
}

/// Throws the ballast off: the disk is full. Whether there was any.
pub fn drop_ballast(database: &Path) -> io::Result<bool> {
    disk::give_back(&beside(database, ".ballast"))
}
