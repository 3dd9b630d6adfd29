//! What an ntfy server makes of a publication, and its refusals.

use super::super::feeds::Reply;
use super::Options;
use super::book::Published;
use serde_json::{Value, json};
use shared::model::Timestamp;

/// Bytes of a body, and of a message that is none (`util/peek.go`: to fill the buffer is too much).
const MOST_BODY: usize = 32_768;
const BUFFER: usize = 4_096;
const RESERVED: [&str; 9] = [
    "docs", "static", "file", "app", "account", "settings", "signup", "login", "metrics",
];

/// A no by its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: u64,
}

impl Refusal {
    pub(super) fn of(code: u64) -> Self {
        Self { code }
    }

    pub(super) fn reply(self) -> Reply {
        let error = match self.code {
            40_007 => "invalid priority parameter",
            40_009 => "invalid request: topic invalid",
            40_010 => "invalid request: topic name is disallowed",
            40_014 => "invalid request: attachments not allowed",
            40_018 => "invalid request: actions invalid",
            40_024 => "invalid request: request body must be valid JSON",
            40_049 => "invalid request: sequence ID invalid",
            40_101 => "unauthorized",
            40_301 => "forbidden",
            40_401 => "page not found",
            41_303 => "JSON body too large",
            42_901 => "limit reached: too many requests",
            42_908 => "limit reached: daily message quota reached",
            42_909 => "limit reached: too many auth failures",
            50_001 => "internal server error",
            _ => "something else",
        };
        let status = u16::try_from(self.code / 100).unwrap_or(500);
        let body = json!({"code": self.code, "http": status, "error": error, "link": "https://ntfy.sh/docs/"});
        Reply::status(status)
            .with_body(format!("{body}\n"))
            .header("Content-Type", "application/json")
    }
}

/// The notification that a body becomes; its id and time are set by whoever publishes it.
pub(super) fn judged(body: &[u8], options: &Options) -> Result<Published, Refusal> {
    if body.len() > MOST_BODY {
        return Err(Refusal::of(41_303));
    }
    let body: Value = serde_json::from_slice(body).map_err(|_| Refusal::of(40_024))?;
    let text = |field: &str| body[field].as_str().unwrap_or_default().trim().to_owned();
    let topic = text("topic");
    if !is_plain(&topic) {
        return Err(Refusal::of(40_009));
    }
    if RESERVED.contains(&topic.as_str()) {
        return Err(Refusal::of(40_010));
    }
    let priority = body.get("priority").map_or(Some(3), Value::as_u64);
    let priority = priority.filter(|it| (1..=5).contains(it));
    let sequence_id = body["sequence_id"].as_str().map(str::to_owned);
    let sequence_id = sequence_id.filter(|_| options.knows_sequences);
    if sequence_id.as_ref().is_some_and(|id| !is_plain(id)) {
        return Err(Refusal::of(40_049));
    }
    let message = match text("message") {
        empty if empty.is_empty() => "triggered".to_owned(),
        message => message,
    };
    // Before anybody trims it.
    let length = body["message"].as_str().unwrap_or_default().len();
    let is_attachment = length >= BUFFER;
    if is_attachment && !options.takes_attachments {
        return Err(Refusal::of(40_014));
    }
    Ok(Published {
        at: Timestamp::EPOCH,
        id: String::new(),
        topic,
        title: text("title"),
        message,
        priority: priority.ok_or(Refusal::of(40_007))?,
        tags: tags(&body["tags"]),
        click: body["click"].as_str().map(str::to_owned),
        actions: actions(&body["actions"])?,
        sequence_id,
        is_attachment,
    })
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(plain)
}

/// They travel in one header, with commas between them.
fn tags(given: &Value) -> Vec<String> {
    let given = given.as_array().into_iter().flatten();
    let tags = given.flat_map(|tag| tag.as_str().unwrap_or_default().split(','));
    let tags = tags.map(|tag| tag.trim().to_owned());
    tags.filter(|tag| !tag.is_empty()).collect()
}

fn actions(given: &Value) -> Result<Vec<Value>, Refusal> {
    let actions = given.as_array().cloned().unwrap_or_default();
    let is_sound = |action: &Value| {
        action["action"] == "view" && action["label"].is_string() && action["url"].is_string()
    };
    if actions.len() > 3 || !actions.iter().all(is_sound) {
        return Err(Refusal::of(40_018));
    }
    Ok(actions)
}
