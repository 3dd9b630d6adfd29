//! The HTTP that channels send by: one client that repeats nothing by itself, a reply read up to a limit,
//! and what is known of a request that got none.

use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderName, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, redirect, retry};
use std::error::Error;
use std::time::Duration;

/// Name, connection and TLS together.
const CONNECT: Duration = Duration::from_secs(10);
/// For the whole exchange: Telegram's server may hold a request for 8 s before it answers.
const TOTAL: Duration = Duration::from_secs(40);
/// Shorter than servers keep an idle connection, so that no request meets one that is being
/// closed: its outcome would be unknown.
const IDLE: Duration = Duration::from_secs(15);
/// More than any refusal; what is longer is a long text that comes back.
const BODY: usize = 64 * 1024;

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Reply(Reply),
    /// No connection, or none that TLS trusts: nothing of the request left us.
    NotSent(String),
    /// The request began and no answer came: it may have arrived.
    Lost(String),
}

/// An HTTP reply, read up to a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    /// The headers of those names.
    pub retry_after: Option<String>,
    pub date: Option<String>,
    pub content_type: Option<String>,
    /// The beginning of the body, if it is longer than we read or broke off.
    pub body: Vec<u8>,
}

/// The client of this process, for every channel; or why there is none.
#[derive(Clone, Debug)]
pub struct Wire(Result<Client, String>);

impl Wire {
    pub fn open() -> Self {
        install_crypto();
        let client = Client::builder()
            .user_agent(concat!("watchalert/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .timeout(TOTAL)
            .pool_idle_timeout(IDLE)
            .redirect(redirect::Policy::none())
            // A message may be repeated only where that is marked and counted.
            .retry(retry::never())
            .no_proxy()
            .no_gzip()
            .http1_only()
            .build();
        Self(client.map_err(|error| format!("no HTTP client: {}", root_cause(&error))))
    }

    /// # Errors
    /// Why there is none.
    pub fn client(&self) -> Result<&Client, String> {
        self.0.as_ref().map_err(Clone::clone)
    }
}

/// Asks once. Nothing of what comes back is kept before `cleaned` has taken the secrets out of it.
pub async fn exchange(request: RequestBuilder, cleaned: impl Fn(&str) -> String) -> Answer {
    match request.send().await {
        Ok(response) => Answer::Reply(read(response, cleaned).await),
        Err(error) => silence(&error.without_url(), cleaned),
    }
}

/// What a broken or endless body has shown so far is enough for a verdict.
async fn read(mut response: Response, cleaned: impl Fn(&str) -> String) -> Reply {
    let mut reply = Reply {
        status: response.status().as_u16(),
        retry_after: header(response.headers(), &RETRY_AFTER),
        date: header(response.headers(), &DATE),
        content_type: header(response.headers(), &CONTENT_TYPE),
        body: Vec::new(),
    };
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = BODY.saturating_sub(reply.body.len());
        reply.body.extend(chunk.iter().take(room));
        if chunk.len() > room {
            break;
        }
    }
    // Before anything is cut from it: half a token would not be recognised any more.
    let text = String::from_utf8_lossy(&reply.body);
    reply.body = cleaned(&text).into_bytes();
    reply
}

fn silence(error: &reqwest::Error, cleaned: impl Fn(&str) -> String) -> Answer {
    let cause = cleaned(&root_cause(error));
    if error.is_builder() {
        Answer::NotSent(format!("no request: {cause}"))
    } else if error.is_connect() && error.is_timeout() {
        Answer::NotSent("no connection in time".to_owned())
    } else if error.is_dns() {
        Answer::NotSent(format!("the name does not resolve: {cause}"))
    } else if error.is_connect() {
        Answer::NotSent(format!("no connection: {cause}"))
    } else if error.is_timeout() {
        Answer::Lost("no answer in time".to_owned())
    } else {
        Answer::Lost(format!("the connection broke: {cause}"))
    }
}

fn header(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    Some(value.to_owned())
}

fn root_cause(error: &reqwest::Error) -> String {
    let first: &dyn Error = error;
    let last = std::iter::successors(Some(first), |error| (*error).source()).last();
    last.map(ToString::to_string).unwrap_or_default()
}

/// Every user of TLS in this process finds the provider installed.
fn install_crypto() {
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        tracing::trace!("the TLS provider is already there");
    }
}
