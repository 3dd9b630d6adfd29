//! The strict reader: feed-rs behind a panic guard. No other file knows it.

use super::Document;
use super::date;
use super::link::{self, Candidate};
use super::print::Printer;
use super::text::{self, SUMMARY_LIMIT, TITLE_LIMIT};
use crate::panics::caught;
use feed_rs::model;
use shared::model::{Entry, Prints, Timestamp};
use url::Url;

/// Reads text in UTF-8 whose XML declaration is gone; entries whose print is `known` may come
/// without their summary. The error is feed-rs's own word.
pub(super) fn read(text: &str, base: Option<&Url>, known: &Prints) -> Result<Document, String> {
    let parser = feed_rs::parser::Builder::new()
        .base_uri(base.map(Url::as_str))
        .id_generator(|_, _, _| String::new())
        .timestamp_parser(|text| Some(date::read(text)?.system_time().into()))
        .build();
    let feed = caught(|| parser.parse(text.as_bytes()))
        .map_err(|_words| "feed-rs panicked")?
        .map_err(|error| error.to_string())?;
    Ok(document(feed, base, known))
}

fn document(feed: model::Feed, base: Option<&Url>, known: &Prints) -> Document {
    let prints: Vec<u64> = feed.entries.iter().map(print).collect();
    let entries = feed.entries.into_iter().zip(&prints);
    let title = feed
        .title
        .map(|title| text::loose(&title.content, TITLE_LIMIT));
    Document {
        title: title.filter(|title| !title.is_empty()),
        entries: entries
            .map(|(read, print)| entry(read, base, known.hold(*print)))
            .collect(),
        prints,
        ttl: None,
        repaired: false,
    }
}

/// Over everything that an [`Entry`] is made of.
fn print(read: &model::Entry) -> u64 {
    let mut printer = Printer::new();
    printer.take(&read.id);
    let texts = [&read.title, &read.summary].into_iter().flatten();
    texts.for_each(|text| printer.take(&text.content));
    let content = read
        .content
        .as_ref()
        .and_then(|content| content.body.as_ref());
    printer.take(content.map_or("", String::as_str));
    read.links.iter().for_each(|link| printer.take(&link.href));
    read.categories
        .iter()
        .for_each(|tag| printer.take(&tag.term));
    printer.print()
}

fn entry(read: model::Entry, base: Option<&Url>, is_known: bool) -> Entry {
    let guid = Some(read.id.trim().to_owned()).filter(|guid| !guid.is_empty());
    let links: Vec<Candidate> = read.links.into_iter().filter_map(candidate).collect();
    let bodies = [
        read.summary
            .map(|text| (text.content_type.subty() == "plain", text.content)),
        read.content
            .and_then(|content| Some((content.content_type.subty() == "plain", content.body?))),
    ];
    let tags = read.categories.into_iter();
    let link = link::choose(&links, guid.as_deref(), base);
    let title = read.title.map_or_else(String::new, |title| {
        text::loose(&title.content, TITLE_LIMIT)
    });
    // Without a title, or without id and link, the summary is what the entry is known by.
    let summary_is_needed = !is_known || title.is_empty() || (guid.is_none() && link.is_none());
    Entry {
        summary: if summary_is_needed {
            summary(bodies.into_iter().flatten())
        } else {
            String::new()
        },
        link,
        title,
        tags: tags_of(tags.map(|tag| tag.label.unwrap_or(tag.term))),
        published: read
            .published
            .or(read.updated)
            .map(|date| Timestamp::from_unix_millis(date.timestamp_millis())),
        guid,
        rating: None,
    }
}

fn candidate(link: model::Link) -> Option<Candidate> {
    // A target marks the comments.
    link.target.is_none().then_some(Candidate {
        href: link.href,
        rel: link.rel,
        media_type: link.media_type,
    })
}

/// The first body that holds text; each comes with whether it is plain text.
pub(super) fn summary(bodies: impl Iterator<Item = (bool, String)>) -> String {
    let mut texts = bodies.map(|(plain, body)| {
        if plain {
            text::loose(&body, SUMMARY_LIMIT)
        } else {
            text::plain(&body, SUMMARY_LIMIT)
        }
    });
    texts.find(|text| !text.is_empty()).unwrap_or_default()
}

/// At most twenty of the feed's own categories, each once.
pub(super) fn tags_of(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for name in names {
        let tag = text::loose(&name, 60);
        if !tag.is_empty() && !tags.contains(&tag) {
            tags.push(tag);
        }
        if tags.len() == 20 {
            break;
        }
    }
    tags
}
