//! What came of an attempt, whose fault it was, and what follows for the row.

use super::{Receipt, Timestamp};
use std::time::Duration;

/// What came of one attempt. A refusal is a value here; an `Err` would mean that we are broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Delivered(Receipt),
    /// One message of several arrived; what is left is sent in turn, each under its own limits.
    Begun(Receipt, Vec<String>),
    /// Not now: the same message may pass later.
    Deferred(Fault),
    /// Not so: the same message will never pass.
    Rejected(Fault),
}

/// Why an attempt did not deliver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub blame: Blame,
    /// What it closes for everything that would go the same way.
    pub hold: Option<Hold>,
    /// What the receiver asked us to wait.
    pub retry_after: Option<Duration>,
    /// The request went out and nothing certain came back: it may have arrived.
    pub maybe_delivered: bool,
    /// For a person; never holds a secret.
    pub detail: String,
}

impl Fault {
    /// Whether it counts against the row: neither a wait that somebody asked for, nor a refusal of
    /// the chat or the bot does, nor what may have arrived.
    pub fn counts(&self) -> bool {
        !self.maybe_delivered && matches!(self.hold, None | Some(Hold::Down))
    }
}

/// A fault that is not one row's own: it closes a gate, and the row waits behind that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Too many: the other side asks for a pause.
    RateLimited,
    /// The destination refuses us: blocked, kicked, not there.
    Suspended,
    /// The bot itself is refused: a token that is no longer good.
    Stopped,
    /// The server cannot be reached, or cannot answer.
    Down,
}

/// Who must change for a delivery to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// Repaired once or buried.
    Message,
    /// Suspends that destination.
    Destination,
    /// Feeds the breakers of bot and channel.
    Channel,
    /// A bug or a refusal that we do not recognise; never held against the receiver.
    Ours,
}

/// What follows for the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    Complete(Receipt),
    /// Handed back with what is left of it, in the channel's own form, the next message first.
    Continue(Receipt, Vec<String>),
    RetryAt(Timestamp, Fault),
    Bury(String, Fault),
    /// Handed back unsent: costs nothing and is retried at once.
    Release,
}
