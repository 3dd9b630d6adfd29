//! The ingest: one tick fetches, parses, knows once, judges, routes and enqueues, then ends.
//!
//! `run` is the tick, a straight line, read like a table of contents.

mod absence;
pub mod allocator;
pub mod args;
mod asking;
pub mod beats;
pub mod classify;
pub mod command;
pub mod dry_run;
mod edits;
pub mod enqueue;
pub mod feed;
pub mod fetch;
pub mod gather;
mod heartbeat;
mod judging;
pub mod know;
pub mod listen;
mod live;
pub mod operate;
mod panics;
pub mod parsing;
mod pattern;
mod ping;
pub mod plan;
pub mod progress;
pub mod reader;
pub mod report;
mod request;
pub mod route;
pub mod run;
mod seed;
mod silence;
mod tell;
mod telling;
pub mod trouble;
mod warm;
mod watch;
