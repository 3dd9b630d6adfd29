//! The heartbeat of the tick: a row, or a file beside the database while that is held too long.

use crate::report::Report;
use shared::model::Timestamp;
use shared::store::{Store, StoreError, heartbeats};
use std::time::Duration;
use tokio::time::timeout;

/// A tick does not wait longer to say that it is alive.
const PATIENCE: Duration = Duration::from_secs(2);

/// Says that a tick has begun, before anything else is done.
pub(crate) async fn started(store: &Store, now: Timestamp) {
    let row = store.write(move |db| heartbeats::tick_started(db, now));
    let told = match timeout(PATIENCE, row).await {
        Ok(Ok(())) => heartbeats::remove_file(store.path()),
        Ok(Err(error)) if !matches!(error, StoreError::Locked { .. }) => {
            tracing::warn!("the beginning of the tick is written beside the database: {error}");
            heartbeats::write_file(store.path(), now)
        }
        _ => heartbeats::write_file(store.path(), now),
    };
    if let Err(error) = told {
        tracing::warn!("the heartbeat could not be written: {error}");
    }
}

/// Says that it has ended, and how. What cannot be said is seen from the next one.
pub(crate) async fn finished(store: &Store, report: &Report, now: Timestamp) {
    let line = report.to_string();
    let row = store.write(move |db| heartbeats::tick_finished(db, &line, now));
    match timeout(PATIENCE, row).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!("the end of the tick is not recorded: {error}"),
        Err(_elapsed) => {
            tracing::warn!("the end of the tick is not recorded: the database is held");
        }
    }
}
