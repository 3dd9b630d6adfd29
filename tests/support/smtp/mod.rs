//! A mail server on loopback: each client is told by the domain that it greets with, each domain has its
//! script, and every mail that came in whole is kept.

#![expect(
    clippy::expect_used,
    reason = "a stand-in that cannot start ends its test"
)]

mod mime;
mod session;
mod stream;

pub use mime::Seen;

use rustls::ServerConfig;
use session::Session;
use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Of every user, and so of nobody.
pub const PASSWORD: &str = "hunter2 of nobody";

/// Where in a conversation something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum At {
    Greeting,
    Ehlo,
    StartTls,
    Auth,
    Mail,
    /// The same, not for the first time in its conversation.
    MailAgain,
    Rcpt,
    Data,
    /// In the midst of the text.
    Amid,
    /// After the dot.
    Text,
    /// The question whether anybody is there.
    Noop,
}

/// What is done there in place of the right answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// A reply of one line, or of several; without the ends of lines.
    Say(String),
    /// The same, and then it hangs up.
    SayAndClose(String),
    /// Says back what was said.
    Echo(u16),
    /// The beginning of a reply, then it hangs up.
    Half(String),
    Close,
    /// Nothing, until it [recovers](Smtp::recover).
    Hang,
    /// The same, and then this.
    Late(String),
}

/// A mail that came in whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    pub domain: String,
    pub from: String,
    pub to: Vec<String>,
    /// Headers and body, dots unstuffed, lines ended by CRLF.
    pub text: String,
    pub is_encrypted: bool,
    pub user: Option<String>,
    /// The number of its connection, from 1.
    pub connection: usize,
    /// It was answered 250.
    pub is_taken: bool,
}

impl Mail {
    /// The first header of that name, unfolded.
    pub fn header(&self, name: &str) -> Option<String> {
        let (headers, _) = self.text.split_once("\r\n\r\n")?;
        let unfolded = headers.replace("\r\n ", " ");
        let mut lines = unfolded.lines().filter_map(|line| line.split_once(": "));
        let header = lines.find(|(known, _)| known.eq_ignore_ascii_case(name));
        header.map(|(_, value)| value.to_owned())
    }
}

/// When TLS begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
    Never,
    OnDemand,
    AtOnce,
}

#[derive(Default)]
struct Book {
    scripts: HashMap<(String, At), Script>,
    mails: Vec<Mail>,
    /// What clients said, texts aside.
    said: Vec<String>,
    connections: usize,
    hanging: usize,
    is_well: bool,
}

struct Script {
    act: Act,
    /// So many times, then all is well.
    times: usize,
}

struct Shared {
    book: Mutex<Book>,
    recovered: Condvar,
    tls: Tls,
    config: Arc<ServerConfig>,
    ends: AtomicBool,
}

pub struct Smtp {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Smtp {
    /// Listens when this returns; all is well until it is told otherwise. Its certificate is that of
    /// `tests/fixtures/tls/server.pem`.
    ///
    /// # Panics
    /// When the machine has no loopback port or thread left.
    pub fn start(tls: Tls) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared {
            book: Mutex::default(),
            recovered: Condvar::new(),
            tls,
            config: stream::config(),
            ends: AtomicBool::new(false),
        });
        let served = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            for socket in listener.incoming() {
                if served.ends.load(Ordering::SeqCst) {
                    break;
                }
                let served = Arc::clone(&served);
                if let Ok(socket) = socket {
                    // A client that goes away ends its conversation, and that is all.
                    std::thread::spawn(move || drop(Session::begin(socket, &served)));
                }
            }
        });
        Self {
            address,
            shared,
            thread: Some(thread),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on, always.
    pub fn set(&self, domain: &str, at: At, act: Act) {
        self.set_times(domain, at, act, usize::MAX);
    }

    /// So many times; then all is well again.
    pub fn set_times(&self, domain: &str, at: At, act: Act, times: usize) {
        let key = (domain.to_owned(), at);
        let mut book = self.shared.locked();
        book.scripts.insert(key, Script { act, times });
    }

    /// Everything is well from now on, and what hangs is let go.
    pub fn recover(&self) {
        self.shared.locked().is_well = true;
        self.shared.recovered.notify_all();
    }

    pub fn mails(&self) -> Vec<Mail> {
        self.shared.locked().mails.clone()
    }

    pub fn said(&self) -> Vec<String> {
        self.shared.locked().said.clone()
    }

    pub fn connections(&self) -> usize {
        self.shared.locked().connections
    }

    /// Conversations in which it says nothing any more.
    pub fn hanging(&self) -> usize {
        self.shared.locked().hanging
    }
}

impl Drop for Smtp {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::SeqCst);
        self.recover();
        // Wakes it.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            assert!(
                thread.join().is_ok() || std::thread::panicking(),
                "the mail server panicked"
            );
        }
    }
}

impl Shared {
    fn locked(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to be done there, if it is not the right thing.
    fn script(&self, domain: &str, at: At) -> Option<Act> {
        let mut book = self.locked();
        if book.is_well {
            return None;
        }
        let script = book.scripts.get_mut(&(domain.to_owned(), at))?;
        script.times = script.times.checked_sub(1)?;
        Some(script.act.clone())
    }

    fn hang(&self) {
        let mut book = self.locked();
        book.hanging += 1;
        while !book.is_well {
            let woken = self.recovered.wait(book);
            book = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}
