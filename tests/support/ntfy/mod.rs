//! An ntfy server on a loopback port: it counts a visitor's requests and messages, refuses what ntfy
//! refuses by ntfy's codes, makes attachments of what is too long, commits scripted faults, and remembers
//! what was published. It has no phones: [`Ntfy::shown`] is what one would show.

mod book;
mod judge;

pub use book::{Asked, Fault, Published};

use super::feeds::FeedServer;
use book::Book;
use shared::platform::clock::Clock;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What the stand-in is.
#[derive(Clone, Debug)]
pub struct Options {
    /// By it the limits and the records go.
    pub clock: Clock,
    /// The one header with which a visitor is somebody; without, everybody may write.
    pub authorization: Option<String>,
    /// As 2.16 and later: sequence ids are known and repeated.
    pub knows_sequences: bool,
    /// Requests at once after a rest, and the time in which another is allowed.
    pub requests: Option<(u32, Duration)>,
    /// Messages of a day, which begins at 00:00 UTC.
    pub messages: Option<usize>,
    pub takes_attachments: bool,
}

impl Options {
    /// As ntfy.sh is for somebody without an account.
    pub fn strict(clock: &Clock) -> Self {
        Self {
            clock: clock.clone(),
            authorization: None,
            knows_sequences: true,
            requests: Some((60, Duration::from_secs(5))),
            messages: Some(250),
            takes_attachments: true,
        }
    }
}

/// The running stand-in; it ends when dropped.
pub struct Ntfy {
    server: FeedServer,
    book: Arc<Mutex<Book>>,
}

impl Ntfy {
    /// Listens when this returns.
    pub fn start(options: Options) -> Self {
        let server = FeedServer::start();
        let book = Arc::new(Mutex::new(Book::new(options)));
        let asked = Arc::clone(&book);
        server.answer_by(move |request| locked(&asked).ask(request));
        Self { server, book }
    }

    /// What stands in place of `https://ntfy.sh`.
    pub fn url(&self) -> String {
        self.server.url("")
    }

    /// Adds these behind what is scripted already; each meets one publication.
    pub fn script(&self, faults: impl IntoIterator<Item = Fault>) {
        locked(&self.book).script.extend(faults);
    }

    /// Every request meets it from now on, before anything is done; `None`: all is well again.
    pub fn weather(&self, fault: Option<Fault>) {
        locked(&self.book).weather = fault;
    }

    /// From now on these alone may write; `None`: everybody.
    pub fn lock(&self, authorization: Option<&str>) {
        locked(&self.book).options.authorization = authorization.map(str::to_owned);
    }

    /// Nobody may write to that topic.
    pub fn forbid(&self, topic: &str) {
        locked(&self.book).forbidden.insert(topic.to_owned());
    }

    /// Everything that subscribers got, in order, whatever its sender was told.
    pub fn published(&self) -> Vec<Published> {
        locked(&self.book).published.clone()
    }

    /// What a phone shows: of those with the same sequence id the last.
    pub fn shown(&self) -> Vec<Published> {
        let published = self.published();
        let is_replaced = |at: usize, one: &Published| {
            let later = published.iter().skip(at + 1);
            one.sequence_id.is_some() && later.clone().any(|it| it.sequence_id == one.sequence_id)
        };
        let numbered = published.iter().enumerate();
        let shown = numbered.filter(|(at, one)| !is_replaced(*at, one));
        shown.map(|(_, one)| one.clone()).collect()
    }

    /// Every request that came, in order.
    pub fn requests(&self) -> Vec<Asked> {
        locked(&self.book).requests.clone()
    }

    /// The codes of refusals, in order.
    pub fn codes(&self) -> Vec<u64> {
        let requests = self.requests().into_iter();
        requests.filter_map(|asked| asked.code).collect()
    }
}

fn locked(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}
