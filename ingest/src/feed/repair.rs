//! The lenient reader: takes from a faulty document of any format what an entry needs.
//!
//! It knows elements by name alone, so that an item outside of its channel, an unknown namespace
//! or a missing version costs nothing, and each item by itself, so that one costs no other.

use super::link::{self, Candidate};
use super::markup::{self, Kind, Tag, unescape};
use super::parse::{summary, tags_of};
use super::text::{self, TITLE_LIMIT};
use super::{Document, ParseError, date, limit};
use shared::model::Entry;
use url::Url;

/// feed-rs descends into categories of podcasts by recursion, which a thread's stack must bear.
const DEPTH_LIMIT: usize = 256;
/// Of links, and of categories, that an entry is read with.
const MOST: usize = 100;
/// Of the namespace of podcasts.
const PODCAST: &str = "itunes.com/dtds/";

/// `categories` are the elements of that name, under any prefix.
pub(super) fn is_too_deep(text: &str, categories: usize) -> bool {
    categories > DEPTH_LIMIT
        && text.contains(PODCAST)
        && markup::depth(&markup::scan(text)) > DEPTH_LIMIT
}

/// Reads what can be read. An item that the document breaks off in is left for the next time.
pub(super) fn read(text: &str, base: Option<&Url>) -> Result<Document, ParseError> {
    let tags = markup::scan(text);
    refuse_what_is_no_feed(&tags)?;
    let is_item = |tag: &Tag<'_>| tag.kind != Kind::Close && tag.is_item();
    let items = (0..tags.len()).filter(|&at| tags.get(at).is_some_and(is_item));
    let items: Vec<usize> = items.collect();
    if items.len() > limit::ENTRIES {
        return Err(ParseError::TooManyEntries);
    }
    let reader = Reader {
        text,
        tags: &tags,
        items: &items,
    };
    let document = reader.document(base);
    let is_whole = tags
        .iter()
        .any(|tag| tag.kind == Kind::Close && tag.is_frame());
    if document.entries.is_empty() && !is_whole {
        return Err(ParseError::Broken(
            "it breaks off before its first entry ends".to_owned(),
        ));
    }
    Ok(document)
}

fn refuse_what_is_no_feed(tags: &[Tag<'_>]) -> Result<(), ParseError> {
    for tag in tags.iter().filter(|tag| tag.kind != Kind::Close) {
        match &*tag.local() {
            "html" | "body" | "head" => return Err(ParseError::WebPage),
            "opml" => return Err(ParseError::Opml),
            "urlset" | "sitemapindex" => return Err(ParseError::Sitemap),
            _ if tag.is_frame() || tag.is_item() => return Ok(()),
            _ => {}
        }
    }
    match tags.first() {
        Some(root) => Err(ParseError::OtherXml(root.name().chars().take(40).collect())),
        None => Err(ParseError::NotMarkup),
    }
}

/// A document, the tags in it, and which of them are items, ascending.
#[derive(Clone, Copy)]
struct Reader<'t> {
    text: &'t str,
    tags: &'t [Tag<'t>],
    items: &'t [usize],
}

/// What stands in an element.
struct Inner<'t> {
    raw: &'t str,
    /// It is markup, not text: tags stand in it, or it says so.
    is_markup: bool,
}

impl<'t> Reader<'t> {
    fn document(self, base: Option<&Url>) -> Document {
        let mut document = Document {
            repaired: true,
            ..Document::default()
        };
        let mut base = base.cloned();
        let mut at = 0;
        while let Some(tag) = self.tags.get(at) {
            let mut next = at + 1;
            if tag.kind == Kind::Close {
            } else if tag.is_item() {
                let whole = tag.pair().filter(|_| tag.kind == Kind::Open);
                if let Some(end) = whole {
                    document.entries.push(self.entry(at, end, base.as_ref()));
                    next = end;
                }
            } else if tag.is_frame() {
                base = rebased(tag, base);
            } else {
                if tag.local() == "title" && tag.prefix() != "media" && document.title.is_none() {
                    let title = self.inner(at).text();
                    let title = text::loose(&title, TITLE_LIMIT);
                    document.title = Some(title).filter(|title| !title.is_empty());
                }
                next = self.beyond(at);
            }
            at = next;
        }
        document
    }

    /// The tag behind an element that may be skipped: one that ends and holds no item.
    fn beyond(self, at: usize) -> usize {
        let pair = self.tags.get(at).and_then(Tag::pair);
        let next_item = self.items.partition_point(|&item| item <= at);
        let next_item = self.items.get(next_item).copied();
        match pair {
            Some(pair) if next_item.is_none_or(|item| item > pair) => pair + 1,
            _ => at + 1,
        }
    }

    fn entry(self, start: usize, end: usize, base: Option<&Url>) -> Entry {
        let mut fields = Fields::default();
        let Some(item) = self.tags.get(start) else {
            return Entry::default();
        };
        let base = rebased(item, base.cloned());
        let mut at = start + 1;
        while at < end
            && let Some(tag) = self.tags.get(at)
        {
            if tag.kind != Kind::Close {
                // A field bears its item's prefix, or none; a module's has its own.
                let prefix = tag.prefix();
                let name = if prefix.is_empty() || prefix == item.prefix() {
                    tag.local()
                } else {
                    tag.name()
                };
                fields.take(&name, tag, || self.inner(at), base.as_ref());
            }
            at = tag.pair().filter(|&pair| pair < end).unwrap_or(at) + 1;
        }
        fields.entry(base.as_ref())
    }

    /// What an element holds: up to its end, else up to the next tag.
    fn inner(self, at: usize) -> Inner<'t> {
        let open = self.tags.get(at).filter(|tag| tag.kind == Kind::Open);
        let from = open.map_or(self.text.len(), Tag::end);
        let pair = open.and_then(Tag::pair);
        let to = self.tags.get(pair.unwrap_or(at + 1));
        Inner {
            raw: self
                .text
                .get(from..to.map_or(self.text.len(), Tag::start))
                .unwrap_or_default(),
            is_markup: pair.is_some_and(|pair| pair > at + 1),
        }
    }
}

impl Inner<'_> {
    /// The text as a strict reader would hand it on: entities decoded once, sections opened.
    fn text(&self) -> String {
        let mut text = String::with_capacity(self.raw.len());
        let mut rest = self.raw;
        while let Some((before, section)) = rest.split_once("<![CDATA[") {
            let (inside, after) = section.split_once("]]>").unwrap_or((section, ""));
            text.push_str(&self.outside(before));
            text.push_str(inside);
            rest = after;
        }
        text.push_str(&self.outside(rest));
        text
    }

    fn outside(&self, text: &str) -> String {
        if self.is_markup {
            text.to_owned()
        } else {
            unescape(text)
        }
    }
}

fn rebased(tag: &Tag<'_>, base: Option<Url>) -> Option<Url> {
    match tag.attribute("xml:base") {
        Some(own) => link::resolve(own.trim(), base.as_ref()).or(base),
        None => base,
    }
}

/// The fields of an entry as they are found.
#[derive(Default)]
struct Fields {
    guid: Option<String>,
    title: Option<String>,
    links: Vec<Candidate>,
    /// Each with whether it is plain text.
    description: Option<(bool, String)>,
    content: Option<(bool, String)>,
    tags: Vec<String>,
    published: Option<date::Written>,
    updated: Option<date::Written>,
}

impl Fields {
    fn take<'t>(
        &mut self,
        name: &str,
        tag: &Tag<'_>,
        inner: impl FnOnce() -> Inner<'t>,
        base: Option<&Url>,
    ) {
        match name {
            "guid" | "id" => self.guid = Some(inner().text()),
            "title" => self.title = Some(body(tag, inner()).1),
            "dc:title" if self.title.is_none() => self.title = Some(inner().text()),
            "link" if self.links.len() < MOST => {
                self.links.push(candidate(tag, &inner(), base));
            }
            "description" | "summary" => self.description = Some(body(tag, inner())),
            "content" | "content:encoded" | "body" | "xhtml:body" => {
                self.content = Some(body(tag, inner()));
            }
            "category" | "dc:subject" if self.tags.len() < MOST => {
                let name = tag.attribute("label").or_else(|| tag.attribute("term"));
                self.tags.push(name.unwrap_or_else(|| inner().text()));
            }
            "pubdate" | "published" | "issued" | "dc:date" => {
                self.published = self.published.or(date::read(&inner().text()));
            }
            "updated" | "modified" | "atom:updated" => {
                self.updated = self.updated.or(date::read(&inner().text()));
            }
            _ => {}
        }
    }

    fn entry(self, base: Option<&Url>) -> Entry {
        let guid = self.guid.map(|guid| guid.trim().to_owned());
        let guid = guid.filter(|guid| !guid.is_empty());
        Entry {
            link: link::choose(&self.links, guid.as_deref(), base),
            title: text::loose(&self.title.unwrap_or_default(), TITLE_LIMIT),
            summary: summary([self.description, self.content].into_iter().flatten()),
            tags: tags_of(self.tags.into_iter()),
            published: self
                .published
                .or(self.updated)
                .map(date::Written::timestamp),
            guid,
            rating: None,
        }
    }
}

/// The text of an element that may hold markup, and whether it is plain text.
fn body(tag: &Tag<'_>, mut inner: Inner<'_>) -> (bool, String) {
    let kind = tag.attribute("type");
    inner.is_markup |= kind.as_deref() == Some("xhtml");
    let is_plain = !inner.is_markup && matches!(kind.as_deref(), Some("text" | "text/plain"));
    (is_plain, inner.text())
}

fn candidate(tag: &Tag<'_>, inner: &Inner<'_>, base: Option<&Url>) -> Candidate {
    let base = rebased(tag, base.cloned());
    let href = tag.attribute("href").unwrap_or_else(|| inner.text());
    let resolved = link::resolve(href.trim(), base.as_ref());
    Candidate {
        href: resolved.map_or(href, String::from),
        rel: tag.attribute("rel"),
        media_type: tag.attribute("type"),
    }
}
