//! The channel against a socket: what it sends, what it makes of each answer, and that nothing it
//! says holds the token.

mod world;

use super::*;
use serde_json::json;
use shared::model::{
    Alert, Category, DeliveryKind, Destination, Judge, Priority, Severity, Timestamp,
};
use std::fs;
use std::io::{self, Write};
use std::net::TcpListener;
use std::sync::Arc;
use tempfile::TempDir;
use world::{Next, OK, TOKEN, World, refused, telegram};

fn delivery(content: Content) -> Delivery {
    let to = Destination {
        channel: "ops".to_owned(),
        chat_id: "-100".to_owned(),
    };
    let (kind, content) = (DeliveryKind::Alert, content);
    Delivery::untried(7, kind, to, Priority::Low, content, Timestamp::EPOCH)
}

fn alert() -> Alert {
    Alert {
        v: Alert::VERSION,
        short_id: "a1b2c3".to_owned(),
        severity: Severity::Low,
        category: Category::Release,
        title: "Version 2 is out".to_owned(),
        summary: String::new(),
        link: Some("https://example.org/2".to_owned()),
        source: "Example".to_owned(),
        also: Vec::new(),
        reason: "a rule".to_owned(),
        judge: Judge::Rule,
        published: None,
    }
}

fn one() -> Delivery {
    delivery(Content::Alert(Box::new(alert())))
}

/// In two parts.
fn two() -> Delivery {
    let summary = "Words of one sentence. ".repeat(300);
    delivery(Content::Alert(Box::new(Alert { summary, ..alert() })))
}

fn delivered(id: &str) -> Outcome {
    Outcome::Delivered(Receipt {
        message_id: id.to_owned(),
    })
}

fn fault_of(flown: &Flown) -> &Fault {
    match &flown.outcome {
        Outcome::Deferred(fault) | Outcome::Rejected(fault) => fault,
        other @ (Outcome::Delivered(_) | Outcome::Begun(..)) => {
            panic!("a fault was expected, not {other:?}")
        }
    }
}

fn ok() -> Next {
    Next::Json(200, OK.to_owned())
}

#[tokio::test]
async fn an_alert_goes_to_its_chat_topic_and_silence() {
    let world = World::with(
        "message_thread_id = 9\nsilent = [\"low\"]\n",
        vec![ok(), ok()],
    );
    assert_eq!(world.send(&one()).await.outcome, delivered("11"));
    let mut elsewhere = one();
    elsewhere.destination.chat_id = "-200".to_owned();
    elsewhere.priority = Priority::High;
    assert_eq!(world.send(&elsewhere).await.outcome, delivered("11"));
    let sent = world.sent();
    assert_eq!(sent[0]["chat_id"], -100);
    assert_eq!(sent[0]["message_thread_id"], 9);
    assert_eq!(sent[0]["disable_notification"], true);
    assert_eq!(sent[1]["chat_id"], -200);
    assert_eq!(sent[1].get("message_thread_id"), None);
    assert_eq!(sent[1].get("disable_notification"), None);
}

#[tokio::test]
async fn a_configured_channel_sends() {
    let world = World::new(vec![ok(), refused(401, "Unauthorized")]);
    assert_eq!(world.send_as_configured(&one()).await, delivered("11"));
    assert_eq!(world.sent().len(), 1);
    let outcome = world.send_as_configured(&one()).await;
    assert!(matches!(outcome, Outcome::Deferred(_)), "{outcome:?}");
}

#[tokio::test]
async fn refused_markup_becomes_plain_text_in_the_same_flight() {
    let entities =
        "Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 0";
    let world = World::new(vec![refused(400, entities), ok()]);
    assert_eq!(world.send(&one()).await.outcome, delivered("11"));
    let sent = world.sent();
    assert_eq!(sent[0]["parse_mode"], "HTML");
    assert_eq!(sent[1].get("parse_mode"), None);
    assert!(
        sent[1]["text"]
            .as_str()
            .expect("text")
            .contains("(https://example.org/2)")
    );
}

#[tokio::test]
async fn what_no_repair_mends_is_rejected_after_one_try_of_it() {
    let world = World::new(vec![
        refused(400, "Bad Request: can't parse entities: x"),
        refused(400, "Bad Request: can't parse entities: x"),
    ]);
    let flown = world.send(&one()).await;
    assert!(matches!(flown.outcome, Outcome::Rejected(_)), "{flown:?}");
    assert_eq!(fault_of(&flown).blame, Blame::Message);
    assert_eq!(world.sent().len(), 2);
}

#[tokio::test]
async fn a_lost_topic_is_left_out_and_a_closed_chat_suspends() {
    let world = World::with(
        "message_thread_id = 9\n",
        vec![refused(400, "Bad Request: message thread not found"), ok()],
    );
    assert_eq!(world.send(&one()).await.outcome, delivered("11"));
    assert_eq!(world.sent()[1].get("message_thread_id"), None);
    let world = World::new(vec![refused(400, "Bad Request: TOPIC_CLOSED")]);
    let flown = world.send(&one()).await;
    assert_eq!(fault_of(&flown).blame, Blame::Destination);
}

#[tokio::test]
async fn an_upgraded_group_is_followed_at_once_and_its_new_id_is_told() {
    let body = json!({
        "ok": false, "error_code": 400, "description": "Bad Request: group chat was upgraded to a supergroup chat",
        "parameters": {"migrate_to_chat_id": -1_001},
    });
    let world = World::with(
        "message_thread_id = 9\n",
        vec![Next::Json(400, body.to_string()), ok(), ok()],
    );
    let flown = world.send(&one()).await;
    assert_eq!(
        (flown.outcome, flown.migrated_to),
        (delivered("11"), Some(-1_001))
    );
    world.telegram.rename("-100", "-1001");
    assert_eq!(world.send(&one()).await.outcome, delivered("11"));
    let sent = world.sent();
    let chats: Vec<&Value> = sent.iter().map(|body| &body["chat_id"]).collect();
    assert_eq!(chats, [&json!(-100), &json!(-1_001), &json!(-1_001)]);
    assert_eq!(sent[2]["message_thread_id"], 9, "it is the configured chat");
}

#[tokio::test]
async fn what_follows_is_told_beside_the_outcome() {
    for (next, blame, follows) in [
        (
            refused(403, "Forbidden: bot was blocked by the user"),
            Blame::Destination,
            Follows::Suspend,
        ),
        (
            refused(401, "Unauthorized"),
            Blame::Channel,
            Follows::StopBot,
        ),
        (
            refused(429, "Too Many Requests: retry after 9"),
            Blame::Destination,
            Follows::Wait(classify::Told::Text),
        ),
    ] {
        let flown = World::new(vec![next]).send(&one()).await;
        assert_eq!((fault_of(&flown).blame, flown.follows), (blame, follows));
        assert!(fault_of(&flown).hold.is_some());
    }
}

/// What is left after the first of them.
fn rest_of(flown: Flown) -> Vec<String> {
    match flown.outcome {
        Outcome::Begun(receipt, rest) if receipt.message_id == "11" => rest,
        other => panic!("a part was expected, not {other:?}"),
    }
}

#[tokio::test]
async fn a_long_alert_goes_out_one_part_in_a_flight_and_is_whole_in_the_end() {
    let world = World::new(vec![ok(), ok()]);
    let mut again = two();
    again.rest = rest_of(world.send(&two()).await);
    assert_eq!(again.rest.len(), 1);
    // What another version would make of its alert does not matter any more.
    again.content = Content::Unreadable("changed".to_owned());
    assert_eq!(world.send(&again).await.outcome, delivered("11"));
    let begins = |body: &Value| -> String {
        let text = body["text"].as_str().expect("text");
        text.chars().take(6).collect()
    };
    let begun: Vec<String> = world.sent().iter().map(begins).collect();
    assert_eq!(begun, ["(1/2) ", "(2/2) "]);
}

#[tokio::test]
async fn of_two_parts_only_the_one_that_may_have_arrived_is_marked() {
    let world = World::new(vec![ok(), ok(), ok(), ok()]);
    let mut first = two();
    first.possible_repeat = true;
    let rest = rest_of(world.send(&first).await);
    let mut second = two();
    second.rest.clone_from(&rest);
    second.possible_repeat = true;
    assert_eq!(world.send(&second).await.outcome, delivered("11"));
    let texts: Vec<String> = world
        .sent()
        .iter()
        .map(|body| body["text"].as_str().expect("text").to_owned())
        .collect();
    assert!(texts[0].starts_with("(possible repeat) (1/2) "));
    assert!(texts[1].starts_with("(possible repeat) (2/2) "));
    assert!(!rest[0].contains("possible repeat"), "kept unmarked");
}

#[tokio::test]
async fn a_rest_goes_to_the_chat_and_can_be_mended_as_the_whole_can() {
    let entities = "Bad Request: can't parse entities: Unsupported start tag \"x\"";
    let world = World::new(vec![ok(), refused(400, entities), ok()]);
    let mut again = two();
    again.rest = rest_of(world.send(&two()).await);
    again.destination.chat_id = "-1001".to_owned();
    assert_eq!(world.send(&again).await.outcome, delivered("11"));
    let sent = world.sent();
    assert_eq!(sent[2]["chat_id"], -1_001);
    assert_eq!(
        sent[2].get("parse_mode"),
        None,
        "plain text as the last resort"
    );
}

#[tokio::test]
async fn an_answer_that_breaks_off_leaves_it_unknown_and_is_asked_for_once() {
    for bytes in [
        "",
        "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"ok\":tr",
        "nonsense",
    ] {
        let world = World::new(vec![Next::Bytes(bytes.as_bytes().to_vec())]);
        let flown = world.send(&one()).await;
        assert!(fault_of(&flown).maybe_delivered, "{bytes}: {flown:?}");
        assert_eq!(world.sent().len(), 1, "{bytes}");
    }
}

#[tokio::test]
async fn where_nothing_listens_nothing_was_sent() {
    let folder = TempDir::new().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let telegram = telegram(&folder, port, "");
    let fault = fault_of(&telegram.send(&one()).await).clone();
    assert_eq!(
        (fault.blame, fault.maybe_delivered),
        (Blame::Channel, false)
    );
    fs::write(folder.path().join("token"), "no token").expect("written");
    let flown = telegram.send(&one()).await;
    assert_eq!(fault_of(&flown).detail, "the token file holds no bot token");
    assert_eq!(flown.follows, Follows::StopBot);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let page = format!(
        "HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:9/bot{TOKEN}/x\r\nContent-Length: 0\r\n\r\n"
    );
    let flown = World::new(vec![Next::Bytes(page.into_bytes())])
        .send(&one())
        .await;
    assert_eq!(
        fault_of(&flown).detail,
        "307 without an answer of the Bot API: a redirect"
    );
}

#[tokio::test]
async fn an_answer_longer_than_we_read_is_a_success_all_the_same() {
    let text = "x".repeat(200_000);
    let long = json!({"ok": true, "result": {"message_id": 12, "text": text}}).to_string();
    let world = World::new(vec![Next::Json(200, long)]);
    assert_eq!(world.send(&one()).await.outcome, delivered("12"));
}

#[tokio::test]
async fn the_bot_and_its_chat_can_be_asked_about() {
    let chat = r#"{"ok":true,"result":{"id":-100,"type":"supergroup"}}"#;
    let world = World::with_questions(vec![
        Next::Json(
            200,
            r#"{"ok":true,"result":{"id":1,"is_bot":true}}"#.to_owned(),
        ),
        Next::Json(200, chat.to_owned()),
        refused(400, "Bad Request: chat not found"),
    ]);
    assert_eq!(world.telegram.probe().await, Ok(()));
    assert_eq!(
        world.telegram.chat_kind("-100").await,
        Ok(Some(ChatKind::Supergroup))
    );
    let refused = world.telegram.chat_kind("@nobody").await;
    assert_eq!(
        refused.map_err(|fault| fault.blame),
        Err(Blame::Destination)
    );
    let asked: Vec<_> = world.asked.try_iter().collect();
    assert_eq!(asked[0].0, format!("/bot{TOKEN}/getMe"));
    assert_eq!(asked[2].1, json!({"chat_id": "@nobody"}));
}

/// Where the test's log goes.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("free").extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The contract of every channel, at the socket: whatever comes back, even the token itself, no
/// log line, no outcome and no `Debug` shows it.
#[test]
fn no_status_and_no_body_brings_the_token_to_light() {
    let log = Log::default();
    let writer = log.clone();
    let lines = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE);
    lines.with_writer(move || writer.clone()).init();
    let bodies = [
        String::new(),
        format!("<html>no /bot{TOKEN}/sendMessage here</html>"),
        json!({"ok": false, "description": format!("Not Found: /bot{TOKEN}/x AAE-hunter2_key")})
            .to_string(),
    ];
    let statuses = (200..=599)
        .step_by(3)
        .chain([101, 400, 401, 403, 404, 429, 502]);
    let answer = |status: u16, body: &str| {
        let length = body.len();
        let page = format!(
            "HTTP/1.1 {status} {TOKEN}\r\nLocation: /bot{TOKEN}/\r\nRetry-After: {TOKEN}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        Next::Bytes(page.into_bytes())
    };
    let script: Vec<Next> = statuses
        .flat_map(|status| bodies.iter().map(move |body| answer(status, body)))
        .collect();
    let count = script.len();
    let world = World::new(script);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let mut asked = 0;
    while asked < count {
        let flown = runtime.block_on(world.send(&one()));
        assert!(!matches!(flown.outcome, Outcome::Delivered(_)), "{flown:?}");
        asked += world.sent().len();
    }
    let log = String::from_utf8_lossy(&log.0.lock().expect("free")).into_owned();
    assert!(
        log.contains("hyper") || log.contains("reqwest"),
        "the log is not heard: {log}"
    );
    let line = log.lines().find(|line| line.contains("hunter2"));
    assert_eq!(line, None);
}

#[tokio::test]
async fn a_bot_that_is_answered_is_not_blamed_for_one_message() {
    let me = || Next::Json(200, r#"{"ok":true,"result":{"id":1}}"#.to_owned());
    let page = || Next::Json(502, "<html>502</html>".to_owned());
    let world = World::with_questions(vec![page(), me(), refused(401, "Unauthorized"), me()]);
    let flown = world.send(&one()).await;
    assert_eq!(
        (fault_of(&flown).hold, fault_of(&flown).maybe_delivered),
        (None, true)
    );
    let flown = world.send(&one()).await;
    assert!(matches!(&flown.outcome, Outcome::Rejected(fault) if fault.blame == Blame::Ours));
    let world = World::with_questions(vec![page(), page()]);
    let flown = world.send(&one()).await;
    assert_eq!(fault_of(&flown).hold, Some(Hold::Down));
}

#[tokio::test]
async fn what_a_question_is_answered_with_is_never_held_against_the_chat() {
    let me = || Next::Json(200, r#"{"ok":true,"result":{"id":1}}"#.to_owned());
    let page = |status| Next::Json(status, "<html>no</html>".to_owned());
    let flood = || refused(429, "Too Many Requests: retry after 33");
    let limited = Some((Hold::RateLimited, Some(Duration::from_secs(33))));
    // Before a second copy.
    let mut again = one();
    again.unknown_outcomes = 1;
    for (asked, hold) in [
        (flood(), limited),
        (page(502), Some((Hold::Down, None))),
        (Next::Bytes(Vec::new()), Some((Hold::Down, None))),
        (refused(401, "Unauthorized"), Some((Hold::Stopped, None))),
        (refused(400, "Bad Request: chat not found"), None),
    ] {
        let flown = World::with_questions(vec![asked]).send(&again).await;
        let fault = fault_of(&flown);
        assert_eq!(fault.hold.map(|hold| (hold, fault.retry_after)), hold);
        assert_eq!(
            (fault.blame, fault.maybe_delivered),
            (Blame::Channel, false)
        );
    }
    // Before the bot is blamed.
    for (answer, asked, hold, maybe_delivered) in [
        (page(502), flood(), limited, true),
        (
            page(404),
            flood(),
            Some((Hold::Stopped, Some(Duration::from_secs(33)))),
            false,
        ),
        (page(502), page(502), Some((Hold::Down, None)), true),
        (page(502), me(), None, true),
    ] {
        let flown = World::with_questions(vec![answer, asked])
            .send(&one())
            .await;
        let fault = fault_of(&flown);
        assert_eq!(fault.hold.map(|hold| (hold, fault.retry_after)), hold);
        assert_eq!(
            (fault.blame, fault.maybe_delivered),
            (Blame::Channel, maybe_delivered)
        );
    }
}

#[tokio::test]
async fn a_rest_in_another_form_makes_a_marked_copy_of_the_whole() {
    let world = World::new(vec![ok()]);
    let mut other = one();
    other.rest = vec!["another form".to_owned()];
    assert_eq!(world.send(&other).await.outcome, delivered("11"));
    let text = world.sent()[0]["text"].as_str().expect("text").to_owned();
    assert!(text.starts_with("(possible repeat) "), "{text}");
}
