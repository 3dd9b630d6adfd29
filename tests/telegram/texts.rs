//! What Telegram takes and refuses of texts, entities, buttons and threads.

use super::client::send;
use super::unlimited;
use serde_json::{Value, json};
use watchalert_tests::telegram::Telegram;

/// The description of the refusal; empty when it was taken.
fn refused(telegram: &Telegram, parameters: Value) -> String {
    let mut body = json!({"chat_id": 42, "text": "x"});
    if let (Some(body), Value::Object(parameters)) = (body.as_object_mut(), parameters) {
        body.extend(parameters);
    }
    let answer = send(telegram, &body);
    assert_eq!(
        answer.status,
        if answer.json()["ok"] == true {
            200
        } else {
            400
        }
    );
    answer.description()
}

#[test]
fn length_is_counted_in_code_points_after_parsing() {
    let telegram = unlimited();
    let of =
        |text: String, mode: &str| refused(&telegram, json!({"text": text, "parse_mode": mode}));
    assert_eq!(of("😀".repeat(4096), ""), "");
    assert_eq!(
        of("😀".repeat(4097), ""),
        "Bad Request: message is too long"
    );
    assert_eq!(of(format!("<b>{}</b>", "é".repeat(4096)), "HTML"), "");
    assert_eq!(
        of("&lt;".repeat(4097), "HTML"),
        "Bad Request: message is too long"
    );
    assert_eq!(of(format!("  {}  \n", "x".repeat(4096)), ""), "");
    assert_eq!(
        of("&amp;".repeat(6_554), "HTML"),
        "Bad Request: text is too long"
    );
    assert_eq!(
        of("&amp;".repeat(6_553), "HTML"),
        "Bad Request: message is too long"
    );
}

#[test]
fn an_empty_text_is_refused_in_two_ways() {
    let telegram = unlimited();
    let of = |text: &str| refused(&telegram, json!({"text": text, "parse_mode": "HTML"}));
    assert_eq!(of(""), "Bad Request: message text is empty");
    assert_eq!(of(" \n\t "), "Bad Request: text must be non-empty");
    assert_eq!(of("<b></b>"), "Bad Request: text must be non-empty");
    assert_eq!(
        of("\u{200b}\u{2060}"),
        "Bad Request: text must be non-empty"
    );
    assert_eq!(of("&#8203;."), "");
}

#[test]
fn spaces_around_go_and_the_entities_move_along() {
    let telegram = unlimited();
    refused(
        &telegram,
        json!({"text": "\n  a <i>b </i> \n", "parse_mode": "html"}),
    );
    let [message] = telegram.accepted().try_into().unwrap();
    assert_eq!(message.text, "a b");
    assert_eq!(
        (message.entities[0].offset, message.entities[0].length),
        (2, 1)
    );
}

#[test]
fn broken_markup_is_refused_with_the_place() {
    let telegram = unlimited();
    let of = |mode: &str, text: &str| {
        let said = refused(&telegram, json!({"text": text, "parse_mode": mode}));
        said.strip_prefix("Bad Request: can't parse entities: ")
            .unwrap_or(&said)
            .to_owned()
    };
    assert_eq!(
        of("HTML", "é (< 10% left)"),
        "Unsupported start tag \"\" at byte offset 4"
    );
    assert_eq!(
        of("HTML", &format!("{}<b>a", "A".repeat(4089))),
        "Can't find end tag corresponding to start tag \"b\""
    );
    assert_eq!(
        of("HTML", "<b><i>x</b></i>"),
        "Unmatched end tag at byte offset 7, expected \"</i>\", found \"</b>\""
    );
    assert_eq!(
        of("Markdown", "nas_01 is down"),
        "Can't find end of the entity starting at byte offset 3"
    );
    assert_eq!(
        of("MarkdownV2", "1.2.3"),
        "Character '.' is reserved and must be escaped with the preceding '\\'"
    );
    assert_eq!(of("LaTeX", "x"), "Bad Request: unsupported parse_mode");
    assert_eq!(telegram.accepted(), []);
}

#[test]
fn of_more_than_a_hundred_entities_the_rest_goes_without_a_word() {
    let telegram = unlimited();
    let text = "<b>x</b> ".repeat(104);
    assert_eq!(
        refused(&telegram, json!({"text": text, "parse_mode": "HTML"})),
        ""
    );
    let [message] = telegram.accepted().try_into().unwrap();
    assert_eq!((message.entities.len(), message.entities_dropped), (100, 4));
}

#[test]
fn entities_of_our_own_must_lie_on_whole_characters() {
    let telegram = unlimited();
    let of = |offset: i64, length: i64| {
        let entities = json!([{"type": "bold", "offset": offset, "length": length}]);
        refused(&telegram, json!({"text": "a😀b", "entities": entities}))
    };
    assert_eq!(of(1, 2), "");
    assert_eq!(telegram.accepted()[0].entities[0].length, 2);
    assert!(of(2, 1).contains("begins in a middle of a UTF-16 symbol"));
    assert!(of(1, 1).contains("ends in a middle of a UTF-16 symbol"));
    assert!(of(3, 2).contains("ends after the end of the text at UTF-16 offset 5"));
    assert!(of(9, 1).contains("begins after the end of the text at UTF-16 offset 9"));
    assert_eq!(of(-1, 1), "Bad Request: ENTITY_BOUNDS_INVALID");
    let untyped = refused(&telegram, json!({"entities": [{"offset": 0, "length": 1}]}));
    assert!(untyped.contains("can't parse MessageEntity"), "{untyped}");
}

#[test]
fn buttons_need_a_link_that_the_world_can_reach() {
    let telegram = unlimited();
    let of = |button: Value| {
        refused(
            &telegram,
            json!({"reply_markup": {"inline_keyboard": [[button]]}}),
        )
    };
    assert_eq!(
        of(json!({"text": "x", "url": "https://example.org/?a=1"})),
        ""
    );
    assert_eq!(of(json!({"text": "x", "url": "example.org"})), "");
    assert_eq!(
        of(json!({"text": "x", "url": "http://localhost:3000"})),
        "Bad Request: inline keyboard button URL 'http://localhost:3000' is invalid: Wrong HTTP URL"
    );
    assert_eq!(
        of(json!({"text": "x", "callback_data": "é".repeat(32)})),
        ""
    );
    assert_eq!(
        of(json!({"text": "x", "callback_data": "é".repeat(33)})),
        "Bad Request: BUTTON_DATA_INVALID"
    );
    assert!(of(json!({"text": "x"})).contains("Text buttons are unallowed"));
    assert_eq!(
        refused(&telegram, json!({"reply_markup": "{"})),
        "Bad Request: can't parse reply keyboard markup JSON object"
    );
}

#[test]
fn a_thread_that_is_not_there_is_refused() {
    let telegram = unlimited();
    let of = |thread: Value| refused(&telegram, json!({"message_thread_id": thread}));
    assert_eq!(of(json!(0)), "");
    assert_eq!(of(json!(1)), "Bad Request: message thread not found");
    assert_eq!(of(json!("9")), "Bad Request: message thread not found");
}
