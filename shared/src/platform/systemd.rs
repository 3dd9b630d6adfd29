//! Speaks to systemd: ready, alive, what we are doing, stopping. Without systemd it says nothing.

use sd_notify::NotifyState;
use std::time::Duration;

/// Tells the service manager that start-up is done.
pub fn ready() {
    tell(&[NotifyState::Ready]);
}

pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// One line for `systemctl status`.
pub fn status(line: &str) {
    tell(&[NotifyState::Status(line)]);
}

/// To be said at least as often as [`watchdog_interval`] asks, or systemd ends us.
pub fn alive() {
    tell(&[NotifyState::Watchdog]);
}

/// `WatchdogSec=` of our unit; `None` when nobody watches.
pub fn watchdog_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled()
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "systemd did not hear");
    }
}
