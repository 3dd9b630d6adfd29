//! Sentry's resources: alerts on events and on metrics, issues, errors, comments, and its own set-up.
//!
//! Shapes: docs.sentry.io, "Webhooks" of the integration platform.

use super::Told;
use super::payload::Payload;
use shared::model::{Category, Severity};

/// A resource names itself in `Sentry-Hook-Resource`.
pub(super) fn read(resource: &str, body: Payload<'_>) -> Told {
    let action = body.raw("action").unwrap_or_default();
    let mut told = match resource {
        "event_alert" => event(body),
        "metric_alert" => metric(&action, body),
        "issue" => issue(&action, body),
        "error" => error(body),
        "comment" => comment(&action, body),
        _ => other(resource, &action, body),
    };
    told.identity.insert(0, resource.to_owned());
    told
}

/// How grave what happened is, where somebody asked to be told of it.
fn level(found: Option<&str>) -> Severity {
    match found {
        Some("fatal") => Severity::Critical,
        Some("warning") => Severity::Normal,
        Some("info" | "debug" | "sample") => Severity::Low,
        _ => Severity::High,
    }
}

fn told(title: String, severity: Severity, identity: Vec<String>) -> Told {
    Told {
        title,
        text: String::new(),
        link: None,
        severity,
        category: Category::Incident,
        identity,
        thread: None,
        is_end: false,
    }
}

fn event(body: Payload<'_>) -> Told {
    let rule = body.text("data.triggered_rule");
    let title = body.word("data.event.title");
    let ids = [
        "data.event.event_id",
        "data.event.issue_id",
        "data.triggered_rule",
    ];
    let severity = level(body.raw("data.event.level").as_deref());
    Told {
        text: rule
            .map(|rule| format!("By the rule {rule}."))
            .unwrap_or_default(),
        link: body.link("data.event.web_url"),
        ..told(title, severity, values(body, &ids))
    }
}

fn metric(action: &str, body: Payload<'_>) -> Told {
    let severity = match action {
        "critical" => Severity::Critical,
        "warning" => Severity::Normal,
        _ => Severity::Low,
    };
    let id = body
        .raw("data.metric_alert.id")
        .or_else(|| body.raw("data.web_url"));
    let id = id.unwrap_or_else(|| body.word("data.description_title"));
    let identity = vec![
        id.clone(),
        action.to_owned(),
        body.raw("data.metric_alert.date_started")
            .unwrap_or_default(),
        body.raw("data.description_text").unwrap_or_default(),
    ];
    Told {
        text: body.prose("data.description_text"),
        link: body.link("data.web_url"),
        thread: Some(vec!["metric".to_owned(), id]),
        is_end: action == "resolved",
        ..told(body.word("data.description_title"), severity, identity)
    }
}

fn issue(action: &str, body: Payload<'_>) -> Told {
    // An issue is what Sentry sorts by itself: nobody asked to be woken by it.
    let severity = match action {
        "created" | "unresolved" => {
            level(body.raw("data.issue.level").as_deref()).max(Severity::Normal)
        }
        "resolved" => Severity::Low,
        _ => Severity::Ignore,
    };
    let title = body.word("data.issue.title");
    let title = match action {
        "created" => title,
        action => format!("{title}: {action}"),
    };
    let id = body.raw("data.issue.id").unwrap_or_default();
    let links = ["data.issue.web_url", "data.issue.permalink"];
    Told {
        text: body.prose("data.issue.culprit"),
        link: links.iter().find_map(|path| body.link(path)),
        thread: matches!(action, "created" | "unresolved" | "resolved")
            .then(|| vec!["issue".to_owned(), id.clone()]),
        is_end: action == "resolved",
        ..told(
            title,
            severity,
            vec![
                id,
                action.to_owned(),
                body.raw("data.issue.lastSeen").unwrap_or_default(),
            ],
        )
    }
}

fn error(body: Payload<'_>) -> Told {
    let severity = level(body.raw("data.error.level").as_deref()).max(Severity::Normal);
    Told {
        link: body.link("data.error.web_url"),
        ..told(
            body.word("data.error.title"),
            severity,
            values(body, &["data.error.event_id", "data.error.issue_id"]),
        )
    }
}

fn comment(action: &str, body: Payload<'_>) -> Told {
    let severity = if action == "created" {
        Severity::Low
    } else {
        Severity::Ignore
    };
    let title = format!(
        "a comment was {action} in {}",
        body.word("data.project_slug")
    );
    Told {
        text: body.prose("data.comment"),
        ..told(
            title,
            severity,
            values(body, &["data.comment_id", "action", "data.timestamp"]),
        )
    }
}

/// Its installation, and what nobody has foreseen.
fn other(resource: &str, action: &str, body: Payload<'_>) -> Told {
    let title = format!("Sentry: {} {action}", resource.replace('_', " "));
    Told {
        category: Category::Operations,
        ..told(title, Severity::Low, vec![body.0.to_string()])
    }
}

fn values(body: Payload<'_>, paths: &[&str]) -> Vec<String> {
    let value = |path: &&str| body.raw(path).unwrap_or_default();
    paths.iter().map(value).collect()
}
