//! The wire: one HTTP client, a bot's methods over it, and no word of its token, which stands in
//! every URL.

use super::classify::{Answer, Reply};
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderName, RETRY_AFTER};
use reqwest::{Client, Response, redirect, retry};
use serde_json::{Map, Value};
use shared::config::{Secret, SecretFile, is_token};
use std::error::Error;
use std::time::Duration;
use url::Url;

/// Name, connection and TLS together.
const CONNECT: Duration = Duration::from_secs(10);
/// For the whole exchange: the server itself may hold a request for 8 s before it answers.
const TOTAL: Duration = Duration::from_secs(40);
/// Shorter than servers keep an idle connection, so that no request meets one that is being
/// closed: its outcome would be unknown.
const IDLE: Duration = Duration::from_secs(15);
/// More than any refusal; what is longer is a long text that comes back.
const BODY: usize = 64 * 1024;

/// The client of this process, for every bot; or why there is none.
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
}

/// A bot, by its address and the file with its token.
#[derive(Clone, Debug)]
pub struct Bot {
    wire: Wire,
    api_url: Url,
    token: SecretFile,
}

impl Bot {
    pub fn new(wire: Wire, api_url: Url, token: SecretFile) -> Self {
        Self {
            wire,
            api_url,
            token,
        }
    }

    /// The key, read anew: a file that was changed needs no restart.
    ///
    /// # Errors
    /// A sentence without the token.
    pub async fn unlock(&self) -> Result<Key<'_>, String> {
        let client = self.wire.0.as_ref().map_err(Clone::clone)?;
        let file = self.token.clone();
        let resolved = tokio::task::spawn_blocking(move || file.resolve()).await;
        let token = resolved
            .map_err(|error| format!("the token was not read: {error}"))?
            .map_err(|problem| problem.to_string())?;
        if !is_token(&token) {
            return Err("the token file holds no bot token".to_owned());
        }
        Ok(Key {
            client,
            api_url: &self.api_url,
            token,
        })
    }
}

/// A bot with its token at hand.
#[derive(Debug)]
pub struct Key<'b> {
    client: &'b Client,
    api_url: &'b Url,
    token: Secret,
}

impl Key<'_> {
    /// Calls a method once.
    pub async fn call(&self, method: &str, body: &Map<String, Value>) -> Answer {
        let base = self.api_url.as_str().trim_end_matches('/');
        let url = format!("{base}/bot{}/{method}", self.token.expose());
        let body = Value::Object(body.clone()).to_string();
        let request = self.client.post(url).body(body);
        let sent = request
            .header(CONTENT_TYPE, "application/json")
            .send()
            .await;
        match sent {
            Ok(response) => Answer::Reply(self.read(response).await),
            Err(error) => self.silence(&error.without_url()),
        }
    }

    /// What a broken or endless body has shown so far is enough for a verdict.
    async fn read(&self, mut response: Response) -> Reply {
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
        reply.body = self.without_token(&text).into_bytes();
        reply
    }

    fn silence(&self, error: &reqwest::Error) -> Answer {
        let cause = self.without_token(&root_cause(error));
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

    /// A server may repeat the address that it was asked by.
    pub fn without_token(&self, text: &str) -> String {
        let token = self.token.expose();
        let key = token.split_once(':').map_or(token, |(_, key)| key);
        text.replace(token, "[token]").replace(key, "[token]")
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
