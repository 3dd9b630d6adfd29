//! The exit codes of both programs; README.md documents them, the units rely on them.

use std::io::{self, ErrorKind};

/// How a program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All went well; feeds that failed are part of that.
    Success,
    /// Something that should not happen: the message says what.
    Unexpected,
    /// The command line is wrong.
    Usage,
    /// The configuration is missing or wrong.
    Configuration,
    /// The database cannot be opened, read or written.
    Database,
    /// Another process of the same program holds the lock.
    AlreadyRunning,
}

impl Exit {
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Unexpected => 1,
            Self::Usage => 2,
            Self::Configuration => 3,
            Self::Database => 4,
            Self::AlreadyRunning => 5,
        }
    }
}

/// What printing a result means for the exit code: a reader that has read enough, as `head` has,
/// is no failure.
pub fn after_printing(printed: io::Result<()>) -> io::Result<Exit> {
    match printed {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(Exit::Success),
    }
}
