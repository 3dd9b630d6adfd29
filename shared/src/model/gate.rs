//! A gate: what keeps a whole chat, method, bot or channel waiting, as against one row's backoff.

use super::verdict::named;
use super::{Alert, Destination, Priority, Timestamp, UnknownName};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What a gate stands before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    Channel,
    Bot,
    Method,
    Chat,
}

named!(Scope { Channel => "channel", Bot => "bot", Method => "method", Chat => "chat" });

/// Whether deliveries pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Breaker {
    #[default]
    Closed,
    /// None until `blocked_until`.
    Open,
    /// One, as a probe.
    HalfOpen,
}

named!(Breaker { Closed => "closed", Open => "open", HalfOpen => "half-open" });

/// The limiter's and the breaker's memory for one scope and key, kept over restarts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gate {
    /// The limiter's next free moment; of a bucket its theoretical arrival time.
    pub next_at: Timestamp,
    /// The last sends, the oldest first: for limits of the form "so many in a minute".
    pub ring: Vec<Timestamp>,
    /// By how much the nominal interval is stretched, at least 1.
    pub stretch: f64,
    /// Since when nothing was refused.
    pub clean_since: Option<Timestamp>,
    /// What the other side told us to wait, or what the breaker does.
    pub blocked_until: Timestamp,
    /// How long that was from the moment at which it was set: no clock makes it longer.
    pub blocked_for: Duration,
    pub breaker: Breaker,
    /// The first of the failures in a row.
    pub failing_since: Option<Timestamp>,
    /// Since when it refuses us as a person would have to mend it.
    pub refused_since: Option<Timestamp>,
    /// Failures in a row that count against this scope.
    pub strikes: u32,
    pub reason: Option<String>,
    /// Of a chat: when alerts for it were last folded.
    pub folded_at: Timestamp,
    /// Set by the operator.
    pub paused_until: Timestamp,
}

impl Gate {
    /// A wait is a moment, merged with the one that is known, never an event.
    pub fn block(&mut self, until: Timestamp, now: Timestamp) {
        if until > self.blocked_until {
            self.blocked_until = until;
            self.blocked_for = until.since(now);
        }
    }

    /// Until when nothing passes: what was set, or the operator's pause.
    pub fn closed_until(&self, now: Timestamp) -> Timestamp {
        self.blocked_until
            .min(now + self.blocked_for)
            .max(self.paused_until)
    }
}

/// The gates before one destination; all must be open.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gates {
    pub channel: Gate,
    pub bot: Gate,
    pub method: Gate,
    pub chat: Gate,
}

/// Under which keys they are kept: two channels of one bot share its gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateKeys {
    pub channel: String,
    pub bot: String,
    pub method: String,
    pub chat: String,
}

/// Whether a delivery may start.
#[derive(Clone, Debug, PartialEq)]
pub enum Pass {
    /// With the gates as they are from now on: all of them are spent, or none.
    Now(Box<Gates>),
    /// Its own chat has to wait.
    At(Timestamp),
    /// All that goes the same way has to wait, unless it is graver.
    Held(Timestamp),
}

/// Decides about the gates of a destination: the sender's rules, asked inside the claim.
pub trait Gatekeeper: Send + Sync {
    fn keys(&self, to: &Destination) -> GateKeys;

    /// The gates as far as `now` lets them be true. What a clock that was ahead has put further off than a
    /// limit reaches is brought near, once and for good: it is kept whether or not anything passes.
    fn believable(&self, _to: &Destination, gates: &Gates, _now: Timestamp) -> Gates {
        gates.clone()
    }

    /// Asks, and spends when the answer is yes.
    fn pass(&self, to: &Destination, gates: &Gates, priority: Priority, now: Timestamp) -> Pass;

    /// `None`: each alert for it goes out by itself.
    fn folding(&self, to: &Destination) -> Option<Folding>;

    /// How many of these, in their order, go into each digest of one window. What is in none of them
    /// waits for the next.
    fn pack(&self, to: &Destination, alerts: &[Alert]) -> Vec<usize>;
}

/// When alerts that wait are folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folding {
    /// So many that wait go out by themselves.
    pub singles: usize,
    /// From one folding to the next.
    pub window: Duration,
}
