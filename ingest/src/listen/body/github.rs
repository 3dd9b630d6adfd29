//! GitHub's events, each with a title that says what happened where, and how much it matters; the user
//! may say otherwise of each (`events`), and of branches (`branches`).
//!
//! Shapes: docs.github.com, "Webhook events and payloads".

mod code;
mod people;
mod runs;
mod security;
mod talk;

use super::payload::Payload;
use super::{AGAIN, Told, UNIQUE};
use shared::config::Webhook;
use shared::model::{Category, Severity, Timestamp};
use shared::store::posts::Repeats;

/// One delivery: an event, and what happened in it.
#[derive(Clone, Copy)]
struct Event<'v> {
    name: &'v str,
    /// Empty where the event has none.
    action: &'v str,
    body: Payload<'v>,
    now: Timestamp,
}

impl Event<'_> {
    /// `owner/name`, else the organisation, else whoever did it.
    fn place(&self) -> String {
        ["repository.full_name", "organization.login", "sender.login"]
            .iter()
            .find_map(|path| self.body.text(path))
            .unwrap_or_else(|| "GitHub".to_owned())
    }

    fn sender(&self) -> String {
        self.body.word("sender.login")
    }

    fn word(&self, path: &str) -> String {
        self.body.word(path)
    }

    /// What happened, told under its place. Its identity is its kind, its place and `id`.
    fn told(&self, severity: Severity, category: Category, what: &str, id: &[&str]) -> Told {
        let place = self.place();
        let own = id
            .iter()
            .map(|path| self.body.raw(path).unwrap_or_default());
        Told {
            title: format!("{place}: {what}"),
            text: String::new(),
            link: self.body.link("repository.html_url"),
            severity,
            category,
            identity: [self.name.to_owned(), self.action.to_owned(), place]
                .into_iter()
                .chain(own)
                .collect(),
            thread: None,
            is_end: false,
        }
    }
}

impl Told {
    fn link(self, body: Payload<'_>, path: &str) -> Self {
        Self {
            link: body.link(path).or(self.link),
            ..self
        }
    }

    fn text(self, text: String) -> Self {
        Self { text, ..self }
    }

    /// It happens anew each time it comes: nothing in the body says when.
    fn at(mut self, now: Timestamp) -> Self {
        self.identity.push(now.unix_millis().to_string());
        self
    }

    /// It belongs to what goes on under `name` at `place`, and ends it or does not.
    fn of(self, name: &str, parts: &[String], is_end: bool) -> Self {
        let thread = std::iter::once(name.to_owned()).chain(parts.iter().cloned());
        Self {
            thread: Some(thread.collect()),
            is_end,
            ..self
        }
    }
}

/// `None` of a ping; and how near in time the same body is the same delivery.
pub(super) fn read(
    webhook: &Webhook,
    event: &str,
    body: Payload<'_>,
    now: Timestamp,
) -> (Option<Told>, Repeats) {
    if event == "ping" {
        return (None, UNIQUE);
    }
    let action = body.raw("action").unwrap_or_default();
    let event = Event {
        name: event,
        action: &action,
        body,
        now,
    };
    let told = security::told(&event)
        .or_else(|| runs::told(&event))
        .or_else(|| code::told(&event))
        .or_else(|| talk::told(&event));
    // Who is let in, put out and let in again is told three times, although the bodies may be the same.
    let (mut told, repeats) = match told {
        Some(told) => (told, UNIQUE),
        None => (people::told(&event).unwrap_or_else(|| other(&event)), AGAIN),
    };
    if let Some(severity) = chosen(webhook, &event) {
        told.severity = severity;
    } else if let Some(branch) = branch(&event)
        && !webhook.branches.is_empty()
        && !webhook.branches.iter().any(|wanted| wanted.takes(&branch))
    {
        told.severity = Severity::Ignore;
    }
    (Some(told), repeats)
}

/// What the user says of it: of the event and action together before the event alone.
fn chosen(webhook: &Webhook, event: &Event<'_>) -> Option<Severity> {
    let both = format!("{}.{}", event.name, event.action);
    let events = &webhook.events;
    events
        .get(&both)
        .or_else(|| events.get(event.name))
        .copied()
}

/// Where it happened, of events that happen on a branch.
fn branch(event: &Event<'_>) -> Option<String> {
    let body = event.body;
    match event.name {
        "push" => body
            .raw("ref")?
            .strip_prefix("refs/heads/")
            .map(str::to_owned),
        "workflow_run" | "check_suite" => body.raw(&format!("{}.head_branch", event.name)),
        "check_run" => body.raw("check_run.check_suite.head_branch"),
        "status" => body.raw("branches.0.name"),
        _ => None,
    }
}

/// Of what nobody has foreseen: it came, and can be chosen or ignored by its name.
fn other(event: &Event<'_>) -> Told {
    let what = match event.action {
        "" => event.name.replace('_', " "),
        action => format!("{} {}", event.name, action).replace('_', " "),
    };
    let by = format!("{what} by {}", event.sender());
    let body = event.body.0.to_string();
    let mut told = event.told(Severity::Low, Category::Other, &by, &[]);
    told.identity.push(body);
    told.at(event.now)
}

/// GitHub's four names for how grave a flaw is.
fn graveness(name: Option<&str>) -> Severity {
    match name {
        Some("critical") => Severity::Critical,
        Some("high" | "error") => Severity::High,
        Some("low" | "note") => Severity::Low,
        _ => Severity::Normal,
    }
}
