//! The journal of completions that could not be committed: what was sent must not be sent again
//! only because the disk was full. Written when the sender ends, replayed before the next epoch.

use super::{Db, StoreError, beside};
use crate::model::Timestamp;
use rusqlite::named_params;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// A delivery that was acknowledged, although the file does not say so yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    pub outbox_id: i64,
    pub attempt: i64,
    pub epoch: i64,
    pub message_id: String,
}

const SUFFIX: &str = ".unsettled";

/// Writes the journal, one JSON object a line, so that it survives a power cut.
pub fn write(database: &Path, completions: &[Completion]) -> io::Result<()> {
    let fresh = beside(database, ".unsettled.new");
    let mut file = File::create(&fresh)?;
    for completion in completions {
        let line = serde_json::to_string(completion).map_err(io::Error::other)?;
        writeln!(file, "{line}")?;
    }
    file.sync_all()?;
    fs::rename(&fresh, beside(database, SUFFIX))?;
    match database
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// What the last sender left. A line that cannot be read is skipped: its row is then resent and
/// marked, as after a crash.
pub fn read(database: &Path) -> io::Result<Vec<Completion>> {
    match fs::read_to_string(beside(database, SUFFIX)) {
        Ok(text) => Ok(text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

pub fn remove(database: &Path) -> io::Result<()> {
    match fs::remove_file(beside(database, SUFFIX)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Settles what the journal holds, under the epoch in which it was sent. Returns how many rows
/// were still waiting for it.
pub fn replay(db: &Db, completions: &[Completion], now: Timestamp) -> Result<usize, StoreError> {
    const SENT: &str = "\
UPDATE outbox SET state='sent',lease_epoch=NULL,message_id=:message,last_error=NULL,updated_at=:now
 WHERE id=:id AND state='leased' AND lease_epoch=:epoch AND attempts=:n";
    const ENDED: &str = "\
UPDATE attempt SET ended_at=:now,outcome='ok' WHERE outbox_id=:id AND n=:n AND ended_at IS NULL";
    let mut replayed = 0;
    for completion in completions {
        let (id, n, now) = (completion.outbox_id, completion.attempt, now.unix_seconds());
        let changed = db.prepare_cached(SENT)?.execute(named_params! {
            ":message": completion.message_id, ":now": now, ":id": id,
            ":epoch": completion.epoch, ":n": n,
        })?;
        if changed == 1 {
            db.prepare_cached(ENDED)?
                .execute(named_params! {":now": now, ":id": id, ":n": n})?;
            replayed += 1;
        }
    }
    Ok(replayed)
}
