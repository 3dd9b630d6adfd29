//! Several alerts in one notification: a line for each and its link below it, grouped by severity, then
//! by source.

use super::{LIMIT, Note, REPEAT, marker, shown_title, visible};
use crate::render::link::web_link;
use crate::render::telegram::short_id;
use shared::model::{Alert, Severity};
use shared::policy::text::shorten;

/// The most characters of each field.
const TITLE: usize = 90;
const SOURCE: usize = 60;
const NO_LINK: usize = 120;
/// The heading of all, the mark of a repeat, and line breaks, should all have to stand in the message.
const HEADING: usize = REPEAT.len() + 32;

/// How many of `alerts`, in their order, go into each of at most `most` notifications.
pub fn sizes(alerts: &[Alert], most: usize) -> Vec<usize> {
    let mut sizes = Vec::new();
    let mut rest = alerts;
    while sizes.len() < most && !rest.is_empty() {
        let size = fitting(rest);
        sizes.push(size);
        rest = rest.get(size..).unwrap_or_default();
    }
    sizes
}

/// How many of the first fit; at least one, which has a notification of its own anyway.
fn fitting(alerts: &[Alert]) -> usize {
    let mut used = HEADING;
    let mut groups: Vec<(Severity, &str)> = Vec::new();
    for (count, alert) in alerts.iter().enumerate() {
        used += line(alert).len();
        let group = (alert.severity, alert.source.as_str());
        if !groups.contains(&group) {
            groups.push(group);
            used += heading(alert).len();
        }
        if used > LIMIT {
            return count.max(1);
        }
    }
    alerts.len()
}

/// One notification, which holds what [`sizes`] put into it.
pub fn render(alerts: &[Alert]) -> Note {
    let mut grouped: Vec<&Alert> = alerts.iter().collect();
    grouped.sort_by_key(|alert| (alert.severity.priority(), &alert.source));
    let mut text = String::new();
    let mut group = None;
    for alert in &grouped {
        let of_this = Some((alert.severity, &alert.source));
        if group != of_this {
            text.push_str(&heading(alert));
            group = of_this;
        }
        text.push_str(&line(alert));
    }
    let count = format!("{} alerts", alerts.len());
    let Some(gravest) = grouped.first().map(|alert| alert.severity) else {
        return Note::new(count, text);
    };
    Note {
        tags: vec![gravest.to_string()],
        ..Note::new(format!("{} {count}", marker(gravest)), text)
    }
}

fn heading(alert: &Alert) -> String {
    let severity = alert.severity.name().to_uppercase();
    let source = shorten(&visible(&alert.source), SOURCE);
    format!("{} {severity} · {source}\n", marker(alert.severity))
}

fn line(alert: &Alert) -> String {
    let (title, id) = (shown_title(alert, TITLE), short_id(alert));
    match alert.link.as_deref().map(|link| (web_link(link), link)) {
        Some((Some(url), _)) => format!("– {title} {id}\n{url}\n"),
        Some((None, text)) => {
            let text = shorten(&visible(text), NO_LINK);
            format!("– {title} ({text}) {id}\n")
        }
        None => format!("– {title} {id}\n"),
    }
}
