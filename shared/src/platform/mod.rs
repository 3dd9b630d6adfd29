//! The edges of the machine: clock, exit codes, locks, doorbell, service manager, terminal.

pub mod clock;
pub mod exit;
pub mod lock;
pub mod mount;
