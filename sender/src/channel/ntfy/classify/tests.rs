//! A table of every answer that a server is known to give.

use super::*;

/// 2026-11-30T08:00:00Z
const NOW: Timestamp = Timestamp::from_unix_millis(1_796_025_600_000);

fn reply(status: u16, kind: &str, body: &str) -> Answer {
    Answer::Reply(Reply {
        status,
        retry_after: None,
        date: None,
        content_type: Some(kind.to_owned()),
        body: body.as_bytes().to_vec(),
    })
}

fn own(code: u64) -> Answer {
    let status = u16::try_from(code / 100).expect("a status");
    let body = format!(
        r#"{{"code":{code},"http":{status},"error":"so it is","link":"https://ntfy.sh/docs/"}}"#
    );
    reply(status, "application/json", &format!("{body}\n"))
}

/// The ruling in a few words.
fn said(answer: &Answer) -> String {
    let ruling = classify(answer, NOW);
    let repair = ruling
        .repair
        .map_or_else(String::new, |it| format!(", or {it:?}"));
    let (kind, fault) = match ruling.outcome {
        Outcome::Delivered(receipt) => return format!("delivered {}", receipt.message_id),
        Outcome::Begun(..) => panic!("one notification has no parts"),
        Outcome::Deferred(fault) => ("deferred", fault),
        Outcome::Rejected(fault) => ("rejected", fault),
    };
    let hold = fault
        .hold
        .map_or_else(String::new, |hold| format!(" {hold:?}"));
    let wait = fault
        .retry_after
        .map_or_else(String::new, |it| format!(" {} s", it.as_secs()));
    let maybe = if fault.maybe_delivered { " maybe" } else { "" };
    format!("{kind} {:?}{hold}{wait}{maybe}{repair}", fault.blame)
}

#[test]
fn every_code_of_ntfys_has_its_meaning() {
    for (code, wanted) in [
        (40_001, "rejected Ours, or Bare"),
        (40_007, "rejected Message, or Bare"),
        (40_009, "deferred Destination Suspended"),
        (40_010, "deferred Destination Suspended"),
        (40_011, "rejected Message"),
        (40_013, "rejected Message, or Bare"),
        (40_014, "rejected Message, or Shorter"),
        (40_015, "rejected Message, or Shorter"),
        (40_017, "rejected Message, or Bare"),
        (40_018, "rejected Message, or Bare"),
        (40_021, "rejected Message, or Bare"),
        (40_024, "rejected Message, or Bare"),
        (40_049, "rejected Message, or NoSequence"),
        (40_099, "rejected Ours, or Bare"),
        (40_101, "deferred Channel Stopped"),
        (40_199, "deferred Channel Stopped"),
        (40_301, "deferred Destination Suspended"),
        (40_401, "deferred Channel Stopped"),
        (40_901, "rejected Ours, or Bare"),
        (41_301, "rejected Message, or Shorter"),
        (41_302, "rejected Message, or Shorter"),
        (41_303, "rejected Message, or Shorter"),
        (42_901, "deferred Channel RateLimited"),
        (42_902, "deferred Channel RateLimited"),
        (42_904, "deferred Destination Suspended"),
        (42_905, "rejected Message, or Shorter"),
        (42_908, "deferred Channel RateLimited 57605 s"),
        (42_909, "deferred Channel Stopped 60 s"),
        (42_910, "deferred Channel RateLimited"),
        (50_001, "deferred Channel Down maybe"),
        (50_701, "deferred Destination Suspended"),
        (50_799, "deferred Channel Down maybe"),
    ] {
        assert_eq!(said(&own(code)), wanted, "{code}");
    }
}

#[test]
fn what_is_not_ntfys_is_judged_by_its_status() {
    for (status, wanted) in [
        (204, "deferred Channel Down maybe"),
        (302, "deferred Channel Down"),
        (400, "deferred Channel Down"),
        (401, "deferred Channel Stopped"),
        (403, "deferred Channel Stopped"),
        (404, "deferred Channel Stopped"),
        (407, "deferred Channel Stopped"),
        (413, "rejected Message, or Shorter"),
        (421, "deferred Channel Stopped"),
        (429, "deferred Channel RateLimited"),
        (431, "rejected Message, or Shorter"),
        (500, "deferred Channel Down maybe"),
        (502, "deferred Channel Down maybe"),
        (507, "deferred Channel Down maybe"),
        (599, "deferred Channel Down maybe"),
    ] {
        let page = format!("<html><body>{status}</body></html>");
        assert_eq!(said(&reply(status, "text/html", &page)), wanted, "{status}");
        // A page that quotes one of ntfy's answers is a page.
        let quoted = r#"{"code":40101,"http":401,"error":"unauthorized"}"#;
        assert_eq!(
            said(&reply(status, "text/html; charset=utf-8", quoted)),
            wanted
        );
    }
}

#[test]
fn a_code_that_belongs_to_another_status_is_not_believed() {
    let body = r#"{"code":42908,"http":429,"error":"limit reached"}"#;
    let answer = reply(502, "application/json", body);
    assert_eq!(said(&answer), "deferred Channel Down maybe");
}

#[test]
fn an_acceptance_names_its_message_and_perhaps_our_sequence_id() {
    let accepted = |more: &str| {
        let body = format!(
            r#"{{"id":"sPs71M8A2T",{more}"time":1796025600,"event":"message","topic":"t"}}"#
        );
        classify(&reply(200, "application/json", &body), NOW)
    };
    let old = accepted("");
    let Outcome::Delivered(receipt) = &old.outcome else {
        panic!("{old:?}");
    };
    assert_eq!(
        (receipt.message_id.as_str(), old.sequence_id),
        ("sPs71M8A2T", None)
    );
    let new = accepted(r#""sequence_id":"watchalert-7-a1b2c3","#);
    assert_eq!(new.sequence_id.as_deref(), Some("watchalert-7-a1b2c3"));
}

#[test]
fn an_ok_that_names_no_message_proves_nothing() {
    for body in [
        "",
        "ok",
        "{}",
        "[]",
        r#"{"id":"","event":"message"}"#,
        r#"{"id":7,"event":"message"}"#,
        r#"{"id":"sPs71M8A2T","event":"keepalive"}"#,
        r#"{"id":"sPs71M8A2"#,
        r#"{"id":"sPs71M8A2Tab"#,
        r#"{"success":true}"#,
    ] {
        let said = said(&reply(200, "application/json", body));
        assert_eq!(said, "deferred Channel Down maybe", "{body}");
    }
    let page = r#"{"id":"sPs71M8A2Tab","time":1,"ev"#;
    assert_eq!(
        said(&reply(200, "application/json", page)),
        "delivered sPs71M8A2Tab"
    );
    assert_eq!(
        said(&reply(200, "text/html", page)),
        "deferred Channel Down maybe"
    );
}

#[test]
fn no_answer_is_told_from_no_connection() {
    let lost = Answer::Lost("no answer in time".to_owned());
    assert_eq!(said(&lost), "deferred Channel Down maybe");
    let unsent = Answer::NotSent("no connection".to_owned());
    assert_eq!(said(&unsent), "deferred Channel Down");
}

#[test]
fn the_day_ends_by_the_servers_clock_else_by_ours() {
    let wait = |date: Option<&str>, now: Timestamp| {
        let Answer::Reply(mut reply) = own(42_908) else {
            panic!("a reply");
        };
        reply.date = date.map(str::to_owned);
        let Outcome::Deferred(fault) = classify(&Answer::Reply(reply), now).outcome else {
            panic!("it can pass tomorrow");
        };
        fault.retry_after.expect("a wait").as_secs()
    };
    let margin = PAST_MIDNIGHT.as_secs();
    assert_eq!(wait(None, NOW), 16 * 3_600 + margin);
    assert_eq!(
        wait(Some("Mon, 30 Nov 2026 23:59:50 GMT"), NOW),
        10 + margin
    );
    assert_eq!(wait(Some("yesterday"), NOW), 16 * 3_600 + margin);
    let midnight = Timestamp::from_unix_millis(1_796_083_200_000);
    assert_eq!(
        wait(None, midnight),
        86_400 + margin,
        "a quota that is spent at once"
    );
    assert_eq!(wait(None, midnight.minus(Duration::from_millis(1))), margin);
}

#[test]
fn a_proxy_may_say_how_long_to_wait() {
    let wait = |told: &str| {
        let Answer::Reply(mut reply) = reply(429, "text/html", "<html>") else {
            panic!("a reply");
        };
        reply.retry_after = Some(told.to_owned());
        said(&Answer::Reply(reply))
    };
    assert_eq!(wait("7"), "deferred Channel RateLimited 7 s");
    assert_eq!(wait("999999999"), "deferred Channel RateLimited 86400 s");
    assert_eq!(wait("soon"), "deferred Channel RateLimited");
}

#[test]
fn half_of_a_refusal_still_names_the_quota_of_the_day() {
    let half = reply(429, "application/json", r#"{"code":42908,"http":429,"er"#);
    assert_eq!(said(&half), "deferred Channel RateLimited 57605 s");
    let half = reply(429, "application/json", r#"{"code":42901,"#);
    assert_eq!(said(&half), "deferred Channel RateLimited");
}

#[test]
fn a_refusal_is_told_in_one_line_of_bounded_length() {
    let error = format!("a\u{1b}[2J\nb{}", "x".repeat(1_000));
    let body = serde_json::json!({"code": 40_099, "http": 400, "error": error}).to_string();
    let Outcome::Rejected(fault) = classify(&reply(400, "application/json", &body), NOW).outcome
    else {
        panic!("rejected");
    };
    assert!(
        fault.detail.starts_with("ntfy answered 40099: a [2J b"),
        "{}",
        fault.detail
    );
    assert!(fault.detail.chars().count() < 250 && !fault.detail.contains('\n'));
}
