//! Properties of the ruling, over answers that nobody would think of.

use super::*;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::test_runner::Config;

/// What stands in bodies, in pieces: the nearer to the truth the better.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(r#"{"ok":true,"result":{"message_id":"#.to_owned()),
        Just(r#"{"ok":true,"result":{"message_id":7}}"#.to_owned()),
        Just(r#"{"ok":false,"error_code":"#.to_owned()),
        Just(r#","description":""#.to_owned()),
        Just(r#","parameters":{"retry_after":"#.to_owned()),
        Just("Too Many Requests: retry after ".to_owned()),
        Just("sent message was immediately deleted".to_owned()),
        Just("\"NaN\"".to_owned()),
        Just("}".to_owned()),
        any::<i128>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| number.to_string()),
        ".*",
    ];
    let pieces = vec(piece, 0..6).prop_map(|pieces| pieces.concat().into_bytes());
    prop_oneof![pieces, any::<Vec<u8>>()]
}

fn header() -> impl Strategy<Value = Option<String>> {
    let date = (0_u32..60).prop_map(|second| format!("Mon, 30 Nov 2026 12:00:{second:02} GMT"));
    let text = prop_oneof![
        date,
        any::<u64>().prop_map(|number| number.to_string()),
        ".*"
    ];
    proptest::option::of(text)
}

fn reply() -> impl Strategy<Value = Reply> {
    let status = prop_oneof![Just(200), Just(429), Just(500), any::<u16>()];
    (status, body(), header(), header(), header()).prop_map(
        |(status, body, retry_after, date, content_type)| Reply {
            status,
            retry_after,
            date,
            content_type,
            body,
        },
    )
}

/// By the letter: 200, and JSON that says ok and names the message; or the beginning of that.
fn is_acceptance(reply: &Reply) -> bool {
    let whole: Option<Value> = serde_json::from_slice(&reply.body).ok();
    let says_ok = whole
        .is_some_and(|body| body["ok"] == true && body["result"]["message_id"].as_i64().is_some());
    let begins = reply
        .body
        .starts_with(br#"{"ok":true,"result":{"message_id":"#);
    reply.status == 200 && (says_ok || begins)
}

/// Telegram's own words for a message that another bot or an administrator removed at once.
fn was_deleted(reply: &Reply) -> bool {
    let whole: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let description = whole["description"].as_str().unwrap_or_default();
    whole["ok"] == false
        && description
            .to_lowercase()
            .contains("sent message was immediately deleted")
}

proptest! {
    #![proptest_config(Config::with_cases(4096))]

    #[test]
    fn no_answer_makes_it_panic_and_only_an_acceptance_is_delivered(reply in reply()) {
        match classify(&Answer::Reply(reply.clone())).outcome {
            Outcome::Delivered(receipt) | Outcome::Begun(receipt, _) => {
                assert!(is_acceptance(&reply) || was_deleted(&reply), "{reply:?}");
                assert!(!receipt.message_id.is_empty());
            }
            Outcome::Deferred(fault) | Outcome::Rejected(fault) => {
                assert!(!fault.detail.contains(char::is_control), "{}", fault.detail);
                let told = fault.retry_after.unwrap_or_default();
                assert!(told <= LONGEST_WAIT, "{told:?}");
            }
        }
    }

    #[test]
    fn no_description_makes_a_refusal_anything_else(description: String) {
        let description = Value::from(description);
        let body = format!(r#"{{"ok":false,"error_code":400,"description":{description}}}"#);
        let reply = Reply {
            status: 400,
            retry_after: None,
            date: None,
            content_type: None,
            body: body.into_bytes(),
        };
        let outcome = classify(&Answer::Reply(reply)).outcome;
        let (Outcome::Deferred(fault) | Outcome::Rejected(fault)) = outcome else {
            panic!("a refusal");
        };
        assert!(!fault.maybe_delivered && !fault.detail.contains(char::is_control));
    }
}
