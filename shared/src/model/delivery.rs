//! What is owed, held, rendered, tried and acknowledged.

use super::verdict::named;
use super::{Alert, Destination, Priority, Timestamp, UnknownName};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The state of a row in the outbox; ARCHITECTURE.md draws the moves between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeliveryState {
    Ready,
    Leased,
    Folded,
    Moved,
    Sent,
    Dead,
    Expired,
    Cancelled,
}

named!(DeliveryState {
    Ready => "ready",
    Leased => "leased",
    Folded => "folded",
    Moved => "moved",
    Sent => "sent",
    Dead => "dead",
    Expired => "expired",
    Cancelled => "cancelled",
});

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeliveryKind {
    /// Written by somebody's own INSERT.
    Raw,
    Alert,
    /// Several alerts in one message.
    Digest,
    /// Says that another row died.
    Notice,
}

named!(DeliveryKind {
    Raw => "raw",
    Alert => "alert",
    Digest => "digest",
    Notice => "notice",
});

/// What a row's payload holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Alert(Box<Alert>),
    /// What is told of several alerts in one message, in the order of their rows.
    Digest(Vec<Alert>),
    /// Any JSON object without a `"v"`: a sendMessage body for Telegram, its `text` elsewhere.
    Raw {
        /// The object's `text`, when it has one.
        text: Option<String>,
        /// The whole object, as JSON.
        body: String,
    },
    /// An object with a `"v"` that this version cannot read; the reason is for a person.
    Unreadable(String),
}

/// One thing owed to one destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub id: i64,
    pub kind: DeliveryKind,
    pub destination: Destination,
    pub priority: Priority,
    pub content: Content,
    /// What is left of a delivery that was begun, in the channel's own form, the next message
    /// first; empty: all of it. What is counted below is counted since the last message that
    /// arrived.
    pub rest: Vec<String>,
    /// From when its age counts: creation, else the moment it was meant for, else its revival.
    pub owed_since: Timestamp,
    /// Attempts whose outcome is unknown because the channel did not say: copies that may have
    /// arrived. A crash of the sender is not counted here, nor what was before a person revived it.
    pub unknown_outcomes: u32,
    /// Attempts refused without a reason that we know, since a person revived it.
    pub unrecognised: u32,
    /// Failures in a row that count against it, the last of them, and for how long it had failed then.
    pub failures: u32,
    pub failing_at: Option<Timestamp>,
    pub failed_for: Duration,
    /// Since when its destination refuses us.
    pub refused_since: Option<Timestamp>,
    /// An earlier attempt may have arrived: this one must be marked.
    pub possible_repeat: bool,
}

impl Delivery {
    /// As it stands before its first attempt.
    pub fn untried(
        id: i64,
        kind: DeliveryKind,
        destination: Destination,
        priority: Priority,
        content: Content,
        owed_since: Timestamp,
    ) -> Self {
        Self {
            id,
            kind,
            destination,
            priority,
            content,
            rest: Vec::new(),
            owed_since,
            unknown_outcomes: 0,
            unrecognised: 0,
            failures: 0,
            failing_at: None,
            failed_for: Duration::ZERO,
            refused_since: None,
            possible_repeat: false,
        }
    }

    /// For how long it fails, if it fails now: a sum of the times between failures, each no longer
    /// than the longest backoff. What nobody tried, or what waited for something else, is not in it,
    /// and no clock adds more than that.
    pub fn failing_for(&self, now: Timestamp) -> Duration {
        let since = self.failing_at.map(|at| now.since(at));
        self.failed_for + since.unwrap_or_default().min(LONGEST_BACKOFF)
    }
}

/// No backoff of a row is longer; waits of a whole chat, method, bot or channel are gates.
pub const LONGEST_BACKOFF: Duration = Duration::from_hours(2);

/// A claim on a value, fenced by the sender's epoch. Only its holder may write the result, and
/// only the store can make one.
#[derive(Debug, PartialEq, Eq)]
pub struct Lease<T> {
    held: T,
    epoch: i64,
    attempt: i64,
}

impl<T> Lease<T> {
    pub(crate) fn new(held: T, epoch: i64, attempt: i64) -> Self {
        Self {
            held,
            epoch,
            attempt,
        }
    }

    pub fn held(&self) -> &T {
        &self.held
    }

    pub fn epoch(&self) -> i64 {
        self.epoch
    }

    /// The number of the attempt that this lease allows, from 1.
    pub fn attempt(&self) -> i64 {
        self.attempt
    }
}

/// One part of what a channel puts on the wire; the same delivery always renders to the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// From 1.
    pub part: u32,
    pub of: u32,
    pub text: String,
}

/// One try, as the database remembers it.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// From 1.
    pub n: i64,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// `ok`, `unknown`, `interrupted`, `deferred`, `rejected` or `released`; `None` while it is
    /// under way.
    pub outcome: Option<String>,
    pub detail: Option<String>,
}

/// The provider's word that it has the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub message_id: String,
}

/// A delivery that was given up and waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    pub id: i64,
    pub destination: Destination,
    pub reason: String,
}
