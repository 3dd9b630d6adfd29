//! The floor: what is known to be exploited, or scored 9 and more, is critical whatever else is
//! said. It looks at each statement by itself, so that nothing that is added can lower it.

mod cvss;
mod denials;
mod phrases;
mod vector;

use super::plain::{fold, statements, wording};
use crate::pattern::pattern;
use regex::Regex;
use shared::model::Entry;
use std::sync::LazyLock;

/// CVSS calls a score from here on critical:
/// <https://www.first.org/cvss/v3.1/specification-document>.
const CRITICAL_SCORE: f64 = 9.0;

/// The catalog of known exploited vulnerabilities. Only in capitals: a name in any other writing.
static KEV: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?-u:\b)KEV(?-u:\b)"));
/// What makes of a mention of the catalog news of an entry.
static ENTERED: LazyLock<Regex> = LazyLock::new(|| {
    wording(
        r"\bCVE-\d | \bKEV\s*[:=|]\s*(?:yes|true|ja|oui|sí|evet|1)\b
        | \b(?:adds?|added|adding|addition|lists?|listed|joins?|enters?|entered|appears?|included?|lands?|landed|now\s+in|part\s+of|updated?)\b
        | \b(?:aufgenommen|nimmt|ergänzt|gelistet|steht|ajoute|ajoutée?s?|inscrite?|figure|añade|añadid[oa]s?|agrega|agregad[oa]s?|incluye|incluid[oa]s?|eklen?di|ekle\w*|listes\w*)\b",
    )
});
/// A feed's own category that says it all.
static MARKED: LazyLock<Regex> = LazyLock::new(|| {
    wording(
        r"^\s*(?:(?:cisa|in)[\s-])?(?:kev|(?:known|actively)[\s-]exploited(?:[\s-]vulnerabilit\w+)?|exploited[\s-]in[\s-]the[\s-]wild)\s*$",
    )
});

/// Why the entry cannot be less than critical; `None` when nothing says so.
pub(super) fn find(entry: &Entry) -> Option<String> {
    [("title", &entry.title), ("text", &entry.summary)]
        .into_iter()
        .find_map(|(place, text)| in_text(text, place))
        .or_else(|| entry.tags.iter().find_map(|tag| in_tag(tag)))
}

fn in_text(text: &str, place: &str) -> Option<String> {
    let statements = statements(text);
    let mut news = statements.iter().filter(|said| !denials::is_talk(said));
    news.find_map(|said| {
        exploited(said)
            .map(|phrase| format!("known to be exploited: \"{phrase}\" in the {place}"))
            .or_else(|| scored(said, place))
    })
}

fn in_tag(tag: &str) -> Option<String> {
    let tag = fold(tag);
    MARKED
        .is_match(&tag)
        .then(|| format!("known to be exploited: its category \"{tag}\""))
}

fn scored(said: &str, place: &str) -> Option<String> {
    let score = cvss::highest(said).filter(|&score| score >= CRITICAL_SCORE)?;
    Some(format!("CVSS {score:.1} in the {place}"))
}

fn exploited(said: &str) -> Option<&str> {
    let is_entered = KEV.is_match(said) && ENTERED.is_match(said);
    let listed = KEV.find_iter(said).filter(|_| is_entered);
    let phrases = phrases::EXPLOITED.find_iter(said).chain(listed);
    let mut stated = phrases.filter(|phrase| {
        let before = said.get(..phrase.start()).unwrap_or_default();
        let behind = said.get(phrase.end()..).unwrap_or_default();
        !denials::takes_back(before, phrase.as_str(), behind)
    });
    stated.next().map(|phrase| phrase.as_str())
}

#[cfg(test)]
mod tests;
