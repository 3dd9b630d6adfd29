//! Titles and descriptions as one line of plain text.

use encoding_rs::WINDOWS_1252;
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use std::borrow::Cow;

/// A title longer than this many characters is a text without a title.
pub(super) const TITLE_LIMIT: usize = 500;
/// What is kept of a description, in characters.
pub(super) const SUMMARY_LIMIT: usize = 2000;

/// HTML to one line: tags and scripts go, entities become what they mean, white space collapses.
/// At most `limit` characters; what is cut ends with an ellipsis.
pub fn plain(html: &str, limit: usize) -> String {
    if is_plain(html, limit) {
        return html.to_owned();
    }
    let mut line = Line::new(limit);
    if html.contains(['<', '&']) {
        write_html(html, &mut line);
    } else {
        line.push(html);
    }
    line.finish()
}

/// The same for text that is not HTML but mostly is written as if it were: only tags that exist
/// in HTML are tags, so that `Vec<T>` keeps its parameter.
pub(super) fn loose(text: &str, limit: usize) -> String {
    if text.contains('<') {
        plain(&keep_unknown_tags(text), limit)
    } else {
        plain(text, limit)
    }
}

/// Most titles and tags: one line of ASCII with single spaces inside, that says nothing else.
fn is_plain(text: &str, limit: usize) -> bool {
    let mut gap = true;
    let mut sound = |byte: &u8| {
        let is_space = *byte == b' ';
        let sound = matches!(byte, b' '..=b'~') && !matches!(byte, b'<' | b'&');
        sound && !(std::mem::replace(&mut gap, is_space) && is_space)
    };
    text.len() <= limit && text.as_bytes().iter().all(&mut sound) && !text.ends_with(' ')
}

fn write_html(html: &str, line: &mut Line) {
    // Inside of which element nothing is text, and whether the tag just opened begins one.
    let (mut silent, mut silencing) = (false, false);
    let emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| {
        match event {
            CallbackEvent::String { value } if !silent => {
                line.push(&String::from_utf8_lossy(value));
            }
            CallbackEvent::OpenStartTag { name } => {
                silencing = is_silent(name);
                line.gap |= !is_inline(name);
            }
            CallbackEvent::CloseStartTag { self_closing } => silent |= silencing && !self_closing,
            CallbackEvent::EndTag { name } => {
                silent &= !is_silent(name);
                line.gap |= !is_inline(name);
            }
            _ => {}
        }
        // A token ends the reading.
        line.is_full().then_some(())
    });
    let mut full = Tokenizer::new_with_emitter(html, emitter);
    full.next();
}

fn is_silent(name: &[u8]) -> bool {
    matches!(name, b"script" | b"style")
}

const INLINE: &[&str] = &[
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font",
    "i", "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup",
    "time", "tt", "u", "var", "wbr",
];

const BLOCK: &[&str] = &[
    "applet",
    "area",
    "article",
    "aside",
    "audio",
    "base",
    "blockquote",
    "body",
    "br",
    "button",
    "canvas",
    "caption",
    "center",
    "col",
    "colgroup",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "embed",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "frame",
    "frameset",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "iframe",
    "img",
    "input",
    "label",
    "legend",
    "li",
    "link",
    "main",
    "map",
    "marquee",
    "menu",
    "meta",
    "nav",
    "noframes",
    "noscript",
    "object",
    "ol",
    "optgroup",
    "option",
    "p",
    "param",
    "picture",
    "pre",
    "script",
    "section",
    "select",
    "source",
    "style",
    "summary",
    "svg",
    "table",
    "tbody",
    "td",
    "textarea",
    "tfoot",
    "th",
    "thead",
    "tr",
    "track",
    "ul",
    "video",
];

fn is_inline(name: &[u8]) -> bool {
    INLINE.iter().any(|inline| inline.as_bytes() == name)
}

fn is_html(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [INLINE, BLOCK].iter().any(|list| list.contains(&&*name))
}

/// Escapes every `<` that opens no tag of HTML.
fn keep_unknown_tags(text: &str) -> Cow<'_, str> {
    let mut kept = String::with_capacity(text.len());
    let mut parts = text.split('<');
    kept.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let name = part.strip_prefix('/').unwrap_or(part);
        let end = name.find(|char: char| !char.is_ascii_alphanumeric());
        let is_tag = is_html(name.get(..end.unwrap_or(name.len())).unwrap_or_default());
        kept.push_str(if is_tag || part.starts_with("!--") {
            "<"
        } else {
            "&lt;"
        });
        kept.push_str(part);
    }
    Cow::Owned(kept)
}

/// One line in the making.
struct Line {
    text: String,
    /// White space stands before the next character.
    gap: bool,
    /// Characters that still fit.
    room: usize,
    cut: bool,
}

impl Line {
    fn new(limit: usize) -> Self {
        Self {
            text: String::new(),
            gap: false,
            room: limit,
            cut: false,
        }
    }

    fn push(&mut self, text: &str) {
        for char in text.chars() {
            // Most of every text, and nothing below applies to it.
            if char.is_ascii_graphic() && !self.gap && self.room > 0 {
                self.text.push(char);
                self.room -= 1;
                continue;
            }
            let char = readable(char);
            if char.is_whitespace() {
                self.gap = true;
            } else if !is_invisible(char) {
                let gap = self.gap && !self.text.is_empty();
                self.gap = false;
                if self.room <= usize::from(gap) {
                    self.cut = true;
                    return;
                }
                if gap {
                    self.text.push(' ');
                }
                self.text.push(char);
                self.room -= 1 + usize::from(gap);
            }
        }
    }

    fn is_full(&self) -> bool {
        self.cut
    }

    fn finish(mut self) -> String {
        if self.cut {
            self.text.pop();
            self.text.push('…');
        }
        self.text
    }
}

/// A control character of the upper range is a byte of windows-1252 that was taken for Latin-1.
fn readable(char: char) -> char {
    match u32::from(char) {
        code @ 0x80..=0x9f => {
            let byte = [u8::try_from(code).unwrap_or_default()];
            let (decoded, _) = WINDOWS_1252.decode_without_bom_handling(&byte);
            decoded.chars().next().unwrap_or(char)
        }
        _ => char,
    }
}

/// Controls, soft hyphens, and the marks with which a text can be made to read backwards.
fn is_invisible(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}'
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_one_line() {
        let html = "<p>Two&nbsp;bugs:</p>\n<ul><li>a &lt; b</li><li><b>bo</b>ld</li></ul>\
                    <script>alert('<p>no</p>')</script><style>p {}</style>&#8211; end";
        assert_eq!(plain(html, 99), "Two bugs: a < b bold – end");
    }

    #[test]
    fn a_type_parameter_is_not_a_tag() {
        assert_eq!(
            loose("Vec<T> grows a <b>bold</b> API, 1 < 2", 99),
            "Vec<T> grows a bold API, 1 < 2"
        );
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(plain("ééééé", 4), "ééé…");
        assert_eq!(plain("éééé", 4), "éééé");
        assert_eq!(plain("ab cd", 4), "ab …");
    }

    #[test]
    fn what_cannot_be_seen_is_dropped() {
        assert_eq!(plain("a\u{202e}b\u{0}c \u{feff}d\u{91}e", 99), "abc d‘e");
    }
}
