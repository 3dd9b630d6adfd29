//! Tags of a document that need not be well-formed: which there are, and which belong together.

use std::borrow::Cow;
use std::collections::HashMap;
use std::num::NonZeroU32;

/// A document with more tags than this is read up to here: they take 20 MB.
const TAG_LIMIT: usize = 500_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Open,
    Close,
    /// `<name/>`
    Empty,
}

/// A tag, with the place that it has in the text. There can be very many: it is small.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag<'t> {
    /// From the first byte of the name to the `>`.
    inside: &'t str,
    name_length: u32,
    start: u32,
    end: u32,
    /// See [`Tag::pair`]. No tag is ended by the first of all.
    pair: Option<NonZeroU32>,
    pub(super) kind: Kind,
}

impl<'t> Tag<'t> {
    /// Prefix and all, in lower case.
    pub(super) fn name(&self) -> Cow<'t, str> {
        let name = self.inside.get(..index(self.name_length));
        let name = name.unwrap_or_default();
        if name.chars().any(char::is_uppercase) {
            Cow::Owned(name.to_lowercase())
        } else {
            Cow::Borrowed(name)
        }
    }

    /// Without its prefix.
    pub(super) fn local(&self) -> Cow<'t, str> {
        part(self.name(), |name| name.rsplit(':').next())
    }

    pub(super) fn prefix(&self) -> Cow<'t, str> {
        part(self.name(), |name| {
            name.rsplit_once(':').map(|(prefix, _)| prefix)
        })
    }

    /// The place of its `<` in the text.
    pub(super) fn start(&self) -> usize {
        index(self.start)
    }

    /// The place behind its `>`.
    pub(super) fn end(&self) -> usize {
        index(self.end)
    }

    /// Of an opening tag: the index of the tag that ends it. `None` when nothing does.
    pub(super) fn pair(&self) -> Option<usize> {
        self.pair.map(|pair| index(pair.get()))
    }

    pub(super) fn is_item(&self) -> bool {
        matches!(&*self.local(), "item" | "entry")
    }

    /// What stands around the items.
    pub(super) fn is_frame(&self) -> bool {
        matches!(&*self.local(), "rss" | "rdf" | "feed" | "channel")
    }

    /// The value of an attribute with its entities decoded. Names are compared as they stand.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let mut rest = self
            .inside
            .get(index(self.name_length)..)
            .unwrap_or_default();
        loop {
            rest = rest.trim_start_matches(|char: char| char.is_whitespace() || char == '/');
            let end = rest.find(|char: char| char == '=' || char.is_whitespace())?;
            let (key, after) = rest.split_at_checked(end)?;
            let Some(value) = after.trim_start().strip_prefix('=') else {
                rest = after;
                continue;
            };
            let (value, after) = quoted(value.trim_start());
            if key.eq_ignore_ascii_case(name) {
                return Some(unescape(value));
            }
            rest = after;
        }
    }
}

/// A place in a text. None is longer than 4 GiB: see [`scan`].
fn index(place: u32) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}

fn part(name: Cow<'_, str>, of: impl Fn(&str) -> Option<&str>) -> Cow<'_, str> {
    match name {
        Cow::Borrowed(name) => Cow::Borrowed(of(name).unwrap_or_default()),
        Cow::Owned(name) => Cow::Owned(of(&name).unwrap_or_default().to_owned()),
    }
}

/// Splits a value, in quotes or bare, from what follows.
fn quoted(text: &str) -> (&str, &str) {
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let inner = text.get(1..).unwrap_or_default();
            inner.split_once(quote).unwrap_or((inner, ""))
        }
        _ => text.split_once(char::is_whitespace).unwrap_or((text, "")),
    }
}

/// Finds the tags, paired, up to the 4 GiB that a `u32` counts. Comments, CDATA and declarations
/// hold none.
pub(super) fn scan(text: &str) -> Vec<Tag<'_>> {
    // Once and for all: a list that grows by doubling takes twice as much.
    let most = text.bytes().filter(|byte| *byte == b'<').count();
    let mut tags = Vec::with_capacity(most.min(TAG_LIMIT));
    let mut at = 0;
    while let Some(start) = find(text, at, "<")
        && tags.len() < TAG_LIMIT
    {
        at = match skipped(text, start) {
            Some(end) => end,
            None => match tag(text, start) {
                Some(tag) => {
                    tags.push(tag);
                    tag.end()
                }
                None => start + 1,
            },
        };
    }
    pair(&mut tags);
    tags
}

fn find(text: &str, from: usize, needle: &str) -> Option<usize> {
    Some(from + text.get(from..)?.find(needle)?)
}

/// Where a comment, a CDATA section, a declaration or an instruction ends that starts here.
fn skipped(text: &str, start: usize) -> Option<usize> {
    let rest = text.get(start..)?;
    let (from, end) = if rest.starts_with("<!--") {
        (4, "-->")
    } else if rest.starts_with("<![CDATA[") {
        (9, "]]>")
    } else if rest.starts_with("<!") {
        let head = rest.split('>').next().unwrap_or_default();
        (2, if head.contains('[') { "]>" } else { ">" })
    } else if rest.starts_with("<?") {
        (2, ">")
    } else {
        return None;
    };
    Some(find(text, start + from, end).map_or(text.len(), |at| at + end.len()))
}

fn tag(text: &str, start: usize) -> Option<Tag<'_>> {
    let rest = text.get(start + 1..)?;
    let (closes, rest) = match rest.strip_prefix('/') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    if !rest.starts_with(|char: char| char.is_alphabetic() || char == '_') {
        return None;
    }
    let name_end = rest
        .find(|char: char| char.is_whitespace() || matches!(char, '>' | '/' | '<'))
        .unwrap_or(rest.len());
    let (name, after) = rest.split_at_checked(name_end)?;
    let inside = rest.get(..name.len() + attributes_end(after))?;
    let end = start + 1 + usize::from(closes) + inside.len();
    let bracket = text.get(end..).is_some_and(|rest| rest.starts_with('>'));
    let kind = match (closes, inside.ends_with('/')) {
        (true, _) => Kind::Close,
        (false, true) => Kind::Empty,
        (false, false) => Kind::Open,
    };
    Some(Tag {
        inside,
        name_length: u32::try_from(name_end).ok()?,
        start: u32::try_from(start).ok()?,
        end: u32::try_from(end + usize::from(bracket)).ok()?,
        pair: None,
        kind,
    })
}

/// The length of the attributes: up to a `>` outside of quotes, or to a `<`, which says that the
/// quotes or the tag were never closed.
fn attributes_end(text: &str) -> usize {
    let mut quote = None;
    for (at, char) in text.char_indices() {
        match (quote, char) {
            (None, '>') => return at,
            (_, '<') => {
                let head = text.get(..at).unwrap_or_default();
                return head.find('>').unwrap_or(at);
            }
            (None, '"' | '\'') => quote = Some(char),
            (Some(open), _) if open == char => quote = None,
            _ => {}
        }
    }
    text.find('>').unwrap_or(text.len())
}

/// Gives every opening tag its end. What closes an outer element or an item ends what is open
/// inside; a new item ends the one before; a stray closing tag ends nothing.
fn pair(tags: &mut [Tag<'_>]) {
    let mut open = OpenTags::default();
    for at in 0..tags.len() {
        let Some(tag) = tags.get(at).copied() else {
            return;
        };
        let name = tag.name();
        if tag.kind == Kind::Close || tag.is_item() {
            while open.holds(&name)
                && let Some((inner, inner_name)) = open.pop(tags)
            {
                let is_whole = inner_name == name || tag.is_frame() && inner.is_item();
                inner.pair = NonZeroU32::new(u32::try_from(at).unwrap_or(0)).filter(|_| is_whole);
                if inner_name == name {
                    break;
                }
            }
        }
        if tag.kind == Kind::Open {
            open.push(at, name);
        }
    }
}

/// The tags that are open, and how many there are of each name: so that a stray closing tag need
/// not search them all.
#[derive(Default)]
struct OpenTags<'t> {
    stack: Vec<usize>,
    count: HashMap<Cow<'t, str>, usize>,
}

impl<'t> OpenTags<'t> {
    fn push(&mut self, at: usize, name: Cow<'t, str>) {
        *self.count.entry(name).or_default() += 1;
        self.stack.push(at);
    }

    fn holds(&self, name: &str) -> bool {
        self.count.get(name).is_some_and(|&count| count > 0)
    }

    /// The innermost one, with its name.
    fn pop<'g>(&mut self, tags: &'g mut [Tag<'t>]) -> Option<(&'g mut Tag<'t>, Cow<'t, str>)> {
        let tag = tags.get_mut(self.stack.pop()?)?;
        let name = tag.name();
        if let Some(count) = self.count.get_mut(&name) {
            *count -= 1;
        }
        Some((tag, name))
    }
}

/// How deep the document is nested, as far as its tags are paired.
pub(super) fn depth(tags: &[Tag<'_>]) -> usize {
    let mut ends: Vec<usize> = Vec::new();
    let mut deepest = 0;
    for (at, tag) in tags.iter().enumerate() {
        while ends.last().is_some_and(|&end| end <= at) {
            ends.pop();
        }
        // A tag that nothing ends nests, to a strict reader, whatever follows.
        if tag.kind == Kind::Open {
            ends.push(tag.pair().unwrap_or(usize::MAX));
        }
        deepest = deepest.max(ends.len());
    }
    deepest
}

/// Decodes the five entities of XML and numeric ones; every other `&` stays as it is.
pub(super) fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut parts = text.split('&');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let decoded = part
            .split_once(';')
            .and_then(|(entity, rest)| Some((character(entity)?, rest)));
        if let Some((char, rest)) = decoded {
            plain.push(char);
            plain.push_str(rest);
        } else {
            plain.push('&');
            plain.push_str(part);
        }
    }
    plain
}

fn character(entity: &str) -> Option<char> {
    match entity {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = entity.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(text: &str) -> String {
        let tags = scan(text);
        let shown = tags
            .iter()
            .filter(|tag| tag.kind != Kind::Close)
            .map(|tag| {
                let inner = tag
                    .pair()
                    .and_then(|pair| text.get(tag.end()..tags[pair].start()));
                format!("{}={}", tag.name(), inner.unwrap_or("?"))
            });
        shown.collect::<Vec<_>>().join("|")
    }

    #[test]
    fn tags_are_paired_in_spite_of_what_is_missing() {
        assert_eq!(
            outline("<item><t>a</titel><l>b</l></item>"),
            "item=<t>a</titel><l>b</l>|t=?|l=b"
        );
        assert_eq!(outline("<item>a<item>b</item>"), "item=a|item=b");
        assert_eq!(outline("<rss><item>a</rss>"), "rss=<item>a|item=a");
        assert_eq!(outline("<rss><item>a</item><item>b"), "rss=?|item=a|item=?");
    }

    #[test]
    fn comments_sections_and_declarations_hold_no_tags() {
        let text =
            "<!DOCTYPE x [<!ENTITY a '<b>'>]><?p <q> ?><!-- <r> --><s><![CDATA[<t>]]></s>1 < 2";
        assert_eq!(outline(text), "s=<![CDATA[<t>]]>");
    }

    #[test]
    fn attributes_are_read_in_any_quotes() {
        let tags = scan(r#"<a  href = "x?a=1&amp;b=2&c" Rel='y' type=z a>b" lost="<c>"#);
        let read = |name| tags[0].attribute(name);
        assert_eq!(read("href").as_deref(), Some("x?a=1&b=2&c"));
        assert_eq!(read("rel").as_deref(), Some("y"));
        assert_eq!(read("type").as_deref(), Some("z"));
        assert_eq!(read("lost"), None);
        assert_eq!(tags[1].name(), "c");
    }

    #[test]
    fn depth_counts_what_is_open() {
        assert_eq!(depth(&scan("<a><b/><c></c><d><e></e></d></a>")), 3);
        assert_eq!(depth(&scan(&"<a>".repeat(300))), 300);
    }
}
