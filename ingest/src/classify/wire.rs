//! HTTP to a model: one client, no redirects, a limit on time and on bytes, and no secret in an error.

use super::fault::{Fault, FaultKind, said};
use crate::fetch::install_crypto;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, redirect};
use serde::de::DeserializeOwned;
use serde_json::Value;
use shared::config::Secret;
use shared::policy::text::one_line;
use std::error::Error;
use std::time::Duration;
use tokio::time::timeout;
use url::Url;

/// No answer to one item is longer.
const MOST_BYTES: usize = 1024 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Clones share connections.
#[derive(Clone, Debug)]
pub(super) struct Wire(Client);

/// A whole answer, whatever its status.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Reply {
    pub(super) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self { status, body }
    }

    /// The JSON of an answer of status 200.
    pub(super) fn parsed<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        if self.status != 200 {
            return Err(Fault::of_status(self.status, &self.body));
        }
        serde_json::from_slice(&self.body).map_err(|error| self.bad(&error.to_string()))
    }

    /// It is not what was asked for, and this is why.
    pub(super) fn bad(&self, why: &str) -> Fault {
        let what = format!("{why}: {}", said(&self.body));
        Fault::new(FaultKind::BadOutput, what)
    }
}

/// One header of a request; its name in lower case.
pub(super) enum Header<'a> {
    Plain(&'static str, &'static str),
    /// What stands before the key, and the key: never shown, also not when debugging.
    Key(&'static str, &'static str, &'a Secret),
}

impl Wire {
    /// Fails when the system's certificates cannot be read.
    pub(super) fn new() -> Result<Self, reqwest::Error> {
        install_crypto();
        let client = Client::builder()
            .user_agent(concat!("watchalert/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .build()?;
        Ok(Self(client))
    }

    pub(super) async fn get(&self, url: &Url, limit: Duration) -> Result<Reply, Fault> {
        exchange(self.0.get(url.clone()), limit).await
    }

    pub(super) async fn post(
        &self,
        url: &Url,
        headers: &[Header<'_>],
        body: &Value,
        limit: Duration,
    ) -> Result<Reply, Fault> {
        let mut map = HeaderMap::new();
        for header in headers {
            let (Header::Plain(name, _) | Header::Key(name, ..)) = header;
            map.insert(HeaderName::from_static(name), header.value()?);
        }
        let request = self
            .0
            .post(url.clone())
            .headers(map)
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_string());
        exchange(request, limit).await
    }
}

impl Header<'_> {
    fn value(&self) -> Result<HeaderValue, Fault> {
        match self {
            Self::Plain(_, text) => Ok(HeaderValue::from_static(text)),
            Self::Key(_, before, key) => {
                let value = HeaderValue::from_str(&format!("{before}{}", key.expose()));
                let mut value = value.map_err(|_shows_it| {
                    Fault::new(FaultKind::Rejected, "the key does not fit into a header")
                })?;
                value.set_sensitive(true);
                Ok(value)
            }
        }
    }
}

async fn exchange(request: RequestBuilder, limit: Duration) -> Result<Reply, Fault> {
    match timeout(limit, read(request)).await {
        Ok(reply) => reply,
        Err(_elapsed) => Err(Fault::new(
            FaultKind::Timeout,
            format!("no answer within {limit:?}"),
        )),
    }
}

async fn read(request: RequestBuilder) -> Result<Reply, Fault> {
    let mut response = request.send().await.map_err(before_the_answer)?;
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(within_the_answer)? {
        if body.len() + chunk.len() > MOST_BYTES {
            let what = format!("the answer is longer than {MOST_BYTES} bytes");
            return Err(Fault::new(FaultKind::BadOutput, what));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Reply::new(status, body))
}

/// A connect time-out is a time-out too, but nobody is there. One that took the question and hung up
/// was there.
fn before_the_answer(error: reqwest::Error) -> Fault {
    let kind = if error.is_connect() {
        FaultKind::Unreachable
    } else if error.is_timeout() {
        FaultKind::Timeout
    } else if error.is_builder() {
        FaultKind::Rejected
    } else {
        FaultKind::Stumbled
    };
    Fault::new(kind, chain(error))
}

fn within_the_answer(error: reqwest::Error) -> Fault {
    Fault::new(
        FaultKind::BadOutput,
        format!("the answer broke off: {}", chain(error)),
    )
}

/// Every cause: the outermost says no more than that something failed.
fn chain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        said = format!("{said}: {inner}");
        cause = inner.source();
    }
    one_line(&said)
}
