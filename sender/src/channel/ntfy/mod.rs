//! The ntfy channel: a delivery becomes one notification of a topic; a refusal that proves that nothing was
//! published is mended and sent again at once, each way of mending once.

pub mod classify;
pub mod letter;
pub mod look;
pub mod wire;

use super::http::Wire;
use crate::policy::limiter::Limits;
use crate::render;
use classify::{Answer, Ruling, classify, fault, object};
use letter::Letter;
use serde_json::Value;
use shared::config::{Login, Ntfy as Configured};
use shared::model::{Blame, Delivery, Fault, Hold, Outcome, Timestamp};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::timeout;
use wire::Door;

/// After this long the outcome is unknown: longer than the file with the secret, a question, one
/// exchange, and a question after it may take, each within its own limit.
pub const DEADLINE: Duration = Duration::from_secs(60);
/// To read the secret.
const UNLOCK: Duration = Duration::from_secs(5);
/// A question that tells whether the server is well.
const QUESTION: Duration = Duration::from_secs(4);

#[derive(Debug)]
pub struct Ntfy {
    wire: Wire,
    configured: Configured,
    /// That the server is too old for sequence ids was said.
    was_told: AtomicBool,
}

impl Ntfy {
    pub fn new(wire: Wire, configured: Configured) -> Self {
        Self {
            wire,
            configured,
            was_told: AtomicBool::new(false),
        }
    }

    /// Publishes, repairs included. `now` ends a wait for midnight when the server does not tell the time.
    pub async fn send(&self, delivery: &Delivery, now: Timestamp) -> Outcome {
        let note = match render::ntfy::render(delivery) {
            Ok(note) => note,
            Err(why) => return Outcome::Rejected(fault(Blame::Message, why)),
        };
        let door = match self.open().await {
            Ok(door) => door,
            Err(why) => {
                return Outcome::Deferred(Fault {
                    hold: Some(Hold::Stopped),
                    ..fault(Blame::Channel, why)
                });
            }
        };
        if delivery.unknown_outcomes > 0
            && let Err(fault) = healthy_in_time(&door, now).await
        {
            // A question that changes nothing goes before a copy that may be one too many.
            return Outcome::Deferred(fault);
        }
        let outcome = self.publish(&door, Letter::new(note, delivery), now).await;
        let mut outcome = without_secret(&door, outcome);
        ask_before_blaming_the_server(&door, &mut outcome, now).await;
        outcome
    }

    async fn publish(&self, door: &Door<'_>, letter: Letter, now: Timestamp) -> Outcome {
        let mut letter = letter;
        loop {
            let answer = door.publish(letter.body()).await;
            let Ruling {
                outcome,
                repair,
                sequence_id,
            } = classify(&answer, now);
            if matches!(outcome, Outcome::Delivered(_)) {
                self.compare(letter.sequence_id(), sequence_id.as_deref());
            }
            match repair.and_then(|repair| letter.repaired(repair)) {
                Some(better) => letter = better,
                None => return outcome,
            }
        }
    }

    /// A server that knows sequence ids repeats ours. One that does not has published all the same, and
    /// there a repeat stands beside the first, told apart by its mark.
    fn compare(&self, ours: Option<&str>, theirs: Option<&str>) {
        if ours != theirs && !self.was_told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                server = %self.configured.url,
                "this ntfy server does not know our sequence ids (they came with 2.16): a repeat will not \
                 replace what the phone shows, but stand beside it with its mark"
            );
        }
    }

    /// Under which name the gates are kept: topics of one server, written to as the same, share its limits.
    pub fn visitor(&self) -> String {
        let url = &self.configured.url;
        match &self.configured.login {
            Login::Anonymous => format!("anybody at {url}"),
            Login::Token(file) => format!("{} at {url}", file.place()),
            Login::Password { user, .. } => format!("{user} at {url}"),
        }
    }

    pub fn limits(&self) -> Limits {
        Limits::NTFY
    }

    async fn open(&self) -> Result<Door<'_>, String> {
        let door = timeout(UNLOCK, Door::open(&self.wire, &self.configured)).await;
        door.unwrap_or_else(|_elapsed| Err("the secret could not be read in time".to_owned()))
    }
}

fn without_secret(door: &Door<'_>, outcome: Outcome) -> Outcome {
    let shown = |fault: Fault| Fault {
        detail: door.without_secret(&fault.detail),
        ..fault
    };
    match outcome {
        Outcome::Deferred(fault) => Outcome::Deferred(shown(fault)),
        Outcome::Rejected(fault) => Outcome::Rejected(shown(fault)),
        arrived @ (Outcome::Delivered(_) | Outcome::Begun(..)) => arrived,
    }
}

/// A server that is well is not down: then the fault is the message's, and the others go on. When it asks
/// us to wait, that is what is wrong.
async fn ask_before_blaming_the_server(door: &Door<'_>, outcome: &mut Outcome, now: Timestamp) {
    let Outcome::Deferred(fault) = outcome else {
        return;
    };
    if fault.hold != Some(Hold::Down) {
        return;
    }
    match healthy_in_time(door, now).await {
        Ok(()) => fault.hold = None,
        Err(asked) if asked.hold == Some(Hold::RateLimited) => {
            (fault.hold, fault.retry_after) = (asked.hold, asked.retry_after);
        }
        Err(_) => {}
    }
}

async fn healthy_in_time(door: &Door<'_>, now: Timestamp) -> Result<(), Fault> {
    let asked = timeout(QUESTION, healthy(door, now)).await;
    asked.unwrap_or_else(|_elapsed| {
        let why = "a question was not answered in time".to_owned();
        Err(Fault {
            hold: Some(Hold::Down),
            ..fault(Blame::Channel, why)
        })
    })
}

/// Whether the server says that it is well, without publishing anything.
async fn healthy(door: &Door<'_>, now: Timestamp) -> Result<(), Fault> {
    let answer = door.read("v1/health").await;
    if said(&answer).is_some_and(|body| body.get("healthy") == Some(&Value::Bool(true))) {
        return Ok(());
    }
    let fault = match classify(&answer, now).outcome {
        Outcome::Deferred(fault) | Outcome::Rejected(fault) => fault,
        Outcome::Delivered(_) | Outcome::Begun(..) => {
            fault(Blame::Channel, "no word of its health".to_owned())
        }
    };
    let hold = match fault.hold {
        Some(Hold::RateLimited) => Hold::RateLimited,
        _ => Hold::Down,
    };
    Err(Fault {
        blame: Blame::Channel,
        hold: Some(hold),
        maybe_delivered: false,
        detail: door.without_secret(&fault.detail),
        ..fault
    })
}

/// What a question was answered with, when it was.
fn said(answer: &Answer) -> Option<Value> {
    match answer {
        Answer::Reply(reply) if reply.status == 200 => object(reply),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
