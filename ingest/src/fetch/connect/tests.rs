//! Connections to dead routes, and to a server that only a certificate of its own vouches for.

use super::super::{Fetched, fetch};
use super::*;
use crate::fetch::FetchClient;
use shared::model::Timestamp;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;

const FEED: &str = "<rss version='2.0'><channel><title>t</title></channel></rss>";

/// An address that answers no attempt to connect, as one behind a dead route: its queue is full.
async fn black_hole(address: &str) -> (TcpListener, Vec<TcpStream>) {
    let address: SocketAddr = address.parse().unwrap();
    let socket = if address.is_ipv6() {
        TcpSocket::new_v6()
    } else {
        TcpSocket::new_v4()
    }
    .unwrap();
    socket.bind(address).unwrap();
    let listener = socket.listen(1).unwrap();
    let mut held = Vec::new();
    let address = listener.local_addr().unwrap();
    while let Ok(stream) = timeout(Duration::from_millis(200), TcpStream::connect(address)).await {
        held.push(stream.unwrap());
    }
    (listener, held)
}

async fn serve_once(listener: TcpListener) {
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut request = [0; 2048];
    assert!(socket.read(&mut request).await.unwrap() > 0);
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{FEED}",
        FEED.len()
    );
    socket.write_all(answer.as_bytes()).await.unwrap();
}

/// Fetches from a name with these addresses; they may differ in port too.
async fn fetched_from(addresses: &[SocketAddr]) -> Fetched {
    let options = ClientOptions {
        allow_private: true,
        connect_timeout: Duration::from_secs(2),
        ..ClientOptions::default()
    };
    let mut client = FetchClient::new(&options).unwrap();
    client.pin("feeds.example", addresses);
    let url = "http://feeds.example/".parse().unwrap();
    fetch(
        &client,
        &FetchRequest::unconditional(&url),
        Timestamp::EPOCH,
    )
    .await
}

#[tokio::test]
async fn a_dead_address_of_either_kind_does_not_hide_the_living_one() {
    for dead in ["[::1]:0", "127.0.0.1:0"] {
        if TcpListener::bind(dead).await.is_err() {
            eprintln!("SKIPPED: this machine has no {dead}");
            continue;
        }
        let (hole, _held) = black_hole(dead).await;
        let living = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addresses = [hole.local_addr().unwrap(), living.local_addr().unwrap()];
        let server = tokio::spawn(serve_once(living));
        let fetched = fetched_from(&addresses).await;
        assert!(
            matches!(fetched, Fetched::New { .. }),
            "{dead}: {fetched:?}"
        );
        server.await.unwrap();
    }
}

#[tokio::test]
async fn dead_addresses_alone_are_given_up_after_the_connect_timeout() {
    let (hole, _held) = black_hole("127.0.0.1:0").await;
    let fetched = fetched_from(&[hole.local_addr().unwrap()]).await;
    let Fetched::Failed(fault) = fetched else {
        panic!("{fetched:?}");
    };
    assert_eq!(
        (fault.kind, &*fault.detail),
        (FaultKind::Timeout, "no connection in time")
    );
}
