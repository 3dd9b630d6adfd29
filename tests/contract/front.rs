//! Something before a server that has no manners, until it is told to behave.

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manners {
    /// Nothing listens.
    NotThere,
    /// So many bytes of what comes first are read, then the connection is reset.
    ResetAfter(usize),
}

/// Its threads end with the test's process.
pub(super) struct Front {
    address: SocketAddr,
    server: SocketAddr,
    manners: Manners,
    behaves: Arc<AtomicBool>,
}

impl Front {
    pub(super) fn before(server: SocketAddr, manners: Manners) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let front = Self {
            address: listener.local_addr().expect("its address"),
            server,
            manners,
            behaves: Arc::default(),
        };
        if manners != Manners::NotThere {
            front.serve(listener);
        }
        front
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on it passes everything on.
    pub(super) fn behave(&mut self) {
        let was_rude = !self.behaves.swap(true, Ordering::SeqCst);
        if was_rude && self.manners == Manners::NotThere {
            self.serve(TcpListener::bind(self.address).expect("the port is still free"));
        }
    }

    fn serve(&self, listener: TcpListener) {
        let (server, manners) = (self.server, self.manners);
        let behaves = Arc::clone(&self.behaves);
        thread::spawn(move || {
            for socket in listener.incoming() {
                let socket = socket.expect("a connection");
                match manners {
                    Manners::ResetAfter(bytes) if !behaves.load(Ordering::SeqCst) => {
                        reset(socket, bytes).expect("a request came");
                    }
                    Manners::ResetAfter(_) | Manners::NotThere => pass_on(socket, server),
                }
            }
        });
    }
}

/// To close with something unread is to reset.
fn reset(mut socket: TcpStream, bytes: usize) -> io::Result<()> {
    let mut some = vec![0; bytes];
    socket.read_exact(&mut some)?;
    socket.peek(&mut [0]).map(|_| ())
}

fn pass_on(near: TcpStream, server: SocketAddr) {
    let far = TcpStream::connect(server).expect("the server");
    let clones = (
        near.try_clone().expect("a handle"),
        far.try_clone().expect("a handle"),
    );
    for (mut from, mut to) in [(near, far), (clones.1, clones.0)] {
        thread::spawn(move || {
            drop(io::copy(&mut from, &mut to));
            drop(to.shutdown(std::net::Shutdown::Write));
        });
    }
}
