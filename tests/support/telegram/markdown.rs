//! Telegram's old Markdown: no nesting, no escape inside an entity, and a lone `_` refuses it all.

use super::entity::{Entity, Style};
use super::html::{is_space, link};

/// The text without its marks, and what they marked; else the complaint as TDLib words it.
pub(super) fn parse(source: &str) -> Result<(String, Vec<Entity>), String> {
    let mut reader = Reader {
        source,
        at: 0,
        text: String::with_capacity(source.len()),
        length: 0,
        entities: Vec::new(),
    };
    while let Some(next) = reader.next() {
        let escaped = ["\\_", "\\*", "\\`", "\\["];
        if escaped.iter().any(|pair| reader.rest().starts_with(pair)) {
            reader.at += 1;
            reader.take();
        } else if "_*`[".contains(next) {
            reader.entity(next)?;
        } else {
            reader.take();
        }
    }
    Ok((reader.text, reader.entities))
}

struct Reader<'a> {
    source: &'a str,
    at: usize,
    text: String,
    /// Of `text`, in UTF-16.
    length: usize,
    entities: Vec<Entity>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Moves one character into the text.
    fn take(&mut self) {
        if let Some(next) = self.next() {
            self.at += next.len_utf8();
            self.text.push(next);
            self.length += next.len_utf16();
        }
    }

    fn entity(&mut self, mark: char) -> Result<(), String> {
        let begin = self.at;
        let fenced = self.rest().starts_with("```");
        let (end, mut style) = match mark {
            '_' => ("_", Style::Italic),
            '*' => ("*", Style::Bold),
            '[' => ("]", Style::TextLink),
            _ if fenced => ("```", Style::Pre),
            _ => ("`", Style::Code),
        };
        self.at += if fenced { 3 } else { 1 };
        let mut detail = String::new();
        if fenced {
            let (language, size) = fence(self.rest());
            detail = language;
            self.at += size;
        }
        let offset = self.length;
        while !self.rest().starts_with(end) {
            if self.rest().is_empty() {
                return Err(format!(
                    "Can't find end of the entity starting at byte offset {begin}"
                ));
            }
            self.take();
        }
        self.at += end.len();
        let length = self.length - offset;
        if length == 0 {
            return Ok(());
        }
        if style == Style::TextLink {
            // A text in brackets alone is none: TDLib reads it one place off.
            let Some((found, link)) = self.target().and_then(link) else {
                return Ok(());
            };
            (style, detail) = (found, link);
        }
        self.entities.push(Entity {
            style,
            offset,
            length,
            detail,
        });
        Ok(())
    }

    /// What stands in parentheses here, which may be left open at the end.
    fn target(&mut self) -> Option<&'a str> {
        let inside = self.rest().strip_prefix('(')?;
        let size = inside.find(')').unwrap_or(inside.len());
        self.at = (self.at + size + 2).min(self.source.len());
        Some(&inside[..size])
    }
}

/// The language behind a fence and how much to skip: it, and one line break.
pub(super) fn fence(rest: &str) -> (String, usize) {
    let bytes = rest.as_bytes();
    let word = bytes
        .iter()
        .take_while(|byte| !is_space(**byte) && **byte != b'`')
        .count();
    let is_language = word > 0 && word < rest.len() && bytes.get(word) != Some(&b'`');
    let language = if is_language { &rest[..word] } else { "" };
    let behind = &bytes[language.len()..];
    let breaks = match behind {
        [b'\n', b'\r', ..] | [b'\r', b'\n', ..] => 2,
        [b'\n' | b'\r', ..] => 1,
        _ => 0,
    };
    (language.to_owned(), language.len() + breaks)
}
