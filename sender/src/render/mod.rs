//! From a delivery to what a channel puts on the wire: deterministic, from std and the model alone.

pub mod link;
pub mod plain;
pub mod split;
pub mod telegram;
