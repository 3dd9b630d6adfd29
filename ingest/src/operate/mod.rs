//! What a person asks of the sources and decides about them. Holds no SQL: it calls named functions of the store.

mod account;
mod add;
pub mod beats;
pub mod explain;
pub mod feeds;
mod left;
mod list;
mod opml;

use crate::fetch::shown;
use shared::config::Config;
use shared::store::health::Health;
use url::Url;

/// How people call a feed: by the user's name, its own title, or its URL without a key.
fn name_of(feed: &Health, config: &Config) -> String {
    let configured = config.feeds.iter().find(|one| one.url.as_str() == feed.url);
    let named = configured.and_then(|one| one.name.clone());
    named
        .or_else(|| feed.title.clone())
        .unwrap_or_else(|| public(&feed.url))
}

/// A stored URL without what may be a secret in it.
fn public(url: &str) -> String {
    Url::parse(url).map_or_else(|_| url.to_owned(), |url| shown(&url))
}
