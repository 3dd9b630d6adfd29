//! What is in memory at the same time: large documents wait for each other, small ones for nobody.

use super::{KIB, NOW};
use std::time::Duration;
use tokio::task::JoinSet;
use watchalert_ingest::fetch::{
    ClientOptions, FaultKind, FetchClient, FetchRequest, Fetched, fetch,
};
use watchalert_tests::feeds::{FeedServer, Reply};

async fn fetch_within(client: &FetchClient, url: &str, deadline: Duration) -> Fetched {
    let url = url.parse().expect("a URL");
    let request = FetchRequest {
        deadline,
        ..FetchRequest::unconditional(&url)
    };
    fetch(client, &request, NOW).await
}

fn is_late(fetched: &Fetched) -> bool {
    matches!(fetched, Fetched::Failed(fault) if fault.kind == FaultKind::Timeout)
}

fn length(fetched: &Fetched) -> usize {
    match fetched {
        Fetched::New { body, .. } => body.len(),
        other => panic!("no document: {other:?}"),
    }
}

#[tokio::test]
async fn large_documents_that_stall_keep_large_ones_waiting_and_no_small_one() {
    let long = Duration::from_secs(30);
    let server = FeedServer::start();
    let largest = Reply::body(vec![b'x'; 8 * KIB * KIB]);
    server.set("/stalls", largest.stall_after(600 * KIB));
    server.set("/large", Reply::body(vec![b'x'; 3 * KIB * KIB]));
    server.set("/small", Reply::body(vec![b'x'; 300 * KIB]));
    let client = FetchClient::new(&ClientOptions {
        allow_private: true,
        ..ClientOptions::default()
    })
    .expect("a client");
    let mut stalling = JoinSet::new();
    for _ in 0..3 {
        let (client, url) = (client.clone(), server.url("/stalls"));
        stalling.spawn(async move { fetch_within(&client, &url, long * 10).await });
    }
    let large = server.url("/large");
    let comes_to_wait = async {
        while !is_late(&fetch_within(&client, &large, Duration::from_millis(300)).await) {}
    };
    tokio::time::timeout(long, comes_to_wait)
        .await
        .expect("three large documents fill the room");
    let small = fetch_within(&client, &server.url("/small"), long).await;
    assert_eq!(length(&small), 300 * KIB);
    stalling.shutdown().await;
    let large = fetch_within(&client, &large, long).await;
    assert_eq!(length(&large), 3 * KIB * KIB);
}
