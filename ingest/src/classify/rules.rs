//! The user's own rules: which entries one speaks of, and what it decides.

use super::FeedFacts;
use regex::Regex;
use shared::config::{self, Adjust};
use shared::model::{Category, Entry, Severity};

/// A rule of the configuration. Every pattern given must match; one without patterns matches all.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    /// By which the reason names it.
    pub name: String,
    pub title: Option<Regex>,
    pub summary: Option<Regex>,
    /// Matched against the feed's name and its URL.
    pub feed: Option<Regex>,
    /// Matched against each tag of the feed and each category of the entry.
    pub tag: Option<Regex>,
    /// Stored and explained, but not sent.
    pub drop: bool,
    /// Exactly this severity.
    pub force: Option<Severity>,
    /// At least this severity.
    pub floor: Option<Severity>,
    pub category: Option<Category>,
    /// Its word stands even for what is known to be exploited.
    pub beats_floor: bool,
}

impl Rule {
    pub fn matches(&self, entry: &Entry, feed: &FeedFacts) -> bool {
        allows(self.title.as_ref(), [&entry.title])
            && allows(self.summary.as_ref(), [&entry.summary])
            && allows(self.feed.as_ref(), [&feed.name, &feed.url])
            && allows(self.tag.as_ref(), feed.tags.iter().chain(&entry.tags))
    }
}

fn allows<'t>(pattern: Option<&Regex>, texts: impl IntoIterator<Item = &'t String>) -> bool {
    pattern.is_none_or(|pattern| texts.into_iter().any(|text| pattern.is_match(text)))
}

impl From<&config::Rule> for Rule {
    fn from(rule: &config::Rule) -> Self {
        Self {
            name: rule.name.clone(),
            title: rule.matches.title.clone(),
            summary: rule.matches.summary.clone(),
            feed: rule.matches.feed.clone(),
            tag: rule.matches.tag.clone(),
            drop: rule.severity == Some(Adjust::Drop),
            force: match rule.severity {
                Some(Adjust::Force(severity)) => Some(severity),
                _ => None,
            },
            floor: match rule.severity {
                Some(Adjust::Floor(severity)) => Some(severity),
                _ => None,
            },
            category: rule.category,
            beats_floor: rule.beats_floor,
        }
    }
}
