//! How long a 429 asks us to wait, wherever it says so.

use super::*;

#[test]
fn a_flood_wait_is_read_from_body_then_header_then_text() {
    let with = |header: Option<&str>, body: &str| {
        let Answer::Reply(reply) = reply(429, "application/json", body) else {
            panic!("a reply");
        };
        let retry_after = header.map(str::to_owned);
        said(&classify(&Answer::Reply(Reply {
            retry_after,
            ..reply
        })))
    };
    let told = |parameters: &str, description: &str| {
        format!(r#"{{"ok":false,"error_code":429,"description":"{description}"{parameters}}}"#)
    };
    let text = "Too Many Requests: retry after 33";
    let body = told(r#","parameters":{"retry_after":35}"#, text);
    assert_eq!(with(Some("34"), &body), "wait by Body, Destination in 35 s");
    let bare = told("", text);
    assert_eq!(
        with(Some("34"), &bare),
        "wait by Header, Destination in 34 s"
    );
    assert_eq!(
        with(Some("soon"), &bare),
        "wait by Text, Destination in 33 s"
    );
    assert_eq!(
        with(None, &told("", "Too Many Requests")),
        "wait by Nowhere, Destination untold"
    );
    assert_eq!(
        with(None, &told("", "FLOOD_WAIT_42000")),
        "wait by Text, Destination in 42000 s"
    );
    let other_code = classify(&refusal(400, "Bad Request: SLOWMODE_WAIT_12"));
    assert_eq!(said(&other_code), "wait by Text, Destination in 12 s");
    let odd = told(r#","parameters":{"retry_after":"7"}"#, "");
    assert_eq!(with(None, &odd), "wait by Body, Destination in 7 s");
    let no_number = told(r#","parameters":{"retry_after":"NaN"}"#, text);
    assert_eq!(with(None, &no_number), "wait by Text, Destination in 33 s");
    for (absurd, wait) in [("1e300", 1_209_600), ("-5", 0), ("43838", 43_838)] {
        let body = told(&format!(r#","parameters":{{"retry_after":{absurd}}}"#), "");
        assert_eq!(
            with(None, &body),
            format!("wait by Body, Destination in {wait} s")
        );
    }
}

#[test]
fn too_many_requests_of_a_proxy_are_the_channels_matter() {
    let page = "<html>slow down</html>";
    let ruling = classify(&reply(429, "text/html", page));
    assert_eq!(said(&ruling), "wait by Nowhere, Channel untold");
    let Answer::Reply(page) = reply(429, "text/html", page) else {
        panic!("a reply");
    };
    let date = "Mon, 30 Nov 2026 12:00:00 GMT";
    let until = |retry_after: &str, date: Option<&str>| {
        said(&classify(&Answer::Reply(Reply {
            retry_after: Some(retry_after.to_owned()),
            date: date.map(str::to_owned),
            ..page.clone()
        })))
    };
    for (retry_after, date, wait) in [
        ("120", None, "Header, Channel in 120 s"),
        // A date counts from the server's own, in whatever form (RFC 9110, 5.6.7).
        (
            "Mon, 30 Nov 2026 12:02:00 GMT",
            Some(date),
            "Header, Channel in 120 s",
        ),
        (
            "Monday, 30-Nov-26 12:02:00 GMT",
            Some(date),
            "Header, Channel in 120 s",
        ),
        (
            "Mon Nov 30 12:02:00 2026",
            Some(date),
            "Header, Channel in 120 s",
        ),
        (
            "Mon, 30 Nov 2026 11:00:00 GMT",
            Some(date),
            "Header, Channel in 0 s",
        ),
        (
            "Fri, 31 Dec 2049 11:00:00 GMT",
            Some(date),
            "Header, Channel in 1209600 s",
        ),
        (
            "Mon, 30 Nov 2026 12:02:00 GMT",
            None,
            "Nowhere, Channel untold",
        ),
        (
            "Mon, 30 Nov 2026 12:02:00 GMT",
            Some("noon"),
            "Nowhere, Channel untold",
        ),
        ("tomorrow", Some(date), "Nowhere, Channel untold"),
    ] {
        let ruling = until(retry_after, date);
        assert_eq!(ruling, format!("wait by {wait}"), "{retry_after} {date:?}");
    }
}
