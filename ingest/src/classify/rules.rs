//! Which entries a rule of the user speaks of.

use super::FeedFacts;
use regex::Regex;
use shared::config::Match;
use shared::model::Entry;

/// Every pattern given must be found: the feed's in its name or URL, the tag's in one of the feed's
/// tags or of the entry's own categories.
pub(super) fn matches(asked: &Match, entry: &Entry, feed: &FeedFacts) -> bool {
    allows(asked.title.as_ref(), [&entry.title])
        && allows(asked.summary.as_ref(), [&entry.summary])
        && allows(asked.feed.as_ref(), [&feed.name, &feed.url])
        && allows(asked.tag.as_ref(), feed.tags.iter().chain(&entry.tags))
}

fn allows<'t>(pattern: Option<&Regex>, texts: impl IntoIterator<Item = &'t String>) -> bool {
    pattern.is_none_or(|pattern| texts.into_iter().any(|text| pattern.is_match(text)))
}
