//! A conversation's two directions, in the clear and then perhaps in TLS.

use crate::tls::certificate;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

pub(super) fn config() -> Arc<ServerConfig> {
    let chain = ["server.pem", "intermediate.pem"].map(|name| {
        CertificateDer::from_pem_file(certificate(name)).expect("a certificate in PEM")
    });
    let key = PrivateKeyDer::from_pem_file(certificate("server.key")).expect("a key in PEM");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("TLS 1.2 and 1.3")
        .with_no_client_auth()
        .with_single_cert(chain.into(), key)
        .expect("the key is the certificate's");
    Arc::new(config)
}

enum Inner {
    Clear(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Read for Inner {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Clear(socket) => socket.read(buffer),
            Self::Tls(tls) => tls.read(buffer),
        }
    }
}

pub(super) struct Stream {
    inner: BufReader<Inner>,
    /// The same socket, to begin TLS on.
    socket: TcpStream,
    pub(super) is_encrypted: bool,
}

impl Stream {
    pub(super) fn clear(socket: TcpStream) -> io::Result<Self> {
        Ok(Self {
            socket: socket.try_clone()?,
            inner: BufReader::new(Inner::Clear(socket)),
            is_encrypted: false,
        })
    }

    pub(super) fn encrypt(&mut self, config: &Arc<ServerConfig>) -> io::Result<()> {
        let tls = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        let stream = StreamOwned::new(tls, self.socket.try_clone()?);
        self.inner = BufReader::new(Inner::Tls(Box::new(stream)));
        self.is_encrypted = true;
        Ok(())
    }

    /// A line without its end; an error when nobody says anything any more.
    pub(super) fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        self.inner.read_until(b'\n', &mut line)?;
        match line.strip_suffix(b"\r\n") {
            Some(line) => Ok(line.to_owned()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    pub(super) fn write(&mut self, text: &str) -> io::Result<()> {
        match self.inner.get_mut() {
            Inner::Clear(socket) => socket.write_all(text.as_bytes()),
            Inner::Tls(tls) => tls.write_all(text.as_bytes()).and_then(|()| tls.flush()),
        }
    }
}
