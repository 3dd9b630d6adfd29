//! x

pub mod fetch;

//! One tick: what is fetched is parsed, known once, judged and enqueued.

pub mod classify;
pub mod feed;
pub mod know;
mod pattern;
