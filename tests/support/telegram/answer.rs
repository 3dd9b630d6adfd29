//! What the stand-in answers, and how it looks on the wire.

use super::super::feeds::Reply;
use super::chats::Chat;
use super::record::Message;
use super::refusal::Refusal;
use serde_json::{Value, json};

/// What goes out, and what is written down of it.
pub(super) struct Answer {
    pub(super) reply: Reply,
    pub(super) status: Option<u16>,
    pub(super) message_id: Option<i64>,
    pub(super) remark: String,
}

/// A no, with its reason.
pub(super) struct Denial {
    pub(super) code: u16,
    pub(super) description: String,
    pub(super) parameters: Option<Value>,
}

impl Denial {
    /// Of that name in the table.
    pub(super) fn row(name: &str) -> Self {
        Refusal::named(name).into()
    }

    pub(super) fn bad_request(why: &str) -> Self {
        Self {
            code: 400,
            description: format!("Bad Request: {why}"),
            parameters: None,
        }
    }
}

impl From<&Refusal> for Denial {
    fn from(row: &Refusal) -> Self {
        Self {
            code: row.code,
            description: row.description.to_owned(),
            parameters: None,
        }
    }
}

impl From<Denial> for Answer {
    fn from(denial: Denial) -> Self {
        let Denial {
            code, description, ..
        } = denial;
        let mut body = json!({"ok": false, "error_code": code, "description": description});
        let mut retry_after = Value::Null;
        if let Some(parameters) = denial.parameters {
            retry_after = parameters["retry_after"].clone();
            body["parameters"] = parameters;
        }
        let mut reply = ok(body.to_string()).with_status(code);
        if !retry_after.is_null() {
            reply = reply.header("Retry-After", &retry_after.to_string());
        }
        Self {
            reply,
            status: Some(code),
            message_id: None,
            remark: description,
        }
    }
}

pub(super) fn ok(body: impl Into<Vec<u8>>) -> Reply {
    Reply::body(body).header("Content-Type", "application/json")
}

/// A message as `sendMessage` gives it back.
pub(super) fn told(message: &Message, chat: &Chat, markup: &str) -> Value {
    let mut result = json!({
        "message_id": message.message_id,
        "date": message.at.unix_millis().div_euclid(1000),
        "chat": chat.json(),
        "text": message.text,
    });
    if !message.entities.is_empty() {
        let entities = message.entities.iter().map(|entity| {
            let mut entry = json!({
                "type": entity.style.name(),
                "offset": entity.offset,
                "length": entity.length,
            });
            match entity.style.name() {
                "text_link" => entry["url"] = json!(entity.detail),
                "pre" if !entity.detail.is_empty() => entry["language"] = json!(entity.detail),
                _ => {}
            }
            entry
        });
        result["entities"] = entities.collect();
    }
    if let Some(thread) = message.thread {
        result["message_thread_id"] = json!(thread);
        result["is_topic_message"] = json!(true);
    }
    if let Ok(markup @ Value::Object(_)) = serde_json::from_str(markup) {
        result["reply_markup"] = markup;
    }
    result
}

/// An error page of the proxy in front.
pub(super) fn page(status: u16) -> String {
    let reason = match status {
        429 => "429 Too Many Requests".to_owned(),
        502 => "502 Bad Gateway".to_owned(),
        503 => "503 Service Temporarily Unavailable".to_owned(),
        504 => "504 Gateway Time-out".to_owned(),
        other => other.to_string(),
    };
    format!(
        "<html>\r\n<head><title>{reason}</title></head>\r\n<body>\r\n\
         <center><h1>{reason}</h1></center>\r\n<hr><center>nginx/1.18.0</center>\r\n\
         </body>\r\n</html>\r\n"
    )
}
