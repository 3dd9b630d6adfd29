//! The journal of completions that could not be committed: what was sent must not be sent again
//! only because the disk was full. Written when the sender ends, replayed before the next epoch.

use super::outbox::settle::arrived;
use super::{Db, StoreError, beside};
use crate::model::{Receipt, Timestamp};
use crate::platform::crash;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// A delivery that was acknowledged, although the file does not say so yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    pub outbox_id: i64,
    pub attempt: i64,
    pub epoch: i64,
    pub message_id: String,
    /// What is left of a delivery in several messages.
    #[serde(default)]
    pub rest: Vec<String>,
}

const SUFFIX: &str = ".unsettled";
/// Room that is taken while there is some, and becomes the journal when there is none.
const SPARE: &str = ".unsettled.spare";
/// Enough for the completions of all flights, several times over. What is left of long deliveries
/// may be more; what does not fit is resent and marked.
const SPARE_BYTES: usize = 256 * 1024;

/// Takes the room that [`write()`] needs on a full disk. Call it at each start of the sender.
pub fn reserve(database: &Path) -> io::Result<()> {
    let spare = beside(database, SPARE);
    let enough = u64::try_from(SPARE_BYTES).unwrap_or(u64::MAX);
    if spare.metadata().is_ok_and(|found| found.len() >= enough) {
        return Ok(());
    }
    // Real blocks, not a hole; and lines that say nothing, should anybody read them.
    let filled = File::create(&spare).and_then(|mut file| {
        file.write_all(&vec![b'\n'; SPARE_BYTES])?;
        file.sync_all()
    });
    if filled.is_err() {
        drop(fs::remove_file(&spare));
    }
    filled?;
    sync_folder(database)
}

/// Writes the journal, one JSON object a line, so that it survives a power cut: into the room that
/// was reserved, else into a new file.
pub fn write(database: &Path, completions: &[Completion]) -> io::Result<()> {
    let mut lines = Vec::new();
    for completion in completions {
        let mut line = serde_json::to_vec(completion)?;
        line.push(b'\n');
        lines.push(line);
    }
    let spare = beside(database, SPARE);
    let written = match overwrite(&spare, &lines.concat()) {
        Ok(()) => spare,
        Err(_no_room_reserved) => {
            let fresh = beside(database, ".unsettled.new");
            match write_new(&fresh, &lines.concat()) {
                Ok(()) => fresh,
                // As many as fit; the others are resent and marked.
                Err(_full) => overwrite(&spare, &shortest(lines)).map(|()| spare)?,
            }
        }
    };
    crash::point("journal.written");
    fs::rename(written, beside(database, SUFFIX))?;
    sync_folder(database)?;
    crash::point("journal.kept");
    Ok(())
}

fn write_new(path: &Path, lines: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(lines)?;
    file.sync_all()
}

/// As many lines as the reserved room holds.
fn shortest(mut lines: Vec<Vec<u8>>) -> Vec<u8> {
    lines.sort_by_key(Vec::len);
    let mut fitting = Vec::new();
    for line in lines {
        if fitting.len() + line.len() <= SPARE_BYTES {
            fitting.extend(line);
        }
    }
    fitting
}

/// In place: the blocks are there already.
fn overwrite(spare: &Path, lines: &[u8]) -> io::Result<()> {
    if lines.len() > SPARE_BYTES {
        return Err(io::ErrorKind::StorageFull.into());
    }
    let mut file = OpenOptions::new().write(true).open(spare)?;
    file.write_all(lines)?;
    file.set_len(u64::try_from(lines.len()).unwrap_or(u64::MAX))?;
    file.sync_all()
}

fn sync_folder(database: &Path) -> io::Result<()> {
    match database
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        Some(folder) => File::open(folder)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}

/// What the last sender left. A line that cannot be read is skipped: its row is then resent and
/// marked, as after a crash.
pub fn read(database: &Path) -> io::Result<Vec<Completion>> {
    match fs::read(beside(database, SUFFIX)) {
        Ok(bytes) => Ok(bytes
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

pub fn remove(database: &Path) -> io::Result<()> {
    crash::point("journal.replayed");
    match fs::remove_file(beside(database, SUFFIX)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Settles what the journal holds, under the epoch in which it was sent. Returns how many rows
/// were still waiting for it.
pub fn replay(db: &Db, completions: &[Completion], now: Timestamp) -> Result<usize, StoreError> {
    let mut replayed = 0;
    for completion in completions {
        let attempt = (completion.outbox_id, completion.attempt, completion.epoch);
        let receipt = Receipt {
            message_id: completion.message_id.clone(),
        };
        match arrived(db, attempt, &receipt, &completion.rest, now) {
            Ok(_) => replayed += 1,
            // Somebody has decided about the row meanwhile.
            Err(StoreError::Fenced(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(replayed)
}
