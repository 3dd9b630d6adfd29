//! The bytes of letters, read back.

use super::*;
use proptest::prelude::*;
use shared::model::{Category, DeliveryKind, Destination, Judge, Priority, Severity};

const FROM: &str = "watch@example.net";

fn alert(title: &str, summary: &str) -> Alert {
    Alert {
        v: Alert::VERSION,
        short_id: "a1b2c3".to_owned(),
        severity: Severity::High,
        category: Category::Vulnerability,
        title: title.to_owned(),
        summary: summary.to_owned(),
        link: Some(format!("https://example.org/{}", "l".repeat(2_000))),
        source: "Example".to_owned(),
        also: Vec::new(),
        reason: "a rule".to_owned(),
        judge: Judge::Rule,
        published: Some(Timestamp::from_unix_millis(1_796_025_600_000)),
    }
}

fn delivery(content: Content) -> Delivery {
    let to = Destination {
        channel: "mail".to_owned(),
        chat_id: "me@example.org".to_owned(),
    };
    let created = Timestamp::from_unix_millis(1_796_025_600_000);
    Delivery::untried(7, DeliveryKind::Alert, to, Priority::High, content, created)
}

fn written(delivery: &Delivery) -> (Letter, String) {
    let letter = write(delivery, FROM, Extent::FULL).expect("a letter");
    let text = String::from_utf8(letter.bytes.clone()).expect("ASCII");
    (letter, text)
}

fn headers(text: &str) -> Vec<&str> {
    let (headers, _) = text.split_once("\r\n\r\n").expect("headers and a body");
    headers.split("\r\n").collect()
}

#[test]
fn a_letter_has_its_headers_and_both_forms_the_plain_one_first() {
    let content = Content::Alert(Box::new(alert("Flaw", "Patch.")));
    let (letter, text) = written(&delivery(content));
    let headers = headers(&text);
    for header in [
        "From: watchalert <watch@example.net>",
        "To: me@example.org",
        "Subject: [HIGH] Flaw",
        "Date: Mon, 30 Nov 2026 08:00:00 +0000",
        "Auto-Submitted: auto-generated",
        "MIME-Version: 1.0",
        &format!("Message-ID: {}", letter.name),
    ] {
        assert!(headers.contains(&header), "{header} of {headers:#?}");
    }
    let order: Vec<_> = ["multipart/alternative", "text/plain", "text/html"]
        .iter()
        .map(|kind| text.find(kind).expect("each is there"))
        .collect();
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(letter.envelope.to().len(), 1);
}

#[test]
fn a_copy_is_the_same_to_the_byte_but_for_its_mark() {
    let content = Content::Alert(Box::new(alert("Flaw", "Patch.")));
    let first = delivery(content);
    let (letter, text) = written(&first);
    assert_eq!(written(&first), (letter.clone(), text.clone()));
    let again = Delivery {
        possible_repeat: true,
        ..first
    };
    let (copy, marked) = written(&again);
    assert_eq!(copy.name, letter.name);
    assert_eq!(marked.replacen("(possible repeat) ", "", 1), text);
    assert!(marked.contains("Subject: (possible repeat) [HIGH] Flaw\r\n"));
}

#[test]
fn what_is_another_mail_has_another_name() {
    let of = |title| {
        written(&delivery(Content::Alert(Box::new(alert(title, "")))))
            .0
            .name
    };
    assert_ne!(of("One"), of("Two"));
    let mut other = delivery(Content::Alert(Box::new(alert("One", ""))));
    other.destination.chat_id = "you@example.org".to_owned();
    assert_ne!(written(&other).0.name, of("One"));
}

#[test]
fn a_story_that_others_bring_too_keeps_its_name() {
    let mut later = alert("One", "");
    later.also = vec!["Another".to_owned()];
    let name = |alert| written(&delivery(Content::Alert(Box::new(alert)))).0.name;
    assert_eq!(name(later), name(alert("One", "")));
}

#[test]
fn a_recipient_that_is_no_address_gets_none() {
    for bad in [
        "-1001234",
        "me",
        "me@x.y\r\nRCPT TO:<you@x.y>",
        "Me <me@x.y>",
    ] {
        let mut odd = delivery(Content::Alert(Box::new(alert("One", ""))));
        odd.destination.chat_id = bad.to_owned();
        let why = write(&odd, FROM, Extent::FULL).expect_err("no letter");
        assert!(why.ends_with("is no mail address"), "{why}");
    }
}

#[test]
fn a_date_beyond_all_years_is_the_last_one() {
    let mut odd = delivery(Content::Alert(Box::new(alert("One", ""))));
    for millis in [i64::MIN, -1, i64::MAX] {
        odd.owed_since = Timestamp::from_unix_millis(millis);
        let (_, text) = written(&odd);
        assert!(text.contains("\r\nDate: "), "{text}");
    }
}

proptest! {
    /// Whatever a feed writes: ASCII lines of at most 998 characters, no header that is not ours, no line
    /// end but CRLF.
    #[test]
    fn no_text_breaks_a_letter(
        title in "(\\PC|[\r\n\0.:]){0,300}", summary in "(\\PC|[\r\n.]){0,3000}", raw in any::<String>(), is_raw: bool,
    ) {
        let content = if is_raw {
            Content::Raw { text: Some(raw), body: "{}".to_owned() }
        } else {
            Content::Alert(Box::new(alert(&title, &summary)))
        };
        let (_, text) = written(&delivery(content));
        prop_assert!(text.is_ascii());
        let bare = text.replace("\r\n", "");
        prop_assert!(!bare.contains(['\r', '\n']));
        prop_assert!(text.split("\r\n").all(|line| line.len() <= 998));
        let known = ["From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version",
            "Content-Type", "Content-Transfer-Encoding"];
        for header in headers(&text) {
            let is_known = header.starts_with([' ', '\t'])
                || header.split_once(": ").is_some_and(|(name, _)| known.contains(&name));
            prop_assert!(is_known, "{}", header);
        }
    }
}
