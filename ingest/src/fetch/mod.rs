//! One feed fetched: the request goes out, and what came back is a value, never an error.
//!
//! A feed that fails is part of a normal tick, so [`fetch`] returns [`Fetched::Failed`] with a
//! [`FetchFault`] that a person can read; only building the client can fail outright.

mod answer;
mod client;
mod conditional;
mod connect;
mod cookies;
mod fault;
mod file;
mod guard;
mod page;
pub(crate) mod ping;
mod redirect;
mod room;
pub mod schedule;

pub use client::{ClientOptions, FetchClient};
pub(crate) use connect::install_crypto;
pub use fault::{FaultKind, FetchFault, shown};
pub use room::Body;

use redirect::Chain;
use shared::config::{Family, Secret};
use shared::model::{Timestamp, Validators};
use std::path::Path;
use std::time::Duration;
use url::Url;

/// From the first byte sent to the last byte received, redirects included.
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(30);

/// What is asked of one feed.
#[derive(Clone, Copy, Debug)]
pub struct FetchRequest<'a> {
    /// `http`, `https`, or `file` when the client allows files.
    pub url: &'a Url,
    /// As the last answer gave them; sent back verbatim.
    pub validators: &'a Validators,
    /// When the feed last came in full ([`Fetched::New`]); a day later it is asked for
    /// unconditionally, whatever the validators say.
    pub last_full: Option<Timestamp>,
    /// The whole value of the `Authorization` header; goes to the feed's own host only.
    pub authorization: Option<&'a Secret>,
    /// In place of the honest default, for the server that insists.
    pub user_agent: Option<&'a str>,
    /// More headers by name, in place of ours where they meet; to the feed's own host only.
    pub headers: &'a [(String, Secret)],
    /// Certificates (PEM) that are trusted beside the system's.
    pub ca_file: Option<&'a Path>,
    /// The only kind of address that a name is reached by.
    pub family: Option<Family>,
    pub deadline: Duration,
}

impl<'a> FetchRequest<'a> {
    /// Asks for the whole feed, without any secret, within [`DEFAULT_DEADLINE`].
    pub fn unconditional(url: &'a Url) -> Self {
        Self {
            url,
            validators: &Validators::NONE,
            last_full: None,
            authorization: None,
            user_agent: None,
            headers: &[],
            ca_file: None,
            family: None,
            deadline: DEFAULT_DEADLINE,
        }
    }
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Fetched {
    /// A whole document, not yet known to be a feed.
    New {
        /// Decoded of its content coding, not of its character set.
        body: Body,
        /// As `Content-Type` declares it.
        charset: Option<String>,
        /// Where the document came from, without user name and password: the base of its links.
        final_url: Url,
        /// To be stored in place of the old ones.
        validators: Validators,
        /// For so long, its server says, it stays as it is.
        max_age: Option<Duration>,
        /// The redirects that led to it, for a person.
        redirects: Option<String>,
        /// Where an unbroken row of 301 and 308 from the feed's URL leads, if anywhere.
        permanent_redirect: Option<Url>,
    },
    /// Nothing new since the stored validators.
    NotModified {
        /// The stored ones with what the answer replaced.
        validators: Validators,
        /// As in [`New`](Self::New).
        permanent_redirect: Option<Url>,
    },
    Failed(FetchFault),
}

/// Fetches one feed within `request.deadline`.
pub async fn fetch(client: &FetchClient, request: &FetchRequest<'_>, now: Timestamp) -> Fetched {
    let mut chain = Chain::default();
    let attempt = async {
        match request.url.scheme() {
            "file" => client.read_file(request).await,
            _ => client.get(request, now, &mut chain).await,
        }
    };
    let outcome = match tokio::time::timeout(request.deadline, attempt).await {
        Ok(outcome) => outcome,
        Err(_elapsed) => Err(FetchFault::deadline(request.deadline)),
    };
    outcome.unwrap_or_else(|fault| Fetched::Failed(fault.after(&chain)))
}
