//! The call of an address that the user wrote down himself: bounded, its answer read no further than its
//! status, and never shown.

use super::install_crypto;
use reqwest::{Client, redirect};
use shared::config::Secret;
use std::time::Duration;
use url::Url;

/// For the whole call: a tick does not wait longer for it.
const LIMIT: Duration = Duration::from_secs(5);
/// From http to https, and to another name.
const REDIRECTS: usize = 3;

/// Calls the address; with a body by POST, else by GET. Private addresses are the user's own.
///
/// # Errors
/// What went wrong, without the address.
pub(crate) async fn call(address: &Secret, body: Option<String>) -> Result<(), String> {
    let url = Url::parse(address.expose()).map_err(|why| format!("it is no URL: {why}"))?;
    install_crypto();
    let client = Client::builder()
        .user_agent(concat!("watchalert/", env!("CARGO_PKG_VERSION")))
        .timeout(LIMIT)
        .redirect(redirect::Policy::limited(REDIRECTS))
        .referer(false)
        .no_proxy()
        .build()
        .map_err(|error| error.without_url().to_string())?;
    let request = match body {
        Some(body) => client.post(url).body(body),
        None => client.get(url),
    };
    let response = match request.send().await {
        Ok(response) => response,
        Err(error) if error.is_timeout() => {
            return Err(format!("no answer within {} s", LIMIT.as_secs()));
        }
        Err(error) => return Err(error.without_url().to_string()),
    };
    match response.status() {
        status if status.is_success() => Ok(()),
        status => Err(format!("the answer was {status}")),
    }
}
