//! What stands in a document of XML: counted in one pass over its tags, before anybody reads it.

use crate::pattern::pattern;
use regex::Regex;
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
}

/// What holds no tags: how it begins behind its `<`, and how it ends. The ends are far, and patterns
/// find them faster than std does.
static SECTIONS: LazyLock<[(&str, Regex); 2]> =
    LazyLock::new(|| [("![CDATA[", pattern("]]>")), ("!--", pattern("-->"))]);

impl Survey {
    pub(super) fn of(text: &str) -> Self {
        let mut survey = Self::default();
        let mut is_in_text = false;
        let (_, mut rest) = text.split_once('<').unwrap_or_default();
        while !rest.is_empty() {
            let section = SECTIONS.iter().find(|(begin, _)| rest.starts_with(begin));
            if let Some((_, end)) = section {
                let end = end.find(rest).and_then(|end| rest.get(end.end()..));
                (_, rest) = end
                    .and_then(|behind| behind.split_once('<'))
                    .unwrap_or_default();
                is_in_text = false;
                continue;
            }
            let (tag, next) = rest.split_once('<').unwrap_or((rest, ""));
            is_in_text = survey.count(tag, is_in_text);
            rest = next;
        }
        survey
    }

    /// Counts a tag, given with the text behind it. Returns whether it begins a text that must not
    /// hold another tag; `is_in_text` says that of the one before.
    fn count(&mut self, tag: &str, is_in_text: bool) -> bool {
        if !tag.starts_with(|first: char| first.is_alphabetic() || first == '_') {
            return false;
        }
        self.elements += 1;
        self.has_cut_texts |=
            is_in_text && tag.starts_with(|first: char| first.is_ascii_alphabetic());
        let ends = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
        let Some((name, rest)) = tag
            .bytes()
            .position(ends)
            .and_then(|end| tag.split_at_checked(end))
        else {
            return false;
        };
        match name.rsplit(':').next().unwrap_or_default() {
            "item" | "entry" => {
                self.entries += 1;
                self.plain_entries += usize::from(!name.contains(':'));
                false
            }
            "category" => {
                self.categories += 1;
                false
            }
            "title" | "description" if !name.contains(':') => match rest.split_once('>') {
                Some((attributes, _text)) => {
                    !attributes.ends_with('/') && !attributes.contains("xhtml")
                }
                None => false,
            },
            _ => false,
        }
    }
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
