//! Telegram's reading of HTML, with its complaints to the letter: they were compared with TDLib's.

use super::entity::{Entity, Style, checked_link, sort, user_of};

/// The text without its tags, and what they marked; else the complaint as TDLib words it.
pub(super) fn parse(source: &str) -> Result<(String, Vec<Entity>), String> {
    let mut reader = Reader {
        source,
        at: 0,
        text: String::with_capacity(source.len()),
        length: 0,
        open: Vec::new(),
        entities: Vec::new(),
        halves: false,
    };
    reader.read()?;
    if let Some(tag) = reader.open.last() {
        return Err(format!(
            "Can't find end tag corresponding to start tag \"{}\"",
            tag.name
        ));
    }
    if reader.halves {
        return Err(
            "Text contains invalid Unicode characters after decoding HTML entities, \
                    check for unmatched surrogate code units"
                .to_owned(),
        );
    }
    let mut entities = reader.entities;
    for entity in &mut entities {
        if entity.style == Style::Code {
            entity.detail.clear();
        }
    }
    sort(&mut entities);
    Ok((reader.text, entities))
}

struct Reader<'a> {
    source: &'a str,
    at: usize,
    text: String,
    /// Of `text`, in UTF-16.
    length: usize,
    open: Vec<Tag>,
    entities: Vec<Entity>,
    /// Half a surrogate pair was written as a reference.
    halves: bool,
}

struct Tag {
    name: String,
    argument: Option<String>,
    /// Where it begins: in UTF-16, and in bytes of the text.
    offset: usize,
    start: usize,
}

impl Reader<'_> {
    /// The byte there, 0 past the end.
    fn byte(&self) -> u8 {
        self.source.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        while self.at < self.source.len() && wanted(self.byte()) {
            self.at += 1;
        }
    }

    fn skip_spaces(&mut self) {
        self.skip_while(|byte| byte != 0 && is_space(byte));
    }

    fn read(&mut self) -> Result<(), String> {
        while let Some(next) = self.source[self.at..].chars().next() {
            match next {
                '<' => self.tag()?,
                '&' => self.reference(),
                _ => {
                    self.push(next);
                    self.at += next.len_utf8();
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, character: char) {
        self.text.push(character);
        self.length += character.len_utf16();
    }

    fn reference(&mut self) {
        let Some((code, size)) = reference(&self.source[self.at..]) else {
            self.push('&');
            self.at += 1;
            return;
        };
        self.at += size;
        self.halves |= char::from_u32(code).is_none();
        self.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
    }

    fn tag(&mut self) -> Result<(), String> {
        let begin = self.at;
        self.at += 1;
        if self.byte() == b'/' {
            self.end_tag(begin)
        } else {
            self.start_tag(begin)
        }
    }

    fn start_tag(&mut self, begin: usize) -> Result<(), String> {
        self.skip_while(|byte| !is_space(byte) && byte != b'>');
        if self.byte() == 0 {
            return Err(format!("Unclosed start tag at byte offset {begin}"));
        }
        let name = self.source[begin + 1..self.at].to_ascii_lowercase();
        if !TAGS.contains(&name.as_str()) {
            return Err(format!(
                "Unsupported start tag \"{name}\" at byte offset {begin}"
            ));
        }
        let mut argument = None;
        while self.byte() != b'>' {
            self.skip_spaces();
            if self.byte() == b'>' {
                break;
            }
            let (attribute, value) = self.attribute(begin, &name)?;
            if let Some(found) = argument_of(&name, &attribute, value) {
                argument = Some(found);
            }
        }
        self.at += 1;
        if name == "span" && argument.as_deref() != Some("spoiler") {
            return Err(format!(
                "Tag \"span\" must have class \"tg-spoiler\" at byte offset {begin}"
            ));
        }
        self.open.push(Tag {
            name,
            argument,
            offset: self.length,
            start: self.text.len(),
        });
        Ok(())
    }

    /// Name and value, empty for one that has none.
    fn attribute(&mut self, begin: usize, tag: &str) -> Result<(String, String), String> {
        let start = self.at;
        self.skip_while(|byte| !is_space(byte) && !b"=>/\"'".contains(&byte));
        let name = self.source[start..self.at].to_owned();
        if name.is_empty() {
            return Err(format!(
                "Empty attribute name in the tag \"{tag}\" at byte offset {begin}"
            ));
        }
        let unclosed = format!("Unclosed start tag \"{tag}\" at byte offset {begin}");
        self.skip_spaces();
        match self.byte() {
            b'=' => self.at += 1,
            0 => return Err(unclosed),
            _ => return Ok((name, String::new())),
        }
        self.skip_spaces();
        let value = match self.byte() {
            0 => return Err(unclosed),
            quote @ (b'"' | b'\'') => self.quoted(quote),
            _ => self.token()?,
        };
        if self.byte() == 0 {
            return Err(format!("Unclosed start tag at byte offset {begin}"));
        }
        Ok((name, value))
    }

    fn token(&mut self) -> Result<String, String> {
        let start = self.at;
        self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-');
        if !is_space(self.byte()) && self.byte() != b'>' {
            return Err(format!(
                "Unexpected end of name token at byte offset {start}"
            ));
        }
        Ok(self.source[start..self.at].to_ascii_lowercase())
    }

    fn quoted(&mut self, quote: u8) -> String {
        self.at += 1;
        let mut value = String::new();
        while let Some(next) = self.source[self.at..].chars().next() {
            if next == '\0' {
                break;
            }
            if next == char::from(quote) {
                self.at += 1;
                break;
            }
            if let Some((code, size)) = reference(&self.source[self.at..]) {
                value.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                self.at += size;
            } else {
                value.push(next);
                self.at += next.len_utf8();
            }
        }
        value
    }

    fn end_tag(&mut self, begin: usize) -> Result<(), String> {
        let Some(tag) = self.open.pop() else {
            return Err(format!("Unexpected end tag at byte offset {begin}"));
        };
        self.skip_while(|byte| !is_space(byte) && byte != b'>');
        let name = self.source[begin + 2..self.at].to_ascii_lowercase();
        self.skip_spaces();
        if self.byte() != b'>' {
            return Err(format!("Unclosed end tag at byte offset {begin}"));
        }
        self.at += 1;
        if !name.is_empty() && name != tag.name {
            return Err(format!(
                "Unmatched end tag at byte offset {begin}, expected \"</{}>\", found \"</{name}>\"",
                tag.name
            ));
        }
        if self.length > tag.offset {
            self.close(tag)?;
        }
        Ok(())
    }

    fn close(&mut self, tag: Tag) -> Result<(), String> {
        let Tag { offset, start, .. } = tag;
        let mut detail = tag.argument.unwrap_or_default();
        let length = self.length - offset;
        let style = match tag.name.as_str() {
            "b" | "strong" => Style::Bold,
            "i" | "em" => Style::Italic,
            "u" | "ins" => Style::Underline,
            "s" | "strike" | "del" => Style::Strikethrough,
            "span" | "tg-spoiler" => {
                detail.clear();
                Style::Spoiler
            }
            "blockquote" if detail.is_empty() => Style::Quote,
            "blockquote" => {
                detail.clear();
                Style::ExpandableQuote
            }
            "tg-emoji" if detail.parse::<i64>().is_ok_and(|id| id != 0) => Style::Emoji,
            "tg-emoji" => return Err("Invalid custom emoji identifier specified".to_owned()),
            "tg-time" if detail.parse::<i32>().is_ok_and(|time| time > 0) => Style::Time,
            "tg-time" => return Ok(()),
            "a" => {
                if detail.is_empty() {
                    self.text[start..].clone_into(&mut detail);
                }
                match link(&detail) {
                    Some((style, target)) => {
                        detail = target;
                        style
                    }
                    None => return Ok(()),
                }
            }
            "pre" if self.names_a_language(Style::Code, offset, length) => {
                return Ok(());
            }
            "pre" => Style::Pre,
            "code" if !detail.is_empty() && self.has_a_twin(Style::Pre, offset, length) => {
                if let Some(twin) = self.entities.last_mut() {
                    twin.detail = detail;
                }
                return Ok(());
            }
            _ => Style::Code,
        };
        self.entities.push(Entity {
            style,
            offset,
            length,
            detail,
        });
        Ok(())
    }

    fn has_a_twin(&self, style: Style, offset: usize, length: usize) -> bool {
        self.entities.last().is_some_and(|last| {
            last.style == style && last.offset == offset && last.length == length
        })
    }

    /// Turns a `code` with a language into the `pre` that encloses it.
    fn names_a_language(&mut self, style: Style, offset: usize, length: usize) -> bool {
        let twin = self.has_a_twin(style, offset, length);
        match self.entities.last_mut() {
            Some(last) if twin && !last.detail.is_empty() => {
                last.style = Style::Pre;
                true
            }
            _ => false,
        }
    }
}

const TAGS: &[&str] = &[
    "a",
    "b",
    "strong",
    "i",
    "em",
    "s",
    "strike",
    "del",
    "u",
    "ins",
    "tg-spoiler",
    "tg-emoji",
    "tg-time",
    "span",
    "pre",
    "code",
    "blockquote",
];

/// A link to a user or to a page; None for what stays plain text.
pub(super) fn link(target: &str) -> Option<(Style, String)> {
    match user_of(target) {
        Some(id) => Some((Style::Mention, id.to_string())),
        None => checked_link(target).map(|link| (Style::TextLink, link)),
    }
}

/// What an attribute means for its tag, if anything.
fn argument_of(tag: &str, attribute: &str, value: String) -> Option<String> {
    match (tag, attribute) {
        ("a", "href") | ("tg-emoji", "emoji-id") | ("tg-time", "unix") => Some(value),
        ("code", "class") => value.strip_prefix("language-").map(str::to_owned),
        ("span", "class") => value.strip_prefix("tg-").map(str::to_owned),
        ("blockquote", "expandable") => Some("expandable".to_owned()),
        _ => None,
    }
}

/// The character of a reference at the start of `source`, and how many bytes it takes.
fn reference(source: &str) -> Option<(u32, usize)> {
    let rest = source.strip_prefix('&')?;
    let (code, digits_end) = if let Some(digits) = rest.strip_prefix("#x") {
        number(digits, 16, 3)?
    } else if let Some(digits) = rest.strip_prefix("#X") {
        number(digits, 16, 3)?
    } else if let Some(digits) = rest.strip_prefix('#') {
        number(digits, 10, 2)?
    } else {
        let size = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let code = match &rest[..size] {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            _ => return None,
        };
        (u32::from(code), 1 + size)
    };
    let ends = source.as_bytes().get(digits_end) == Some(&b';');
    Some((code, digits_end + usize::from(ends)))
}

fn number(digits: &str, radix: u32, before: usize) -> Option<(u32, usize)> {
    let digits: String = digits
        .chars()
        .take_while(|digit| digit.is_digit(radix))
        .collect();
    let size = before + digits.len();
    let code = u32::from_str_radix(&digits, radix).ok()?;
    (code != 0 && code < 0x0010_ffff && size < 10).then_some((code, size))
}

/// What separates words in a tag; the end of the text counts.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, 0 | b' ' | b'\t' | b'\r' | b'\n' | 0x0b)
}
