//! Known once: the keys under which an entry is remembered.

mod address;
mod change;
mod identity;
mod story;

pub(crate) use change::changed;
pub use identity::{Identified, aliases, hash, identify, named_by};
pub use story::{no_story, story};
