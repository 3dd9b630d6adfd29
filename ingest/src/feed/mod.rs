//! From the bytes of a response to a [`Document`], whatever the publisher did to them.
//!
//! feed-rs reads first. When it refuses a document, or reads it and plainly misses something,
//! the lenient reader in `repair` reads the same text, and whichever found more is believed.

mod date;
mod decode;
pub mod discover;
mod json;
mod limit;
mod link;
mod markup;
mod parse;
mod print;
mod repair;
mod survey;
mod text;
mod ttl;

use shared::model::{Entry, Prints};
use std::time::Duration;
use survey::Survey;
use url::Url;

pub use text::plain;

/// What a feed said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Plain text, one line.
    pub title: Option<String>,
    /// In the order of the document.
    pub entries: Vec<Entry>,
    /// Of each entry, in the same order; empty when the lenient reader read it.
    pub prints: Vec<u64>,
    /// For how long, it says, there is nothing new in it.
    pub ttl: Option<Duration>,
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
    #[error("it has more than {} entries, which no feed needs", limit::ENTRIES)]
    TooManyEntries,
    #[error("it has more values than a JSON Feed needs")]
    TooManyValues,
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
    parse_again(body, charset, base, &Prints::NONE)
}

/// The same for a feed that was read before: an entry whose print is among the `known` may come
/// without its summary, whose text is most of the work. What identity needs it always has.
pub fn parse_again(
    body: &[u8],
    charset: Option<&str>,
    base: Option<&Url>,
    known: &Prints,
) -> Result<Document, ParseError> {
    let text = decode::decode(body, charset);
    match text.trim_start().chars().next() {
        None => Err(ParseError::Empty),
        Some('{' | '[') => parse_json(&text, base, known),
        Some(_) => {
            let survey = Survey::of(&text);
            let document = parse_xml(&text, &survey, base, known)?;
            let ttl = ttl::of(text.get(..survey.head).unwrap_or_default());
            Ok(Document { ttl, ..document })
        }
    }
}

fn parse_json(text: &str, base: Option<&Url>, known: &Prints) -> Result<Document, ParseError> {
    limit::json(text)?;
    parse::read(text, base, known).or_else(|_| json::read(text, base))
}

fn parse_xml(
    text: &str,
    survey: &Survey,
    base: Option<&Url>,
    known: &Prints,
) -> Result<Document, ParseError> {
    if survey.entries > limit::ENTRIES {
        return Err(ParseError::TooManyEntries);
    }
    let strict = if repair::is_too_deep(text, survey.categories) {
        Err("nested too deeply".to_owned())
    } else if survey.elements > limit::ELEMENTS {
        Err("too many elements".to_owned())
    } else {
        parse::read(text, base, known)
    };
    match strict {
        Ok(document) if is_complete(&document, survey, known) => Ok(document),
        Ok(document) => the_fuller_one(document, text, base, known),
        Err(fault) => repair::read(text, base).map_err(|error| match error {
            ParseError::Broken(reason) => {
                let fault = plain(&fault, 200);
                ParseError::Broken(format!("{reason} ({fault})"))
            }
            other => other,
        }),
    }
}

/// Of both readings, compared whole.
fn the_fuller_one(
    strict: Document,
    text: &str,
    base: Option<&Url>,
    known: &Prints,
) -> Result<Document, ParseError> {
    let is_whole = *known == Prints::NONE;
    let strict = if is_whole {
        strict
    } else {
        parse::read(text, base, &Prints::NONE).map_err(ParseError::Broken)?
    };
    match repair::read(text, base) {
        Ok(repaired) if repaired.yielded() > strict.yielded() => Ok(repaired),
        _ => Ok(strict),
    }
}

/// False when feed-rs accepted the document but missed something that is plainly there: an item,
/// or the rest of a title or description, which it cuts at the first tag inside. Entries that stand
/// as they stood were found to be the fuller reading then.
fn is_complete(document: &Document, survey: &Survey, known: &Prints) -> bool {
    let found = document.entries.len();
    let bare = |entry: &Entry| entry.title.is_empty() && entry.link.is_none();
    let misses_none = survey.plain_entries <= found && (found > 0 || survey.entries == 0);
    let is_unchanged = found > 0 && document.prints.iter().all(|print| known.hold(*print));
    let is_whole = !survey.has_cut_texts && !document.entries.iter().any(bare);
    misses_none && (is_unchanged || is_whole)
}

#[cfg(test)]
mod tests;
