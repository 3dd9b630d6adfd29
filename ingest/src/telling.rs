//! What a tick tells of the models: each trouble once, and its end.

use crate::classify::News;
use crate::enqueue::notices;
use shared::config::Config;
use shared::model::{Alert, Severity, Timestamp};
use shared::policy::text::span;
use shared::store::models::{self, Health, Name};
use shared::store::outbox::{self, Notice};
use shared::store::{Store, StoreError};

/// Keeps how a model fares and forgets what it said long ago, with the notice of what is new. Returns how many rows were enqueued.
pub(crate) async fn tell(
    store: &Store,
    config: &Config,
    (name, health, news): (Name, Health, Option<News>),
    now: Timestamp,
) -> Result<usize, StoreError> {
    let notice = news.and_then(|news| notice_of(name, &news, config, now));
    store
        .write(move |db| {
            models::keep_health(db, name, &health)?;
            models::forget(db, now)?;
            match &notice {
                Some(notice) => Ok(usize::from(outbox::notify(db, notice, now)?.new)),
                None => Ok(0),
            }
        })
        .await
}

fn notice_of(name: Name, news: &News, config: &Config, now: Timestamp) -> Option<Notice> {
    let who = match name {
        Name::Ollama => "Ollama",
        Name::Cloud => "the cloud model",
    };
    let (event, since, title, summary) = match news {
        News::Trouble(what) => (
            "model-trouble",
            now,
            format!("{who} {what}"),
            format!(
                "What it was to judge is judged by somebody else or waits; after {} the built-in rules judge it.",
                span(config.classify.give_up_after)
            ),
        ),
        News::Works { since, after } => (
            "model-works",
            *since,
            format!("{who} judges again"),
            format!("For {} it had not: it {after}.", span(now.since(*since))),
        ),
    };
    let about = since.unix_millis() / 1000;
    let reason = "each trouble of a model is told once, and its end";
    let alert = Alert::about_ourselves(Severity::Normal, title, summary, reason, about);
    Some(Notice {
        event: event.to_owned(),
        about: format!("{who}-{about}"),
        to: notices(&alert, config)?,
        alert,
    })
}
