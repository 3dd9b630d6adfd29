//! The lenient reader of JSON Feed: whatever has `items`, one by one.

use super::link::{self, Candidate};
use super::parse::{summary, tags_of};
use super::text::{self, TITLE_LIMIT};
use super::{Document, ParseError, date};
use serde_json::Value;
use shared::model::Entry;
use url::Url;

pub(super) fn read(text: &str, base: Option<&Url>) -> Result<Document, ParseError> {
    let feed: Value = serde_json::from_str(text)
        .map_err(|error| ParseError::Broken(format!("its JSON cannot be read: {error}")))?;
    let version = feed.get("version").and_then(Value::as_str);
    let items = feed.get("items").and_then(Value::as_array);
    let items = items
        .filter(|_| version.is_some_and(|version| version.contains("jsonfeed")))
        .ok_or(ParseError::OtherJson)?;
    Ok(Document {
        title: string(&feed, "title").map(|title| text::loose(&title, TITLE_LIMIT)),
        entries: items
            .iter()
            .filter(|item| item.is_object())
            .map(|item| entry(item, base))
            .collect(),
        repaired: true,
        ..Document::default()
    })
}

fn entry(item: &Value, base: Option<&Url>) -> Entry {
    let guid = string(item, "id");
    let links: Vec<Candidate> = ["url", "external_url"]
        .iter()
        .filter_map(|key| string(item, key))
        .map(|href| Candidate {
            href,
            ..Candidate::default()
        })
        .collect();
    let bodies = [
        ("summary", true),
        ("content_html", false),
        ("content_text", true),
    ];
    let bodies = bodies
        .into_iter()
        .filter_map(|(key, plain)| Some((plain, string(item, key)?)));
    let tags = item.get("tags").and_then(Value::as_array);
    let published = ["date_published", "date_modified"]
        .iter()
        .find_map(|key| date::read(&string(item, key)?));
    Entry {
        link: link::choose(&links, guid.as_deref(), base),
        title: string(item, "title")
            .map_or_else(String::new, |title| text::loose(&title, TITLE_LIMIT)),
        summary: summary(bodies),
        tags: tags_of(
            tags.into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned),
        ),
        published: published.map(date::Written::timestamp),
        guid,
        rating: None,
    }
}

/// A string, or a number where a string should be.
fn string(object: &Value, key: &str) -> Option<String> {
    let text = match object.get(key)? {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}
