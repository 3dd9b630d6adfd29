//! The lookout: finds what waits in the outbox, after a ring, after another process's commit, and,
//! in case something was missed, each minute.

use crate::channel::Channels;
use shared::model::{Destination, Timestamp};
use shared::store::outbox::waiting::{self, Waiting};
use shared::store::{Db, Store, StoreError};
use std::sync::Arc;

/// Where the last look ended.
pub(crate) struct Lookout {
    store: Arc<Store>,
    channels: Arc<Channels>,
    /// Rows without a channel go there.
    default_channel: String,
    high_water: i64,
    looked_at: Timestamp,
    /// Of the last look; what other processes committed since then was not seen.
    data_version: Option<i64>,
}

impl Lookout {
    pub(crate) fn new(
        store: Arc<Store>,
        channels: Arc<Channels>,
        default_channel: String,
        now: Timestamp,
    ) -> Self {
        Self {
            store,
            channels,
            default_channel,
            high_water: 0,
            looked_at: now,
            data_version: None,
        }
    }

    /// Everything that waits.
    pub(crate) async fn everywhere(&mut self, now: Timestamp) -> Result<Vec<Waiting>, StoreError> {
        self.look(now, move |db| waiting::all(db, now)).await
    }

    /// What is new, or has become due, since the last look.
    pub(crate) async fn fresh(&mut self, now: Timestamp) -> Result<Vec<Waiting>, StoreError> {
        let (after, since) = (self.high_water, self.looked_at);
        self.look(now, move |db| waiting::fresh(db, after, since, now))
            .await
    }

    /// What other processes committed since the last look, if they committed at all. The answer
    /// also shows that the writer thread is alive.
    pub(crate) async fn committed(&mut self, now: Timestamp) -> Result<Vec<Waiting>, StoreError> {
        let version = self.store.data_version().await?;
        if self.data_version == Some(version) {
            return Ok(Vec::new());
        }
        let found = self.fresh(now).await?;
        // Only now: a look that failed is made again.
        self.data_version = Some(version);
        Ok(found)
    }

    async fn look<F>(&mut self, now: Timestamp, read: F) -> Result<Vec<Waiting>, StoreError>
    where
        F: Fn(&Db) -> Result<Vec<Waiting>, StoreError> + Send + 'static,
    {
        let look = move |db: &Db| Ok((waiting::high_water(db)?, read(db)?));
        let (high_water, mut found) = self.store.read(look).await?;
        for waiting in &mut found {
            self.address(&mut waiting.destination, now).await?;
        }
        (self.high_water, self.looked_at) = (high_water, now);
        Ok(found)
    }

    /// Rows without a channel get the default one, those of an upgraded group its new id; a hundred
    /// at a time.
    async fn address(&self, to: &mut Destination, now: Timestamp) -> Result<(), StoreError> {
        let mut current = to.clone();
        if current.channel.is_empty() {
            current.channel.clone_from(&self.default_channel);
        }
        if let Some(renamed) = self.channels.renamed(&current) {
            current.chat_id = renamed;
        }
        if current == *to {
            return Ok(());
        }
        loop {
            let (from, to) = (to.clone(), current.clone());
            let address = move |db: &Db| waiting::address(db, &from, &to, now);
            if !self.store.write(address).await? {
                break;
            }
        }
        *to = current;
        Ok(())
    }
}
