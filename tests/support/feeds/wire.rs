//! HTTP/1.1 by hand, so that an answer can break off, hang or never end.

use super::Request;
use super::reply::{Ending, Reply};
use std::io;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// Answers one request after the other until the client or a reply ends the connection. What
/// goes wrong on the wire is the client's to notice.
pub(super) async fn converse(socket: TcpStream, ask: impl Fn(Request) -> Reply) {
    let mut socket = BufReader::new(socket);
    if !speaks_http(&mut socket).await {
        let refusal = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        return drop(refusal);
    }
    while let Ok(Some(request)) = read_request(&mut socket).await {
        let reply = ask(request);
        if !matches!(answer(&mut socket, &reply).await, Ok(Next::Request)) {
            return;
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

async fn read_request(socket: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    socket.read_line(&mut line).await?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        socket.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Ok(Some(Request {
        method,
        path,
        headers,
    }))
}

async fn answer(socket: &mut BufReader<TcpStream>, reply: &Reply) -> io::Result<Next> {
    if !reply.delay.is_zero() {
        tokio::time::sleep(reply.delay).await;
    }
    match reply.ending {
        Ending::Hang => std::future::pending().await,
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
            std::future::pending().await
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
