//! What the sender does for the file each minute: move on what is late, heal, prune, checkpoint.

use crate::flight::Runway;
use crate::watch;
use shared::model::{Gatekeeper, Timestamp};
use shared::platform::systemd;
use shared::store::outbox::{self, failover, prune};
use shared::store::{Db, Store, StoreError, gate, room};
use std::sync::Arc;
use std::time::Duration;

/// Prune transactions of one minute, a hundred rows each: more can wait for the next.
const PRUNES: usize = 20;

/// What one channel cannot deliver in time goes to another, what is late is told, what has expired ends.
pub(crate) async fn move_on(runway: &Runway, now: Timestamp) -> Result<(), StoreError> {
    let store = &runway.store;
    if let Err(error) = room::take_ballast(store.path(), runway.min_free) {
        tracing::warn!(%error, "no room can be kept for a full disk");
    }
    for place in store.read(move |db| failover::overdue(db, now)).await? {
        let mut moved = 0;
        loop {
            systemd::alive();
            let (channels, place) = (Arc::clone(&runway.channels), place.clone());
            let fail_over = move |db: &Db| {
                let is_closed = !channels.is_configured(&place.channel)
                    || gate::is_closed(db, &channels.keys(&place), now)?;
                failover::fail_over(db, &place, is_closed, now)
            };
            match store.write(fail_over).await? {
                0 => break,
                rows => moved += rows,
            }
        }
        if moved > 0 {
            tracing::warn!(rows = moved, %place, "not delivered in time, so their fallback gets them");
        }
    }
    watch::look(runway, now).await?;
    // An age that a wrong clock tells ends nothing.
    while runway.steady.is_sure() {
        systemd::alive();
        let told = runway.channels.notices("").cloned();
        let expire = move |db: &Db| failover::expire(db, told.as_ref(), now);
        match store.write(expire).await? {
            0 => break,
            rows => tracing::warn!(rows, "expired before they could be delivered"),
        }
    }
    Ok(())
}

/// A full disk gets the room that was kept for it, so that what is sent can be written down.
pub(crate) fn relieve(store: &Store, error: &StoreError) {
    if !matches!(error, StoreError::Full(_) | StoreError::Disk { .. }) {
        return;
    }
    match room::drop_ballast(store.path()) {
        Ok(true) => {
            tracing::error!("the disk is full: the room that was kept for this is used now");
        }
        Ok(false) => {}
        Err(error) => tracing::warn!(%error, "the room that was kept cannot be given back"),
    }
}

/// Two megabytes each are given back to the disk in one minute.
const SHRINKS: usize = 10;
/// A checkpoint empties the log long before, unless somebody reads an old state of the file.
const LARGE_LOG: u64 = 64 * 1024 * 1024;

/// `retention` is `None` while ages cannot be believed: then nothing is pruned.
pub(crate) async fn each_minute(
    store: &Store,
    retention: Option<Duration>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut healed = store.write(move |db| gate::heal(db, now)).await?;
    loop {
        systemd::alive();
        match store.write(move |db| outbox::heal(db, now)).await? {
            0 => break,
            rows => healed += rows,
        }
    }
    if healed > 0 {
        tracing::warn!(
            rows = healed,
            "backoff that lay too far ahead was shortened"
        );
    }
    if let Some(before) = retention.map(|retention| now.minus(retention)) {
        for _ in 0..PRUNES {
            systemd::alive();
            if store.write(move |db| prune::prune(db, before)).await? == 0 {
                break;
            }
        }
    }
    for _ in 0..SHRINKS {
        systemd::alive();
        if store.shrink().await? == 0 {
            break;
        }
    }
    store.checkpoint().await?;
    let log = store.log_size();
    if log > LARGE_LOG {
        tracing::warn!(
            bytes = log,
            "the write-ahead log is large: somebody has a transaction open, in a sqlite3 prompt perhaps"
        );
    }
    Ok(())
}
