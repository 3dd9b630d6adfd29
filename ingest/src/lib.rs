//! The ingest: one tick fetches, parses, knows once, judges, routes and enqueues, then ends.

pub mod classify;
pub mod feed;
pub mod fetch;
pub mod know;
mod pattern;
