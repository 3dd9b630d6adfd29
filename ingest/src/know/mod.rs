//! Known once: under which keys an entry is remembered.

mod identity;
mod link;

pub use identity::{Identified, identify};
