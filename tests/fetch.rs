//! Fetching against a scripted feed server: what arrives, what is refused, and how it is told.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the helpers of a test end it as its own lines do"
)]

#[path = "fetch/redirects.rs"]
mod redirects;
#[path = "fetch/room.rs"]
mod room;
#[path = "fetch/tls.rs"]
mod tls;

use shared::model::{Timestamp, Validators};
use std::time::Duration;
use watchalert_ingest::fetch::{
    ClientOptions, FaultKind, FetchClient, FetchFault, FetchRequest, Fetched, fetch,
};
use watchalert_tests::feeds::{FeedServer, Reply, packed, packed_zeros};

/// 2026-11-30T12:00:00Z
const NOW: Timestamp = Timestamp::from_unix_millis(1_796_040_000_000);
const AN_HOUR_AGO: Timestamp = Timestamp::from_unix_millis(1_796_036_400_000);
const FEED: &str = "<rss version=\"2.0\"><channel><title>t</title></channel></rss>";
const KIB: usize = 1024;

fn options() -> ClientOptions {
    ClientOptions {
        allow_private: true,
        most_bytes: 64 * KIB,
        ..ClientOptions::default()
    }
}

async fn fetch_with(options: &ClientOptions, url: &str) -> Fetched {
    let client = FetchClient::new(options).unwrap();
    let url = url.parse().unwrap();
    fetch(&client, &FetchRequest::unconditional(&url), NOW).await
}

/// Asks once, an hour after the feed last came in full.
async fn ask_again(url: &str, validators: &Validators) -> Fetched {
    let client = FetchClient::new(&options()).unwrap();
    let url = url.parse().unwrap();
    let request = FetchRequest {
        validators,
        last_full: Some(AN_HOUR_AGO),
        ..FetchRequest::unconditional(&url)
    };
    fetch(&client, &request, NOW).await
}

async fn ask_within(deadline: Duration, url: &str) -> FetchFault {
    let client = FetchClient::new(&options()).unwrap();
    let url = url.parse().unwrap();
    let request = FetchRequest {
        deadline,
        ..FetchRequest::unconditional(&url)
    };
    fault(fetch(&client, &request, NOW).await)
}

fn fault(fetched: Fetched) -> FetchFault {
    match fetched {
        Fetched::Failed(fault) => fault,
        other => panic!("no fault: {other:?}"),
    }
}

fn body(fetched: Fetched) -> Vec<u8> {
    match fetched {
        Fetched::New { body, .. } => body.to_vec(),
        other => panic!("nothing new: {other:?}"),
    }
}

async fn fault_of(server: &FeedServer, reply: Reply) -> FetchFault {
    server.set("/feed", reply);
    fault(fetch_with(&options(), &server.url("/feed")).await)
}

async fn body_of(server: &FeedServer, reply: Reply) -> Vec<u8> {
    server.set("/feed", reply);
    body(fetch_with(&options(), &server.url("/feed")).await)
}

#[tokio::test]
async fn a_feed_arrives_with_its_charset_validators_and_url() {
    let server = FeedServer::start();
    let reply = Reply::body(FEED)
        .header("Content-Type", "text/xml; charset=koi8-r")
        .header("ETag", "W/\"7\"")
        .header("Last-Modified", "Mon, 30 Nov 2026 11:00:00 GMT");
    server.set("/feed?a=b", reply);
    let url = server.url("/feed?a=b");
    let expected = Fetched::New {
        body: FEED.as_bytes().to_vec().into(),
        charset: Some("koi8-r".to_owned()),
        final_url: url.parse().unwrap(),
        validators: Validators {
            etag: Some("W/\"7\"".to_owned()),
            last_modified: Some("Mon, 30 Nov 2026 11:00:00 GMT".to_owned()),
        },
        max_age: None,
        redirects: None,
        permanent_redirect: None,
    };
    assert_eq!(fetch_with(&options(), &url).await, expected);
}

#[tokio::test]
async fn a_request_says_who_asks_and_what_for() {
    let server = FeedServer::start();
    let with_contact = ClientOptions {
        contact: Some("https://example.org/watch".to_owned()),
        ..options()
    };
    fetch_with(&with_contact, &server.url("/feed")).await;
    let request = server.requests().remove(0);
    assert_eq!(request.method, "GET");
    let agent = request.header("user-agent").unwrap();
    assert!(agent.starts_with("watchalert/") && agent.ends_with(" (+https://example.org/watch)"));
    let accepted = request.header("accept").unwrap();
    for kind in ["application/atom+xml", "application/rss+xml", "*/*;q=0.1"] {
        assert!(accepted.contains(kind));
    }
    assert_eq!(request.header("accept-encoding"), Some("gzip"));
    assert_eq!(request.header("if-none-match"), None);
    assert_eq!(request.header("authorization"), None);
}

#[tokio::test]
async fn one_feed_may_be_asked_under_another_name() {
    let server = FeedServer::start();
    let client = FetchClient::new(&options()).unwrap();
    let url = server.url("/feed").parse().unwrap();
    let request = FetchRequest {
        user_agent: Some("FeedFetcher/1.0"),
        ..FetchRequest::unconditional(&url)
    };
    fetch(&client, &request, NOW).await;
    let asked = server.requests().remove(0);
    assert_eq!(asked.header("user-agent"), Some("FeedFetcher/1.0"));
}

#[tokio::test]
async fn an_unchanged_feed_is_not_sent_again() {
    let server = FeedServer::start();
    server.set("/feed", Reply::feed(FEED));
    let url = server.url("/feed");
    let Fetched::New { validators, .. } = fetch_with(&options(), &url).await else {
        panic!("the first fetch brings the feed");
    };
    let again = ask_again(&url, &validators).await;
    assert_eq!(
        again,
        Fetched::NotModified {
            validators: validators.clone(),
            permanent_redirect: None,
        }
    );
    server.set("/feed", Reply::feed(FEED.replace("<title>t", "<title>u")));
    assert!(matches!(
        ask_again(&url, &validators).await,
        Fetched::New { .. }
    ));
}

#[tokio::test]
async fn a_new_etag_on_a_304_is_kept_beside_the_old_date() {
    let server = FeedServer::start();
    server.set("/feed", Reply::status(304).header("ETag", "\"new\""));
    let validators = |etag: &str| Validators {
        etag: Some(etag.to_owned()),
        last_modified: Some("Mon, 30 Nov 2026 11:00:00 GMT".to_owned()),
    };
    let fetched = ask_again(&server.url("/feed"), &validators("\"old\"")).await;
    assert_eq!(
        fetched,
        Fetched::NotModified {
            validators: validators("\"new\""),
            permanent_redirect: None,
        }
    );
    let request = server.requests().remove(0);
    assert_eq!(request.header("if-none-match"), Some("\"old\""));
    let date = request.header("if-modified-since");
    assert_eq!(date, Some("Mon, 30 Nov 2026 11:00:00 GMT"));
}

#[tokio::test]
async fn a_304_that_nobody_asked_for_is_a_fault() {
    let server = FeedServer::start();
    let fault = fault_of(&server, Reply::status(304)).await;
    assert_eq!(fault.kind, FaultKind::Status(304));
}

#[tokio::test]
async fn the_status_decides_before_the_body() {
    let server = FeedServer::start();
    for (status, kind) in [
        (201, FaultKind::Status(201)),
        (204, FaultKind::Status(204)),
        (401, FaultKind::Login),
        (403, FaultKind::Status(403)),
        (404, FaultKind::Status(404)),
        (410, FaultKind::Gone),
        (429, FaultKind::RateLimited),
        (500, FaultKind::Status(500)),
        (503, FaultKind::Status(503)),
    ] {
        let body = if status == 204 { "" } else { FEED };
        let reply = Reply::status(status).with_body(body);
        let fault = fault_of(&server, reply).await;
        assert_eq!((fault.kind, fault.retry_after), (kind, None));
        assert!(
            fault.to_string().contains(&format!("HTTP {status}")),
            "{fault}"
        );
    }
}

#[tokio::test]
async fn a_servers_wish_to_wait_is_passed_on() {
    let server = FeedServer::start();
    for (status, name, value, seconds) in [
        (429, "Retry-After", "120", Some(120)),
        (
            503,
            "Retry-After",
            "Mon, 30 Nov 2026 12:01:00 GMT",
            Some(60),
        ),
        (429, "x-ratelimit-reset", "42", Some(42)),
        (429, "Retry-After", "604800", Some(86_400)),
        (404, "Retry-After", "120", None),
    ] {
        let fault = fault_of(&server, Reply::status(status).header(name, value)).await;
        assert_eq!(
            fault.retry_after,
            seconds.map(Duration::from_secs),
            "{value}"
        );
    }
}

#[tokio::test]
async fn a_packed_feed_is_unpacked() {
    let server = FeedServer::start();
    let long = FEED.repeat(1_000);
    let received = body_of(&server, Reply::gzip(packed(long.as_bytes()))).await;
    assert!(received == long.as_bytes());
    let zeros = body_of(&server, Reply::gzip(packed_zeros(32 * KIB))).await;
    assert!(zeros.len() >= 32 * KIB && zeros.iter().all(|byte| *byte == 0));
}

#[tokio::test]
async fn the_cap_counts_what_was_unpacked() {
    let server = FeedServer::start();
    let bomb = packed_zeros(KIB * KIB);
    assert!(bomb.len() < 8 * KIB);
    let fault = fault_of(&server, Reply::gzip(bomb)).await;
    assert_eq!(fault.kind, FaultKind::TooLarge);
}

#[tokio::test]
async fn a_document_may_be_as_large_as_the_cap_and_no_larger() {
    let server = FeedServer::start();
    let received = body_of(&server, Reply::body(vec![b'x'; 64 * KIB])).await;
    assert_eq!(received.len(), 64 * KIB);
    let fault = fault_of(&server, Reply::body(vec![b'x'; 64 * KIB + 1])).await;
    assert_eq!(fault.kind, FaultKind::TooLarge);
    let fault = fault_of(&server, Reply::endless("<item/>")).await;
    assert_eq!(fault.kind, FaultKind::TooLarge);
}

#[tokio::test]
async fn a_body_that_cannot_be_unpacked_is_a_fault() {
    let server = FeedServer::start();
    let mut cut = packed(FEED.as_bytes());
    cut.truncate(20);
    for reply in [
        Reply::gzip(cut),
        Reply::gzip(FEED.into()),
        Reply::body(FEED).header("Content-Encoding", "br"),
        Reply::body(packed(&packed(FEED.as_bytes()))).header("Content-Encoding", "gzip, gzip"),
        Reply::body(FEED).reset_after(10),
    ] {
        let fault = fault_of(&server, reply).await;
        assert_eq!(fault.kind, FaultKind::Body, "{fault}");
    }
}

#[tokio::test]
async fn a_content_coding_that_is_none_does_no_harm() {
    let server = FeedServer::start();
    let reply = Reply::body(FEED).header("Content-Encoding", "utf-8");
    assert_eq!(body_of(&server, reply).await, FEED.as_bytes());
}

#[tokio::test]
async fn a_deadline_holds_for_silence_and_for_a_slow_body() {
    let server = FeedServer::start();
    server.set("/silent", Reply::hang());
    server.set("/stalls", Reply::body(FEED).stall_after(10));
    server.set("/away", Reply::redirect(302, "/silent"));
    server.set("/late", Reply::feed(FEED).delayed(Duration::from_mins(1)));
    for path in ["/silent", "/stalls", "/away", "/late"] {
        // The redirection has to be followed within it, on a busy machine too.
        let (within, said) = match path {
            "/away" => (Duration::from_secs(3), "within 3s"),
            _ => (Duration::from_millis(100), "within 100ms"),
        };
        let fault = ask_within(within, &server.url(path)).await;
        assert_eq!(fault.kind, FaultKind::Timeout);
        assert!(fault.to_string().contains(said), "{fault}");
        assert_eq!(fault.to_string().contains("-302->"), path == "/away");
    }
}

#[tokio::test]
async fn the_reasons_for_no_connection_are_told_apart() {
    let gone = FeedServer::start().address();
    let server = FeedServer::start();
    for (url, kind, line) in [
        (format!("http://{gone}/"), FaultKind::Refused, "refused"),
        (
            server.url("/").replace("http:", "https:"),
            FaultKind::Tls,
            "does this port speak https?",
        ),
        (
            "http://no-such-host.invalid/".to_owned(),
            FaultKind::Dns,
            "does not resolve",
        ),
    ] {
        let fault = fault(fetch_with(&options(), &url).await);
        assert_eq!(fault.kind, kind, "{fault}");
        assert!(fault.to_string().contains(line), "{fault}");
    }
}

#[tokio::test]
async fn web_pages_in_a_feeds_place_are_named() {
    let server = FeedServer::start();
    let challenge = "<!DOCTYPE html><html><head><title>Just a moment...</title>";
    let html = |reply: Reply| reply.header("Content-Type", "text/html");
    for reply in [
        html(Reply::body(challenge)),
        html(Reply::status(403).with_body(challenge)),
        Reply::status(503).header("cf-mitigated", "challenge"),
    ] {
        let fault = fault_of(&server, reply).await;
        assert_eq!(fault.kind, FaultKind::Challenge);
        assert!(fault.to_string().contains("Cloudflare"));
        assert!(
            fault.retry_after >= Some(Duration::from_mins(10)),
            "a slow backoff"
        );
    }
    let login = html(Reply::body("<html><form><input type=\"password\"></form>"));
    let fault = fault_of(&server, login).await;
    assert_eq!(fault.kind, FaultKind::Login);
    let maintenance = html(Reply::status(403).with_body("<html>closed"));
    assert_eq!(
        fault_of(&server, maintenance).await.kind,
        FaultKind::Status(403)
    );
}

#[tokio::test]
async fn a_file_is_read_only_when_files_are_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("feed.xml");
    std::fs::write(&path, FEED).unwrap();
    let url = format!("file://{}", path.display());
    let fault = fault(fetch_with(&options(), &url).await);
    assert_eq!(fault.kind, FaultKind::Scheme);
    assert!(fault.to_string().contains("ingest.allow_file"));
    let allowing = ClientOptions {
        allow_file: true,
        ..options()
    };
    assert_eq!(body(fetch_with(&allowing, &url).await), FEED.as_bytes());
}

#[tokio::test]
async fn two_thousand_feeds_are_served_by_one_client_and_server() {
    let server = FeedServer::start();
    let client = FetchClient::new(&options()).unwrap();
    let mut running = tokio::task::JoinSet::new();
    for number in 0..2_000 {
        server.set(
            &format!("/{number}"),
            Reply::feed(format!("<rss>{number}</rss>")),
        );
        let (client, url) = (client.clone(), server.url(&format!("/{number}")));
        running.spawn(async move {
            let url = url.parse().unwrap();
            let fetched = fetch(&client, &FetchRequest::unconditional(&url), NOW).await;
            assert_eq!(body(fetched), format!("<rss>{number}</rss>").into_bytes());
        });
    }
    running.join_all().await;
    assert_eq!(server.requests().len(), 2_000);
}
