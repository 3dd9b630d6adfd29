//! The reference: what each move of the protocol must make of the picture, written down a second time,
//! over plain maps and without SQL.
//!
//! A new move is a function here that changes the picture; a new column is a field of `picture.rs`, and what
//! sets it.

mod accept;
mod claim;
mod settle;
mod upkeep;

pub use accept::{PAYLOAD, Stray};
pub use claim::{Found, Held};

use super::picture::{Picture, Row};
use shared::model::{Destination, Gate, GateKeys, Gates, Priority, Scope, Timestamp};

pub const FINISHED: [&str; 4] = ["sent", "moved", "cancelled", "expired"];

impl Row {
    /// As it stands when it has just been accepted.
    fn fresh(kind: &str, to: &Destination, priority: Priority, now: Timestamp) -> Self {
        Self {
            kind: kind.to_owned(),
            channel: to.channel.clone(),
            chat_id: to.chat_id.clone(),
            priority: priority.rank(),
            state: "ready".to_owned(),
            created_at: now,
            ..Self::default()
        }
    }

    pub fn to(&self) -> Destination {
        Destination {
            channel: self.channel.clone(),
            chat_id: self.chat_id.clone(),
        }
    }

    pub fn is(&self, state: &str) -> bool {
        self.state == state
    }

    pub fn is_finished(&self) -> bool {
        FINISHED.contains(&self.state.as_str())
    }

    fn waits_for(&self, to: &Destination) -> bool {
        self.is("ready") && self.channel == to.channel && self.chat_id == to.chat_id
    }

    pub fn due_at(&self) -> Timestamp {
        self.not_before.max(self.next_attempt)
    }

    fn owed_since(&self) -> Timestamp {
        let revived = self.revived_at.unwrap_or(Timestamp::EPOCH);
        self.created_at.max(self.not_before).max(revived)
    }

    fn enter(&mut self, state: &str, now: Timestamp) {
        state.clone_into(&mut self.state);
        self.updated_at = Some(now);
        self.lease_epoch = None;
    }
}

impl Picture {
    fn add(&mut self, mut row: Row) -> i64 {
        self.last_row = self.last_row.max(row.id - 1) + 1;
        row.id = self.last_row;
        self.count("outbox_in", 1);
        self.rows.insert(row.id, row);
        self.last_row
    }

    fn count(&mut self, name: &str, by: i64) {
        *self.ledger.entry(name.to_owned()).or_default() += by;
    }

    pub fn row(&mut self, id: i64) -> &mut Row {
        self.rows.get_mut(&id).expect("a row of that number")
    }

    /// The ids of the rows that are meant, in their order.
    fn ids(&self, meant: impl Fn(&Row) -> bool) -> Vec<i64> {
        let meant = self.rows.values().filter(|row| meant(row));
        meant.map(|row| row.id).collect()
    }

    fn gates(&self, keys: &GateKeys) -> Gates {
        let one = |scope: Scope, key: &String| -> Gate {
            let name = (scope.name().to_owned(), key.clone());
            self.gates.get(&name).cloned().unwrap_or_default()
        };
        Gates {
            channel: one(Scope::Channel, &keys.channel),
            bot: one(Scope::Bot, &keys.bot),
            method: one(Scope::Method, &keys.method),
            chat: one(Scope::Chat, &keys.chat),
        }
    }

    /// Changes the gates before a destination as the settlement does that tells of them.
    pub fn adjust(&mut self, keys: &GateKeys, change: impl Fn(&mut Gates)) {
        let mut gates = self.gates(keys);
        change(&mut gates);
        self.keep(keys, gates);
    }

    fn keep(&mut self, keys: &GateKeys, gates: Gates) {
        let before = self.gates(keys);
        for (scope, key, was, is) in [
            (Scope::Channel, &keys.channel, before.channel, gates.channel),
            (Scope::Bot, &keys.bot, before.bot, gates.bot),
            (Scope::Method, &keys.method, before.method, gates.method),
            (Scope::Chat, &keys.chat, before.chat, gates.chat),
        ] {
            if was != is {
                self.gates
                    .insert((scope.name().to_owned(), key.clone()), is);
            }
        }
    }
}
