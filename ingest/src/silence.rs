//! Webhooks that have gone silent: nobody but we can notice that a service has stopped to call us.

use crate::enqueue::notices;
use shared::config::{Config, Webhook};
use shared::model::{Alert, Severity, Timestamp};
use shared::policy::text::span;
use shared::store::health::{self, Health, Told};
use shared::store::outbox::{self, Notice};
use shared::store::{Db, Store, StoreError, posts};
use std::collections::HashMap;
use std::time::Duration;

/// Who looked more ticks ago than these did not see what was between.
const MOST_APART: u32 = 3;

/// What is to be told of a webhook, and when that began.
fn news(hook: &Health, quiet_after: Duration, now: Timestamp) -> Option<(Told, Timestamp)> {
    // What it brings need not be news: it calls, so the way is open.
    let last = hook.succeeded_at.max(hook.seeded_at)?;
    match hook.quiet_told_at {
        None => (now.since(last) >= quiet_after).then_some((Told::Quiet, last)),
        Some(told) => (last > told).then_some((Told::Heard, told)),
    }
}

/// Tells of webhooks with `quiet_after`; one that has never called counts since it was first looked at.
/// Returns how many rows were enqueued.
pub(crate) async fn tell(
    store: &Store,
    config: &Config,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let watched: Vec<(&Webhook, Duration)> = config
        .webhooks
        .iter()
        .filter_map(|hook| Some((hook, hook.quiet_after?)))
        .collect();
    if watched.is_empty() {
        return Ok(0);
    }
    let most_apart = config.ingest.interval * MOST_APART;
    store
        .write(move |db| posts::look(db, most_apart, now))
        .await?;
    let known = store.read(health::all).await?;
    let known: HashMap<&str, &Health> = known.iter().map(|one| (one.url.as_str(), one)).collect();
    let mut rows = 0;
    for (hook, quiet_after) in watched {
        let Some(health) = known.get(hook.url().as_str()) else {
            let name = hook.name.clone();
            store.write(move |db| posts::expect(db, &name, now)).await?;
            continue;
        };
        let Some((what, at)) = news(health, quiet_after, now) else {
            continue;
        };
        let (id, notice) = (health.id, notice_of(hook, what, at, config, now));
        let told = move |db: &Db| {
            health::told(db, id, what, now)?;
            let new = match &notice {
                Some(notice) => outbox::notify(db, notice, now)?.new,
                None => false,
            };
            Ok(usize::from(new))
        };
        rows += store.write(told).await?;
    }
    Ok(rows)
}

fn notice_of(
    hook: &Webhook,
    what: Told,
    at: Timestamp,
    config: &Config,
    now: Timestamp,
) -> Option<Notice> {
    let (name, lasted) = (&hook.name, span(now.since(at)));
    let (event, severity, title, summary) = match what {
        Told::Heard => (
            "heard",
            Severity::Low,
            format!("The webhook {name} is called again"),
            format!("It was told {lasted} ago that it was silent."),
        ),
        _ => (
            "silent",
            Severity::Normal,
            format!("The webhook {name} was not called for {lasted}"),
            "Longer than its quiet_after. Does its sender still have it, and does he get through?"
                .to_owned(),
        ),
    };
    let about = at.unix_millis() / 1000;
    let reason = "a webhook that is silent is told once, and so is its end";
    let alert = Alert::about_ourselves(severity, title, summary, reason, about);
    Some(Notice {
        event: format!("webhook-{event}"),
        about: format!("{name}@{}", at.unix_millis()),
        to: notices(&alert, config)?,
        alert,
    })
}
