//! The outbox protocol, whole: nothing else touches the table.
//!
//! ```text
//!            claim(sender)                settle(sender)
//!  ready ────────────────► leased ──────────────────► sent ──prune──► gone
//!   ▲ │ ├─ fold(claim) ─► folded, under a digest that is a row itself; a digest that is given up
//!   │ │ │                 releases what is in it
//!   │ │ ◄── defer/recover ────┘ └─ bury ─► dead ──discard(operator)─► cancelled ──prune──► gone
//!   └─┴── requeue(operator): dead|expired → ready
//! ```
//!
//! | file | moves |
//! |---|---|
//! | [`enqueue`](mod@enqueue), [`add`](mod@add) | nothing → ready |
//! | [`claim`](mod@claim) | ready → leased, with its attempt row, before the network is touched |
//! | `fold` | ready → folded, in the transaction of a claim; folded → ready |
//! | [`failover`] | ready → moved, with a row for another channel; ready → expired |
//! | [`settle`](mod@settle) | leased → sent, ready or dead, by the holder of the lease alone |
//! | [`recover`] | leased → ready under a new epoch; backoff that no clock can reach |
//! | [`waiting`] | none: says which destinations have something, and when |
//! | [`operator`] | dead or expired → ready or cancelled; ready → cancelled |
//! | [`prune`] | finished rows → gone, after their retention |
//!
//! Every function takes `now` and must run inside a job of [`Store::write`](super::Store::write).

pub mod add;
pub mod claim;
pub mod enqueue;
pub mod failover;
mod fold;
pub mod operator;
pub mod prune;
pub mod recover;
pub mod settle;
pub mod waiting;

mod row;

pub(in crate::store) use enqueue::to_json;
pub(in crate::store) use row::{optional_text, state, text};
pub(in crate::store) use waiting::horizon;

pub use claim::{Claim, claim, claim_each};
pub use enqueue::{Addressee, Enqueued, Fallback, Notice, Notified, Owed, enqueue, extend, notify};
pub use recover::{Epoch, heal, take_over};
pub use settle::{Settled, bury_behind, settle};
