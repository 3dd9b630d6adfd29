//! What the sender does for the file each minute: heal, prune, checkpoint.

use shared::model::Timestamp;
use shared::platform::systemd;
use shared::store::outbox::{self, prune};
use shared::store::{Store, StoreError, gate};
use std::time::Duration;

/// Prune transactions of one minute, a hundred rows each: more can wait for the next.
const PRUNES: usize = 20;

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
    store.checkpoint().await
}
