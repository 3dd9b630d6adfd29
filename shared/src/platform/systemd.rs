//! Speaks to systemd: ready, alive, what we are doing, stopping. Without systemd it says nothing.

use sd_notify::NotifyState;

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

/// To be said more often than the unit's `WatchdogSec=`, or systemd ends us.
pub fn alive() {
    tell(&[NotifyState::Watchdog]);
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "systemd did not hear");
    }
}
