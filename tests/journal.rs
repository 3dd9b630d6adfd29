//! The journal of completions: what was sent is remembered although the disk is full, and one bad
//! byte in it costs one line.

use shared::store::beside;
use shared::store::journal::{self, Completion};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use watchalert_tests::programs::tell;

fn completions(count: i64) -> Vec<Completion> {
    let completion = |outbox_id| Completion {
        outbox_id,
        attempt: 1,
        epoch: 7,
        message_id: format!("{outbox_id:0>100}"),
        rest: Vec::new(),
    };
    (1..=count).map(completion).collect()
}

/// A file system of 1 MiB, unmounted in the end.
struct Small(TempDir);

impl Small {
    /// `None`: this machine lets us mount nothing, and the test is skipped.
    fn mounted() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]);
        if mount
            .arg(folder.path())
            .output()
            .is_ok_and(|done| done.status.success())
        {
            return Some(Self(folder));
        }
        tell("SKIPPED: this user may not mount a small disk here");
        None
    }

    fn database(&self) -> PathBuf {
        self.0.path().join("state.db")
    }

    fn fill(&self) {
        let mut ballast = File::options()
            .create(true)
            .append(true)
            .open(self.0.path().join("ballast"))
            .expect("a file");
        for size in [4096, 1] {
            let full = loop {
                if let Err(error) = ballast.write_all(&vec![0; size]) {
                    break error;
                }
            };
            assert_eq!(full.kind(), ErrorKind::StorageFull);
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(self.0.path()).status());
    }
}

fn length(path: &Path) -> u64 {
    path.metadata().map_or(0, |found| found.len())
}

#[test]
fn a_full_disk_takes_the_journal_in_the_room_that_was_reserved() {
    let Some(small) = Small::mounted() else {
        return;
    };
    let database = small.database();
    journal::reserve(&database).expect("room");
    small.fill();
    fs::write(small.0.path().join("other"), "no room for this").expect_err("a full disk");
    journal::write(&database, &completions(64)).expect("written");
    assert_eq!(journal::read(&database).expect("read"), completions(64));
    small.fill();
    journal::write(&database, &completions(2)).expect_err("the room is used up");
    assert_eq!(journal::read(&database).expect("read"), completions(64));
    journal::reserve(&database).expect_err("no room to reserve");
    assert_eq!(
        length(&beside(&database, ".unsettled.spare")),
        0,
        "half a reserve is none"
    );
}

#[test]
fn without_reserved_room_or_with_more_to_keep_a_new_file_is_written() {
    let dir = tempfile::tempdir().expect("a folder");
    let database = dir.path().join("state.db");
    journal::write(&database, &completions(3)).expect("written");
    assert_eq!(journal::read(&database).expect("read"), completions(3));
    journal::reserve(&database).expect("room");
    let spare = beside(&database, ".unsettled.spare");
    assert_eq!(length(&spare), 262_144);
    journal::write(&database, &completions(4000)).expect("written");
    assert_eq!(journal::read(&database).expect("read"), completions(4000));
    journal::write(&database, &completions(1)).expect("written");
    assert_eq!(journal::read(&database).expect("read"), completions(1));
    assert!(!spare.exists(), "it became the journal");
    journal::reserve(&database).expect("room again");
    assert_eq!(length(&spare), 262_144);
}

#[test]
fn a_bad_byte_in_the_journal_costs_one_line() {
    let dir = tempfile::tempdir().expect("a folder");
    let database = dir.path().join("state.db");
    journal::write(&database, &completions(3)).expect("written");
    let path = beside(&database, ".unsettled");
    let mut bytes = fs::read(&path).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] = 0xff;
    fs::write(&path, bytes).expect("damaged");
    let kept = journal::read(&database).expect("read");
    assert_eq!(
        kept,
        [completions(1), completions(3)[2..].to_vec()].concat()
    );
}
