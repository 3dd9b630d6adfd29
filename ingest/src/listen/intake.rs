//! Takes in what the spool holds, as if it came now; what cannot be taken in is set aside, and told.

use super::beat;
use super::hook::arrival;
use super::spool::{Kept, Spool};
use crate::enqueue::notices;
use shared::config::Config;
use shared::model::{Alert, Heard, Severity, Timestamp};
use shared::platform::{doorbell, systemd};
use shared::store::outbox::{self, Notice};
use shared::store::posts::{self, Arrival};
use shared::store::{Remedy, Store, StoreError, beside};
use std::io::ErrorKind;
use std::path::PathBuf;

/// Takes in each file once, the oldest first; how many came in. A tick and the receiver may do it at
/// the same time: what one has put away is known to the other.
///
/// # Errors
/// The database's: what is left waits.
pub(crate) async fn take_in(
    config: &Config,
    store: &Store,
    spool: &Spool,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let waiting = spool.waiting().unwrap_or_else(|error| {
        tracing::warn!(%error, "the spool cannot be read");
        Vec::new()
    });
    let (mut taken, mut unfit) = (0, Vec::new());
    for path in waiting {
        // Ten thousand files take longer than systemd waits to hear of us.
        systemd::alive();
        if spool.is_taken(&path) {
            drop(Spool::taken(&path));
            continue;
        }
        let kept = match Spool::read(&path) {
            Ok(kept) => kept,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                unfit.push((path, error.to_string()));
                continue;
            }
            Err(error) => {
                spool.is_stuck(&path, false, &format!("it cannot be read: {error}"));
                continue;
            }
        };
        match store_kept(config, store, kept, now).await {
            Ok(()) => match Spool::taken(&path) {
                Ok(()) => taken += 1,
                Err(error) => {
                    let why = format!("it is taken in, and cannot be put away: {error}");
                    spool.is_stuck(&path, true, &why);
                }
            },
            Err(Obstacle::Database(error)) => return Err(error),
            Err(Obstacle::File(why)) => unfit.push((path, why)),
        }
    }
    if let Some(notice) = notice_of(&unfit, config, now) {
        store
            .write(move |db| outbox::notify(db, &notice, now).map(drop))
            .await?;
        doorbell::ring(&beside(store.path(), ".bell"));
    }
    // After the notice: what was told as accepted is never out of the way unsaid.
    for (path, why) in unfit {
        tracing::error!(file = %path.display(), "what was spooled is set aside: {why}");
        if let Err(error) = Spool::set_aside(&path) {
            spool.is_stuck(&path, false, &format!("it cannot be set aside: {error}"));
        }
    }
    Ok(taken)
}

/// What keeps a file from being taken in.
enum Obstacle {
    /// For now, and the others too.
    Database(StoreError),
    /// For good, and this one alone.
    File(String),
}

impl From<StoreError> for Obstacle {
    fn from(error: StoreError) -> Self {
        match error.remedy() {
            Remedy::Skip => Self::File(error.to_string()),
            Remedy::Wait | Remedy::Stop => Self::Database(error),
        }
    }
}

async fn store_kept(
    config: &Config,
    store: &Store,
    kept: Kept,
    now: Timestamp,
) -> Result<(), Obstacle> {
    match owed(config, kept).map_err(Obstacle::File)? {
        Owed::Post(arrival, at) => {
            store
                .write(move |db| posts::receive(db, &arrival, at))
                .await?;
        }
        Owed::Beat(heard) => {
            beat::receive(store, config, heard, now).await?;
        }
    }
    Ok(())
}

/// What a spooled file owes the database.
enum Owed {
    Post(Box<Arrival>, Timestamp),
    Beat(Heard),
}

fn owed(config: &Config, kept: Kept) -> Result<Owed, String> {
    let spooled = match kept {
        Kept::Beat(heard) => return Ok(Owed::Beat(heard)),
        Kept::Post(spooled) => spooled,
    };
    let mut webhooks = config.webhooks.iter();
    let webhook = webhooks.find(|webhook| webhook.name == spooled.hook);
    let webhook = webhook.ok_or_else(|| {
        let hook = &spooled.hook;
        format!("the webhook {hook} is not configured any more")
    })?;
    let arrival = arrival(webhook, &spooled).map_err(|error| error.to_string())?;
    Ok(Owed::Post(Box::new(arrival), spooled.received()))
}

/// One notice of all that a round sets aside.
fn notice_of(unfit: &[(PathBuf, String)], config: &Config, now: Timestamp) -> Option<Notice> {
    let (path, why) = unfit.first()?;
    let name = path.file_stem()?.to_string_lossy().into_owned();
    let title = match unfit.len() {
        1 => "A delivery that was accepted cannot be taken in".to_owned(),
        many => format!("{many} deliveries that were accepted cannot be taken in"),
    };
    let folder = path.parent()?.display();
    let alert = Alert::about_ourselves(
        Severity::High,
        title,
        format!(
            "{why}. See {folder}: {name}.bad is set aside. Give it its old ending, .post or .beat, to have it tried again."
        ),
        "what was accepted and cannot be stored is always told",
        now.unix_millis() / 1000,
    );
    Some(Notice {
        event: "set-aside".to_owned(),
        about: name,
        to: notices(&alert, config)?,
        alert,
    })
}
