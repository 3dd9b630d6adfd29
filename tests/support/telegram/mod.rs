//! Telegram's Bot API on a loopback port: it keeps Telegram's limits, refuses what Telegram refuses in
//! Telegram's words, commits scripted faults, and remembers what arrived.
//!
//! [`Telegram`] is the stand-in; [`Fault`] what it does on purpose and [`Refusal`] the table of
//! descriptions; [`Limits`] when it answers 429; [`Message`] what arrived on the phone, [`Asked`] what
//! came over the wire. It knows `getMe`, `getChat`, `getChatMember` and
//! `sendMessage`, not multipart bodies.

#![expect(
    clippy::expect_used,
    reason = "a stand-in that cannot start ends its test"
)]

mod answer;
mod book;
mod chats;
mod entity;
mod fault;
mod html;
mod limits;
mod markdown;
mod markdown_v2;
mod markup;
mod record;
mod refusal;
mod request;
pub mod script;
mod text;
#[cfg(test)]
mod verdicts;

pub use chats::{Chat, ChatKind};
pub use entity::{Entity, Style};
pub use fault::{Fault, Storm};
pub use limits::{Breach, Limit, Limits, Pace, Window};
pub use markup::Button;
pub use record::{Asked, Flooded, Message};
pub use refusal::{REFUSALS, Refusal};
pub use request::Parameters;
pub use text::{MOST_CODE_POINTS, MOST_RAW_BYTES};

use super::feeds::wire;
use book::Book;
use shared::platform::clock::Clock;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};

/// A token that no bot has.
pub const TOKEN: &str = "123456:stand-in-token-of-nobody";

/// Connections open at the same time; the next waits in the kernel's queue.
const MOST_CONNECTIONS: usize = 512;

/// What the stand-in is.
#[derive(Clone, Debug)]
pub struct Options {
    pub token: String,
    /// 0 for any that is free.
    pub port: u16,
    /// By it the limits, the faults and the records go.
    pub clock: Clock,
    pub limits: Limits,
    /// Who is there; without a list everybody is: a positive id is a person, a negative one a group.
    pub chats: Option<Vec<Chat>>,
    pub storm: Option<Storm>,
    /// Called with each request as soon as its answer is decided.
    pub tell: Option<fn(&Asked)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            token: TOKEN.to_owned(),
            port: 0,
            clock: Clock::system(),
            limits: Limits::default(),
            chats: None,
            storm: None,
            tell: None,
        }
    }
}

impl Options {
    /// By a set clock, with [`Limits::strict`].
    pub fn strict(clock: &Clock) -> Self {
        Self {
            clock: clock.clone(),
            limits: Limits::strict(),
            ..Self::default()
        }
    }
}

/// The running stand-in; it ends when dropped.
#[derive(Debug)]
pub struct Telegram {
    address: SocketAddr,
    token: String,
    book: Arc<Mutex<Book>>,
    /// Dropping it ends the server.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Telegram {
    /// Listens when this returns.
    ///
    /// # Panics
    /// When the port is taken or the machine has no thread left.
    pub fn start(options: Options) -> Self {
        let port = (Ipv4Addr::LOCALHOST, options.port);
        let listener = std::net::TcpListener::bind(port).expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        listener.set_nonblocking(true).expect("a socket for tokio");
        let token = options.token.clone();
        let book = Arc::new(Mutex::new(Book::new(options)));
        let (stop, stopped) = oneshot::channel();
        let served = Arc::clone(&book);
        let thread = std::thread::spawn(move || run(listener, &served, stopped));
        Self {
            address,
            token,
            book,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// What stands in place of `https://api.telegram.org`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    /// Adds these behind what is scripted already.
    pub fn script(&self, faults: impl IntoIterator<Item = Fault>) {
        let mut book = self.book();
        for fault in faults {
            book.script.add(fault);
        }
    }

    /// Scripted faults that have not yet shown, or not yet as often or as long as they shall.
    pub fn faults_left(&self) -> usize {
        self.book().script.left()
    }

    /// Faults by chance from now on.
    pub fn storm(&self, storm: Storm) {
        self.book().script.storm(Some(storm));
    }

    /// Adds a chat, or replaces the one of that id.
    pub fn add_chat(&self, chat: Chat) {
        self.book().chats.add(chat);
    }

    /// Counts from now on, and from nothing, by these.
    pub fn limit(&self, limits: Limits) {
        self.book().meter = limits::Meter::new(limits);
    }

    /// Every message that arrived on a phone, in order, whatever its sender was told.
    ///
    /// # Panics
    /// When they are more than the stand-in remembers (64 MiB), as the other records do.
    pub fn accepted(&self) -> Vec<Message> {
        self.book().record.messages.all()
    }

    pub fn accepted_in(&self, chat_id: i64) -> Vec<Message> {
        let mut messages = self.accepted();
        messages.retain(|message| message.chat_id == chat_id);
        messages
    }

    /// How many arrived, without copying them.
    pub fn accepted_count(&self) -> usize {
        self.book().record.messages.len()
    }

    /// Every request that came, in order.
    pub fn requests(&self) -> Vec<Asked> {
        self.book().record.requests.all()
    }

    /// How many came, without copying them.
    pub fn request_count(&self) -> usize {
        self.book().record.requests.len()
    }

    /// The requests whose clients wait for an answer at this moment.
    pub fn open_requests(&self) -> Vec<Asked> {
        let book = self.book();
        let now = book.now();
        let open = book.record.requests.iter();
        open.filter(|asked| asked.is_open(now)).cloned().collect()
    }

    /// Every 429, from the limits and from the script; not those of an HTML page.
    pub fn answers_429(&self) -> Vec<Flooded> {
        self.book().record.floods.all()
    }

    /// The accepted messages that came too early by these limits. Those by which the stand-in itself
    /// goes are never broken: it answers 429. Start it with [`Limits::NONE`] to see what a sender does
    /// by itself.
    pub fn breaches(&self, limits: Limits) -> Vec<Breach> {
        let messages = self.accepted();
        let when = messages
            .iter()
            .map(|message| (message.chat_id, message.chat_kind.is_group(), message.at));
        limits::breaches(limits, when)
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        locked(&self.book)
    }
}

impl Drop for Telegram {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            assert!(
                thread.join().is_ok() || std::thread::panicking(),
                "the stand-in panicked"
            );
        }
    }
}

fn locked(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Everything still open ends with the runtime.
fn run(listener: std::net::TcpListener, book: &Arc<Mutex<Book>>, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener).expect("a listener in the runtime");
        tokio::select! {
            () = accept(listener, book) => {}
            _ = stopped => {}
        }
    });
}

async fn accept(listener: TcpListener, book: &Arc<Mutex<Book>>) {
    let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    while let Ok(room) = Arc::clone(&connections).acquire_owned().await {
        let Ok((socket, _)) = listener.accept().await else {
            return;
        };
        let book = Arc::clone(book);
        tokio::spawn(async move {
            let last = AtomicUsize::new(0);
            let ask = |request| {
                let mut book = locked(&book);
                let reply = book.ask(&request);
                last.store(book.record.requests.len(), Ordering::Relaxed);
                reply
            };
            wire::converse(socket, ask).await;
            locked(&book).hung_up(last.into_inner());
            drop(room);
        });
    }
}
