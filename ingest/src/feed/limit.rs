//! How much a document may hold: a short tag can become a large object in a parser's memory.

use super::ParseError;
use crate::pattern::pattern;
use regex::Regex;
use std::sync::LazyLock;

/// No more entries than this, whoever reads them: the largest real archives hold some thousands.
pub(super) const ENTRIES: usize = 10_000;
/// feed-rs makes up to 470 bytes of an element (an empty `<media:group/>`), and 1,400 of an item.
const ELEMENTS: usize = 80_000;
/// An object of JSON can be an item too; a value is 32 bytes and more.
const OBJECTS: usize = 20_000;
const VALUES: usize = 300_000;
/// What is shorter holds too little to be looked at: one tag takes seven bytes or more.
const SHORT: usize = 64 * 1024;

static ITEM: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"<(?:[\w.-]{1,40}:)?(?:item|entry)(?-u:[\s/>])"));

/// # Errors
/// More entries than [`ENTRIES`].
pub(super) fn entries(text: &str) -> Result<(), ParseError> {
    let too_many = || ITEM.find_iter(text).nth(ENTRIES).is_some();
    if text.len() > SHORT && too_many() {
        return Err(ParseError::TooManyEntries);
    }
    Ok(())
}

/// Whether feed-rs would need too much memory for what the lenient reader reads in little.
pub(super) fn has_too_many_elements(text: &str) -> bool {
    text.len() > SHORT && elements(text).nth(ELEMENTS).is_some()
}

/// The starts of the elements outside of CDATA sections.
fn elements(text: &str) -> impl Iterator<Item = ()> {
    let outside =
        text.split("<![CDATA[")
            .enumerate()
            .map(|(at, part)| match part.split_once("]]>") {
                Some((_section, after)) if at > 0 => after,
                _ if at > 0 => "",
                _ => part,
            });
    let tags = outside.flat_map(|part| part.split('<').skip(1));
    tags.filter(|tag| tag.starts_with(|first: char| first.is_alphabetic() || first == '_'))
        .map(|_| ())
}

/// # Errors
/// More values, or objects, than a feed has.
pub(super) fn json(text: &str) -> Result<(), ParseError> {
    if text.len() <= SHORT {
        return Ok(());
    }
    let (mut objects, mut values) = (0, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' => objects += 1,
            b',' | b'[' => values += 1,
            _ => {}
        }
    }
    if objects > OBJECTS || values > VALUES {
        return Err(ParseError::TooManyValues);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_counted_under_any_prefix() {
        let of = |item: &str, count| entries(&item.repeat(count));
        for item in ["<item/>long", "<atom:entry >", "<entry\n></entry>"] {
            assert_eq!(of(item, ENTRIES), Ok(()), "{item}");
            assert_eq!(of(item, ENTRIES + 1), Err(ParseError::TooManyEntries));
        }
        assert_eq!(of("<items/><itunes:x>", ENTRIES + 1), Ok(()));
    }

    #[test]
    fn elements_are_counted_outside_of_sections_alone() {
        let tags = "<b/>".repeat(ELEMENTS);
        assert!(!has_too_many_elements(&tags));
        assert!(has_too_many_elements(&format!("{tags}<b/>")));
        let section = format!("<a><![CDATA[{tags}]]></a>");
        assert!(!has_too_many_elements(&section.repeat(2)));
        assert!(has_too_many_elements(&format!("{section}{tags}")));
        assert!(!has_too_many_elements(&"</b>".repeat(2 * ELEMENTS)));
    }

    #[test]
    fn what_stands_in_strings_of_json_is_no_value() {
        let text = format!("[\"{}\"]", "\\\"{,[".repeat(2 * VALUES));
        assert_eq!(json(&text), Ok(()));
        let many = |value: &str, count: usize| json(&value.repeat(count));
        assert_eq!(many("{}    ", OBJECTS), Ok(()));
        assert_eq!(many("{}    ", OBJECTS + 1), Err(ParseError::TooManyValues));
        assert_eq!(many("1,", VALUES + 1), Err(ParseError::TooManyValues));
    }
}
