//! The ingest: ticks of the real program over feeds on loopback, the receiver beside a tick, and the reader of feeds
//! beside bare feed-rs.

pub mod parse;
mod program;
pub mod receive;
pub mod tick;
