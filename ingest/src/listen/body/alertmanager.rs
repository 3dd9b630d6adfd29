//! Alertmanager's groups (version 4), and Grafana's, which have the same shape: each alert is a post, and
//! one that is resolved ends what its firing began.
//!
//! Shapes: prometheus.io, "Configuration", `webhook_config`; grafana.com, "Configure webhook notifications".

use super::payload::Payload;
use super::{Told, rated};
use shared::config::Webhook;
use shared::model::{Category, Severity};

/// Of one group; what is more is told as a number.
const MOST: usize = 99;

pub(super) fn read(webhook: &Webhook, body: Payload<'_>) -> Vec<Told> {
    let alerts: Vec<Payload<'_>> = body.list("alerts").collect();
    let mut told: Vec<Told> = alerts
        .iter()
        .take(MOST)
        .map(|alert| of(webhook, *alert, body))
        .collect();
    let truncated = body
        .raw("truncatedAlerts")
        .and_then(|more| more.parse().ok());
    let more: usize = truncated.unwrap_or(0) + alerts.len().saturating_sub(MOST);
    if more > 0 {
        told.push(left_out(body, more));
    }
    told
}

fn of(webhook: &Webhook, alert: Payload<'_>, body: Payload<'_>) -> Told {
    let is_end = alert.raw("status").as_deref() == Some("resolved");
    let name = alert.text("labels.alertname");
    let where_ = ["labels.instance", "labels.job", "labels.namespace"];
    let where_ = where_.iter().find_map(|path| alert.text(path));
    let says = [
        "annotations.summary",
        "annotations.message",
        "annotations.title",
    ];
    let says = says.iter().find_map(|path| alert.text(path));
    let title = match (name, says, where_) {
        (Some(name), Some(says), Some(place)) => format!("{name} ({place}): {says}"),
        (Some(name), Some(says), None) => format!("{name}: {says}"),
        (Some(name), None, Some(place)) => format!("{name} ({place})"),
        (Some(name), None, None) => name,
        (None, Some(says), _) => says,
        (None, None, _) => "an alert without a name".to_owned(),
    };
    let severity = rated(webhook, alert.raw("labels.severity").as_deref());
    let fingerprint = alert.raw("fingerprint").unwrap_or_else(|| {
        let labels = alert.at("labels");
        labels
            .map(|labels| labels.0.to_string())
            .unwrap_or_default()
    });
    let links = ["generatorURL", "dashboardURL", "panelURL"];
    let link = links.iter().find_map(|path| alert.link(path));
    Told {
        title: if is_end {
            format!("Resolved: {title}")
        } else {
            title
        },
        text: alert.prose("annotations.description"),
        link: link.or_else(|| body.link("externalURL")),
        severity: if is_end {
            Severity::Low
        } else {
            severity.unwrap_or(Severity::Normal)
        },
        category: Category::Incident,
        identity: vec![
            fingerprint.clone(),
            alert.raw("startsAt").unwrap_or_default(),
            is_end.to_string(),
        ],
        thread: Some(vec![fingerprint]),
        is_end,
    }
}

fn left_out(body: Payload<'_>, more: usize) -> Told {
    Told {
        title: format!("{more} more alerts of the group are not in what was posted"),
        text: body.prose("groupKey"),
        link: body.link("externalURL"),
        severity: Severity::Normal,
        category: Category::Incident,
        identity: vec!["left out".to_owned(), body.0.to_string()],
        thread: None,
        is_end: false,
    }
}
