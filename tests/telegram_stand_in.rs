//! The Telegram stand-in from outside, through a plain socket: what it takes, refuses and records.

#[path = "telegram/client.rs"]
mod client;
#[path = "telegram/faults.rs"]
mod faults;
#[path = "telegram/limits.rs"]
mod limits;
#[path = "telegram/texts.rs"]
mod texts;

use client::{call, exchange, get, send};
use serde_json::{Value, json};
use shared::model::Timestamp;
use shared::platform::clock::Clock;
use watchalert_tests::telegram::{Chat, ChatKind, Limits, Options, TOKEN, Telegram};

/// 2026-11-30T12:00:00Z
const NOW: Timestamp = Timestamp::from_unix_millis(1_796_040_000_000);

/// By a clock that stands still, with limits to the letter.
fn strict() -> (Telegram, Clock) {
    let clock = Clock::set(NOW);
    (Telegram::start(Options::strict(&clock)), clock)
}

/// Takes whatever comes, as fast as it comes.
fn unlimited() -> Telegram {
    Telegram::start(Options {
        limits: Limits::NONE,
        clock: Clock::set(NOW),
        ..Options::default()
    })
}

fn hello(chat_id: i64) -> Value {
    json!({"chat_id": chat_id, "text": "hello"})
}

#[test]
fn it_answers_get_and_post_with_query_form_and_json() {
    let telegram = unlimited();
    let path = format!("/bot{TOKEN}/sendmessage?chat_id=42&text=by+query%3A+%E2%80%94");
    assert_eq!(
        get(&telegram, &path).json()["result"]["text"],
        "by query: —"
    );
    let form = "chat_id=42&text=by%20form";
    let request = format!(
        "POST /bot{TOKEN}/sendMessage HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\n\r\n{form}",
        form.len()
    );
    assert_eq!(
        exchange(&telegram, request.as_bytes()).json()["result"]["message_id"],
        2
    );
    let answer = send(&telegram, &json!({"chat_id": 42, "text": "by JSON"}));
    assert_eq!(
        answer.json(),
        json!({"ok": true, "result": {
            "message_id": 3,
            "date": 1_796_040_000,
            "chat": {"id": 42, "type": "private", "first_name": "private 42"},
            "text": "by JSON",
        }})
    );
    let texts: Vec<String> = telegram.accepted().into_iter().map(|m| m.text).collect();
    assert_eq!(texts, ["by query: —", "by form", "by JSON"]);
    assert_eq!(telegram.requests()[0].verb, "GET");
}

#[test]
fn a_connection_carries_one_request_after_the_other() {
    let telegram = unlimited();
    let two = [
        client::post(&telegram, "getMe", &json!({})),
        client::post(&telegram, "sendMessage", &hello(42)),
    ];
    let mut socket = client::begun(&telegram, &two.concat());
    let first = client::read(&mut socket);
    // Both answers may have come in one piece.
    if telegram.accepted_count() == 0 {
        assert_eq!(client::read(&mut socket).status, 200);
    }
    assert_eq!(first.status, 200);
    assert_eq!(telegram.requests().len(), 2);
}

#[test]
fn it_tells_who_it_is_and_who_is_there() {
    let telegram = Telegram::start(Options {
        chats: Some(vec![
            Chat::new(42, ChatKind::Private).titled("Ada"),
            Chat::new(-5, ChatKind::Group).titled("Family"),
            Chat::new(-1_000_000_000_007, ChatKind::Channel)
                .titled("News")
                .named("our_news"),
            Chat::new(-1_000_000_000_008, ChatKind::Supergroup)
                .titled("Ops")
                .with_threads([7]),
        ]),
        ..Options::default()
    });
    let me = call(&telegram, "getMe", &json!({})).json();
    assert_eq!(
        (&me["result"]["id"], &me["result"]["is_bot"]),
        (&json!(123_456), &json!(true))
    );
    let chat =
        |id: Value| call(&telegram, "getChat", &json!({"chat_id": id})).json()["result"].clone();
    assert_eq!(
        chat(json!(42)),
        json!({"id": 42, "type": "private", "first_name": "Ada"})
    );
    assert_eq!(chat(json!("-5"))["type"], "group");
    assert_eq!(chat(json!("@Our_News"))["id"], -1_000_000_000_007_i64);
    assert_eq!(chat(json!(-1_000_000_000_008_i64))["is_forum"], true);
    let refused = |body: Value| send(&telegram, &body).description();
    assert_eq!(refused(hello(43)), "Bad Request: chat not found");
    assert_eq!(
        refused(json!({"text": "x"})),
        "Bad Request: chat_id is empty"
    );
    assert_eq!(
        refused(json!({"chat_id": "@nobody", "text": "x"})),
        "Bad Request: chat not found"
    );
}

#[test]
fn without_a_list_everybody_is_there() {
    let telegram = unlimited();
    let kinds = [42, -5, -1_001_234_567_890_i64].map(|id| {
        call(&telegram, "getChat", &json!({"chat_id": id})).json()["result"]["type"].clone()
    });
    assert_eq!(kinds, ["private", "group", "supergroup"]);
}

#[test]
fn what_is_no_call_is_refused_as_telegram_does() {
    let telegram = unlimited();
    let told = |path: &str| {
        let answer = get(&telegram, path);
        assert_eq!(answer.json()["error_code"], answer.status);
        (answer.status, answer.description())
    };
    let not_found = || (404, "Not Found".to_owned());
    assert_eq!(told("/"), not_found());
    assert_eq!(told("/botnonsense/getMe"), not_found());
    assert_eq!(told("/bot123456:x"), not_found());
    assert_eq!(
        told("/bot123456:wrong/getMe"),
        (401, "Unauthorized".to_owned())
    );
    assert_eq!(
        told("/bot0123:wrong/getMe"),
        (401, "Unauthorized: invalid token specified".to_owned())
    );
    assert_eq!(
        told(&format!("/bot{TOKEN}/sendTelepathy")),
        (404, "Not Found: method not found".to_owned())
    );
    assert_eq!(
        told(&format!("/bot{TOKEN}/sendMessage?chat_id=42&text=%ff")),
        (
            400,
            "Bad Request: strings must be encoded in UTF-8".to_owned()
        )
    );
    assert_eq!(telegram.accepted(), []);
    let kept = format!("{:?}", telegram.requests());
    assert!(!kept.contains("wrong") && !kept.contains(TOKEN), "{kept}");
}

#[test]
fn a_body_or_a_head_without_end_is_refused_unread() {
    let telegram = unlimited();
    let body = format!("POST /bot{TOKEN}/sendMessage HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n");
    assert_eq!(exchange(&telegram, body.as_bytes()).status, 413);
    let head = format!("GET /{} HTTP/1.1\r\n", "x".repeat(70_000));
    assert_eq!(exchange(&telegram, head.as_bytes()).status, 413);
    assert_eq!(telegram.requests(), []);
}

#[test]
fn every_field_of_a_message_is_recorded() {
    let telegram = Telegram::start(Options {
        clock: Clock::set(NOW),
        chats: Some(vec![
            Chat::new(-1_000_000_000_008, ChatKind::Supergroup).with_threads([7]),
        ]),
        ..Options::default()
    });
    let body = json!({
        "chat_id": -1_000_000_000_008_i64,
        "text": "<b>CVE</b> in <a href=\"https://example.org/x\">this</a>",
        "parse_mode": "HTML",
        "message_thread_id": 7,
        "disable_notification": true,
        "link_preview_options": {"is_disabled": true},
        "reply_markup": {"inline_keyboard": [
            [{"text": "Open", "url": "https://example.org/x"}, {"text": "Mute", "callback_data": "m:1"}],
        ]},
    });
    let answer = send(&telegram, &body).json();
    assert_eq!(answer["result"]["message_thread_id"], 7);
    assert_eq!(
        answer["result"]["entities"],
        json!([
            {"type": "bold", "offset": 0, "length": 3},
            {"type": "text_link", "offset": 7, "length": 4, "url": "https://example.org/x"},
        ])
    );
    let [message] = telegram.accepted().try_into().unwrap();
    assert_eq!(message.text, "CVE in this");
    assert_eq!(message.raw, body["text"]);
    assert_eq!((message.message_id, message.at), (1, NOW));
    assert_eq!((message.silent, message.thread), (true, Some(7)));
    assert_eq!(
        message.link_preview_options,
        Some(json!({"is_disabled": true}))
    );
    let buttons: Vec<(&str, &str)> = message.buttons[0]
        .iter()
        .map(|button| (button.text.as_str(), button.target.as_str()))
        .collect();
    assert_eq!(
        buttons,
        [("Open", "https://example.org/x"), ("Mute", "m:1")]
    );
}
