//! Who may post: one byte of the body or of the signature decides.

use super::{Room, SECRET, TOKEN};
use std::fs;
use std::path::Path;
use watchalert_tests::posting::{ask, github, post, signed};

/// GitHub's bodies where they are at hand, else some of our own.
fn bodies() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/webhooks/github");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut bodies: Vec<(String, Vec<u8>)> = entries
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let event = name.split('.').next().unwrap_or_default().to_owned();
            (event, fs::read(entry.path()).expect("a body"))
        })
        .collect();
    bodies.push(("ping".to_owned(), b"{\"zen\":\"Half measures\"}".to_vec()));
    bodies.push((
        "push".to_owned(),
        "{\"ref\":\"é\u{1f600}\"}".as_bytes().to_vec(),
    ));
    // Some of them are the same under other names.
    bodies.sort_by(|one, other| one.1.cmp(&other.1));
    bodies.dedup_by(|one, other| one.1 == other.1);
    bodies
}

#[test]
fn every_body_is_taken_when_it_is_signed_and_stored_once() {
    let room = Room::new();
    let bodies = bodies();
    for (number, (event, body)) in bodies.iter().enumerate() {
        let delivery = format!("delivery-{number}");
        let (status, text) =
            github(room.address, "infra", SECRET, event, &delivery, body).expect("an answer");
        assert_eq!(status, 200, "{event}: {text}");
        let again = github(room.address, "infra", SECRET, event, &delivery, body);
        let (status, text) = again.expect("an answer");
        assert_eq!(
            (status, text.starts_with("a duplicate of")),
            (200, true),
            "{text}"
        );
    }
    assert_eq!(
        room.ask("SELECT count(*) FROM arrival"),
        bodies.len().to_string()
    );
}

#[test]
fn one_byte_that_differs_is_refused_and_nothing_is_stored() {
    let room = Room::new();
    let mut tried = 0;
    for (number, (event, body)) in bodies().into_iter().enumerate() {
        let signature = format!("sha256={}", signed(SECRET, &body));
        // One place of each body, each time another one; and one of its signature.
        let place = number * 7_919 % body.len();
        let mut other = body.clone();
        other[place] ^= 1;
        let mut forged = signature.clone().into_bytes();
        let place = 7 + number % 64;
        forged[place] = if forged[place] == b'a' { b'b' } else { b'a' };
        let forged = String::from_utf8(forged).expect("text");
        for (body, signature) in [(&other, &signature), (&body, &forged)] {
            let headers = [
                ("Content-Type", "application/json"),
                ("X-GitHub-Event", event.as_str()),
                ("X-GitHub-Delivery", "x"),
                ("X-Hub-Signature-256", signature.as_str()),
            ];
            let (status, _) = post(room.address, "/hook/infra", &headers, body).expect("an answer");
            assert_eq!(status, 401, "{event}");
            tried += 1;
        }
    }
    assert!(tried >= 4);
    assert_eq!(room.ask("SELECT count(*) FROM arrival"), "0");
    assert_eq!(room.ask("SELECT count(*) FROM item"), "0");
    assert_eq!(room.spooled(), 0);
}

#[test]
fn each_kind_has_its_own_proof_and_no_other() {
    let room = Room::new();
    let body = br#"{"title":"hello"}"#;
    let (bare, right) = (signed(SECRET, body), format!("Bearer {TOKEN}"));
    let (github, wrong) = (format!("sha256={bare}"), format!("Bearer {SECRET}"));
    for (hook, header, value, status) in [
        ("infra", "X-Hub-Signature-256", &github, 200),
        ("infra", "X-Hub-Signature-256", &bare, 401),
        ("infra", "Sentry-Hook-Signature", &bare, 401),
        ("infra", "Authorization", &right, 401),
        ("app", "Sentry-Hook-Signature", &bare, 200),
        ("app", "Sentry-App-Signature", &bare, 200),
        ("app", "X-Hub-Signature-256", &github, 401),
        ("any", "Authorization", &right, 200),
        ("any", "Authorization", &wrong, 401),
        ("any", "X-Hub-Signature-256", &github, 401),
        ("alerts", "Authorization", &wrong, 401),
        ("nowhere", "Authorization", &right, 404),
    ] {
        let headers = [
            ("Content-Type", "application/json"),
            (header, value.as_str()),
        ];
        let posted = post(room.address, &format!("/hook/{hook}"), &headers, body);
        assert_eq!(posted.expect("an answer").0, status, "{hook} with {header}");
    }
}

#[test]
fn what_is_not_a_post_of_json_to_a_webhook_is_told_so() {
    let room = Room::new();
    let authorization = format!("Bearer {TOKEN}");
    for (kind, status) in [
        ("text/plain", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/xml", 415),
        ("application/json; charset=utf-8", 200),
        ("application/cloudevents+json", 200),
    ] {
        let headers = [("Content-Type", kind), ("Authorization", &authorization)];
        let body = format!("{{\"title\":\"{kind}\"}}");
        let posted = post(room.address, "/hook/any", &headers, body.as_bytes());
        assert_eq!(posted.expect("an answer").0, status, "{kind}");
    }
    for (request, status) in [
        (
            "GET /hook/any HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n",
            405,
        ),
        (
            "GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n",
            404,
        ),
        (
            "POST /hook/any/more HTTP/1.1\r\nHost: here\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            404,
        ),
    ] {
        let answer = ask(room.address, request.as_bytes()).expect("an answer");
        assert_eq!(answer.0, status, "{request}");
    }
    let headers = [("Authorization", authorization.as_str())];
    let posted = post(room.address, "/hook/any", &headers, b"not json").expect("an answer");
    assert_eq!(posted.0, 400, "{posted:?}");
}
