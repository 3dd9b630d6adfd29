//! What stands in a document of XML: counted in one pass over its tags, before anybody reads it.

use memchr::memmem::{self, Finder};
use memchr::{memchr, memrchr};
use std::sync::LazyLock;

/// Tags as they stand, outside of CDATA sections and comments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Survey {
    pub(super) elements: usize,
    /// `item` or `entry`, under any prefix.
    pub(super) entries: usize,
    /// Those without a prefix, which feed-rs must find.
    pub(super) plain_entries: usize,
    pub(super) categories: usize,
    /// In a title or description, text is followed by a tag that opens inside, where feed-rs cuts
    /// it. XHTML is read whole.
    pub(super) has_cut_texts: bool,
    /// How many bytes stand before the first entry, or in all when there is none.
    pub(super) head: usize,
}

/// What holds no tags: how it begins behind its `<`, and how it ends.
static SECTIONS: LazyLock<[(&[u8], Finder<'_>); 2]> = LazyLock::new(|| {
    let section = |begin, end| (begin, Finder::new(end));
    [
        section(b"![CDATA[".as_slice(), "]]>"),
        section(b"!--", "-->"),
    ]
});

impl Survey {
    pub(super) fn of(text: &str) -> Self {
        let mut survey = Self {
            head: text.len(),
            ..Self::default()
        };
        let mut is_in_text = false;
        let mut rest = behind_mark(text.as_bytes());
        while !rest.is_empty() {
            if rest.starts_with(b"!") {
                let section = SECTIONS.iter().find(|(begin, _)| rest.starts_with(begin));
                if let Some((_, end)) = section {
                    let end = end.find(rest).unwrap_or(rest.len());
                    rest = behind_mark(rest.get(end..).unwrap_or_default());
                    is_in_text = false;
                    continue;
                }
            }
            let end = memchr(b'<', rest).unwrap_or(rest.len());
            let (tag, next) = rest.split_at(end);
            is_in_text = survey.count(tag, is_in_text);
            if survey.entries > 0 {
                survey.head = survey.head.min(text.len() - rest.len());
            }
            rest = next.get(1..).unwrap_or_default();
        }
        survey
    }

    /// Counts a tag, given with the text behind it. Returns whether it begins a text that must not
    /// hold another tag; `is_in_text` says that of the one before.
    fn count(&mut self, tag: &[u8], is_in_text: bool) -> bool {
        let first = tag.first().copied().unwrap_or_default();
        if !(first.is_ascii_alphabetic() || first == b'_' || !first.is_ascii()) {
            return false;
        }
        self.elements += 1;
        self.has_cut_texts |= is_in_text && first.is_ascii_alphabetic();
        let ends = |byte: &u8| matches!(byte, b'>' | b' ' | b'/' | b'\t'..=b'\r');
        let end = tag.iter().position(ends);
        let Some((name, rest)) = end.and_then(|end| tag.split_at_checked(end)) else {
            return false;
        };
        let local = memrchr(b':', name).map_or(name, |colon| name.get(colon + 1..).unwrap_or(name));
        let has_prefix = local.len() < name.len();
        match local {
            b"item" | b"entry" => {
                self.entries += 1;
                self.plain_entries += usize::from(!has_prefix);
                false
            }
            b"category" => {
                self.categories += 1;
                false
            }
            b"title" | b"description" if !has_prefix => memchr(b'>', rest).is_some_and(|end| {
                let attributes = rest.get(..end).unwrap_or_default();
                !attributes.ends_with(b"/") && memmem::find(attributes, b"xhtml").is_none()
            }),
            _ => false,
        }
    }
}

/// What stands behind the first `<`; nothing when there is none.
fn behind_mark(text: &[u8]) -> &[u8] {
    memchr(b'<', text)
        .and_then(|at| text.get(at + 1..))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_counted_under_any_prefix_where_they_are_elements() {
        for (text, entries, plain) in [
            ("<item/>long<item>", 2, 2),
            ("<atom:entry ><entry\n></entry>", 2, 1),
            ("<items/><itunes:x>", 0, 0),
            ("<d><![CDATA[<item>]]></d><item>", 1, 1),
            (
                "<d><![CDATA[<![CDATA[<item>]]><item><d><![CDATA[<item>",
                1,
                1,
            ),
            ("<!-- <item><item> --><item>", 1, 1),
            ("<item", 0, 0),
        ] {
            let survey = Survey::of(text);
            assert_eq!(
                (survey.entries, survey.plain_entries),
                (entries, plain),
                "{text}"
            );
        }
    }

    #[test]
    fn elements_are_counted_outside_of_sections_alone() {
        for (text, elements) in [
            ("<a><b/></a>", 2),
            ("1 < 2 <!-- no --><?no ?>", 0),
            ("<a><![CDATA[<b/><b/>]]></a><_c/>", 2),
            ("<a><![CDATA[<b/>", 1),
            ("", 0),
        ] {
            assert_eq!(Survey::of(text).elements, elements, "{text}");
        }
        assert_eq!(Survey::of("<category/><x:category>").categories, 2);
    }

    #[test]
    fn the_head_ends_where_the_first_entry_begins() {
        for (text, head) in [
            ("<a><!-- <item> --><item><item>", "<a><!-- <item> --><"),
            ("<a/>ü", "<a/>ü"),
            ("<x:entry>", "<"),
            ("", ""),
        ] {
            assert_eq!(text.get(..Survey::of(text).head), Some(head));
        }
    }

    #[test]
    fn a_text_is_cut_where_a_tag_opens_in_it() {
        for (text, is_cut) in [
            ("<title>a <b>bold</b> one</title>", true),
            ("<description x='y'>\n<p>", true),
            ("<title>a &lt;b></title><link>", false),
            ("<title/><link>", false),
            ("<title><![CDATA[a <b>]]></title><b>", false),
            ("<title type='xhtml'><div>", false),
            ("<media:title>a <b>", false),
            ("<title>a < b</title>", false),
        ] {
            assert_eq!(Survey::of(text).has_cut_texts, is_cut, "{text}");
        }
    }
}
