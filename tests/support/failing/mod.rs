//! A disk that fails at the Nth operation, under the real programs: a small C library that the
//! dynamic linker loads before theirs, compiled here when a test asks for it.

use crate::programs::skip;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

const SOURCE: &str = include_str!("failing.c");

/// What an operation that fails says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    Io,
    NoSpace,
}

impl Error {
    pub fn name(self) -> &'static str {
        match self {
            Self::Io => "EIO",
            Self::NoSpace => "ENOSPC",
        }
    }

    /// As Linux numbers it.
    fn number(self) -> &'static str {
        match self {
            Self::Io => "5",
            Self::NoSpace => "28",
        }
    }
}

/// Which operations are counted, and may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// What writes, makes, removes, renames or syncs.
    All,
    /// Of these, what needs room.
    Room,
    /// Syncs of the folder itself: whether its files keep their names.
    Folder,
    /// What reads.
    Reads,
}

/// Which operation fails, and how many from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub on: On,
    pub with: Error,
    /// From 1; 0: none, they are only counted.
    pub at: u64,
    pub times: u64,
}

/// The compiled library.
pub struct Library {
    dir: TempDir,
}

impl Library {
    /// `None`, which it says: this machine has no C compiler.
    pub fn compiled() -> Option<Self> {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let source = dir.path().join("failing.c");
        fs::write(&source, SOURCE).expect("written");
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-shared", "-fPIC", "-o"])
            .arg(dir.path().join("failing.so"))
            .arg(&source);
        let Ok(compiled) = cc.stdin(Stdio::null()).output() else {
            skip("no I/O error can be made: there is no C compiler `cc` here");
            return None;
        };
        let said = String::from_utf8_lossy(&compiled.stderr);
        assert!(compiled.status.success(), "{said}");
        Some(Self { dir })
    }

    /// Lets `command`, whose environment is empty, meet the fault in the files of `folder`. `notes` is a
    /// folder for what is counted.
    pub fn load(&self, command: &mut Command, folder: &Path, notes: &Path, fault: Fault) -> Met {
        let met = Met {
            count: notes.join("count"),
            told: notes.join("told"),
        };
        fs::write(&met.count, [0; 8]).expect("a file for the count");
        drop(fs::remove_file(&met.told));
        let on = match fault.on {
            On::All => "all",
            On::Room => "room",
            On::Folder => "folder",
            On::Reads => "reads",
        };
        command
            .env("LD_PRELOAD", self.dir.path().join("failing.so"))
            .env("FAILING_BELOW", folder)
            .env("FAILING_ON", on)
            .env("FAILING_WITH", fault.with.number())
            .env("FAILING_AT", fault.at.to_string())
            .env("FAILING_FOR", fault.times.to_string())
            .env("FAILING_COUNT", &met.count)
            .env("FAILING_TOLD", &met.told);
        met
    }
}

/// What the program has met so far.
pub struct Met {
    count: PathBuf,
    told: PathBuf,
}

impl Met {
    /// Operations so far.
    pub fn operations(&self) -> u64 {
        let bytes = fs::read(&self.count).expect("the count");
        u64::from_ne_bytes(bytes.try_into().expect("eight bytes"))
    }

    /// Those that failed, as `pwrite state.db-wal`.
    pub fn failed(&self) -> Vec<String> {
        let told = fs::read_to_string(&self.told).unwrap_or_default();
        told.lines().map(str::to_owned).collect()
    }
}
