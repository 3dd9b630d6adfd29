//! Bodies as they leave us, and what each repair makes of them.

use super::*;

fn post() -> Post {
    Post {
        html: "<b>A</b> <a href=\"https://a.example/\">b</a>".to_owned(),
        plain: "A b (https://a.example/)".to_owned(),
    }
}

fn ours() -> Letter {
    Letter::of_post(post(), "-100123", Some(7), true)
}

fn raw(body: &Value) -> Vec<Letter> {
    Letter::of_raw(&body.to_string(), "42").expect("an object")
}

fn only(mut letters: Vec<Letter>) -> Letter {
    assert_eq!(letters.len(), 1);
    letters.remove(0)
}

fn repaired(letter: &Letter, repair: Repair) -> Value {
    let better = letter.repaired(repair).expect("a repair");
    Value::Object(only(better).body)
}

#[test]
fn our_own_message_is_html_without_a_preview() {
    assert_eq!(
        Value::Object(ours().body),
        json!({
            "chat_id": -100_123, "text": "<b>A</b> <a href=\"https://a.example/\">b</a>",
            "parse_mode": "HTML", "link_preview_options": {"is_disabled": true},
            "message_thread_id": 7, "disable_notification": true,
        })
    );
    let bare = Letter::of_post(post(), "@ops_room", None, false);
    assert_eq!(bare.body.get("chat_id"), Some(&json!("@ops_room")));
    assert_eq!(bare.body.len(), 4);
}

#[test]
fn a_raw_body_passes_as_it_is_but_for_the_chat() {
    let body = json!({
        "chat_id": "elsewhere", "text": "*x*", "parse_mode": "Markdown", "disable_notification": true,
        "link_preview_options": {"show_above_text": true}, "reply_markup": {"inline_keyboard": []},
    });
    let mut expected = body.clone();
    expected["chat_id"] = json!(42);
    assert_eq!(Value::Object(only(raw(&body)).body), expected);
}

#[test]
fn a_raw_body_always_has_a_text() {
    let text = |body: Value| only(raw(&body)).text().to_owned();
    assert_eq!(text(json!({"text": " \n"})), NO_TEXT);
    assert_eq!(text(json!({"text": 7})), "7");
    assert_eq!(text(json!({"a": [1]})), r#"{"a":[1]}"#);
    assert_eq!(only(raw(&json!({"a": 1}))).body.len(), 2);
    assert!(Letter::of_raw("[]", "42").is_err());
    assert!(Letter::of_raw("{", "42").is_err());
}

#[test]
fn a_long_raw_text_is_cut_only_when_it_is_plain() {
    let text = "Words of one sentence. ".repeat(300);
    let keyboard = json!({"inline_keyboard": []});
    let pieces = raw(&json!({
        "text": text, "reply_markup": keyboard, "reply_parameters": {"message_id": 1},
    }));
    assert_eq!(pieces.len(), 2);
    assert!(pieces[0].text().starts_with("(1/2) Words"));
    assert!(pieces[1].text().starts_with("(2/2) Words"));
    let has = |field: &str| -> Vec<bool> {
        pieces
            .iter()
            .map(|piece| piece.body.contains_key(field))
            .collect()
    };
    assert_eq!(has("reply_markup"), [false, true]);
    assert_eq!(has("reply_parameters"), [true, false]);
    for format in [
        json!({"parse_mode": "HTML"}),
        json!({"entities": [{"type": "bold", "offset": 0, "length": 1}]}),
    ] {
        let mut body = format;
        body["text"] = json!(text);
        assert_eq!(raw(&body).len(), 1);
    }
    let empty_mode = raw(&json!({"text": text, "parse_mode": ""}));
    assert_eq!(empty_mode.len(), 2);
}

#[test]
fn a_text_beyond_all_parts_says_that_it_was_cut() {
    let pieces = raw(&json!({"text": "Words of one sentence. ".repeat(3_000)}));
    assert_eq!(pieces.len(), PARTS);
    let last = pieces[PARTS - 1].text();
    assert!(last.ends_with("characters more]"), "{last}");
    assert!(pieces.iter().all(|piece| units(piece.text()) <= UNITS));
}

#[test]
fn a_mark_stands_before_the_text_in_every_form() {
    let marked = ours().marked();
    assert!(marked.text().starts_with("(possible repeat) <b>A"));
    assert_eq!(
        repaired(&marked, Repair::Plain)["text"],
        "(possible repeat) A b (https://a.example/)"
    );
    assert_eq!(marked.clone().marked(), marked, "once is enough");
    let escaped = only(raw(&json!({"text": "x", "parse_mode": "MarkdownV2"}))).marked();
    assert_eq!(escaped.text(), "\\(possible repeat\\) x");
    assert_eq!(
        repaired(&escaped, Repair::Plain)["text"],
        "(possible repeat) x"
    );
    let moved = only(raw(
        &json!({"text": "x", "entities": [{"type": "bold", "offset": 0, "length": 1}]}),
    ));
    assert_eq!(
        moved.marked().body["entities"],
        json!([{"type": "bold", "offset": 18, "length": 1}])
    );
}

#[test]
fn plain_spells_links_out_and_keeps_the_rest() {
    let plain = repaired(&ours(), Repair::Plain);
    assert_eq!(plain["text"], "A b (https://a.example/)");
    assert_eq!(plain.get("parse_mode"), None);
    assert_eq!(plain["message_thread_id"], 7);
    let theirs = only(raw(&json!({"text": "a_b", "parse_mode": "Markdown"})));
    assert_eq!(
        repaired(&theirs, Repair::Plain),
        json!({"text": "a_b", "chat_id": 42})
    );
    let again = only(theirs.repaired(Repair::Plain).expect("plain"));
    assert_eq!(
        again.repaired(Repair::Plain),
        None,
        "nothing is left to drop"
    );
}

#[test]
fn plain_text_that_grew_beyond_a_message_is_cut() {
    let post = Post {
        html: "x".to_owned(),
        plain: "word ".repeat(1_000),
    };
    let letter = Letter::of_post(post, "42", None, false);
    assert_eq!(letter.repaired(Repair::Plain).expect("plain").len(), 2);
}

#[test]
fn what_is_too_long_is_halved_until_it_is_short() {
    let words = "word ".repeat(100);
    let letter = only(raw(&json!({"text": words})));
    let halves = letter.repaired(Repair::Split).expect("halves");
    assert_eq!(halves.len(), 3);
    assert!(
        halves
            .iter()
            .all(|half| units(half.text()) <= units(&words) / 2 + 50)
    );
    let formatted = only(raw(
        &json!({"text": "<b>".repeat(3_000), "parse_mode": "HTML"}),
    ));
    let pieces = formatted.repaired(Repair::Split).expect("pieces");
    assert_eq!(pieces.len(), 3);
    assert!(pieces.iter().all(|piece| !piece.is_formatted()));
    assert_eq!(
        only(raw(&json!({"text": "short"}))).repaired(Repair::Split),
        None
    );
}

#[test]
fn a_keyboard_leaves_its_links_behind() {
    let keyboard = json!({"inline_keyboard": [
        [{"text": "Open <it>", "url": "https://a.example/?a&b"}, {"text": "Mute", "callback_data": "m"}],
        "nonsense",
    ]});
    let letter = only(raw(&json!({"text": "x", "reply_markup": keyboard})));
    let bare = repaired(&letter, Repair::DropMarkup);
    assert_eq!(
        bare,
        json!({"chat_id": 42, "text": "x\nOpen <it>: https://a.example/?a&b"})
    );
    let letter = only(raw(
        &json!({"text": "x", "reply_markup": keyboard, "parse_mode": "HTML"}),
    ));
    let bare = repaired(&letter, Repair::DropMarkup);
    assert_eq!(
        bare["text"],
        "x\nOpen &lt;it&gt;: https://a.example/?a&amp;b"
    );
}

#[test]
fn each_other_repair_changes_its_field_or_nothing() {
    let letter = only(raw(&json!({
        "text": "x", "message_thread_id": 7, "reply_parameters": {}, "message_effect_id": "1",
    })));
    for (repair, field) in [
        (Repair::DropThread, "message_thread_id"),
        (Repair::DropReply, "reply_parameters"),
        (Repair::DropEffect, "message_effect_id"),
    ] {
        let bare = repaired(&letter, repair);
        assert_eq!(bare.get(field), None, "{repair:?}");
        assert_eq!(bare.as_object().expect("a body").len(), 4, "{repair:?}");
        let bare = only(raw(&json!({"text": "x"})));
        assert_eq!(bare.repaired(repair), None, "{repair:?}");
    }
    assert_eq!(
        repaired(&letter, Repair::Migrate(-1_001))["chat_id"],
        -1_001
    );
    assert_eq!(letter.repaired(Repair::Migrate(42)), None);
    assert_eq!(repaired(&letter, Repair::Fill)["text"], NO_TEXT);
    assert_eq!(letter.repaired(Repair::DropMarkup), None);
}
