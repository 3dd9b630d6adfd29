//! What the sender decides, as pure rules: no clock, no chance, no I/O below this line.

pub mod hold;
pub mod limiter;
pub mod schedule;
pub mod settle;
pub mod share;
