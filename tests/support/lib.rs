//! x

pub mod feeds;
