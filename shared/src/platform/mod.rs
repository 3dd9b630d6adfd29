//! The edges of the machine: clock, exit codes, locks, doorbell, service manager, terminal.

pub mod clock;
pub mod crash;
pub mod disk;
pub mod doorbell;
pub mod environment;
pub mod exit;
pub mod lock;
pub mod mount;
pub mod systemd;
pub mod telemetry;
pub mod term;
