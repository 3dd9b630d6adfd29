//! What both programs of watchalert share: the nouns, the configuration, the database, and the
//! edges of the machine.

pub mod config;
mod failure;
pub mod model;
pub mod platform;
pub mod policy;
pub mod store;

pub use failure::Failure;
