//! What can go wrong with the database, as one clear sentence each.

use rusqlite::ErrorCode;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Cloneable, because one failed commit answers every job that was in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("there is no database at {}: run `watchalert-ingest` once, or correct state.path", .0.display())]
    Missing(PathBuf),
    #[error("cannot open the database {}: {why}", .path.display())]
    CannotOpen { path: PathBuf, why: String },
    #[error("{} lies on a network file system ({kind}), where SQLite's locks cannot be trusted: move state.path to a local disk", .path.display())]
    NetworkFileSystem { path: PathBuf, kind: String },
    #[error("{} is not a SQLite database: state.path must name watchalert's own file", .0.display())]
    NotADatabase(PathBuf),
    #[error("{} is a database of some other program ({why}): state.path must name watchalert's own file; this one was left as it is", .path.display())]
    NotOurs { path: PathBuf, why: String },
    #[error("the database {} is damaged ({detail}): stop both programs, keep a copy of the file, then restore a backup or rebuild it with `sqlite3 FILE .recover`", .path.display())]
    Corrupt { path: PathBuf, detail: String },
    #[error("the database {} has schema {found}, newer than the {known} of this program: install the newer watchalert again", .path.display())]
    Newer {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error("the database {} has schema {found}, older than the {known} of this program: run `watchalert-sender migrate`", .path.display())]
    Older {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error("the database {} was held by another process for {waited:?}: a `sqlite3` prompt with an open transaction, perhaps", .path.display())]
    Locked { path: PathBuf, waited: Duration },
    #[error("no room left for the database {}: free some space on its disk; nothing was lost, work goes on by itself then", .0.display())]
    Full(PathBuf),
    #[error("the disk under the database {} has {} left, less than the {} of state.min_free: nothing new is taken in until there is room; what is owed goes on being delivered", .path.display(), mebibytes(*.free), mebibytes(*.least))]
    Scarce {
        path: PathBuf,
        free: u64,
        least: u64,
    },
    #[error("the disk under the database {} failed: {detail}", .path.display())]
    Disk { path: PathBuf, detail: String },
    #[error("the database {} cannot be written: give this user write permission on the file and its folder", .0.display())]
    ReadOnly(PathBuf),
    #[error("another sender has taken over (this one had epoch {0}): this one must stop")]
    Fenced(i64),
    #[error("the database refused: {0}")]
    Refused(String),
    #[error("the writer thread has ended")]
    WriterGone,
    #[error("a bug in a database statement: {0}")]
    Bug(String),
}

/// Rounded down.
pub fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes / (1024 * 1024))
}

/// What a program that goes on working does about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The file or its disk is in the way: the same work may pass later.
    Wait,
    /// This piece of work is at fault: leave it, tell it, go on with the others.
    Skip,
    /// Nothing that this process does can help: end, and let a restart or a person try.
    Stop,
}

impl StoreError {
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Locked { .. }
            | Self::Full(_)
            | Self::Scarce { .. }
            | Self::Disk { .. }
            | Self::ReadOnly(_)
            | Self::CannotOpen { .. } => Remedy::Wait,
            Self::Refused(_) | Self::Bug(_) => Remedy::Skip,
            Self::Missing(_)
            | Self::NetworkFileSystem { .. }
            | Self::NotADatabase(_)
            | Self::NotOurs { .. }
            | Self::Corrupt { .. }
            | Self::Newer { .. }
            | Self::Older { .. }
            | Self::Fenced(_)
            | Self::WriterGone => Remedy::Stop,
        }
    }

    /// For files beside the database too: whoever cannot open those cannot work with it.
    pub fn cannot_open(path: &Path, error: &io::Error) -> Self {
        Self::CannotOpen {
            path: path.to_owned(),
            why: match error.kind() {
                ErrorKind::NotFound => "its folder does not exist".to_owned(),
                ErrorKind::PermissionDenied => "this user may not (permission denied)".to_owned(),
                ErrorKind::StorageFull => "no room is left on its disk".to_owned(),
                ErrorKind::ReadOnlyFilesystem => "its disk is mounted read-only".to_owned(),
                _ => error.to_string(),
            },
        }
    }

    /// Gives SQLite's error the sentence that fits it.
    pub(super) fn from_sqlite(error: &rusqlite::Error, path: &Path) -> Self {
        let path = path.to_owned();
        let detail = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full(path),
            // Memory that is short now may be there later, as a disk may.
            Some(ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory) => {
                Self::Disk { path, detail }
            }
            Some(ErrorCode::ReadOnly) => Self::ReadOnly(path),
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt { path, detail },
            Some(ErrorCode::NotADatabase) => Self::NotADatabase(path),
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::CannotOpen { path, why: detail }
            }
            // "Protocol" is a lock lost in a race of many readers.
            Some(
                ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed,
            ) => Self::Locked {
                path,
                waited: Duration::ZERO,
            },
            Some(ErrorCode::ConstraintViolation) => Self::Refused(detail),
            _ => Self::Bug(detail),
        }
    }
}

/// Statements inside a job do not know the file they run on; the writer and the pool fill it in.
impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::from_sqlite(&error, Path::new(""))
    }
}

impl StoreError {
    /// The same error, naming the file.
    pub(super) fn at(self, path: &Path) -> Self {
        let path = path.to_owned();
        match self {
            Self::Full(_) => Self::Full(path),
            Self::ReadOnly(_) => Self::ReadOnly(path),
            Self::NotADatabase(_) => Self::NotADatabase(path),
            Self::NotOurs { why, .. } => Self::NotOurs { path, why },
            Self::Disk { detail, .. } => Self::Disk { path, detail },
            Self::Corrupt { detail, .. } => Self::Corrupt { path, detail },
            Self::CannotOpen { why, .. } => Self::CannotOpen { path, why },
            Self::Locked { waited, .. } => Self::Locked { path, waited },
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waiting_may_cure_is_waited_for() {
        use rusqlite::ffi;
        for (code, remedy) in [
            (ffi::SQLITE_BUSY, Remedy::Wait),
            (ffi::SQLITE_PROTOCOL, Remedy::Wait),
            (ffi::SQLITE_NOMEM, Remedy::Wait),
            (ffi::SQLITE_FULL, Remedy::Wait),
            (ffi::SQLITE_IOERR_FSYNC, Remedy::Wait),
            (ffi::SQLITE_CONSTRAINT, Remedy::Skip),
            (ffi::SQLITE_ERROR, Remedy::Skip),
            (ffi::SQLITE_CORRUPT, Remedy::Stop),
            (ffi::SQLITE_NOTADB, Remedy::Stop),
        ] {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            assert_eq!(StoreError::from(error).remedy(), remedy, "{code}");
        }
    }
}
