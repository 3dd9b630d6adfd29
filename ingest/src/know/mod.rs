//! Known once: the keys under which an entry is remembered.

mod address;
mod identity;
mod story;

pub use identity::{Identified, alias, identify, named_by};
pub use story::story;
