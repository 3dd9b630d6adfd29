//! The wire: publications and questions over HTTP, and no word of the secret that goes along in a header.

use super::classify::Answer;
use crate::channel::http::{Wire, exchange};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, RequestBuilder};
use shared::config::{Login, Ntfy, Secret, SecretFile, is_ntfy_token};
use url::Url;

/// A server, with the secret at hand.
#[derive(Debug)]
pub struct Door<'n> {
    client: &'n Client,
    url: &'n Url,
    /// Marked as sensitive, so that nobody prints it.
    authorization: Option<HeaderValue>,
    /// What may stand nowhere else: the token, or the password.
    secret: Option<Secret>,
}

impl<'n> Door<'n> {
    /// Reads the secret anew: a file that was changed needs no restart.
    ///
    /// # Errors
    /// A sentence without the secret.
    pub async fn open(wire: &'n Wire, configured: &'n Ntfy) -> Result<Self, String> {
        let client = wire.client()?;
        let url = &configured.url;
        let (secret, request) = match &configured.login {
            Login::Anonymous => (None, client.get(url.clone())),
            Login::Token(file) => {
                let token = read(file).await?;
                if !is_ntfy_token(&token) {
                    return Err("the token file holds no access token".to_owned());
                }
                let request = client.get(url.clone()).bearer_auth(token.expose());
                (Some(token), request)
            }
            Login::Password { user, password } => {
                let password = read(password).await?;
                let request = client.get(url.clone());
                let request = request.basic_auth(user, Some(password.expose()));
                (Some(password), request)
            }
        };
        let request = request.build().map_err(reqwest::Error::without_url);
        let request = request.map_err(|error| format!("no request: {error}"))?;
        Ok(Self {
            client,
            url,
            authorization: request.headers().get(AUTHORIZATION).cloned(),
            secret,
        })
    }

    /// Publishes once.
    pub async fn publish(&self, body: String) -> Answer {
        let request = self.client.post(self.url.clone()).body(body);
        let request = request.header(CONTENT_TYPE, "application/json");
        self.ask(request).await
    }

    /// Reads what is there, and changes nothing.
    pub async fn read(&self, path: &str) -> Answer {
        let url = self.url.join(path).map_err(|error| error.to_string());
        match url {
            Ok(url) => self.ask(self.client.get(url)).await,
            Err(why) => Answer::NotSent(format!("no address for {path:?}: {why}")),
        }
    }

    async fn ask(&self, request: RequestBuilder) -> Answer {
        let request = match &self.authorization {
            Some(authorization) => request.header(AUTHORIZATION, authorization),
            None => request,
        };
        exchange(request, |text| self.without_credentials(text)).await
    }

    /// A server may repeat the header that it was asked with.
    fn without_credentials(&self, text: &str) -> String {
        let value = self.authorization.as_ref().and_then(|it| it.to_str().ok());
        match value.and_then(|value| value.split_once(' ')) {
            Some((_, credentials)) => text.replace(credentials, "[secret]"),
            None => text.to_owned(),
        }
    }

    /// For people. Not for what is still to be read: a password may be an ordinary word.
    pub fn without_secret(&self, text: &str) -> String {
        let text = self.without_credentials(text);
        match &self.secret {
            Some(secret) => text.replace(secret.expose(), "[secret]"),
            None => text,
        }
    }
}

async fn read(file: &SecretFile) -> Result<Secret, String> {
    let file = file.clone();
    let resolved = tokio::task::spawn_blocking(move || file.resolve()).await;
    resolved
        .map_err(|error| format!("the secret was not read: {error}"))?
        .map_err(|problem| problem.to_string())
}
