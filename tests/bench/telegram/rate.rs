//! How many deliveries a second go through HTTP when nothing limits them: neither the sender's
//! limiter nor the server; beside what the server takes by itself.

use super::super::Scale;
use super::super::figures::Table;
use super::super::protocol::alert;
use super::server::Server;
use super::{Room, chat};
use shared::platform::clock::Clock;
use std::future::pending;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;
use watchalert_sender::channel::Channels;
use watchalert_sender::channel::telegram::letter::Letter;
use watchalert_sender::drain::Until;
use watchalert_sender::render;
use watchalert_sender::run::run_through;
use watchalert_tests::telegram::{Limits, Options, TOKEN, Telegram};

/// Connections that ask the bare server: as many as the sender has flights.
const CALLERS: usize = 64;
/// Prefilled for each second that is to be measured.
const A_SECOND: usize = 2_000;

pub async fn measure(table: &mut Table, dir: &Path, scale: Scale) {
    let unlimited = || {
        Telegram::start(Options {
            limits: Limits::NONE,
            ..Options::default()
        })
    };
    bare(table, "the stand-in alone", unlimited().address(), scale).await;
    for chats in [64, 128, 256] {
        let telegram = unlimited();
        let what = format!("the sender itself to the stand-in, {chats} chats");
        let sent = deliveries(table, dir, scale, chats, (&what, &telegram.url())).await;
        assert_eq!(telegram.accepted_count(), sent, "each arrived once");
    }
    let server = Server::start();
    bare(table, "the plain server alone", server.address(), scale).await;
    for chats in [64, 128, 256] {
        let url = format!("http://{}", server.address());
        let what = format!("the sender itself to the plain server, {chats} chats");
        deliveries(table, dir, scale, chats, (&what, &url)).await;
    }
}

/// As many as the time of a rate is enough for, until the last is delivered.
async fn deliveries(
    table: &mut Table,
    dir: &Path,
    scale: Scale,
    chats: usize,
    (what, url): (&str, &str),
) -> usize {
    let room = Room::new(dir, what, url);
    let rows = A_SECOND * usize::try_from(scale.rate.as_millis()).unwrap_or(0) / 1_000;
    let to = |row: usize| chat(i64::try_from(row % chats).unwrap_or(0) + 1);
    let owed: Vec<_> = (0..rows)
        .map(|row| alert(&format!("row {row}"), &to(row)))
        .collect();
    let clock = Clock::system();
    room.enqueue(&owed, clock.now()).await;
    let scene = room.scene(&clock);
    let channels = Channels::open(&scene.config.channels, &scene.output, scene.style);
    let sync = table.sync_latency();
    let began = Instant::now();
    let drained = run_through(channels.without_limits(), scene, Until::Empty, pending()).await;
    let took = began.elapsed();
    let sent = drained.expect("drained").sent;
    assert_eq!(sent, rows, "every row is sent once");
    table.rate(what, sent, took, sync, Some(1_000.0));
    sent
}

/// Requests as the sender makes them, one after the other on each of so many connections.
async fn bare(table: &mut Table, what: &str, address: SocketAddr, scale: Scale) {
    let began = Instant::now();
    let mut calling = JoinSet::new();
    for caller in 1..=CALLERS {
        let request = request(&caller.to_string());
        calling.spawn(async move { call(address, &request, began, scale.rate).await });
    }
    let answered: u32 = calling.join_all().await.into_iter().sum();
    let rate = f64::from(answered) / began.elapsed().as_secs_f64();
    let what = format!("{what}, requests on {CALLERS} connections");
    table.line(&what, &format!("{rate:.0}/s"), "", None);
}

async fn call(address: SocketAddr, request: &[u8], began: Instant, time: Duration) -> u32 {
    let mut socket = TcpStream::connect(address).await.expect("the server");
    let (mut answered, mut buffer) = (0, [0; 8_192]);
    while began.elapsed() < time {
        socket.write_all(request).await.expect("written");
        // An answer ends with the brackets of its two objects, and is shorter than the buffer.
        let mut length = 0;
        while !buffer[..length].ends_with(b"}}") {
            let read = socket.read(&mut buffer[length..]).await.expect("an answer");
            assert!(read > 0, "the server closed");
            length += read;
        }
        assert!(buffer.starts_with(b"HTTP/1.1 200"));
        answered += 1;
    }
    answered
}

fn request(chat_id: &str) -> Vec<u8> {
    let owed = alert("bare", &chat(1));
    let post = render::telegram::render(&owed.alert).remove(0);
    let letter = Letter::of_post(post, chat_id, None, false);
    let body = serde_json::to_string(letter.body()).expect("JSON");
    let length = body.len();
    format!(
        "POST /bot{TOKEN}/sendMessage HTTP/1.1\r\nHost: localhost\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}
