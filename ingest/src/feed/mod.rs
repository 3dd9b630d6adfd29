//! From the bytes of a response to a [`Document`], whatever the publisher did to them.
//!
//! feed-rs reads first. When it refuses a document, or reads it and plainly misses something,
//! the lenient reader in `repair` reads the same text, and whichever found more is believed.

mod date;
mod decode;
pub mod discover;
mod json;
mod link;
mod markup;
mod parse;
mod repair;
mod text;

use crate::pattern::pattern;
use regex::Regex;
use shared::model::Entry;
use std::sync::LazyLock;
use url::Url;

pub use text::plain;

/// What a feed said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Plain text, one line.
    pub title: Option<String>,
    /// In the order of the document.
    pub entries: Vec<Entry>,
    /// The document was faulty, and the lenient reader read it.
    pub repaired: bool,
}

impl Document {
    /// How much was found, in fields and then in letters: what decides between two readings.
    fn yielded(&self) -> (usize, usize) {
        let fields = |entry: &Entry| {
            1 + usize::from(!entry.title.is_empty())
                + usize::from(!entry.summary.is_empty())
                + usize::from(entry.link.is_some())
                + usize::from(entry.guid.is_some())
        };
        let letters = |entry: &Entry| entry.title.len() + entry.summary.len();
        (
            self.entries.iter().map(fields).sum(),
            self.entries.iter().map(letters).sum(),
        )
    }
}

/// Why a body is not a feed, in one line for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error("the body is empty")]
    Empty,
    #[error("this is a web page, not a feed")]
    WebPage,
    #[error("this is an OPML list of feeds, not a feed")]
    Opml,
    #[error("this is a sitemap, not a feed")]
    Sitemap,
    #[error("this is JSON, but not a JSON Feed")]
    OtherJson,
    #[error("this is XML, but not a feed: its root is <{0}>")]
    OtherXml(String),
    #[error("this is neither XML nor JSON, so not a feed")]
    NotMarkup,
    #[error("the feed is broken beyond repair: {0}")]
    Broken(String),
}

/// Reads a feed in any format that feed-rs knows, and in most shapes that it does not.
///
/// `charset` is the one of the `Content-Type` header; `base` the address that the body came from,
/// to which relative links are resolved.
pub fn parse(
    body: &[u8],
    charset: Option<&str>,
    base: Option<&Url>,
) -> Result<Document, ParseError> {
    let text = decode::decode(body, charset);
    match text.trim_start().chars().next() {
        None => Err(ParseError::Empty),
        Some('{' | '[') => parse_json(&text, base),
        Some(_) => parse_xml(&text, base),
    }
}

fn parse_json(text: &str, base: Option<&Url>) -> Result<Document, ParseError> {
    parse::read(text, base).or_else(|_| json::read(text, base))
}

fn parse_xml(text: &str, base: Option<&Url>) -> Result<Document, ParseError> {
    let strict = if repair::is_too_deep(text) {
        Err("nested too deeply".to_owned())
    } else {
        parse::read(text, base)
    };
    match strict {
        Ok(document) if is_complete(&document, text) => Ok(document),
        Ok(document) => match repair::read(text, base) {
            Ok(repaired) if repaired.yielded() > document.yielded() => Ok(repaired),
            _ => Ok(document),
        },
        Err(fault) => repair::read(text, base).map_err(|error| match error {
            ParseError::Broken(reason) => {
                let fault = plain(&fault, 200);
                ParseError::Broken(format!("{reason} ({fault})"))
            }
            other => other,
        }),
    }
}

static ITEM: LazyLock<Regex> = LazyLock::new(|| pattern(r"<(?:item|entry)[\s/>]"));
/// An element whose text feed-rs cuts at the first tag inside.
static CUT_SHORT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"<(?:title|description)(?:\s[^<>]*[^<>/])?>[^<]*<[A-Za-z]"));

/// False when feed-rs accepted the document but missed something that is plainly there.
fn is_complete(document: &Document, text: &str) -> bool {
    let items = ITEM.find_iter(text).count();
    let bare = |entry: &Entry| entry.title.is_empty() && entry.link.is_none();
    items <= document.entries.len()
        && !(document.entries.is_empty() && (text.contains(":item") || text.contains(":entry")))
        && !document.entries.iter().any(bare)
        && !CUT_SHORT
            .find_iter(text)
            .any(|found| !found.as_str().contains("xhtml"))
}

#[cfg(test)]
mod tests;
