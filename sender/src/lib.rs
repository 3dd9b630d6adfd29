//! The sender: drains the outbox to the configured channels, and answers for what is in it.
//!
//! `run` is one sender from start to end; `drain` is the circle inside it, with one way back into
//! the outbox, `flight`.

pub mod args;
pub mod channel;
pub mod command;
pub mod drain;
pub mod flight;
mod gatekeeper;
mod lookout;
mod notice;
pub mod operate;
pub mod policy;
pub mod render;
pub mod run;
pub mod serve;
mod steady;
mod upkeep;
mod watch;
