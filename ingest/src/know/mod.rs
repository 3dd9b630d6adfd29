//! Known once: the keys under which an entry is remembered.

mod address;
mod identity;

pub use identity::{Identified, identify};
