//! A feed server on a loopback port: routes are set while it runs, and every request is kept.
//!
//! It lives on a thread with a runtime of its own, so that tests with and without one can use
//! it; it ends when dropped.

#![expect(
    clippy::expect_used,
    reason = "a stand-in that cannot start ends its test"
)]

mod gzip;
mod reply;
pub(crate) mod wire;

pub use gzip::{packed, packed_zeros};
pub use reply::Reply;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// One request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    /// With the query.
    pub path: String,
    /// Names in lower case, in the order in which they came.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// The first header of that name (given in lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut named = self.headers.iter().filter(|(known, _)| known == name);
        named.next().map(|(_, value)| value.as_str())
    }
}

pub struct FeedServer {
    address: SocketAddr,
    book: Arc<Mutex<Book>>,
    /// Dropping it ends the server.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What a path is answered that was not set.
type Answering = Box<dyn FnMut(&Request) -> Reply + Send>;

/// What the server answers and what it was asked.
#[derive(Default)]
struct Book {
    routes: HashMap<String, Reply>,
    otherwise: Option<Answering>,
    requests: Vec<Request>,
}

impl FeedServer {
    /// Listens when this returns; every path is a 404 until it is [`set`](Self::set).
    ///
    /// # Panics
    /// When the machine has no loopback port or thread left.
    pub fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        listener.set_nonblocking(true).expect("a socket for tokio");
        let book = Arc::new(Mutex::new(Book::default()));
        let (stop, stopped) = oneshot::channel();
        let served = Arc::clone(&book);
        let thread = std::thread::spawn(move || run(listener, &served, stopped));
        Self {
            address,
            book,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT` and the path, which begins with a slash.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Answers `path` (with its query) like this from now on.
    pub fn set(&self, path: &str, reply: Reply) {
        locked(&self.book).routes.insert(path.to_owned(), reply);
    }

    /// Asks this about every path that was not set.
    pub fn answer_by(&self, answer: impl FnMut(&Request) -> Reply + Send + 'static) {
        locked(&self.book).otherwise = Some(Box::new(answer));
    }

    /// All requests so far, in the order in which they came.
    pub fn requests(&self) -> Vec<Request> {
        locked(&self.book).requests.clone()
    }

    /// The requests for one path.
    pub fn requests_for(&self, path: &str) -> Vec<Request> {
        let mut requests = self.requests();
        requests.retain(|request| request.path == path);
        requests
    }
}

impl Drop for FeedServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            assert!(
                thread.join().is_ok() || std::thread::panicking(),
                "the feed server panicked"
            );
        }
    }
}

impl Book {
    /// Notes the request down and looks its answer up.
    fn ask(&mut self, request: Request) -> Reply {
        let reply = match (self.routes.get(&request.path), &mut self.otherwise) {
            (Some(reply), _) => reply.clone(),
            (None, Some(answer)) => answer(&request),
            (None, None) => Reply::status(404),
        };
        let reply = reply.to(&request);
        self.requests.push(request);
        reply
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
    while let Ok((socket, _)) = listener.accept().await {
        let book = Arc::clone(book);
        tokio::spawn(wire::converse(socket, move |request| {
            locked(&book).ask(request)
        }));
    }
}
