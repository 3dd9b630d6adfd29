//! What a server says about itself and about our topic, asked without publishing anything: for
//! `check --live`.

use super::classify::{Answer, classify, object};
use super::wire::Door;
use super::{Ntfy, said};
use crate::channel::look::Trouble;
use serde_json::Value;
use shared::config::Login;
use shared::model::{Hold, Outcome, Timestamp};
use shared::policy::text::{one_line, span};
use std::time::Duration;
use tokio::time::timeout;

/// For an answer.
const PATIENCE: Duration = Duration::from_secs(10);

impl Ntfy {
    /// Whether a server is there and well, and whether it knows us; in words.
    ///
    /// # Errors
    /// What stands in the way.
    pub async fn look(&self) -> Result<String, Trouble> {
        let configured = &self.configured;
        let (key, whom) = match &configured.login {
            Login::Anonymous => ("topic", "anybody".to_owned()),
            Login::Token(_) => ("token_file", "the owner of the token".to_owned()),
            Login::Password { user, .. } => ("password_file", user.clone()),
        };
        let door = self.open().await.map_err(|why| Trouble {
            key,
            what: one_line(&why),
            is_silence: false,
        })?;
        let health = ask(&door, "v1/health").await?;
        if said(&health).is_none_or(|body| body.get("healthy") != Some(&Value::Bool(true))) {
            return Err(trouble(&door, &health, "url"));
        }
        let topic = &configured.topic;
        // Asks who we are, and whether we may read; nothing but a message tells whether we may write.
        let asked = ask(&door, &format!("{topic}/auth")).await?;
        let only = "whether it may write there, only a message can tell";
        if said(&asked).is_some() {
            return Ok(format!("{whom} to the topic {topic}; {only}"));
        }
        match &asked {
            Answer::Reply(reply) if reply.status == 403 && object(reply).is_some() => Ok(format!(
                "{whom} to the topic {topic}, without reading it; {only}"
            )),
            Answer::Reply(reply) if reply.status == 401 => Err(trouble(&door, &asked, key)),
            _ => Err(trouble(&door, &asked, "topic")),
        }
    }
}

async fn ask(door: &Door<'_>, path: &str) -> Result<Answer, Trouble> {
    let silence = Trouble {
        key: "url",
        what: format!("no answer within {}", span(PATIENCE)),
        is_silence: true,
    };
    let answer = timeout(PATIENCE, door.read(path)).await;
    answer.map_err(|_elapsed| silence)
}

/// `key` is to blame when it is ntfy that says no.
fn trouble(door: &Door<'_>, answer: &Answer, key: &'static str) -> Trouble {
    // What a wait ends by is not shown.
    let fault = match classify(answer, Timestamp::EPOCH).outcome {
        Outcome::Deferred(fault) | Outcome::Rejected(fault) => Some(fault),
        Outcome::Delivered(_) | Outcome::Begun(..) => None,
    };
    let is_ntfy = matches!(answer, Answer::Reply(reply) if object(reply).is_some());
    let hold = fault.as_ref().and_then(|fault| fault.hold);
    let what = match (answer, fault) {
        (Answer::Reply(reply), _) if reply.status == 200 => {
            "what answers there is no ntfy server, or is not well".to_owned()
        }
        (_, Some(fault)) => fault.detail,
        (_, None) => "what answers there is no ntfy server".to_owned(),
    };
    Trouble {
        key: match hold {
            Some(Hold::RateLimited) => "",
            Some(Hold::Down) => "url",
            _ if is_ntfy => key,
            _ => "url",
        },
        what: one_line(&door.without_secret(&what)),
        is_silence: !matches!(answer, Answer::Reply(_)),
    }
}
