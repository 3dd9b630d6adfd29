//! Any JSON: by the paths that the user gives, by a preset, or by what usually is where.

use super::payload::Payload;
use super::{Request, Told, alertmanager, rated};
use shared::config::{Preset, Webhook};
use shared::model::{Category, Severity};
use shared::policy::text::{one_line, shorten};

/// Where a title usually stands, and a text.
const TITLES: [&str; 8] = [
    "title", "subject", "name", "summary", "message", "msg", "text", "event",
];
const TEXTS: [&str; 5] = ["message", "msg", "text", "body", "description"];
/// Of a body that has no text.
const WHOLE: usize = 500;

/// What a post is, and what is left to the rules when nothing says how grave it is.
pub(super) struct Found {
    pub(super) told: Told,
    pub(super) is_rated: bool,
}

pub(super) fn read(webhook: &Webhook, body: Payload<'_>, request: &Request<'_>) -> Vec<Found> {
    let rated = |told| Found {
        told,
        is_rated: true,
    };
    match webhook.generic.preset {
        Some(Preset::Grafana) => alertmanager::read(webhook, body)
            .into_iter()
            .map(rated)
            .collect(),
        Some(Preset::UptimeKuma) => vec![rated(uptime_kuma(webhook, body, request))],
        Some(Preset::ChangeDetection) => vec![change(webhook, body, request)],
        None => vec![by_paths(webhook, body, request)],
    }
}

fn told(title: String, request: &Request<'_>) -> Told {
    Told {
        title,
        text: String::new(),
        link: None,
        severity: Severity::Normal,
        category: Category::Other,
        // Who numbers nothing may say the same again: then it happened again.
        identity: vec![
            String::from_utf8_lossy(request.body).into_owned(),
            request.now.unix_millis().to_string(),
        ],
        thread: None,
        is_end: false,
    }
}

fn by_paths(webhook: &Webhook, body: Payload<'_>, request: &Request<'_>) -> Found {
    let fields = &webhook.generic.fields;
    let at = |path: &Option<String>, usual: &[&str]| -> Option<String> {
        match path {
            Some(path) => body.raw(path),
            None => usual.iter().find_map(|path| body.raw(path)),
        }
    };
    let title = at(&fields.title, &TITLES);
    let title = title.unwrap_or_else(|| format!("{} posted something", webhook.name));
    let text = at(&fields.text, &TEXTS).filter(|text| *text != title);
    let text = text.unwrap_or_else(|| shorten(&one_line(&body.0.to_string()), WHOLE));
    let link = fields.link.as_deref().unwrap_or("link");
    let severity = rated(
        webhook,
        at(&fields.severity, &["severity", "level", "priority"]).as_deref(),
    );
    let state = fields.state.as_ref().and_then(|path| body.raw(path));
    let state = state.map(|state| state.to_lowercase());
    let is_end = state
        .as_ref()
        .is_some_and(|state| webhook.generic.ends.contains(state));
    let mut told = Told {
        text: crate::feed::plain(&text, 1_000),
        link: body.link(link).or_else(|| body.link("url")),
        severity: severity.unwrap_or(Severity::Normal),
        is_end,
        ..told(crate::feed::plain(&title, 300), request)
    };
    let id = fields.id.as_ref().and_then(|path| body.raw(path));
    match (id, state) {
        // It goes on under this name, and each turn of it is a happening.
        (Some(id), Some(state)) => {
            told.identity.extend([id.clone(), state]);
            told.thread = Some(vec![id]);
        }
        (Some(id), None) => told.identity = vec![id],
        (None, Some(_)) => told.thread = Some(vec![told.title.clone()]),
        (None, None) => {}
    }
    if is_end {
        told.severity = Severity::Low;
    }
    Found {
        told,
        is_rated: severity.is_some() || is_end,
    }
}

/// github.com/louislam/uptime-kuma, "Webhook": `heartbeat` and `monitor` may be null.
fn uptime_kuma(webhook: &Webhook, body: Payload<'_>, request: &Request<'_>) -> Told {
    let message = body.text("msg");
    let name = body.text("monitor.name");
    let id = body
        .raw("monitor.id")
        .or_else(|| body.raw("heartbeat.monitorID"));
    let Some((id, name)) = id.zip(name) else {
        let title = message.unwrap_or_else(|| format!("{} posted something", webhook.name));
        return Told {
            severity: Severity::Low,
            category: Category::Operations,
            ..told(title, request)
        };
    };
    let (says, severity) = match body.raw("heartbeat.status").as_deref() {
        Some("0") => ("is down", Severity::High),
        Some("1") => ("is up again", Severity::Low),
        Some("3") => ("is under maintenance", Severity::Low),
        _ => ("is not sure", Severity::Ignore),
    };
    let is_turn = matches!(severity, Severity::High) || says == "is up again";
    let at = body.raw("heartbeat.time").unwrap_or_default();
    Told {
        text: body.prose("heartbeat.msg"),
        link: body.link("monitor.url"),
        severity,
        category: Category::Incident,
        identity: vec![id.clone(), says.to_owned(), at],
        thread: is_turn.then(|| vec![id]),
        is_end: says == "is up again",
        ..told(format!("{name} {says}"), request)
    }
}

/// github.com/caronc/apprise, "JSON": changedetection.io posts through it.
fn change(webhook: &Webhook, body: Payload<'_>, request: &Request<'_>) -> Found {
    let severity = match body.raw("type").as_deref() {
        Some("failure") => Some(Severity::High),
        Some("warning") => Some(Severity::Normal),
        other => rated(
            webhook,
            other.filter(|kind| webhook.generic.severities.contains_key(*kind)),
        ),
    };
    let title = body.text("title");
    let title = title.unwrap_or_else(|| format!("{}: a page has changed", webhook.name));
    let text = body.raw("message").unwrap_or_default();
    let link = text
        .split_whitespace()
        .find(|word| word.starts_with("http"));
    let told = Told {
        text: body.prose("message"),
        link: link
            .and_then(|link| url::Url::parse(link).ok())
            .map(Into::into),
        severity: severity.unwrap_or(Severity::Normal),
        ..told(title, request)
    };
    Found {
        told,
        is_rated: severity.is_some(),
    }
}
