//! Where a request may go: redirects, private hosts, and what travels along.

use super::*;
use shared::config::Secret;

#[tokio::test]
async fn only_an_unbroken_row_of_permanent_redirects_moves_a_feed() {
    let server = FeedServer::start();
    server.set("/old", Reply::redirect(301, "/newer"));
    server.set("/newer", Reply::redirect(308, "/login"));
    server.set("/login", Reply::redirect(302, "/feed"));
    server.set("/feed", Reply::feed(FEED));
    for (from, moved_to) in [("/old", Some("/login")), ("/login", None), ("/feed", None)] {
        let fetched = fetch_with(&options(), &server.url(from)).await;
        let Fetched::New {
            final_url,
            permanent_redirect,
            ..
        } = fetched
        else {
            panic!("redirects lead to the feed");
        };
        assert_eq!(final_url.path(), "/feed");
        let moved_to = moved_to.map(|path| server.url(path).parse().unwrap());
        assert_eq!(permanent_redirect, moved_to);
    }
}

#[tokio::test]
async fn five_redirects_are_followed_and_no_sixth() {
    let server = FeedServer::start();
    for hop in 0..6 {
        server.set(
            &format!("/{hop}"),
            Reply::redirect(307, &format!("/{}", hop + 1)),
        );
    }
    server.set("/6", Reply::feed(FEED));
    assert_eq!(
        body(fetch_with(&options(), &server.url("/1")).await),
        FEED.as_bytes()
    );
    let fault = fault(fetch_with(&options(), &server.url("/0")).await);
    assert_eq!(fault.kind, FaultKind::Redirects);
    assert_eq!(server.requests_for("/6").len(), 1);
}

#[tokio::test]
async fn a_redirect_leads_to_the_web_or_nowhere() {
    let server = FeedServer::start();
    for (location, kind) in [
        ("file:///etc/passwd", FaultKind::Scheme),
        ("ftp://127.0.0.1/feed", FaultKind::Scheme),
        ("http://", FaultKind::Redirects),
    ] {
        let fault = fault_of(&server, Reply::redirect(301, location)).await;
        assert_eq!(fault.kind, kind, "{location}");
    }
    let fault = fault_of(&server, Reply::status(302)).await;
    assert_eq!(fault.kind, FaultKind::Redirects);
}

#[tokio::test]
async fn a_fault_after_a_redirect_tells_the_way_there_without_secrets() {
    let server = FeedServer::start();
    server.set("/old?key=secret", Reply::redirect(301, "/new?key=secret"));
    let fault = fault(fetch_with(&options(), &server.url("/old?key=secret")).await);
    let host = server.address();
    assert_eq!(
        fault.to_string(),
        format!(
            "HTTP 404 Not Found: there is no feed at this address \
             (redirected: http://{host}/old?… -301-> http://{host}/new?…)"
        )
    );
}

#[tokio::test]
async fn a_secret_goes_to_the_feeds_own_host_only() {
    let (server, other) = (FeedServer::start(), FeedServer::start());
    server.set("/old", Reply::redirect(301, "/feed"));
    server.set("/feed", Reply::redirect(302, &other.url("/elsewhere")));
    other.set("/elsewhere", Reply::redirect(302, &server.url("/back")));
    server.set("/back", Reply::feed(FEED));
    let client = FetchClient::new(&options()).unwrap();
    let url = server.url("/old").parse().unwrap();
    let secret = Secret::from("Bearer sesame".to_owned());
    let request = FetchRequest {
        authorization: Some(&secret),
        ..FetchRequest::unconditional(&url)
    };
    assert!(!format!("{request:?}").contains("sesame"));
    body(fetch(&client, &request, NOW).await);
    let told = |server: &FeedServer, path: &str| {
        let request = server.requests_for(path).remove(0);
        request.header("authorization").map(str::to_owned)
    };
    for path in ["/old", "/feed"] {
        assert_eq!(told(&server, path).as_deref(), Some("Bearer sesame"));
    }
    assert_eq!(told(&other, "/elsewhere"), None);
    assert_eq!(told(&server, "/back"), None);
}

#[tokio::test]
async fn a_feeds_own_headers_replace_ours_and_go_to_its_own_host_only() {
    let (server, other) = (FeedServer::start(), FeedServer::start());
    server.set("/feed", Reply::redirect(302, "/same"));
    server.set("/same", Reply::redirect(302, &other.url("/other")));
    other.set("/other", Reply::feed(FEED));
    let client = FetchClient::new(&options()).unwrap();
    let url = server.url("/feed").parse().unwrap();
    let headers = [("accept", "text/xml"), ("x-key", "sesame")]
        .map(|(name, value)| (name.to_owned(), Secret::from(value.to_owned())));
    let request = FetchRequest {
        headers: &headers,
        ..FetchRequest::unconditional(&url)
    };
    body(fetch(&client, &request, NOW).await);
    for path in ["/feed", "/same"] {
        let asked = server.requests_for(path).remove(0);
        assert_eq!(asked.header("x-key"), Some("sesame"));
        assert_eq!(asked.header("accept"), Some("text/xml"));
    }
    let asked = other.requests_for("/other").remove(0);
    assert_eq!(asked.header("x-key"), None);
    let accepted = asked.header("accept").unwrap();
    assert!(accepted.contains("application/atom+xml"), "{accepted}");
}

#[tokio::test]
async fn a_cookie_goes_back_to_the_host_that_set_it_and_to_no_other() {
    let (server, other) = (FeedServer::start(), FeedServer::start());
    let elsewhere = other.url("/elsewhere").replace("127.0.0.1", "localhost");
    let set = |status, to: &str, cookie| Reply::redirect(status, to).header("Set-Cookie", cookie);
    server.set("/feed", set(302, "/pass", "one=1; Path=/"));
    server.set("/pass", set(307, &elsewhere, "two=2; Secure"));
    other.set("/elsewhere", set(303, &server.url("/back"), "three=3"));
    server.set("/back", Reply::feed(FEED));
    body(fetch_with(&options(), &server.url("/feed")).await);
    let told = |server: &FeedServer, path: &str| {
        let request = server.requests_for(path).remove(0);
        request.header("cookie").map(str::to_owned)
    };
    assert_eq!(told(&server, "/feed"), None);
    assert_eq!(told(&server, "/pass").as_deref(), Some("one=1"));
    assert_eq!(told(&other, "/elsewhere"), None);
    assert_eq!(told(&server, "/back").as_deref(), Some("one=1"));
}

#[tokio::test]
async fn a_private_host_is_refused_before_anything_is_sent() {
    let server = FeedServer::start();
    let careful = ClientOptions {
        allow_private: false,
        ..options()
    };
    let port = server.address().port();
    for host in ["127.0.0.1", "localhost", "0x7f000001", "[::ffff:127.0.0.1]"] {
        let fault = fault(fetch_with(&careful, &format!("http://{host}:{port}/")).await);
        assert_eq!(fault.kind, FaultKind::Private, "{fault}");
        assert!(fault.detail.contains("set ingest.allow_private = true"));
    }
    assert_eq!(server.requests(), []);
}

#[tokio::test]
async fn a_secret_that_fits_no_header_is_a_fault_that_does_not_repeat_it() {
    let client = FetchClient::new(&options()).unwrap();
    let url = "http://127.0.0.1:9/".parse().unwrap();
    let secret = Secret::from("Bearer\nsesame".to_owned());
    let request = FetchRequest {
        authorization: Some(&secret),
        ..FetchRequest::unconditional(&url)
    };
    let fault = fault(fetch(&client, &request, NOW).await);
    assert_eq!(fault.kind, FaultKind::Request);
    assert!(!format!("{fault:?}").contains("sesame"));
}
