//! The wire: a bot's methods over HTTP, and no word of its token, which stands in every URL.

use super::classify::Answer;
use crate::channel::http::{Wire, exchange};
use reqwest::Client;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Map, Value};
use shared::config::{Secret, SecretFile, is_token};
use url::Url;

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
        let client = self.wire.client()?;
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
        let request = request.header(CONTENT_TYPE, "application/json");
        exchange(request, |text| self.without_token(text)).await
    }

    /// A server may repeat the address that it was asked by.
    pub fn without_token(&self, text: &str) -> String {
        let token = self.token.expose();
        let key = token.split_once(':').map_or(token, |(_, key)| key);
        text.replace(token, "[token]").replace(key, "[token]")
    }
}
