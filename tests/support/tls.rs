//! A feed behind TLS on a loopback port: whoever trusts the certificates that it shows is answered.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A file of `tests/fixtures/tls`; `make_certificates` there says how it came to be.
pub fn certificate(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/tls");
    fixtures.join(name)
}

pub struct TlsServer {
    address: SocketAddr,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl TlsServer {
    /// Shows these certificates, its own first, and answers every request with `feed`.
    ///
    /// # Panics
    /// When a certificate cannot be read, or the machine has no loopback port left.
    pub fn start(chain: &[&str], feed: &str) -> Self {
        let chain = chain.iter().map(|name| {
            CertificateDer::from_pem_file(certificate(name)).expect("a certificate in PEM")
        });
        let key = PrivateKeyDer::from_pem_file(certificate("server.key")).expect("a key in PEM");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("TLS 1.2 and 1.3")
            .with_no_client_auth()
            .with_single_cert(chain.collect(), key)
            .expect("the key is the certificate's");
        let (config, feed) = (Arc::new(config), feed.to_owned());
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        let ends = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            for socket in listener.incoming() {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                // Who does not trust it goes away: that is for the client to tell.
                drop(socket.and_then(|socket| answer(socket, &config, &feed)));
            }
        });
        Self {
            address,
            ends,
            thread: Some(thread),
        }
    }

    /// `https://127.0.0.1:PORT` and the path, which begins with a slash.
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        // Wakes it.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            assert!(
                thread.join().is_ok() || std::thread::panicking(),
                "the TLS server panicked"
            );
        }
    }
}

/// One request and its answer; then the connection ends.
fn answer(socket: TcpStream, config: &Arc<ServerConfig>, feed: &str) -> std::io::Result<()> {
    let connection = ServerConnection::new(Arc::clone(config)).map_err(std::io::Error::other)?;
    let mut stream = StreamOwned::new(connection, socket);
    let (mut request, mut part) = (Vec::new(), [0; 1024]);
    while !request.ends_with(b"\r\n\r\n") {
        let read = stream.read(&mut part)?;
        if read == 0 {
            return Ok(());
        }
        request.extend_from_slice(&part[..read]);
    }
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{feed}",
        feed.len()
    )?;
    stream.conn.send_close_notify();
    stream.flush()
}
