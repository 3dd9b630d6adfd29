//! Servers that only a certificate of one feed's own vouches for, and servers that forget to show one.

use super::*;
use std::path::Path;
use watchalert_tests::tls::{TlsServer, certificate};

/// Asks with one client for a feed with this `ca_file`, of a server that shows this chain.
async fn ask(client: &FetchClient, chain: &[&str], ca_file: Option<&Path>) -> Fetched {
    let server = TlsServer::start(chain, FEED);
    let url = server.url("/feed").parse().unwrap();
    let request = FetchRequest {
        ca_file,
        ..FetchRequest::unconditional(&url)
    };
    fetch(client, &request, NOW).await
}

const WHOLE: [&str; 2] = ["server.pem", "intermediate.pem"];
const CUT: [&str; 1] = ["server.pem"];

#[tokio::test]
async fn a_certificate_is_trusted_for_the_feed_that_names_it_and_for_no_other() {
    let client = FetchClient::new(&options()).unwrap();
    for (chain, ca, trusted) in [
        (&WHOLE[..], "root.pem", true),
        (&CUT, "intermediate.pem", true),
        (&["own.pem"], "own.pem", true),
        (&WHOLE, "", false),
        (&CUT, "", false),
        (&CUT, "root.pem", false),
    ] {
        let path = certificate(ca);
        let ca_file = (!ca.is_empty()).then_some(&*path);
        match ask(&client, chain, ca_file).await {
            Fetched::New { body, .. } => {
                assert!(trusted, "{chain:?} is not vouched for by {ca:?}");
                assert_eq!(body.to_vec(), FEED.as_bytes());
            }
            other => {
                assert!(!trusted, "{chain:?} {ca:?}: {other:?}");
                let fault = fault(other);
                assert_eq!(fault.kind, FaultKind::Tls, "{fault}");
                let said = fault.to_string();
                assert!(said.contains("missing intermediate certificate"), "{said}");
            }
        }
    }
}

#[tokio::test]
async fn a_trusted_certificate_is_one_for_the_host_that_was_asked() {
    let server = TlsServer::start(&WHOLE, FEED);
    let client = FetchClient::new(&options()).unwrap();
    let elsewhere = server.url("/feed").replace("127.0.0.1", "localhost");
    let url = elsewhere.parse().unwrap();
    let request = FetchRequest {
        ca_file: Some(&certificate("root.pem")),
        ..FetchRequest::unconditional(&url)
    };
    let fault = fault(fetch(&client, &request, NOW).await);
    assert_eq!(fault.kind, FaultKind::Tls, "{fault}");
    assert!(!fault.to_string().contains("intermediate"), "{fault}");
}

/// As `openssl req -x509` makes it, if it is not told otherwise.
#[tokio::test]
async fn a_server_that_shows_an_authoritys_certificate_is_told_what_to_do() {
    let client = FetchClient::new(&options()).unwrap();
    let path = certificate("own-authority.pem");
    let fault = fault(ask(&client, &["own-authority.pem"], Some(&path)).await);
    assert_eq!(fault.kind, FaultKind::Tls, "{fault}");
    assert!(fault.to_string().contains("without CA:TRUE"), "{fault}");
}

#[tokio::test]
async fn a_file_without_a_certificate_is_named() {
    let client = FetchClient::new(&options()).unwrap();
    for (file, what) in [
        ("server.key", "there is none in it; write it in PEM"),
        ("nowhere.pem", "No such file or directory"),
    ] {
        let path = certificate(file);
        let fault = fault(ask(&client, &WHOLE, Some(&path)).await);
        assert_eq!(fault.kind, FaultKind::Request, "{fault}");
        let said = fault.to_string();
        assert!(said.contains(file) && said.contains(what), "{said}");
    }
}
