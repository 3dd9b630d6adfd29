//! What a mail server says when it is asked without sending anything: for `check --live`.

use super::Email;
use super::classify::{Answer, Stage, classify};
use crate::channel::look::Trouble;
use shared::model::Outcome;
use shared::policy::text::{one_line, span};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// For the whole conversation.
const PATIENCE: Duration = Duration::from_secs(45);

impl Email {
    /// Greets, logs in and names sender and recipients, and takes that back.
    ///
    /// # Errors
    /// What stands in the way.
    pub async fn look(&self) -> Result<String, Trouble> {
        let line = Arc::clone(&self.line);
        let (tell, told) = oneshot::channel();
        let looks = move || drop(tell.send(line.look()));
        let thread = thread::Builder::new().name("mail".to_owned()).spawn(looks);
        let silent = |what: String| Trouble {
            key: "smtp",
            what: one_line(&what),
            is_silence: true,
        };
        thread.map_err(|why| silent(format!("no thread to ask: {why}")))?;
        match timeout(PATIENCE, told).await {
            Ok(Ok(said)) => said.map_err(|answer| trouble(&answer)),
            Ok(Err(_panic)) => Err(silent("a bug in the mail channel".to_owned())),
            Err(_elapsed) => Err(silent(format!("no answer within {}", span(PATIENCE)))),
        }
    }
}

fn trouble(answer: &Answer) -> Trouble {
    let key = match answer {
        Answer::Reply(reply) => match reply.stage {
            Stage::Auth => "password_file",
            Stage::Mail => "from",
            Stage::Rcpt => "to",
            _ => "smtp",
        },
        Answer::Misconfigured(what) if what.starts_with("ca_file") => "ca_file",
        _ => "smtp",
    };
    let what = match classify(answer, 0, "").outcome {
        Outcome::Deferred(fault) | Outcome::Rejected(fault) => fault.detail,
        Outcome::Delivered(_) | Outcome::Begun(..) => String::new(),
    };
    Trouble {
        key,
        what: one_line(&what),
        is_silence: !matches!(answer, Answer::Reply(_)),
    }
}
