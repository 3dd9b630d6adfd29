//! Plain text, as the console shows it.

use super::sources;
use shared::model::{Alert, Content, Delivery, Message};
use shared::policy::text::{one_line, shorten};

/// Characters of a raw text that are shown; the rest is in the outbox.
const RAW_LIMIT: usize = 4_096;

/// One message, with an empty line after it.
///
/// # Errors
/// The reason, when the payload cannot be understood: it must not be sent half understood.
pub fn render(delivery: &Delivery) -> Result<Message, String> {
    let body = match &delivery.content {
        Content::Alert(alert) => alert_text(alert),
        Content::Digest(alerts) => alerts.iter().map(alert_text).collect(),
        Content::Raw { text, body } => raw_text(delivery, text.as_deref().unwrap_or(body)),
        Content::Unreadable(why) => return Err(why.clone()),
    };
    let mark = if delivery.possible_repeat {
        "(possible repeat) "
    } else {
        ""
    };
    Ok(Message {
        part: 1,
        of: 1,
        text: format!("{mark}{body}\n"),
    })
}

fn alert_text(alert: &Alert) -> String {
    let mut lines = vec![format!(
        "{} {}  #{}",
        alert.severity.name().to_uppercase(),
        one_line(&alert.title),
        one_line(&alert.short_id),
    )];
    let source = one_line(&sources(alert));
    lines.push(format!("{} · {source}", alert.category));
    let summary = one_line(&alert.summary);
    if !summary.is_empty() {
        lines.push(shorten(&summary, 400));
    }
    if let Some(link) = &alert.link {
        lines.push(one_line(link));
    }
    lines.push(format!("why: {}", one_line(&alert.reason)));
    lines.join("\n    ") + "\n"
}

/// A raw text keeps its lines, but none of its control characters.
fn raw_text(delivery: &Delivery, text: &str) -> String {
    let lines: Vec<String> = text.lines().map(one_line).collect();
    let text = shorten(&lines.join("\n    "), RAW_LIMIT);
    let heading = format!(
        "{} for {}  #{}",
        delivery.priority.name().to_uppercase(),
        one_line(&delivery.destination.chat_id),
        delivery.id
    );
    format!("{heading}\n    {text}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::model::{
        Category, DeliveryKind, Destination, Judge, Priority, Severity, Timestamp,
    };

    fn delivery(content: Content) -> Delivery {
        let to = Destination {
            channel: "screen".to_owned(),
            chat_id: "-".to_owned(),
        };
        let (kind, content) = (DeliveryKind::Alert, content);
        Delivery::untried(7, kind, to, Priority::Critical, content, Timestamp::EPOCH)
    }

    fn alert() -> Alert {
        Alert {
            v: Alert::VERSION,
            short_id: "a1b2c3".to_owned(),
            severity: Severity::Critical,
            category: Category::Vulnerability,
            title: "A \u{1b}[31mflaw\nin it".to_owned(),
            summary: "Patch now.".to_owned(),
            link: Some("https://example.org/1".to_owned()),
            source: "Example advisories".to_owned(),
            also: Vec::new(),
            reason: "the title says \"actively exploited\"".to_owned(),
            judge: Judge::Floor,
            published: None,
        }
    }

    #[test]
    fn an_alert_says_what_where_and_why() {
        let message = render(&delivery(Content::Alert(Box::new(alert())))).expect("rendered");
        assert_eq!(
            message.text,
            "CRITICAL A [31mflaw in it  #a1b2c3\n    vulnerability · Example advisories\n    Patch now.\n    https://example.org/1\n    why: the title says \"actively exploited\"\n\n"
        );
    }

    #[test]
    fn a_possible_repeat_is_marked_first_of_all() {
        let mut copy = delivery(Content::Alert(Box::new(alert())));
        copy.possible_repeat = true;
        let message = render(&copy).expect("rendered");
        assert!(
            message.text.starts_with("(possible repeat) CRITICAL A "),
            "{}",
            message.text
        );
    }

    #[test]
    fn a_raw_payload_is_shown_by_its_text_else_whole() {
        let raw = |text: Option<&str>| Content::Raw {
            text: text.map(str::to_owned),
            body: "{\"a\":1}".to_owned(),
        };
        let shown = |content| render(&delivery(content)).expect("rendered").text;
        assert_eq!(
            shown(raw(Some("*one*\ntwo"))),
            "CRITICAL for -  #7\n    *one*\n    two\n\n"
        );
        assert_eq!(shown(raw(None)), "CRITICAL for -  #7\n    {\"a\":1}\n\n");
    }

    #[test]
    fn what_cannot_be_understood_is_not_sent() {
        assert!(render(&delivery(Content::Unreadable("version 9".to_owned()))).is_err());
    }
}
