//! What a feed said, and the identity under which it is remembered.

use super::{Category, Severity, Timestamp};
use std::fmt;

/// One entry as its feed said it: text already decoded and stripped of markup, link made absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The feed's own id, raw and untouched; `None` when it gave none.
    pub guid: Option<String>,
    pub link: Option<String>,
    /// Plain text, one line; may be empty.
    pub title: String,
    /// Plain text of the description, else of the content; may be empty.
    pub summary: String,
    /// The feed's own categories.
    pub tags: Vec<String>,
    /// `None` when the feed gave none that can be read; never used for identity.
    pub published: Option<Timestamp>,
    /// What its source says of how much it matters; a feed says nothing.
    pub rating: Option<Rating>,
}

/// How much something matters to who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rating {
    pub severity: Severity,
    pub category: Category,
}

/// The identity of an item within its feed: 32 hexadecimal digits (SHA-256, cut to 128 bits).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DedupKey(String);

impl DedupKey {
    pub fn new(hex: String) -> Self {
        Self(hex)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The six digits a person sees in an alert, and by which a repeat is recognised.
    pub fn short_id(&self) -> &str {
        self.0.get(..6).unwrap_or(&self.0)
    }
}

impl fmt::Display for DedupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An [`Entry`] with the keys under which the database knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub entry: Entry,
    /// Derived from guid, else link, else content.
    pub key: DedupKey,
    /// Derived from the normalised link: the alias by which an item with a new guid is known.
    /// `None` when there is no link, or when several items of the document share it.
    pub link_key: Option<DedupKey>,
    /// The same for the other host names under which its page is. Not stored: the configuration may
    /// name them tomorrow, or no more.
    pub other_link_keys: Vec<DedupKey>,
}
