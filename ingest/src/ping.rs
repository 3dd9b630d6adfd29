//! The outside ping: a tick tells somebody else that it happens, so that its absence is noticed there.
//! It never fails a tick, and delays none: the lock is free before the last call goes out.

use crate::fetch::ping::call;
use crate::report::Report;
use shared::Failure;
use shared::config::{Ping, PingUrl};
use shared::policy::text::{one_line, shorten};
use tokio::task::JoinHandle;

/// Characters of a reason.
const REASON: usize = 200;

/// Calls that belong to one tick.
pub(crate) struct Pings {
    ping: Ping,
    started: Option<JoinHandle<()>>,
}

impl Pings {
    /// Calls `start`, beside what follows.
    pub(crate) fn begin(ping: &Ping) -> Self {
        let start = ping.start.clone();
        Self {
            ping: ping.clone(),
            started: start.map(|url| tokio::spawn(tell("start", url, None))),
        }
    }

    /// Calls `fail` with a reason, or `success`; when `start` was answered, or was not in its time.
    pub(crate) async fn end(self, ended: &Result<Report, Failure>) {
        if let Some(started) = self.started
            && let Err(panic) = started.await
        {
            tracing::warn!("the outside ping (start) broke off: {panic}");
        }
        let (which, url, reason) = match reason(ended) {
            Some(reason) => ("fail", self.ping.fail, Some(reason)),
            None => ("success", self.ping.success, None),
        };
        if let Some(url) = url {
            tell(which, url, reason).await;
        }
    }
}

/// Why this tick is no success; `None`: it is one.
fn reason(ended: &Result<Report, Failure>) -> Option<String> {
    let whole = match ended {
        Ok(report) if report.troubles.is_empty() => return None,
        Ok(report) => report.troubles.join("; "),
        Err(failure) => format!("the tick failed: {failure}"),
    };
    Some(shorten(&one_line(&whole), REASON))
}

async fn tell(which: &'static str, url: PingUrl, reason: Option<String>) {
    let called = match url.resolve() {
        Ok(address) => call(&address, reason).await,
        Err(problem) => Err(problem.to_string()),
    };
    if let Err(error) = called {
        tracing::warn!("the outside ping ({which}) did not get through: {error}");
    }
}
