//! The receiver: what is posted is verified, stored, and answered; then it is judged.
//!
//! `server` holds the connections, as many as there are `seats`, and `room` their bodies; `hook` is one
//! delivery from its first byte to its answer, `signature` says whose it is, `pace` whether they are too
//! many, `body` what it says; `spool` keeps it when the database cannot. `behind` the answers, `intake`
//! brings that back, and `judge` sees to what came of it all.

pub mod beat;
mod behind;
pub mod body;
mod hook;
mod intake;
mod judge;
mod pace;
mod room;
mod seats;
mod server;
pub mod signature;
pub mod spool;

pub(crate) use intake::take_in;
pub use server::{Scene, run};
