//! What a phone shows, and that it is never too long, empty, cut in a character or split at a comma.

use super::*;
use proptest::prelude::*;
use shared::model::{Category, DeliveryKind, Destination, Judge, Priority, Severity, Timestamp};

fn alert() -> Alert {
    Alert {
        v: Alert::VERSION,
        short_id: "a1b2c3".to_owned(),
        severity: Severity::Critical,
        category: Category::Vulnerability,
        title: "A flaw — “so called” 🦀".to_owned(),
        summary: "Patch now.\n\nOr later.".to_owned(),
        link: Some("https://example.org/1?a=b&c".to_owned()),
        source: "Example, Inc.".to_owned(),
        also: vec!["Other".to_owned()],
        reason: "the title says \"exploited\"".to_owned(),
        judge: Judge::Floor,
        published: None,
    }
}

fn delivery(content: Content) -> Delivery {
    let to = Destination {
        channel: "phone".to_owned(),
        chat_id: "topic".to_owned(),
    };
    let kind = DeliveryKind::Alert;
    Delivery::untried(7, kind, to, Priority::High, content, Timestamp::EPOCH)
}

fn note(content: Content) -> Note {
    render(&delivery(content)).expect("rendered")
}

fn of(alert: Alert) -> Note {
    note(Content::Alert(Box::new(alert)))
}

fn raw(text: &str) -> Note {
    note(Content::Raw {
        text: Some(text.to_owned()),
        body: "{}".to_owned(),
    })
}

#[test]
fn an_alert_says_how_grave_what_where_and_why() {
    let note = of(alert());
    assert_eq!(note.title, "\u{25a0} CRITICAL A flaw — “so called” 🦀");
    assert_eq!(
        note.message(),
        "vulnerability · Example, Inc., also in Other\nPatch now.\nOr later.\n\
         why: the title says \"exploited\"\n#a1b2c3"
    );
    assert_eq!(note.click.as_deref(), Some("https://example.org/1?a=b&c"));
}

#[test]
fn no_tag_holds_a_comma() {
    assert_eq!(
        of(alert()).tags,
        ["critical", "vulnerability", "Example Inc."]
    );
}

#[test]
fn a_link_that_is_none_is_shown_and_leads_nowhere() {
    let mut bad = alert();
    bad.link = Some("javascript:alert(1)".to_owned());
    let note = of(bad);
    assert_eq!(note.click, None);
    assert!(
        note.message().contains("\njavascript:alert(1)\n"),
        "{}",
        note.message()
    );
}

#[test]
fn a_message_is_counted_in_bytes_and_never_fills_the_servers_buffer() {
    // 1,400 characters of three bytes each.
    let note = raw(&"火".repeat(1_400));
    let message = note.message();
    assert!(
        message.len() <= LIMIT && message.len() > LIMIT - 8,
        "{}",
        message.len()
    );
    let (kept, told) = message.split_once(" [").expect("a word about it");
    let left_out = 1_400 - kept.chars().count();
    assert_eq!(told, format!("cut here, {left_out} characters more]"));
    assert_eq!(raw(&"x".repeat(4_095)).message(), "x".repeat(4_095));
    assert!(
        raw(&"x".repeat(4_096))
            .message()
            .ends_with("characters more]")
    );
}

#[test]
fn what_is_cut_is_the_summary_and_never_the_id() {
    let mut long = alert();
    long.summary = "Wörter eines Satzes. ".repeat(400);
    long.reason = "é".repeat(5_000);
    long.source = "ü".repeat(5_000);
    let message = of(long).message();
    assert!(
        message.len() <= LIMIT && message.len() > LIMIT - 32,
        "{}",
        message.len()
    );
    assert!(message.ends_with("\n#a1b2c3"), "{message}");
    assert!(message.contains(" characters more]\nwhy: é"), "{message}");
}

#[test]
fn nothing_is_ever_empty() {
    for text in ["", " \n\t", "\u{200b}\u{202e}", "\u{0}"] {
        assert_eq!(raw(text).message(), "(no text)", "{text:?}");
    }
    let mut empty = alert();
    for field in [
        &mut empty.title,
        &mut empty.summary,
        &mut empty.reason,
        &mut empty.source,
    ] {
        "\u{200b}".clone_into(field);
    }
    empty.also.clear();
    let note = of(empty);
    assert_eq!(note.title, "\u{25a0} CRITICAL (no title)");
    assert_eq!(note.message(), "vulnerability · \n#a1b2c3");
}

#[test]
fn a_raw_text_keeps_its_lines_and_loses_what_turns_or_drives() {
    assert_eq!(
        raw("*one*\n\ttwo\u{1b}[2J\u{202e}").message(),
        "*one*\n\ttwo[2J"
    );
    let whole = note(Content::Raw {
        text: None,
        body: "{\"a\":1}".to_owned(),
    });
    assert_eq!(
        (whole.title.as_str(), whole.message()),
        ("", "{\"a\":1}".to_owned())
    );
}

#[test]
fn a_possible_repeat_is_marked_first_of_all() {
    let marked = |content| {
        let mut copy = delivery(content);
        copy.possible_repeat = true;
        render(&copy).expect("rendered")
    };
    let alert = marked(Content::Alert(Box::new(alert())));
    assert!(
        alert
            .title
            .starts_with("(possible repeat) \u{25a0} CRITICAL"),
        "{}",
        alert.title
    );
    assert!(
        alert
            .bare()
            .message()
            .starts_with("(possible repeat) \u{25a0}")
    );
    let raw = marked(Content::Raw {
        text: Some("x".repeat(9_000)),
        body: String::new(),
    });
    let message = raw.message();
    assert!(message.starts_with("(possible repeat) xxx") && message.len() <= LIMIT);
}

#[test]
fn a_bare_note_has_all_in_its_message() {
    let bare = of(alert()).bare();
    assert_eq!(
        (bare.title.as_str(), &bare.click, bare.tags.len()),
        ("", &None, 0)
    );
    let message = bare.message();
    assert!(message.starts_with("\u{25a0} CRITICAL A flaw — “so called” 🦀\nvulnerability · "));
    assert!(
        message.ends_with("#a1b2c3\nhttps://example.org/1?a=b&c"),
        "{message}"
    );
    let short = of(alert()).shorter();
    assert!(short.message().len() <= SHORT);
}

#[test]
fn what_cannot_be_understood_is_not_sent() {
    assert!(render(&delivery(Content::Unreadable("version 9".to_owned()))).is_err());
}

fn numbered(number: usize) -> Alert {
    Alert {
        short_id: format!("{number:06x}"),
        title: format!("Story {number}"),
        link: Some(format!("https://example.org/{number}")),
        also: Vec::new(),
        ..alert()
    }
}

#[test]
fn a_digest_has_a_line_and_a_link_for_each_grouped_by_severity_then_source() {
    let with = |number, severity, source: &str| Alert {
        severity,
        source: source.to_owned(),
        ..numbered(number)
    };
    let mut all = vec![
        with(1, Severity::Normal, "B"),
        with(2, Severity::High, "B"),
        with(3, Severity::Normal, "A"),
        with(4, Severity::High, "B"),
    ];
    all[2].link = None;
    let note = note(Content::Digest(all));
    assert_eq!(note.title, "\u{25b2} 4 alerts");
    assert_eq!(
        (note.tags.as_slice(), &note.click),
        (&["high".to_owned()][..], &None)
    );
    assert_eq!(
        note.message(),
        "\u{25b2} HIGH · B\n\
         – Story 2 #000002\nhttps://example.org/2\n\
         – Story 4 #000004\nhttps://example.org/4\n\
         \u{25cf} NORMAL · A\n\
         – Story 3 #000003\n\
         \u{25cf} NORMAL · B\n\
         – Story 1 #000001\nhttps://example.org/1"
    );
}

proptest! {
    #[test]
    fn every_digest_that_is_packed_fits_uncut_also_bare_and_marked(
        titles in proptest::collection::vec((".{0,120}", 0_usize..1_200, ".{0,9}"), 1..40),
    ) {
        let alerts: Vec<Alert> = titles.iter().enumerate().map(|(number, (title, path, source))| Alert {
            title: title.clone(),
            link: Some(format!("https://example.org/{}", "x".repeat(*path))),
            source: source.clone(),
            ..numbered(number)
        }).collect();
        let mut rest = alerts.as_slice();
        for size in digest::sizes(&alerts, usize::MAX) {
            let (these, others) = rest.split_at(size);
            rest = others;
            let mut digest = delivery(Content::Digest(these.to_vec()));
            digest.possible_repeat = true;
            let note = render(&digest).expect("rendered");
            for message in [note.message(), note.bare().message()] {
                prop_assert!(message.len() <= LIMIT);
                prop_assert!(!message.contains("[cut here, "));
                for alert in these {
                    prop_assert!(message.contains(alert.link.as_deref().unwrap()));
                }
            }
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn no_message_is_empty_or_too_long_whatever_is_in_it(
        title in ".{0,400}", summary in "(?s).{0,3000}", reason in ".{0,400}",
        source in ".{0,400}", link in ".{0,400}",
    ) {
        let alert = Alert { title, summary, reason, source, link: Some(link), ..alert() };
        let note = of(alert);
        for note in [note.clone(), note.clone().bare(), note.clone().shorter(), note.bare().shorter()] {
            let message = note.message();
            prop_assert!(!message.trim().is_empty() && message.len() <= note.room);
            prop_assert!(note.tags.iter().all(|tag| !tag.contains(',')));
        }
    }
}
