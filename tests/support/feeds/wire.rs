//! HTTP/1.1 by hand, so that an answer can break off, hang or never end.

use super::Request;
use super::reply::{Ending, Reply};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// Of a request's first line and headers together, and of its body.
const MOST_HEAD: u64 = 64 * 1024;
const MOST_BODY: usize = 1024 * 1024;
/// Between two looks at a clock that is somebody else's to move.
const LOOK: Duration = Duration::from_millis(2);

/// Answers one request after the other until the client or a reply ends the connection. What
/// goes wrong on the wire is the client's to notice.
pub(crate) async fn converse(socket: TcpStream, ask: impl Fn(Request) -> Reply) {
    let mut socket = BufReader::new(socket);
    if !speaks_http(&mut socket).await {
        let refusal = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        return drop(refusal);
    }
    while let Ok(read) = read_request(&mut socket).await {
        let (reply, is_last) = match read {
            Read::Request(request) => (ask(request), false),
            Read::TooLarge => (Reply::status(413), true),
            Read::End => return,
        };
        if !matches!(answer(&mut socket, &reply).await, Ok(Next::Request)) {
            return;
        }
        if is_last {
            return silence(&mut socket).await;
        }
    }
}

/// A TLS handshake, for one, does not begin with the name of a method.
async fn speaks_http(socket: &mut BufReader<TcpStream>) -> bool {
    let start = socket.fill_buf().await.unwrap_or_default();
    start.first().is_none_or(u8::is_ascii_uppercase)
}

enum Next {
    Request,
    Close,
}

enum Read {
    Request(Request),
    TooLarge,
    End,
}

async fn read_request(socket: &mut BufReader<TcpStream>) -> io::Result<Read> {
    let mut head = (&mut *socket).take(MOST_HEAD);
    let mut line = String::new();
    head.read_line(&mut line).await?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Ok(Read::End);
    };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        head.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    if head.limit() == 0 {
        return Ok(Read::TooLarge);
    }
    let mut request = Request {
        method,
        path,
        headers,
        body: Vec::new(),
    };
    let length = request.header("content-length").unwrap_or("0");
    let Some(length) = length.parse().ok().filter(|length| *length <= MOST_BODY) else {
        return Ok(Read::TooLarge);
    };
    if request.header("expect").is_some() {
        socket.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    request.body.resize(length, 0);
    socket.read_exact(&mut request.body).await?;
    Ok(Read::Request(request))
}

/// Reads, and says nothing, until the client goes.
async fn silence(socket: &mut BufReader<TcpStream>) {
    let mut nowhere = [0; 4096];
    while socket.read(&mut nowhere).await.is_ok_and(|read| read > 0) {}
}

async fn answer(socket: &mut BufReader<TcpStream>, reply: &Reply) -> io::Result<Next> {
    if !reply.delay.is_zero() {
        tokio::time::sleep(reply.delay).await;
    }
    while let Some((clock, time)) = &reply.held
        && clock.now() < *time
    {
        tokio::time::sleep(LOOK).await;
    }
    match reply.ending {
        Ending::Hang => {
            silence(socket).await;
            Ok(Next::Close)
        }
        Ending::Cut => {
            socket.get_ref().set_zero_linger()?;
            Ok(Next::Close)
        }
        Ending::Whole => {
            let mut bytes = head(reply, Some(reply.body.len()));
            bytes.extend_from_slice(&reply.body);
            socket.write_all(&bytes).await?;
            Ok(Next::Request)
        }
        Ending::Reset { after } => {
            part(socket, reply, after).await?;
            socket.get_ref().set_zero_linger()?;
            Ok(Next::Close)
        }
        Ending::Stall { after } => {
            part(socket, reply, after).await?;
            silence(socket).await;
            Ok(Next::Close)
        }
        Ending::Endless => {
            socket.write_all(&head(reply, None)).await?;
            loop {
                socket.write_all(&reply.body).await?;
            }
        }
    }
}

/// Promises the whole body and sends so many bytes of it.
async fn part(socket: &mut BufReader<TcpStream>, reply: &Reply, bytes: usize) -> io::Result<()> {
    socket
        .write_all(&head(reply, Some(reply.body.len())))
        .await?;
    socket
        .write_all(reply.body.get(..bytes).unwrap_or(&reply.body))
        .await
}

fn head(reply: &Reply, length: Option<usize>) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.extend([name.as_str(), ": ", value.as_str(), "\r\n"]);
    }
    if let Some(length) = length.filter(|_| reply.status != 304) {
        head.extend(["Content-Length: ", &length.to_string(), "\r\n"]);
    }
    head.push_str("\r\n");
    head.into_bytes()
}
