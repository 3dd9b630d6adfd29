//! The ingest: ticks of the real program over feeds on loopback, and its reader beside bare feed-rs.

pub mod parse;
mod program;
pub mod tick;
