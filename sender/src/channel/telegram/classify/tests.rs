//! Every answer that Telegram is known to give, as it writes it, and what follows from each.

mod waits;

use super::*;

fn reply(status: u16, content_type: &str, body: &str) -> Answer {
    Answer::Reply(Reply {
        status,
        retry_after: None,
        date: None,
        content_type: Some(content_type.to_owned()),
        body: body.as_bytes().to_vec(),
    })
}

/// A refusal in the Bot API's own form.
fn refusal(code: u16, description: &str) -> Answer {
    let description = Value::from(description);
    let body = format!(r#"{{"ok":false,"error_code":{code},"description":{description}}}"#);
    reply(code, "application/json", &body)
}

/// A ruling in a few words.
fn said(ruling: &Ruling) -> String {
    let outcome = match &ruling.outcome {
        Outcome::Delivered(receipt) | Outcome::Begun(receipt, _) => {
            return format!("delivered {}", receipt.message_id);
        }
        Outcome::Deferred(fault) if fault.maybe_delivered => "unknown".to_owned(),
        Outcome::Deferred(fault) => match (fault.hold, fault.retry_after) {
            (Some(Hold::RateLimited), Some(wait)) => {
                format!("{:?} in {} s", fault.blame, wait.as_secs())
            }
            (Some(Hold::RateLimited), None) => format!("{:?} untold", fault.blame),
            (Some(hold), None) => format!("{hold:?}"),
            other => format!("{other:?}"),
        },
        Outcome::Rejected(fault) => format!("{:?} never", fault.blame),
    };
    match ruling.follows {
        Follows::Nothing => outcome,
        Follows::Repair(repair) => format!("{repair:?}, else {outcome}"),
        Follows::Suspend => format!("suspend, {outcome}"),
        Follows::StopBot => format!("stop, {outcome}"),
        Follows::Wait(told) => format!("wait by {told:?}, {outcome}"),
    }
}

fn each_is(cases: &[(u16, &str)], expected: &str) {
    for (code, description) in cases {
        let ruling = classify(&refusal(*code, description));
        assert_eq!(said(&ruling), expected, "{code} {description}");
        // Neither the case of the letters nor 400 in place of 403 changes what is said.
        let shouted = classify(&refusal(*code, &description.to_uppercase()));
        assert_eq!(said(&shouted), expected, "{code} {description} in capitals");
        if *code == 403 {
            let other = classify(&refusal(400, description));
            assert_eq!(said(&other), expected, "400 {description}");
        }
    }
}

#[test]
fn formatting_that_is_refused_is_dropped() {
    let cases = [
        (
            400,
            "Bad Request: can't parse entities: Unsupported start tag \"\" at byte offset 218",
        ),
        (
            400,
            "Bad Request: can't parse entities: Unmatched end tag at byte offset 7, expected \"</b>\", found \"</i>\"",
        ),
        (
            400,
            "Bad Request: can't parse entities: Can't find end tag corresponding to start tag \"b\"",
        ),
        (
            400,
            "Bad Request: can't parse entities: Unclosed start tag at byte offset 12",
        ),
        (
            400,
            "Bad Request: can't parse entities: Character '-' is reserved and must be escaped with the preceding '\\'",
        ),
        (
            400,
            "Bad Request: can't parse entities: Can't find end of the entity starting at byte offset 3",
        ),
        (
            400,
            "Bad Request: can't parse entities: Unsupported start tag \"chat not found flood_wait_5\" at byte offset 0",
        ),
        (
            400,
            "Bad Request: can't parse MessageEntity: Field \"offset\" must be of type Number",
        ),
        (400, "Bad Request: ENTITY_BOUNDS_INVALID"),
        (400, "Bad Request: unsupported parse_mode"),
        (400, "Bad Request: entities too long"),
        (400, "Bad Request: ENTITIES_TOO_LONG"),
        (
            400,
            "Bad Request: text contains invalid Unicode characters after decoding HTML entities, check for unmatched surrogate code units",
        ),
    ];
    each_is(&cases, "Plain, else Message never");
}

#[test]
fn what_is_too_long_is_split() {
    let cases = [
        (400, "Bad Request: message is too long"),
        (400, "Bad Request: text is too long"),
        (400, "Bad Request: MESSAGE_TOO_LONG"),
        (413, "Request Entity Too Large"),
        (431, "Request Header Fields Too Large"),
    ];
    each_is(&cases, "Split, else Message never");
}

#[test]
fn what_shows_nothing_is_filled() {
    let cases = [
        (400, "Bad Request: message text is empty"),
        (400, "Bad Request: text must be non-empty"),
    ];
    each_is(&cases, "Fill, else Message never");
}

#[test]
fn what_is_no_text_cannot_pass() {
    each_is(
        &[(400, "Bad Request: strings must be encoded in UTF-8")],
        "Message never",
    );
}

#[test]
fn extras_that_are_refused_are_dropped() {
    let markup = [
        (400, "Bad Request: BUTTON_URL_INVALID"),
        (400, "Bad Request: BUTTON_DATA_INVALID"),
        (
            400,
            "Bad Request: inline keyboard button URL 'x' is invalid: Wrong HTTP URL",
        ),
        (400, "Bad Request: REPLY_MARKUP_INVALID"),
        (400, "Bad Request: reply markup is too long"),
        (
            400,
            "Bad Request: can't parse reply keyboard markup JSON object",
        ),
        (
            400,
            "Bad Request: can't parse inline keyboard button: Text must be non-empty",
        ),
    ];
    each_is(&markup, "DropMarkup, else Message never");
    let reply = [
        (400, "Bad Request: message to be replied not found"),
        (400, "Bad Request: REPLY_MESSAGE_ID_INVALID"),
        (400, "Bad Request: QUOTE_TEXT_INVALID"),
    ];
    each_is(&reply, "DropReply, else Message never");
    each_is(
        &[(400, "Bad Request: EFFECT_ID_INVALID")],
        "DropEffect, else Message never",
    );
}

#[test]
fn a_topic_that_is_gone_is_dropped_and_without_one_the_chat_is_closed() {
    let cases = [
        (400, "Bad Request: message thread not found"),
        (400, "Bad Request: TOPIC_DELETED"),
        (400, "Bad Request: TOPIC_CLOSED"),
    ];
    each_is(&cases, "DropThread, else Suspended");
}

#[test]
fn a_chat_that_does_not_let_us_in_is_suspended() {
    let cases = [
        (400, "Bad Request: chat not found"),
        (400, "Bad Request: private chat not found"),
        (400, "Bad Request: PEER_ID_INVALID"),
        (400, "Bad Request: chat_id is empty"),
        (
            400,
            "Bad Request: not enough rights to send text messages to the chat",
        ),
        (
            400,
            "Bad Request: need administrator rights in the channel chat",
        ),
        (400, "Bad Request: have no write access to the chat"),
        (400, "Bad Request: CHAT_WRITE_FORBIDDEN"),
        (400, "Bad Request: CHAT_RESTRICTED"),
        (400, "Bad Request: USER_BANNED_IN_CHANNEL"),
        (400, "Bad Request: CHAT_GUEST_SEND_FORBIDDEN"),
        (400, "Bad Request: CHAT_ADMIN_REQUIRED"),
        (400, "Bad Request: ALLOW_PAYMENT_REQUIRED_5"),
        (400, "Bad Request: group is deactivated"),
        (403, "Forbidden: bot was blocked by the user"),
        (403, "Forbidden: user is deactivated"),
        (
            403,
            "Forbidden: bot can't initiate conversation with a user",
        ),
        (403, "Forbidden: bot can't send messages to bots"),
        (403, "Forbidden: the bot can't send messages to the bot"),
        (403, "Forbidden: bot was kicked from the group chat"),
        (403, "Forbidden: bot was kicked from the supergroup chat"),
        (403, "Forbidden: bot was kicked from the channel chat"),
        (403, "Forbidden: bot is not a member of the channel chat"),
        (403, "Forbidden: bot is not a member of the supergroup chat"),
        (403, "Forbidden: the group chat was deleted"),
        (
            400,
            "Bad Request: group chat was upgraded to a supergroup chat",
        ),
    ];
    each_is(&cases, "suspend, Suspended");
}

#[test]
fn a_bot_that_is_refused_stops_and_keeps_everything() {
    let cases = [
        (401, "Unauthorized"),
        (401, "Unauthorized: invalid token specified"),
        (401, "something new about tokens"),
        (404, "Not Found"),
        (404, "Not Found: method not found"),
        (400, "Bad Request: logged out"),
        (400, "Bad Request: FROZEN_METHOD_INVALID"),
        (406, "FROZEN_METHOD_INVALID"),
        (421, "Misdirected Request: unallowed token specified"),
    ];
    each_is(&cases, "stop, Stopped");
}

#[test]
fn a_group_that_was_upgraded_is_followed() {
    for description in [
        "Bad Request: group chat was upgraded to a supergroup chat",
        "Bad Request: group chat is migrated to a supergroup chat",
        "",
    ] {
        let body = format!(
            r#"{{"ok":false,"error_code":400,"description":"{description}","parameters":{{"migrate_to_chat_id":-1001234567890}}}}"#
        );
        let ruling = classify(&reply(400, "application/json", &body));
        assert_eq!(said(&ruling), "Migrate(-1001234567890), else Suspended");
    }
}

#[test]
fn a_refusal_that_we_do_not_know_is_ours() {
    let cases = [
        (400, "Bad Request: something new"),
        (400, ""),
        (403, "Forbidden: something new"),
        (404, "Bad Request: something not found"),
        (409, "Conflict: terminated by other getUpdates request"),
        (418, "I'm a teapot"),
    ];
    each_is(&cases, "Ours never");
}

#[test]
fn success_carries_the_id_also_when_its_end_is_missing() {
    let whole = r#"{"ok":true,"result":{"message_id":4711,"date":1796025600,"text":"x"}}"#;
    assert_eq!(
        said(&classify(&reply(200, "application/json", whole))),
        "delivered 4711"
    );
    for length in 40..whole.len() {
        let ruling = classify(&reply(
            200,
            "application/json",
            whole.get(..length).expect("ASCII"),
        ));
        assert_eq!(said(&ruling), "delivered 4711", "cut at {length}");
    }
    for length in 0..37 {
        let ruling = classify(&reply(
            200,
            "application/json",
            whole.get(..length).expect("ASCII"),
        ));
        assert_eq!(said(&ruling), "unknown", "cut at {length}");
    }
    let bare = r#"{"ok":true,"result":true}"#;
    assert_eq!(
        said(&classify(&reply(200, "application/json", bare))),
        "unknown"
    );
    for status in [201, 204, 302, 401, 502] {
        let ruling = classify(&reply(status, "application/json", whole));
        assert_eq!(said(&ruling), "unknown", "{status}");
    }
}

#[test]
fn sent_and_then_deleted_is_delivered() {
    let text = "Internal Server Error: sent message was immediately deleted and can't be returned";
    assert_eq!(
        said(&classify(&refusal(500, text))),
        "delivered sent, then deleted"
    );
}

#[test]
fn a_servers_own_trouble_leaves_it_unknown() {
    let cases = [
        (500, "Internal Server Error: restart"),
        (500, "Internal Server Error"),
        (502, "Bad Gateway"),
        (504, "Gateway Timeout"),
    ];
    each_is(&cases, "unknown");
}

#[test]
fn pages_are_judged_by_their_status_alone() {
    let page =
        "<html><head><title>502 Bad Gateway</title></head><body>chat not found</body></html>";
    for (status, expected) in [
        (200, "unknown"),
        (302, "Down"),
        (400, "Down"),
        (401, "stop, Stopped"),
        (403, "stop, Stopped"),
        (404, "stop, Stopped"),
        (407, "stop, Stopped"),
        (408, "Down"),
        (410, "Down"),
        (413, "Split, else Message never"),
        (500, "unknown"),
        (502, "unknown"),
        (503, "unknown"),
        (504, "unknown"),
        (599, "unknown"),
    ] {
        for kind in ["text/html", "Text/HTML; charset=utf-8", "application/json"] {
            let ruling = classify(&reply(status, kind, page));
            assert_eq!(said(&ruling), expected, "{status} {kind}");
        }
        assert_eq!(
            said(&classify(&reply(status, "", ""))),
            expected,
            "{status}, empty"
        );
    }
}

#[test]
fn without_an_answer_only_a_request_that_never_left_was_surely_not_sent() {
    let ruling = classify(&Answer::NotSent("the name does not resolve".to_owned()));
    assert_eq!(said(&ruling), "Down");
    let ruling = classify(&Answer::Lost("no answer in time".to_owned()));
    assert_eq!(said(&ruling), "unknown");
}

/// The contract of every channel: no status and no body is more than a value.
#[test]
fn every_status_with_every_kind_of_body_has_its_ruling() {
    let bodies = [
        "",
        "{",
        "null",
        "[]",
        "{}",
        r#"{"ok":1}"#,
        r#"{"ok":false}"#,
        r#"{"ok":false,"error_code":"x","description":7,"parameters":[]}"#,
        r#"{"ok":false,"error_code":-400,"description":"chat not found"}"#,
        "<html></html>",
        "\u{feff}{\"ok\":true}",
    ];
    let mut delivered = 0;
    for status in 100..=599 {
        for body in bodies {
            for kind in ["application/json", "text/html", "text/plain", ""] {
                let ruling = classify(&reply(status, kind, body));
                match ruling.outcome {
                    Outcome::Delivered(_) | Outcome::Begun(..) => delivered += 1,
                    Outcome::Deferred(fault) | Outcome::Rejected(fault) => {
                        assert!(!fault.detail.is_empty(), "{status} {body}");
                        let surely_refused = (300..500).contains(&status);
                        assert_eq!(
                            fault.maybe_delivered, !surely_refused,
                            "{status} {kind} {body}"
                        );
                    }
                }
            }
        }
    }
    assert_eq!(delivered, 0);
}
