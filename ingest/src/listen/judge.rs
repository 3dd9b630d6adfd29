//! What webhooks brought is judged at once, as far as rules can decide alone; the rest waits for a tick,
//! which is asked to come.

use crate::classify;
use crate::classify::facts::Facts;
use crate::enqueue;
use shared::config::Config;
use shared::model::Timestamp;
use shared::platform::{doorbell, systemd};
use shared::store::items;
use shared::store::{Remedy, Store, StoreError, beside};
use std::fs;

/// Read at once.
const BATCH: u32 = 32;

/// Judges what is pending of all webhooks, in its order. Whether some of it waits for a model, and so for
/// a tick.
///
/// # Errors
/// The database's: the next delivery, or the next tick, tries again.
pub(super) async fn judge(
    config: &Config,
    store: &Store,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let facts = Facts::of(config);
    let (mut after, mut is_left, mut is_told) = (0, false, false);
    loop {
        let batch = store
            .read(move |db| items::pending(db, after, BATCH))
            .await?;
        let Some(last) = batch.last() else { break };
        after = last.id;
        for pending in batch.into_iter().filter(items::Pending::is_posted) {
            // Thousands of them take longer than systemd waits to hear of us.
            systemd::alive();
            let about = facts.about(&pending);
            let ruling = classify::rule(&pending.entry, &about, &config.rules);
            if ruling.open.is_some() && config.classify.asks_about(about.cloud) {
                is_left = true;
                continue;
            }
            let decision = enqueue::decide(&pending, &about, ruling.verdict, config, now);
            match store
                .write(move |db| enqueue::store(db, &decision, now))
                .await
            {
                Ok(Some(_)) => is_told = true,
                Ok(None) => is_left = true,
                Err(error) if error.remedy() == Remedy::Skip => {
                    tracing::error!(item = pending.id, "its verdict cannot be stored: {error}");
                }
                Err(error) => return Err(error),
            }
        }
    }
    if is_told {
        doorbell::ring(&beside(store.path(), ".bell"));
    }
    Ok(is_left)
}

/// systemd watches this file and starts a tick (watchalert-ingest.path).
pub(super) fn ask_for_a_tick(store: &Store) {
    if let Err(error) = fs::write(beside(store.path(), ".tick-wanted"), "") {
        tracing::debug!(%error, "no tick can be asked for: the timer's comes");
    }
}
