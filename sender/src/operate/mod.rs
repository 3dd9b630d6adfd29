//! What an operator asks and decides. Holds no SQL: it calls named functions of the store.

pub mod add;
pub mod backup;
pub mod check;
mod gates;
pub mod queue;
pub mod silence;
pub mod status;
pub mod test;
pub mod verify;
