//! OPML, in which feed readers exchange their feeds: read leniently, written strictly; pure.

use crate::policy::text::one_line;
use quick_xml::XmlVersion;
use quick_xml::escape::{escape, unescape};
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use std::ops::Range;

/// One feed of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// As it stands there, not yet known to be one.
    pub url: String,
    pub title: Option<String>,
    /// The folders around it, the outermost first.
    pub tags: Vec<String>,
}

/// A list as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlines {
    /// Each with its bytes in the text.
    pub feeds: Vec<(Outline, Range<usize>)>,
    /// What could not be read, as sentences.
    pub problems: Vec<String>,
}

const OUTLINE: &str = "<outline";

/// Reads a list. An outline that is broken costs itself, and what stands in its tag.
pub fn read(text: &str) -> Outlines {
    let mut reading = Reading::default();
    let mut from = 0;
    while let Some(rest) = text.get(from..) {
        let Some(broken_at) = reading.read(rest, from) else {
            break;
        };
        let line = text
            .get(..broken_at)
            .map_or(0, |before| before.matches('\n').count())
            + 1;
        reading.found.problems.push(format!(
            "line {line}: an outline that cannot be read is left out"
        ));
        let after = broken_at + OUTLINE.len();
        let Some(next) = text.get(after..).and_then(|rest| rest.find(OUTLINE)) else {
            break;
        };
        from = after + next;
    }
    reading.found
}

#[derive(Default)]
struct Reading {
    /// The open outlines: a folder with its name, or a feed that has an end tag, with its place.
    open: Vec<Open>,
    found: Outlines,
}

enum Open {
    Folder(String),
    Feed(usize),
}

impl Reading {
    /// Reads `rest`, which begins at byte `from` of the text; where it broke, if it did.
    fn read(&mut self, rest: &str, from: usize) -> Option<usize> {
        let mut reader = Reader::from_str(rest);
        let config = reader.config_mut();
        (config.check_end_names, config.allow_unmatched_ends) = (false, true);
        let place = |position: u64| from + usize::try_from(position).unwrap_or(usize::MAX - from);
        loop {
            let start = place(reader.buffer_position());
            let event = reader.read_event();
            let end = place(reader.buffer_position());
            match event {
                Ok(Event::Eof) => return None,
                Ok(Event::Start(tag)) if is_outline(&tag) => {
                    let open = match self.outline(&tag, start..end).ok_or(start) {
                        Ok(open) => open,
                        Err(broken_at) => return Some(broken_at),
                    };
                    self.open.push(open);
                }
                Ok(Event::Empty(tag)) if is_outline(&tag) => {
                    if self.outline(&tag, start..end).is_none() {
                        return Some(start);
                    }
                }
                Ok(Event::End(tag)) if tag.name().as_ref().eq_ignore_ascii_case("outline") => {
                    self.close(end);
                }
                Ok(_) => {}
                Err(_) => {
                    let broken = rest.get(start.saturating_sub(from)..)?.find(OUTLINE)?;
                    return Some(start + broken);
                }
            }
        }
    }

    /// `None`: it is broken.
    fn outline(&mut self, tag: &BytesStart<'_>, place: Range<usize>) -> Option<Open> {
        // A quote that is not closed takes the next outline in.
        if tag.contains(OUTLINE) {
            return None;
        }
        let (mut url, mut text, mut title) = (None, None, None);
        for attribute in tag.attributes().with_checks(false) {
            let attribute = attribute.ok()?;
            let value = match attribute.normalized_value(XmlVersion::Implicit1_0) {
                Ok(value) => value,
                Err(_) => entity_by_entity(&attribute.value).into(),
            };
            let value = Some(one_line(&value)).filter(|value| !value.is_empty());
            match attribute.key.as_ref().to_ascii_lowercase().as_str() {
                "xmlurl" => url = value,
                "text" => text = value,
                "title" => title = value,
                _ => {}
            }
        }
        let title = text.or(title);
        let Some(url) = url else {
            return Some(Open::Folder(title.unwrap_or_default()));
        };
        let folders = self.open.iter().filter_map(|open| match open {
            Open::Folder(name) if !name.is_empty() => Some(name.clone()),
            _ => None,
        });
        let tags = folders.collect();
        self.found.feeds.push((Outline { url, title, tags }, place));
        Some(Open::Feed(self.found.feeds.len() - 1))
    }

    fn close(&mut self, end: usize) {
        if let Some(Open::Feed(index)) = self.open.pop()
            && let Some((_, place)) = self.found.feeds.get_mut(index)
        {
            place.end = end;
        }
    }
}

/// A bare ampersand, as people write it, and an entity that XML does not know stand for themselves;
/// what stands beside them is read.
fn entity_by_entity(value: &str) -> String {
    let mut parts = value.split('&');
    let mut read = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let entity = part.split_once(';').and_then(|(name, rest)| {
            let entity = format!("&{name};");
            Some((unescape(&entity).ok()?.into_owned(), rest))
        });
        match entity {
            Some((character, rest)) => read.extend([character.as_str(), rest]),
            None => read.extend(["&", part]),
        }
    }
    read
}

fn is_outline(tag: &BytesStart<'_>) -> bool {
    tag.name().as_ref().eq_ignore_ascii_case("outline")
}

/// The whole document, in the order of the feeds; feeds that follow each other share their folders.
pub fn write<'o>(feeds: impl IntoIterator<Item = &'o Outline>) -> String {
    let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\">\n  <head><title>watchalert</title></head>\n  <body>\n";
    format!("{head}{}  </body>\n</opml>\n", lines(feeds))
}

/// The outlines alone, a line each, as they stand in a body.
pub fn lines<'o>(feeds: impl IntoIterator<Item = &'o Outline>) -> String {
    let mut out = String::new();
    let mut open: Vec<&str> = Vec::new();
    for feed in feeds {
        let pairs = open.iter().zip(&feed.tags);
        let shared = pairs.take_while(|(open, tag)| *open == tag).count();
        close(&mut open, shared, &mut out);
        for tag in feed.tags.iter().skip(shared) {
            let line = format!(
                "{}<outline text=\"{}\">\n",
                indent(open.len()),
                attribute(tag)
            );
            out.push_str(&line);
            open.push(tag);
        }
        let title = feed.title.as_ref().map(|title| {
            let title = attribute(title);
            format!(" text=\"{title}\" title=\"{title}\"")
        });
        let line = format!(
            "{}<outline type=\"rss\"{} xmlUrl=\"{}\"/>\n",
            indent(open.len()),
            title.unwrap_or_default(),
            attribute(&feed.url)
        );
        out.push_str(&line);
    }
    close(&mut open, 0, &mut out);
    out
}

fn close(open: &mut Vec<&str>, to: usize, out: &mut String) {
    while open.len() > to {
        open.pop();
        out.push_str(&indent(open.len()));
        out.push_str("</outline>\n");
    }
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth + 2)
}

fn attribute(text: &str) -> String {
    escape(one_line(text)).into_owned()
}

/// `text` with one more feed at the end of its body; `None` when it has no body to end.
pub fn with(text: &str, feed: &Outline) -> Option<String> {
    let at = text.to_ascii_lowercase().rfind("</body")?;
    let at = text.get(..at)?.rfind('\n').map_or(at, |line| line + 1);
    let (before, after) = text.split_at_checked(at)?;
    Some(format!("{before}{}{after}", lines([feed])))
}

/// `text` without the feed at `place`, and without the line that leaves empty.
pub fn without(text: &str, place: &Range<usize>) -> Option<String> {
    let before = text.get(..place.start)?;
    let after = text.get(place.end..)?;
    let bare = before.trim_end_matches([' ', '\t']);
    Some(
        match (
            bare.is_empty() || bare.ends_with('\n'),
            after.strip_prefix('\n'),
        ) {
            (true, Some(after)) => format!("{bare}{after}"),
            _ => format!("{before}{after}"),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn feeds(text: &str) -> Vec<Outline> {
        let feeds = read(text).feeds.into_iter();
        feeds.map(|(feed, _)| feed).collect()
    }

    fn outline(url: &str, title: &str, tags: &[&str]) -> Outline {
        Outline {
            url: url.to_owned(),
            title: Some(title.to_owned()).filter(|title| !title.is_empty()),
            tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
        }
    }

    #[test]
    fn folders_become_tags_and_names_may_be_written_in_any_way() {
        let text = "<opml><body><outline text='IT'><outline title='Sec&amp;Ops'>
            <outline text='One' XMLURL='https://a.example/?x=1&amp;y=2'></outline>
            <outline title='Two' xmlUrl='https://b.example/?x=1&y=2'/></outline>
            <outline xmlUrl='https://c.example/'/></outline><outline text='no feed'/></body></opml>";
        assert_eq!(
            feeds(text),
            [
                outline("https://a.example/?x=1&y=2", "One", &["IT", "Sec&Ops"]),
                outline("https://b.example/?x=1&y=2", "Two", &["IT", "Sec&Ops"]),
                outline("https://c.example/", "", &["IT"]),
            ]
        );
    }

    #[test]
    fn a_bare_ampersand_and_an_unknown_entity_spoil_nothing_beside_them() {
        for (written, url) in [
            ("?a=1&amp;b=2&c=3", "?a=1&b=2&c=3"),
            ("?a=1&b=2&amp;c=&#x41;&#66;", "?a=1&b=2&c=AB"),
            ("?q=caf&eacute;&amp;b=2", "?q=caf&eacute;&b=2"),
            ("?a=1&&amp;b;&", "?a=1&&b;&"),
            ("?a=&#0;&#x110000;&lt;", "?a=&#0;&#x110000;<"),
        ] {
            let text = format!(
                "<opml><body><outline text=\"R&D &amp; more\" xmlUrl=\"https://a.example/{written}\"/></body></opml>"
            );
            let url = format!("https://a.example/{url}");
            assert_eq!(
                feeds(&text),
                [outline(&url, "R&D & more", &[])],
                "{written}"
            );
        }
    }

    #[test]
    fn a_broken_outline_costs_only_itself() {
        for broken in [
            "<outline text=\"b xmlUrl=\"https://b.example/\"/>",
            "<outline text=\"b\" xmlUrl=https://b.example/ \"/>",
            "<outline text=\"b\" xmlUrl=\"https://b.example/",
            "<outline text=\"b\" xmlUrl=\"https://b.example/\" =/>",
        ] {
            let text = format!(
                "<opml><body>\n<outline xmlUrl=\"https://a.example/\"/>\n{broken}\n\
                 <outline xmlUrl=\"https://c.example/\"/>\n</body></opml>"
            );
            let read = read(&text);
            let urls: Vec<&str> = read
                .feeds
                .iter()
                .map(|(feed, _)| feed.url.as_str())
                .collect();
            assert_eq!(
                urls,
                ["https://a.example/", "https://c.example/"],
                "{broken}"
            );
            assert_eq!(
                read.problems,
                ["line 3: an outline that cannot be read is left out"]
            );
        }
    }

    #[test]
    fn one_more_and_one_less_leave_the_rest_as_it_was() {
        let text = "<opml>\n<!-- mine --><body>\n  <outline xmlUrl=\"https://a.example/\" htmlUrl=\"x\"/>\n</body>\n</opml>\n";
        let more = with(text, &outline("https://b.example/?a&b", "B \"b\"", &["t"])).unwrap();
        let read_again = read(&more);
        assert_eq!(
            feeds(&more)[1],
            outline("https://b.example/?a&b", "B \"b\"", &["t"])
        );
        assert!(more.contains("<!-- mine -->") && more.contains("htmlUrl"));
        let less = without(&more, &read_again.feeds[0].1).unwrap();
        assert_eq!(feeds(&less), feeds(&more)[1..]);
        assert!(less.contains("<body>\n    <outline text=\"t\">"), "{less}");
        assert_eq!(with("no list", &outline("u", "", &[])), None);
    }

    fn words() -> impl Strategy<Value = String> {
        "[a-zäß<>&\"' =/!?\\[\\];]{0,12}".prop_map(|text| one_line(&text))
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            feeds in prop::collection::vec((words(), words(), prop::collection::vec(words(), 0..3)), 0..8)
        ) {
            let written: Vec<Outline> = feeds
                .into_iter()
                .map(|(url, title, tags)| Outline {
                    url: format!("https://{url}"),
                    title: Some(title).filter(|title| !title.is_empty()),
                    tags: tags.into_iter().filter(|tag| !tag.is_empty()).collect(),
                })
                .collect();
            let text = write(&written);
            let read = read(&text);
            prop_assert_eq!(&read.problems, &Vec::<String>::new());
            let again: Vec<Outline> = read.feeds.into_iter().map(|(feed, _)| feed).collect();
            prop_assert_eq!(again, written);
        }

        #[test]
        fn nothing_that_is_read_breaks_the_reader(text in "(<outline |xmlUrl=|\"|'|>|/>|</outline>|<|&|a|\n|<!--|]]>){0,40}") {
            let count = text.matches("<outline").count();
            prop_assert!(read(&text).feeds.len() <= count);
        }
    }
}
