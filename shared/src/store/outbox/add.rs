//! Add: what a person or a script puts into the outbox by the command line.

use crate::model::{Destination, Priority, Timestamp};
use crate::store::{Db, StoreError};
use rusqlite::named_params;
use serde_json::json;

/// One text for one destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub to: Destination,
    pub text: String,
    /// The same key, channel and chat are the same message: it is sent once.
    pub key: Option<String>,
    pub priority: Priority,
    /// [`Timestamp::EPOCH`]: at once.
    pub not_before: Timestamp,
    /// Not delivered by then, it is not sent any more; never for what is critical.
    pub expires_at: Option<Timestamp>,
}

impl Message {
    /// Under which name the table knows it; apart from the names that watchalert gives its own rows.
    fn idempotency_key(&self) -> Option<String> {
        let key = self.key.as_ref()?;
        Some(format!("u:{key}:{}:{}", self.to.channel, self.to.chat_id))
    }
}

const ADD: &str = "\
INSERT INTO outbox(idempotency_key,channel,chat_id,payload,priority,not_before,next_attempt,created_at,expires_at)
VALUES(:key,:channel,:chat,:payload,:priority,:not_before,0,:now,:expires)
ON CONFLICT(idempotency_key) DO NOTHING";

const KNOWN: &str = "SELECT count(*) FROM outbox WHERE idempotency_key=:key";

/// Adds them, in one transaction. Returns how many are new.
pub fn add(db: &Db, messages: &[Message], now: Timestamp) -> Result<usize, StoreError> {
    let mut new = 0;
    for message in messages {
        let payload = json!({"text": message.text}).to_string();
        new += db.prepare_cached(ADD)?.execute(named_params! {
            ":key": message.idempotency_key(),
            ":channel": message.to.channel, ":chat": message.to.chat_id,
            ":payload": payload, ":priority": message.priority.rank(),
            ":not_before": message.not_before.unix_seconds(), ":now": now.unix_seconds(),
            ":expires": message.expires_at.map(Timestamp::unix_seconds),
        })?;
    }
    Ok(new)
}

/// How many of them would be new.
pub fn count_new(db: &Db, messages: &[Message]) -> Result<usize, StoreError> {
    let mut new = 0;
    for message in messages {
        let known: i64 = match message.idempotency_key() {
            Some(key) => db
                .prepare_cached(KNOWN)?
                .query_row(named_params! {":key": key}, |row| row.get(0))?,
            None => 0,
        };
        new += usize::from(known == 0);
    }
    Ok(new)
}
