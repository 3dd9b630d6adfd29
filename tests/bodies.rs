//! What webhooks' bodies become: GitHub's own examples against a table that was read by a person, and
//! bodies of our own making for each right value.

#[path = "bodies/github.rs"]
mod github;
#[path = "bodies/others.rs"]
mod others;

use shared::config::{Config, Program, Surroundings, Webhook};
use shared::model::Timestamp;
use shared::store::posts::Post;
use std::path::Path;
use watchalert_ingest::listen::body::{BodyError, Read, Request, read};
use watchalert_tests::world::START;

/// A webhook of that kind, with `more` of its configuration.
fn webhook(kind: &str, more: &str) -> Webhook {
    let secret = match kind {
        "github" | "sentry" => "secret_file",
        _ => "token_file",
    };
    let text = format!(
        "[channel.screen]\nkind = 'console'\n[[webhook]]\nname = 'infra'\nkind = '{kind}'\n{secret} = 'secret'\n{more}"
    );
    let around = Surroundings {
        directory: Path::new("/nowhere"),
        credentials: None,
        program: Program::Sender,
    };
    let mut config = Config::parse(&text, &around).expect("a good configuration");
    config.webhooks.remove(0)
}

fn posts(webhook: &Webhook, event: Option<&str>, body: &[u8]) -> Result<Vec<Post>, BodyError> {
    Ok(read_at(START, webhook, event, body)?.posts)
}

fn read_at(
    now: Timestamp,
    webhook: &Webhook,
    event: Option<&str>,
    body: &[u8],
) -> Result<Read, BodyError> {
    let request = Request {
        event,
        content_type: Some("application/json"),
        body,
        now,
    };
    read(webhook, &request)
}

/// Severity, category, title, and whether it begins or ends something.
fn line(post: &Post) -> String {
    let rating = post.entry.rating;
    let severity = rating.map_or("-", |rating| rating.severity.name());
    let category = rating.map_or("-", |rating| rating.category.name());
    let thread = match (&post.thread, post.is_end) {
        (None, _) => "",
        (Some(_), false) => " [begins]",
        (Some(_), true) => " [ends]",
    };
    format!("{severity}\t{category}\t{}{thread}", post.entry.title)
}
