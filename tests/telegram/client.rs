//! A client of forty lines: one connection, one request, whatever bytes came back.

use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use watchalert_tests::telegram::Telegram;

/// What came back before the connection ended.
#[derive(Debug)]
pub struct Answer {
    /// 0 when nothing came.
    pub status: u16,
    head: String,
    pub body: Vec<u8>,
    pub was_reset: bool,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Null for what is no JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub fn description(&self) -> String {
        self.json()["description"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

/// Sends the bytes and reads until the answer is whole or the connection ends.
pub fn exchange(telegram: &Telegram, request: &[u8]) -> Answer {
    read(&mut begun(telegram, request))
}

/// A connection on which the request was written.
pub fn begun(telegram: &Telegram, request: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(telegram.address()).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    socket.write_all(request).unwrap();
    socket
}

pub fn read(socket: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let mut was_reset = false;
    while whole(&bytes).is_none() {
        let mut some = [0; 4096];
        match socket.read(&mut some) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&some[..count]),
            Err(why) if why.kind() == ErrorKind::ConnectionReset => {
                was_reset = true;
                break;
            }
            Err(why) => panic!("the answer did not come: {why}"),
        }
    }
    let (head, body) = parted(&bytes).unwrap_or_default();
    Answer {
        status: head
            .get(9..12)
            .and_then(|code| code.parse().ok())
            .unwrap_or(0),
        body: body.to_vec(),
        head,
        was_reset,
    }
}

fn parted(bytes: &[u8]) -> Option<(String, &[u8])> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some((
        String::from_utf8_lossy(&bytes[..end]).into_owned(),
        &bytes[end + 4..],
    ))
}

/// The length of an answer that is all there.
fn whole(bytes: &[u8]) -> Option<usize> {
    let (head, body) = parted(bytes)?;
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))?;
    (body.len() >= length.parse().ok()?).then_some(bytes.len())
}

/// A request with a JSON body, as bytes.
pub fn post(telegram: &Telegram, method: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let token = telegram.token();
    format!(
        "POST /bot{token}/{method} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

pub fn call(telegram: &Telegram, method: &str, body: &Value) -> Answer {
    exchange(telegram, &post(telegram, method, body))
}

pub fn send(telegram: &Telegram, body: &Value) -> Answer {
    call(telegram, "sendMessage", body)
}

pub fn get(telegram: &Telegram, path: &str) -> Answer {
    exchange(
        telegram,
        format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes(),
    )
}

/// Looks until it is so.
pub fn eventually(is_so: impl Fn() -> bool) {
    let waited_for = (0..20_000_000).any(|_| {
        std::thread::yield_now();
        is_so()
    });
    assert!(waited_for, "it never came");
}
