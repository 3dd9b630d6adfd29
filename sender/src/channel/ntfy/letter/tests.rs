//! What goes over the wire, field by field.

use super::*;
use crate::render::ntfy::render;
use shared::model::{Alert, DeliveryKind, Destination, Severity, Timestamp};

fn delivery(id: i64, priority: Priority, content: Content) -> Delivery {
    let to = Destination {
        channel: "phone".to_owned(),
        chat_id: "my-alerts".to_owned(),
    };
    Delivery::untried(
        id,
        DeliveryKind::Alert,
        to,
        priority,
        content,
        Timestamp::EPOCH,
    )
}

fn alert() -> Alert {
    let (title, text) = ("It broke".to_owned(), "Twice.".to_owned());
    let mut alert = Alert::about_ourselves(Severity::High, title, text, "it did", 0xa1_b2c3);
    alert.link = Some("https://example.org/1".to_owned());
    alert
}

fn letter(delivery: &Delivery) -> Letter {
    Letter::new(render(delivery).expect("rendered"), delivery)
}

fn body(letter: &Letter) -> Value {
    serde_json::from_str(&letter.body()).expect("JSON")
}

#[test]
fn an_alert_is_published_with_priority_tags_click_and_one_action() {
    let delivery = delivery(7, Priority::High, Content::Alert(Box::new(alert())));
    assert_eq!(
        body(&letter(&delivery)),
        json!({
            "topic": "my-alerts",
            "title": "\u{25b2} HIGH It broke",
            "message": "operations · watchalert\nTwice.\nwhy: it did\n#a1b2c3",
            "priority": 4,
            "tags": ["high", "operations", "watchalert"],
            "click": "https://example.org/1",
            "actions": [{"action": "view", "label": "Open", "url": "https://example.org/1"}],
            "sequence_id": "watchalert-7-a1b2c3",
        })
    );
}

#[test]
fn critical_to_low_are_five_to_two() {
    let shown = Priority::ALL.iter().map(|priority| {
        let raw = Content::Raw {
            text: Some("x".to_owned()),
            body: String::new(),
        };
        body(&letter(&delivery(1, *priority, raw)))["priority"].clone()
    });
    assert_eq!(shown.collect::<Vec<_>>(), [5, 4, 3, 2]);
}

#[test]
fn a_sequence_id_is_the_same_for_every_copy_and_for_no_other_row() {
    let of = |id, content: &Content| {
        let mut delivery = delivery(id, Priority::Low, content.clone());
        let first = letter(&delivery).sequence_id().map(str::to_owned);
        delivery.possible_repeat = true;
        delivery.unknown_outcomes = 2;
        let second = letter(&delivery).sequence_id().map(str::to_owned);
        assert_eq!(first, second);
        first.expect("a sequence id")
    };
    let raw = |text: &str| Content::Raw {
        text: Some(text.to_owned()),
        body: format!("{{\"text\":\"{text}\"}}"),
    };
    let mut strange = alert();
    strange.short_id = "ü/../\u{1f980} 7#x".to_owned();
    let contents = [
        raw("a"),
        raw("b"),
        Content::Alert(Box::new(alert())),
        Content::Alert(Box::new(strange.clone())),
        Content::Digest(vec![strange; 3]),
    ];
    let mut seen = std::collections::BTreeSet::new();
    for (number, content) in contents.iter().enumerate() {
        for id in [number, 100 + number] {
            let id = of(i64::try_from(id).expect("small"), content);
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
            assert!(id.len() <= 64 && id.chars().all(is_plain), "{id}");
            assert!(seen.insert(id));
        }
    }
    assert!(seen.contains("watchalert-0-6e3fa53f"), "{seen:?}");
}

#[test]
fn each_way_of_mending_is_taken_once() {
    let delivery = delivery(7, Priority::High, Content::Alert(Box::new(alert())));
    let bare = letter(&delivery)
        .repaired(Repair::Bare)
        .expect("it was not");
    assert_eq!(
        body(&bare),
        json!({
            "topic": "my-alerts",
            "message": "\u{25b2} HIGH It broke\noperations · watchalert\nTwice.\nwhy: it did\n#a1b2c3\nhttps://example.org/1",
            "sequence_id": "watchalert-7-a1b2c3",
        })
    );
    assert_eq!(bare.repaired(Repair::Bare), None);
    let short = bare.repaired(Repair::Shorter).expect("it was not");
    assert_eq!(short.repaired(Repair::Shorter), None);
    let last = short.repaired(Repair::NoSequence).expect("it had one");
    assert_eq!(
        (last.sequence_id(), last.repaired(Repair::NoSequence)),
        (None, None)
    );
}
