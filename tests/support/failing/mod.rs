//! A disk that fails at the Nth operation, and a wall clock that is set, under the real programs: small C
//! libraries that the dynamic linker loads before theirs, compiled here when a test asks for them.

use crate::programs::skip;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

const DISK: &str = include_str!("failing.c");
const CLOCK: &str = include_str!("clock.c");

const LIBRARY: &str = "loaded.so";

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

/// A folder with the compiled library. `None`, which it says: this machine has no C compiler.
fn compiled(text: &str) -> Option<TempDir> {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let source = dir.path().join("loaded.c");
    fs::write(&source, text).expect("written");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-shared", "-fPIC", "-o"])
        .arg(dir.path().join(LIBRARY))
        .arg(&source);
    let Ok(compiled) = cc.stdin(Stdio::null()).output() else {
        skip("no disk can fail and no clock be set: there is no C compiler `cc` here");
        return None;
    };
    let said = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{said}");
    Some(dir)
}

/// The compiled library.
pub struct Library {
    dir: TempDir,
}

impl Library {
    pub fn compiled() -> Option<Self> {
        compiled(DISK).map(|dir| Self { dir })
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
            .env("LD_PRELOAD", self.dir.path().join(LIBRARY))
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

/// A wall clock for some programs alone, which the test sets.
pub struct WallClock {
    dir: TempDir,
}

impl WallClock {
    /// As the machine's own. `None`: see [`Library::compiled`].
    pub fn compiled() -> Option<Self> {
        let clock = compiled(CLOCK).map(|dir| Self { dir })?;
        clock.set_by(0);
        Some(clock)
    }

    pub fn load(&self, command: &mut Command) {
        command
            .env("LD_PRELOAD", self.dir.path().join(LIBRARY))
            .env("CLOCK_SET_BY", self.dir.path().join("set_by"));
    }

    /// In one write, while they run: so many seconds from the machine's own.
    pub fn set_by(&self, seconds: i64) {
        let mut file = fs::OpenOptions::new();
        let file = file.write(true).create(true).truncate(false);
        let file = file.open(self.dir.path().join("set_by"));
        file.and_then(|file| file.write_all_at(&seconds.to_ne_bytes(), 0))
            .expect("set");
    }
}
