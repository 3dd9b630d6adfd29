//! The e-mail channel: each delivery is one mail to one recipient; what is found too long is shortened and
//! sent again at once.

pub mod classify;
mod error;
pub mod letter;
pub mod look;
pub mod wire;

use crate::policy::limiter::Limits;
use crate::render::email::Extent;
use classify::{Answer, Ruling, classify, fault};
use letter::Letter;
use shared::config::Email as Configured;
use shared::model::{Blame, Delivery, Outcome};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, sleep, timeout};
use wire::{IDLE, Line, Progress, gave_up};

/// Connections to one server at once: more are no faster, and many servers take few from one address;
/// Exchange Online three (learn.microsoft.com, throttling of "SMTP Authenticated Submission").
const CONNECTIONS: usize = 3;
/// For a free one.
const TURN: Duration = Duration::from_secs(60);
/// For all that comes before the text, whatever the server drips.
const TALK: Duration = Duration::from_secs(5 * 60);
/// For the text and the answer to it: longer than any one wait in it.
const TEXT: Duration = Duration::from_secs(15 * 60);

/// After this long the outcome is unknown: longer than a mail and its shortened copy may take, each within
/// its own limits.
pub const DEADLINE: Duration = Duration::from_secs(60 * 60);

#[derive(Debug)]
pub struct Email {
    configured: Configured,
    line: Arc<Line>,
    turns: Arc<Semaphore>,
}

impl Email {
    pub fn new(configured: Configured) -> Self {
        Self {
            line: Arc::new(Line::new(configured.clone())),
            configured,
            turns: Arc::new(Semaphore::new(CONNECTIONS)),
        }
    }

    pub async fn send(&self, delivery: &Delivery) -> Outcome {
        let write = |extent| letter::write(delivery, &self.configured.from, extent);
        let letter = match write(Extent::FULL) {
            Ok(letter) => letter,
            Err(why) => return Outcome::Rejected(fault(Blame::Message, why)),
        };
        let length = letter.bytes.len();
        let ruling = self.carry(letter, delivery.failures).await;
        if !ruling.is_too_long {
            return ruling.outcome;
        }
        match write(Extent::SHORT) {
            Ok(shorter) if shorter.bytes.len() < length => {
                self.carry(shorter, delivery.failures).await.outcome
            }
            Ok(_) | Err(_) => ruling.outcome,
        }
    }

    /// Under which name the gates of this account are kept: two channels with the same share them.
    pub fn account(&self) -> String {
        let server = &self.configured.server;
        format!(
            "{}://{}@{}:{}",
            server.encryption.scheme(),
            server.user.as_deref().unwrap_or_default(),
            server.host,
            server.port
        )
    }

    /// What the account may send.
    pub fn limits(&self) -> Limits {
        Limits::mail(self.configured.per_minute)
    }

    async fn carry(&self, letter: Letter, failures: u32) -> Ruling {
        let name = letter.name.clone();
        let turn = timeout(TURN, Arc::clone(&self.turns).acquire_owned()).await;
        let answer = match turn {
            Ok(Ok(turn)) => self.carried(letter, turn).await,
            Ok(Err(_)) | Err(_) => Err("all connections to the mail server are busy".to_owned()),
        };
        match answer {
            Ok(answer) => classify(&answer, failures, &name),
            Err(why) => classify(&Answer::NotSent(why), failures, &name),
        }
    }

    /// In a thread of its own: what hangs there keeps its connection and holds up nothing else. When
    /// nobody waits any more, it does not begin to send.
    async fn carried(&self, letter: Letter, turn: OwnedSemaphorePermit) -> Result<Answer, String> {
        let (line, progress) = (Arc::clone(&self.line), Arc::new(Progress::default()));
        let (known, begun) = (Arc::clone(&progress), Instant::now());
        let (tell, mut told) = oneshot::channel();
        let carry = move || {
            let answer = line.carry(&letter, &known, begun);
            // Nobody may wait any more.
            drop(tell.send(answer));
            drop(turn);
        };
        let thread = thread::Builder::new().name("mail".to_owned()).spawn(carry);
        thread.map_err(|why| format!("no thread to send it: {why}"))?;
        let answer = match timeout(TALK, &mut told).await {
            Ok(answer) => answer,
            Err(_elapsed) if progress.is_abandoned() => return Err(gave_up(TALK)),
            Err(_elapsed) => match timeout(TEXT, told).await {
                Ok(answer) => answer,
                Err(_elapsed) => return Ok(Answer::Lost(gave_up(TEXT))),
            },
        };
        self.hang_up_when_idle(begun);
        match answer {
            Ok(answer) => Ok(answer),
            Err(_panic) if progress.is_abandoned() => Err("a bug in the mail channel".to_owned()),
            Err(_panic) => Ok(Answer::Lost("a bug in the mail channel".to_owned())),
        }
    }

    fn hang_up_when_idle(&self, since: Instant) {
        let line = Arc::downgrade(&self.line);
        tokio::spawn(async move {
            sleep(IDLE).await;
            if let Some(line) = line.upgrade() {
                drop(thread::Builder::new().spawn(move || line.hang_up(since)));
            }
        });
    }
}

#[cfg(test)]
mod tests;
