//! What a verified body says: a few posts, each with a title that a phone can show and with what its
//! sender thinks of it.

mod alertmanager;
mod generic;
mod github;
mod payload;
mod sentry;

use crate::know::hash;
use payload::{Payload, TITLE};
use serde_json::Value;
use shared::config::{Webhook, WebhookKind};
use shared::model::{Category, DedupKey, Entry, Rating, Severity, Timestamp};
use shared::policy::text::{one_line, shorten};
use shared::store::posts::{Post, Repeats};
use std::time::Duration;
use url::form_urlencoded;

/// A delivery, verified.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// `X-GitHub-Event`, `Sentry-Hook-Resource`.
    pub event: Option<&'r str>,
    pub content_type: Option<&'r str>,
    pub body: &'r [u8],
    pub now: Timestamp,
}

/// Why a body says nothing, in one sentence for its sender.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("the body is not JSON: {0}")]
    NotJson(String),
    #[error("the form has no field \"payload\"")]
    NoPayload,
}

/// What a body tells of one thing, before it has its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Told {
    title: String,
    text: String,
    link: Option<String>,
    severity: Severity,
    category: Category,
    /// What makes it this happening and no other, within its webhook.
    identity: Vec<String>,
    /// What goes on, when it begins or ends something.
    thread: Option<Vec<String>>,
    is_end: bool,
}

impl Told {
    fn post(self) -> Post {
        let key = |domain: &str, parts: &[String]| -> DedupKey {
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            hash(domain, &parts)
        };
        Post {
            key: key("post", &self.identity),
            thread: self.thread.as_deref().map(|thread| key("thread", thread)),
            is_end: self.is_end,
            entry: Entry {
                title: shorten(&one_line(&self.title), TITLE),
                summary: self.text,
                link: self.link,
                rating: Some(Rating {
                    severity: self.severity,
                    category: self.category,
                }),
                ..Entry::default()
            },
        }
    }
}

/// As long as deliveries are remembered: the body holds a time or an id that no later happening has.
pub const UNIQUE: Repeats = Repeats::Within(Duration::from_hours(30 * 24));
/// The same may be said again, and is news then; a second try of the same follows at once.
pub const AGAIN: Repeats = Repeats::InARow(Duration::from_mins(1));

/// What a body says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Nothing of a ping; at most a hundred.
    pub posts: Vec<Post>,
    /// When the same body is the same delivery: [`UNIQUE`] or [`AGAIN`].
    pub repeats: Repeats,
}

/// Reads a body.
///
/// # Errors
/// The body cannot be read.
pub fn read(webhook: &Webhook, request: &Request<'_>) -> Result<Read, BodyError> {
    let value = json(request)?;
    let body = Payload(&value);
    let event = request.event.unwrap_or("unknown");
    let (posts, repeats): (Vec<Post>, Repeats) = match webhook.kind {
        WebhookKind::Github => {
            let (told, repeats) = github::read(webhook, event, body, request.now);
            (told.map(Told::post).into_iter().collect(), repeats)
        }
        WebhookKind::Sentry => (vec![sentry::read(event, body).post()], UNIQUE),
        WebhookKind::Alertmanager => {
            let told = alertmanager::read(webhook, body).into_iter();
            (told.map(Told::post).collect(), AGAIN)
        }
        WebhookKind::Generic => {
            let found = generic::read(webhook, body, request).into_iter();
            (found.map(post).collect(), AGAIN)
        }
    };
    Ok(Read { posts, repeats })
}

/// What nobody has rated is judged as a feed's item is.
fn post(found: generic::Found) -> Post {
    let mut post = found.told.post();
    post.entry.rating = post.entry.rating.filter(|_| found.is_rated);
    post
}

/// The severity that a word means: to this user, else to most who use it.
fn rated(webhook: &Webhook, word: Option<&str>) -> Option<Severity> {
    let word = word?.trim().to_lowercase();
    let own = webhook.generic.severities.get(&word).copied();
    own.or_else(|| {
        Some(match word.as_str() {
            "critical" | "page" | "disaster" | "emergency" | "fatal" | "p1" => Severity::Critical,
            "high" | "error" | "major" | "failure" | "alert" | "p2" => Severity::High,
            "normal" | "medium" | "warning" | "warn" | "moderate" | "p3" => Severity::Normal,
            "low" | "info" | "minor" | "notice" | "debug" | "none" | "p4" | "p5" => Severity::Low,
            "ignore" => Severity::Ignore,
            _ => return None,
        })
    })
}

/// `serde_json` refuses what is nested deeper than 128 levels.
fn json(request: &Request<'_>) -> Result<Value, BodyError> {
    let essence = request.content_type.unwrap_or_default();
    let parse = |bytes: &[u8]| {
        serde_json::from_slice(bytes).map_err(|error| BodyError::NotJson(error.to_string()))
    };
    if !essence
        .to_ascii_lowercase()
        .starts_with("application/x-www-form-urlencoded")
    {
        return parse(request.body);
    }
    let mut fields = form_urlencoded::parse(request.body);
    let payload = fields.find(|(name, _)| name == "payload");
    let (_, payload) = payload.ok_or(BodyError::NoPayload)?;
    parse(payload.as_bytes())
}
