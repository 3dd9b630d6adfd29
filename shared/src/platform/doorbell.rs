//! The doorbell: a datagram that tells the sender to look now. A hint, never the truth: a lost
//! ring costs a second, not an alert.

use super::crash;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net;
use std::path::{Path, PathBuf};
use tokio::net::UnixDatagram;

/// The sender's side: a socket beside the database.
#[derive(Debug)]
pub struct Doorbell {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Doorbell {
    /// Binds the socket. Whoever holds the sender's lock may remove a stale one.
    ///
    /// # Errors
    /// Among others when the path is longer than a socket's may be (107 bytes).
    pub fn bind(path: &Path) -> io::Result<Self> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = UnixDatagram::bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o660))?;
        Ok(Self {
            socket,
            path: path.to_owned(),
        })
    }

    /// Returns after at least one ring; many rings at once are one.
    pub async fn rung(&self) -> io::Result<()> {
        let mut ring = [0; 1];
        self.socket.recv(&mut ring).await?;
        while self.socket.try_recv(&mut ring).is_ok() {}
        Ok(())
    }
}

impl Drop for Doorbell {
    fn drop(&mut self) {
        // A socket that is left behind is replaced by the next sender.
        drop(fs::remove_file(&self.path));
    }
}

/// Rings, without waiting and without complaint: no sender, or one that is busy, is no fault.
pub fn ring(path: &Path) {
    crash::point("bell.before");
    let rung = net::UnixDatagram::unbound().and_then(|socket| {
        socket.set_nonblocking(true)?;
        socket.send_to(b"!", path)
    });
    if let Err(error) = rung {
        tracing::debug!(%error, "nobody heard the doorbell");
    }
}
