//! A server that answers every request with a receipt and remembers nothing: so little work that on
//! two processors the sender's own is what is measured.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 43\r\n\r\n\
    {\"ok\":true,\"result\":{\"message_id\":1234567}}";

/// Ends when it is dropped.
pub(super) struct Server {
    address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

impl Server {
    pub(super) fn start() -> Self {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("its address");
        listener.set_nonblocking(true).expect("a socket for tokio");
        let (stop, stopped) = oneshot::channel();
        std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let listener = TcpListener::from_std(listener).expect("a listener");
                tokio::select! {
                    _ = accept(listener) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            address,
            _stop: stop,
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn accept(listener: TcpListener) -> io::Result<()> {
    loop {
        let (socket, _) = listener.accept().await?;
        tokio::spawn(converse(socket));
    }
}

/// The client ends it, whatever it sends.
async fn converse(mut socket: TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut request = Vec::new();
    loop {
        while let Some(length) = length(&request) {
            request.drain(..length);
            socket.write_all(ANSWER).await?;
        }
        if socket.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
}

/// Of the request at the beginning, when all of it is there.
fn length(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = str::from_utf8(&bytes[..end]).ok()?.to_ascii_lowercase();
    let (_, behind) = head.split_once("content-length:")?;
    let body: usize = behind.lines().next()?.trim().parse().ok()?;
    (bytes.len() >= end + body).then_some(end + body)
}
