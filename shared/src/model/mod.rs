//! The nouns of watchalert, in the order in which the data passes through them.
//!
//! # The cast
//!
//! | stage | type | what it is |
//! |---|---|---|
//! | parsed | [`Entry`] | one entry as the feed said it |
//! | known once | [`Item`], [`DedupKey`] | the same, with the identity under which it is remembered |
//! | judged | [`Verdict`] | how much it matters, and who says so |
//! | worth telling | [`Alert`] | the one versioned, serialised contract between the two programs |
//! | owed | [`Delivery`], [`DeliveryState`] | one alert for one [`Destination`] |
//! | held | [`Lease`] | a delivery that this sender has claimed; needed to write its result |
//! | rendered | [`Message`] | what a channel puts on the wire; deterministic |
//! | tried | [`Attempt`] | append-only, numbered from 1 |
//! | acknowledged | [`Receipt`] | the provider's message id |
//! | given up | [`DeadLetter`] | a delivery that only a person revives |
//!
//! Beside that path: [`Heard`], one call of a heartbeat, and its [`Pulse`], what is known of it.
//!
//! This module imports nothing but std and serde.

mod alert;
mod delivery;
mod destination;
mod gate;
mod item;
mod outcome;
mod prints;
mod pulse;
mod time;
mod validators;
mod verdict;

pub use alert::Alert;
pub use delivery::{
    Attempt, Content, DeadLetter, Delivery, DeliveryKind, DeliveryState, LONGEST_BACKOFF, Lease,
    Message, Receipt,
};
pub use destination::Destination;
pub use gate::{Breaker, Folding, Gate, GateKeys, Gatekeeper, Gates, Pass, Scope};
pub use item::{DedupKey, Entry, Item, Rating};
pub use outcome::{Blame, Fault, Hold, Outcome, Settlement};
pub use prints::Prints;
pub use pulse::{Heard, Pulse, Signal, Told, Trouble};
pub use time::Timestamp;
pub use validators::Validators;
pub use verdict::{Category, Judge, Priority, Severity, UnknownName, Verdict};
