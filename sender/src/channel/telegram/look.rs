//! What a bot and its chat say about themselves, asked without sending anything: for `check --live`.

use super::classify::{Answer, Follows, Repair, classify, of_bot_api};
use super::{Key, Telegram, letter, result_of};
use crate::channel::look::Trouble;
use serde_json::{Map, Value};
use shared::model::{Hold, Outcome};
use shared::policy::text::{one_line, shorten, span};
use std::time::Duration;
use tokio::time::timeout;

/// For an answer; the server itself may hold a question for 8 s.
const PATIENCE: Duration = Duration::from_secs(10);
/// Characters of a name that is somebody else's to choose.
const NAME: usize = 40;

/// A bot whose token is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Me {
    id: i64,
    /// With its `@`.
    name: String,
}

impl Telegram {
    /// Whether the token is good, and which bot it is.
    ///
    /// # Errors
    /// What stands in the way.
    pub async fn look_at_bot(&self) -> Result<Me, Trouble> {
        let key = self.unlock().await.map_err(|why| no_token(&why))?;
        let me = ask(&key, "getMe", &Map::new(), "token_file").await?;
        let id = me.get("id").and_then(Value::as_i64).unwrap_or_default();
        let name = text(&me, "username").map(|name| format!("@{name}"));
        Ok(Me {
            id,
            name: name.unwrap_or_else(|| format!("bot {id}")),
        })
    }

    /// Whether the chat is there and takes messages of the bot; both in words.
    ///
    /// # Errors
    /// What stands in the way.
    pub async fn look_at_chat(&self, me: &Me) -> Result<String, Trouble> {
        let key = self.unlock().await.map_err(|why| no_token(&why))?;
        let mut about = Map::new();
        let chat_id = letter::chat_id(&self.configured.chat_id);
        about.insert("chat_id".to_owned(), chat_id);
        let chat = ask(&key, "getChat", &about, "chat_id").await?;
        let kind = text(&chat, "type").unwrap_or_else(|| "chat".to_owned());
        let title = text(&chat, "title").or_else(|| text(&chat, "first_name"));
        let title = title.map_or_else(String::new, |title| format!(" \"{title}\""));
        let place = key.without_token(&format!("the {kind}{title}"));
        let topic = self.configured.thread.map_or_else(String::new, |topic| {
            format!("; whether the topic {topic} is there, only a message can tell")
        });
        if kind == "private" {
            return Ok(format!("{} to {place}{topic}", me.name));
        }
        about.insert("user_id".to_owned(), me.id.into());
        let member = ask(&key, "getChatMember", &about, "chat_id").await?;
        match closed(&kind, &chat, &member) {
            None => Ok(format!("{} in {place}{topic}", me.name)),
            Some(why) => Err(Trouble {
                key: "chat_id",
                what: format!("{} {why} {place}", me.name),
                is_silence: false,
            }),
        }
    }
}

fn no_token(why: &str) -> Trouble {
    Trouble {
        key: "token_file",
        what: one_line(why),
        is_silence: false,
    }
}

/// Why the bot cannot write there; what is not said is no reason.
fn closed(kind: &str, chat: &Value, member: &Value) -> Option<&'static str> {
    let denied = |of: &Value, right: &str| of.get(right) == Some(&Value::Bool(false));
    let is_channel = kind == "channel";
    match text(member, "status")?.as_str() {
        "left" => Some("is not in"),
        "kicked" => Some("was removed from"),
        "restricted" if denied(member, "is_member") => Some("is not in"),
        "restricted" if denied(member, "can_send_messages") => Some("may not write in"),
        "administrator" if is_channel && denied(member, "can_post_messages") => {
            Some("is an administrator without the right to post in")
        }
        "member" if is_channel => Some("must be an administrator to post in"),
        "member" if denied(chat.get("permissions")?, "can_send_messages") => {
            Some("must be an administrator to write in")
        }
        _ => None,
    }
}

/// Asks once. `key` is to blame when it is the Bot API that says no.
async fn ask(
    bot: &Key<'_>,
    method: &str,
    body: &Map<String, Value>,
    key: &'static str,
) -> Result<Value, Trouble> {
    let Ok(answer) = timeout(PATIENCE, bot.call(method, body)).await else {
        return Err(Trouble {
            key: "api_url",
            what: format!("no answer within {}", span(PATIENCE)),
            is_silence: true,
        });
    };
    if let Some(result) = result_of(&answer) {
        return Ok(result);
    }
    let ruling = classify(&answer);
    let said = match ruling.outcome {
        Outcome::Deferred(fault) | Outcome::Rejected(fault) => fault,
        Outcome::Delivered(_) | Outcome::Begun(..) => return Ok(Value::Null),
    };
    let is_api = matches!(&answer, Answer::Reply(reply) if of_bot_api(reply).is_some());
    let what = match ruling.follows {
        Follows::Repair(Repair::Migrate(id)) => {
            format!("the group was upgraded; write chat_id = {id}")
        }
        _ => bot.without_token(&said.detail),
    };
    Err(Trouble {
        key: match said.hold {
            Some(Hold::RateLimited) => "",
            Some(Hold::Down) => "api_url",
            _ if is_api => key,
            _ => "api_url",
        },
        what: one_line(&what),
        is_silence: !matches!(answer, Answer::Reply(_)),
    })
}

/// A text that somebody else wrote, fit to be shown.
fn text(of: &Value, field: &str) -> Option<String> {
    let text = of.get(field)?.as_str()?;
    let shown = shorten(&one_line(text), NAME);
    (!shown.is_empty()).then_some(shown)
}
