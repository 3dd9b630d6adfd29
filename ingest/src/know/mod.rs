//! Known once: the keys under which an entry is remembered.

mod address;
mod change;
mod identity;
mod story;

pub(crate) use change::changed;
pub use identity::{Identified, aliases, identify, named_by};
pub use story::story;
