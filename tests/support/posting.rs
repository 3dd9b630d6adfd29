//! Who posts to the receiver: HTTP over a plain socket, so that a request can be as wrong as it likes, and
//! signatures as their senders make them.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than anything that is waited for.
const BOUND: Duration = Duration::from_secs(60);

/// HMAC-SHA256 in hexadecimal digits.
pub fn signed(secret: &str, body: &[u8]) -> String {
    let mac: Hmac<Sha256> = Hmac::new_from_slice(secret.as_bytes()).expect("any key will do");
    let bytes = mac.chain_update(body).finalize().into_bytes();
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes all");
        hex
    })
}

/// A POST with these headers beside its length. The status and the text of the answer.
pub fn post(
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> io::Result<(u16, String)> {
    let mut head = format!(
        "POST {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").expect("a string takes all");
    }
    ask(address, &[head.as_bytes(), b"\r\n", body].concat())
}

/// As GitHub posts.
pub fn github(
    address: SocketAddr,
    hook: &str,
    secret: &str,
    event: &str,
    delivery: &str,
    body: &[u8],
) -> io::Result<(u16, String)> {
    let signature = format!("sha256={}", signed(secret, body));
    let headers = [
        ("Content-Type", "application/json"),
        ("X-GitHub-Event", event),
        ("X-GitHub-Delivery", delivery),
        ("X-Hub-Signature-256", &signature),
    ];
    post(address, &format!("/hook/{hook}"), &headers, body)
}

/// Sends these bytes and reads to the end.
pub fn ask(address: SocketAddr, request: &[u8]) -> io::Result<(u16, String)> {
    let answer = ask_whole(address, request)?;
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    let text = answer.split_once("\r\n\r\n").map_or("", |(_, text)| text);
    let status = status.ok_or_else(|| io::Error::other(format!("no answer: {answer:?}")))?;
    Ok((status, text.trim().to_owned()))
}

/// The same, with the head of the answer.
pub fn ask_whole(address: SocketAddr, request: &[u8]) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(BOUND))?;
    // Who refuses a body early reads no more of it.
    let written = stream.write_all(request);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if answer.is_empty() => return Err(error),
        _ => {}
    }
    if answer.is_empty() {
        written?;
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
