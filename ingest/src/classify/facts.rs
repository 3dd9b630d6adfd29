//! What rules and routes may know of the feed that an item came from.

use shared::config::Config;
use shared::store::items::Pending;
use std::collections::HashMap;
use url::Url;

/// One feed, as far as rules ask.
#[derive(Clone, Debug, Default)]
pub struct FeedFacts {
    pub name: String,
    pub url: String,
    /// The user's own.
    pub tags: Vec<String>,
    /// Whether a cloud model may read what it says. No, of a feed that has left the configuration.
    pub cloud: bool,
}

/// The feeds of the configuration, by URL.
#[derive(Clone, Debug)]
pub struct Facts(HashMap<String, FeedFacts>);

impl Facts {
    pub fn of(config: &Config) -> Self {
        let facts = config.feeds.iter().map(|feed| {
            let facts = FeedFacts {
                name: feed.name.clone().unwrap_or_default(),
                url: feed.url.to_string(),
                tags: feed.tags.clone(),
                cloud: feed.cloud,
            };
            (feed.url.to_string(), facts)
        });
        let posted = config.webhooks.iter().map(|webhook| {
            let facts = FeedFacts {
                name: webhook.name.clone(),
                url: webhook.url(),
                tags: webhook.tags.clone(),
                cloud: webhook.cloud,
            };
            (webhook.url(), facts)
        });
        Self(facts.chain(posted).collect())
    }

    /// Also for a feed that has left the configuration. Its name is the user's, else the feed's
    /// own, else its host's.
    pub fn about(&self, pending: &Pending) -> FeedFacts {
        let mut found = self.0.get(&pending.feed_url).cloned().unwrap_or_default();
        found.url.clone_from(&pending.feed_url);
        if found.name.is_empty() {
            let title = pending.feed_title.clone();
            found.name = title.unwrap_or_else(|| host(&pending.feed_url));
        }
        found
    }
}

fn host(url: &str) -> String {
    let parsed = Url::parse(url).ok();
    let host = parsed.and_then(|url| url.host_str().map(str::to_owned));
    host.unwrap_or_else(|| url.to_owned())
}
