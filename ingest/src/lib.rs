//! x

pub mod fetch;
