//! Several alerts in one Telegram message: a line for each, grouped by severity, then by source.

use super::link::web_link;
use super::split::{self, Look, Paragraph, Room, Span, cost, visible};
use super::telegram::{ADDED, Post, marker, short_id};
use shared::model::{Alert, Severity};
use shared::policy::text::shorten;

/// The most characters of each field: forty lines fit into a message.
const TITLE: usize = 90;
const SOURCE: usize = 60;
const NO_LINK: usize = 120;
/// Room for the heading of all: `90 alerts`.
const HEADING: Room = Room {
    units: 32,
    entities: 1,
    payload: 32,
    bytes: 64,
};

/// How many of `alerts`, in their order, go into each of at most `most` messages.
pub fn sizes(alerts: &[Alert], most: usize) -> Vec<usize> {
    let room = Room::MESSAGE.less(ADDED).less(HEADING);
    let mut sizes = Vec::new();
    let mut rest = alerts;
    while sizes.len() < most && !rest.is_empty() {
        let size = fitting(rest, room);
        sizes.push(size);
        rest = rest.get(size..).unwrap_or_default();
    }
    sizes
}

/// How many of the first fit; at least one, which has a message of its own anyway.
fn fitting(alerts: &[Alert], room: Room) -> usize {
    let mut used = Room::default();
    let mut groups: Vec<(Severity, &str)> = Vec::new();
    for (count, alert) in alerts.iter().enumerate() {
        used = used.plus(taken(&line(alert)));
        let group = (alert.severity, alert.source.as_str());
        if !groups.contains(&group) {
            groups.push(group);
            used = used.plus(taken(&heading(alert)));
        }
        if !room.holds(used) {
            return count.max(1);
        }
    }
    alerts.len()
}

fn taken(paragraph: &Paragraph) -> Room {
    paragraph
        .iter()
        .map(cost)
        .fold(split::LINE_BREAK, Room::plus)
}

/// One message, which holds what [`sizes`] put into it.
pub fn render(alerts: &[Alert]) -> Post {
    let mut grouped: Vec<&Alert> = alerts.iter().collect();
    grouped.sort_by_key(|alert| (alert.severity.priority(), &alert.source));
    let count = format!("{} alerts", alerts.len());
    let mut paragraphs = vec![vec![Span::new(Look::Bold, count)]];
    let mut group = None;
    for alert in grouped {
        let of_this = Some((alert.severity, &alert.source));
        if group != of_this {
            paragraphs.push(heading(alert));
            group = of_this;
        }
        paragraphs.push(line(alert));
    }
    Post {
        html: split::html(&paragraphs),
        plain: split::plain(&paragraphs),
    }
}

fn heading(alert: &Alert) -> Paragraph {
    let severity = alert.severity.name().to_uppercase();
    let source = shorten(&visible(&alert.source), SOURCE);
    let text = format!("{} {severity} · {source}", marker(alert.severity));
    vec![Span::new(Look::Bold, text)]
}

fn line(alert: &Alert) -> Paragraph {
    let title = match shorten(&visible(&alert.title), TITLE) {
        empty if empty.is_empty() => "(no title)".to_owned(),
        title => title,
    };
    let id = Span::plain(format!(" {}", short_id(alert)));
    match alert.link.as_deref().map(|link| (web_link(link), link)) {
        Some((Some(url), _)) => vec![Span::plain("– "), Span::link(url, title), id],
        Some((None, text)) => {
            let text = shorten(&visible(text), NO_LINK);
            vec![Span::plain(format!("– {title} ({text})")), id]
        }
        None => vec![Span::plain(format!("– {title}")), id],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::model::{Category, Judge};

    fn alert(number: usize, severity: Severity, source: &str) -> Alert {
        Alert {
            v: Alert::VERSION,
            short_id: format!("{number:06x}"),
            severity,
            category: Category::Release,
            title: format!("Story <{number}>"),
            summary: "Not shown here.".to_owned(),
            link: Some(format!("https://example.org/{number}?a&b")),
            source: source.to_owned(),
            also: Vec::new(),
            reason: String::new(),
            judge: Judge::Builtin,
            published: None,
        }
    }

    #[test]
    fn a_digest_is_grouped_by_severity_then_source_with_a_line_and_a_link_for_each() {
        let mut all = vec![
            alert(1, Severity::Normal, "B"),
            alert(2, Severity::High, "B"),
            alert(3, Severity::Normal, "A"),
            alert(4, Severity::High, "B"),
        ];
        all[2].link = Some("javascript:x".to_owned());
        assert_eq!(
            render(&all).html,
            "<b>4 alerts</b>\n\
             <b>\u{25b2} HIGH · B</b>\n\
             – <a href=\"https://example.org/2?a&amp;b\">Story &lt;2&gt;</a> #000002\n\
             – <a href=\"https://example.org/4?a&amp;b\">Story &lt;4&gt;</a> #000004\n\
             <b>\u{25cf} NORMAL · A</b>\n\
             – Story &lt;3&gt; (javascript:x) #000003\n\
             <b>\u{25cf} NORMAL · B</b>\n\
             – <a href=\"https://example.org/1?a&amp;b\">Story &lt;1&gt;</a> #000001"
        );
    }

    /// The limits that Telegram itself has: UTF-16 units after parsing, and entities.
    fn is_within_the_limits(post: &Post) {
        let entities = post.html.matches("</a>").count() + post.html.matches("</b>").count();
        assert!(entities <= 90, "{entities}");
        let mut seen = String::new();
        let mut in_tag = false;
        for c in post.html.chars() {
            match c {
                '<' => in_tag = true,
                '>' => in_tag = false,
                c if !in_tag => seen.push(c),
                _ => {}
            }
        }
        assert!(seen.encode_utf16().count() <= 4_096 + 4 * seen.matches('&').count());
    }

    #[test]
    fn two_hundred_fit_into_a_few_messages_whatever_their_titles() {
        let short: Vec<Alert> = (0..200)
            .map(|n| alert(n, Severity::Normal, "Example"))
            .collect();
        let sizes_of = |alerts: &[Alert]| {
            let sizes = sizes(alerts, 100);
            let mut rest = alerts;
            for size in &sizes {
                is_within_the_limits(&render(&rest[..*size]));
                rest = &rest[*size..];
            }
            sizes
        };
        assert_eq!(sizes_of(&short).iter().sum::<usize>(), 200);
        assert!(sizes_of(&short).len() <= 3, "{:?}", sizes_of(&short));
        let long: Vec<Alert> = (0..200)
            .map(|n| Alert {
                title: "\u{1f980}".repeat(300),
                ..alert(n, Severity::High, &format!("Source {n}"))
            })
            .collect();
        assert!(sizes_of(&long).len() <= 13, "{:?}", sizes_of(&long));
        let far: Vec<Alert> = (0..20)
            .map(|n| Alert {
                link: Some(format!("https://example.org/{}", "x".repeat(2_000))),
                ..alert(n, Severity::High, "S")
            })
            .collect();
        assert_eq!(sizes_of(&far)[0], 3, "of nine thousand characters of links");
        assert_eq!(sizes(&short, 2).len(), 2, "no more messages than allowed");
    }
}
