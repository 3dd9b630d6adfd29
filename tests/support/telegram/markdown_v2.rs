//! Telegram's MarkdownV2: entities nest, and eighteen characters must be escaped wherever they mean
//! nothing.

use super::entity::{Entity, Style, sort};
use super::html::link;
use super::markdown::fence;

const RESERVED: &str = "_*[]()~`>#+-=|{}.!\n";

/// The text without its marks, and what they marked; else the complaint as TDLib words it.
pub(super) fn parse(source: &str) -> Result<(String, Vec<Entity>), String> {
    let mut reader = Reader {
        source,
        at: 0,
        text: String::with_capacity(source.len()),
        length: 0,
        open: Vec::new(),
        in_quote: false,
        at_line_start: true,
        entities: Vec::new(),
    };
    while let Some(next) = reader.rest().chars().next() {
        reader.step(next)?;
    }
    if reader
        .open
        .last()
        .is_some_and(|top| top.style == Style::Quote)
    {
        reader.close(Style::Quote, None);
    }
    if let Some(top) = reader.open.last() {
        return Err(top.endless());
    }
    sort(&mut reader.entities);
    Ok((reader.text, reader.entities))
}

struct Reader<'a> {
    source: &'a str,
    at: usize,
    text: String,
    /// Of `text`, in UTF-16.
    length: usize,
    open: Vec<Mark>,
    in_quote: bool,
    /// Nothing of this line is in `text` yet, so that a `>` quotes.
    at_line_start: bool,
    entities: Vec<Entity>,
}

struct Mark {
    style: Style,
    language: String,
    /// Where it begins: in the source, in UTF-16, and in bytes of the text.
    begin: usize,
    offset: usize,
    start: usize,
}

impl Mark {
    fn endless(&self) -> String {
        let name = match self.style {
            Style::Bold => "Bold",
            Style::Italic => "Italic",
            Style::Underline => "Underline",
            Style::Strikethrough => "Strikethrough",
            Style::Spoiler => "Spoiler",
            Style::Code => "Code",
            Style::Pre if self.language.is_empty() => "Pre",
            Style::Pre => "PreCode",
            Style::TextLink => "TextUrl",
            Style::Emoji => "CustomEmoji",
            _ => "BlockQuote",
        };
        format!(
            "Can't find end of {name} entity at byte offset {}",
            self.begin
        )
    }
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn push(&mut self, character: char) {
        self.text.push(character);
        self.length += character.len_utf16();
        self.at_line_start = false;
    }

    fn line_break(&mut self) {
        self.push('\n');
        self.at += 1;
        self.at_line_start = true;
    }

    fn step(&mut self, next: char) -> Result<(), String> {
        let mut behind = self.rest().chars().skip(1);
        if next == '\\'
            && let Some(escaped @ '\u{1}'..='\u{7e}') = behind.next()
        {
            self.push(escaped);
            self.at_line_start = escaped == '\n';
            self.at += 2;
            return Ok(());
        }
        let in_code = |top: &Mark| matches!(top.style, Style::Code | Style::Pre);
        let reserved = if self.open.last().is_some_and(in_code) {
            "`"
        } else {
            RESERVED
        };
        if !reserved.contains(next) {
            self.push(next);
            self.at += next.len_utf8();
            return Ok(());
        }
        match self.ending() {
            Some(mark) => self.end(mark),
            None => self.begin(next),
        }
    }

    /// The mark that ends the innermost entity, when it stands here.
    fn ending(&self) -> Option<&'static str> {
        let top = self.open.last()?;
        let rest = self.rest();
        if self.in_quote && rest.starts_with('\n') && !rest.starts_with("\n>") {
            return Some("\n");
        }
        let ends_line = rest.starts_with("||\n") && !rest.starts_with("||\n>");
        if self.in_quote && (rest == "||" || ends_line) {
            return Some("||");
        }
        let mark = match top.style {
            Style::Bold => "*",
            Style::Italic if !rest.starts_with("__") => "_",
            Style::Underline => "__",
            Style::Strikethrough => "~",
            Style::Spoiler => "||",
            Style::Code => "`",
            Style::Pre => "```",
            Style::TextLink | Style::Emoji => "]",
            _ => return None,
        };
        rest.starts_with(mark).then_some(mark)
    }

    fn begin(&mut self, next: char) -> Result<(), String> {
        let begin = self.at;
        let mut language = String::new();
        let (style, size) = match next {
            '_' if self.rest().starts_with("__") => (Style::Underline, 2),
            '_' => (Style::Italic, 1),
            '*' if self.at_line_start && self.rest().starts_with("**>") => (Style::Quote, 3),
            '*' => (Style::Bold, 1),
            '~' => (Style::Strikethrough, 1),
            '|' if self.rest().starts_with("||") => (Style::Spoiler, 2),
            '[' => (Style::TextLink, 1),
            '!' if self.rest().starts_with("![") => (Style::Emoji, 2),
            '`' if self.rest().starts_with("```") => {
                let (found, size) = fence(&self.rest()[3..]);
                language = found;
                (Style::Pre, 3 + size)
            }
            '`' => (Style::Code, 1),
            '>' if self.at_line_start => (Style::Quote, 1),
            '\n' => {
                self.line_break();
                return Ok(());
            }
            _ => {
                return Err(format!(
                    "Character '{next}' is reserved and must be escaped with the preceding '\\'"
                ));
            }
        };
        self.at += size;
        if style == Style::Quote && std::mem::replace(&mut self.in_quote, true) {
            return Ok(()); // another line of it
        }
        self.open.push(Mark {
            style,
            language,
            begin,
            offset: self.length,
            start: self.text.len(),
        });
        Ok(())
    }

    fn end(&mut self, mark: &str) -> Result<(), String> {
        let Some(top) = self.open.last() else {
            return Ok(());
        };
        let style = top.style;
        if mark == "\n" {
            if style != Style::Quote {
                return Err(top.endless());
            }
            self.line_break();
            self.close(Style::Quote, None);
            return Ok(());
        }
        if mark == "||" && !matches!(style, Style::Quote | Style::Spoiler) {
            return Err(top.endless());
        }
        let start = top.start;
        self.at += mark.len();
        match style {
            Style::TextLink => {
                let target = self.target()?;
                let target = target.unwrap_or_else(|| self.text[start..].to_owned());
                match link(&target) {
                    Some((style, link)) => self.close(style, Some(link)),
                    None => drop(self.forget()),
                }
            }
            Style::Emoji => {
                let Some(target) = self.target()? else {
                    let what = "The entity must contain a tg://emoji or tg://time URL";
                    return Err(what.to_owned());
                };
                let Some((style, id)) = emoji_of(&target) else {
                    return Err("Invalid tg://emoji or tg://time URL specified".to_owned());
                };
                self.close(style, Some(id));
            }
            Style::Quote => self.close(Style::ExpandableQuote, None),
            style => self.close(style, None),
        }
        Ok(())
    }

    /// What stands in parentheses here; None when there are none.
    fn target(&mut self) -> Result<Option<String>, String> {
        if !self.rest().starts_with('(') {
            return Ok(None);
        }
        self.at += 1;
        let begin = self.at;
        let mut target = String::new();
        let mut characters = self.rest().chars();
        while let Some(next) = characters.next() {
            self.at += next.len_utf8();
            match (next, characters.clone().next()) {
                (')', _) => return Ok(Some(target)),
                ('\\', Some(escaped @ '\u{1}'..='\u{7e}')) => {
                    characters.next();
                    self.at += 1;
                    target.push(escaped);
                }
                _ => target.push(next),
            }
        }
        Err(format!("Can't find end of a URL at byte offset {begin}"))
    }

    fn forget(&mut self) -> Option<Mark> {
        self.open.pop()
    }

    fn close(&mut self, style: Style, detail: Option<String>) {
        let Some(mark) = self.forget() else {
            return;
        };
        if matches!(style, Style::Quote | Style::ExpandableQuote) {
            self.in_quote = false;
        }
        if self.length > mark.offset {
            self.entities.push(Entity {
                style,
                offset: mark.offset,
                length: self.length - mark.offset,
                detail: detail.unwrap_or(mark.language),
            });
        }
    }
}

fn emoji_of(target: &str) -> Option<(Style, String)> {
    let number = |rest: &str| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        (!digits.is_empty() && digits != "0").then_some(digits)
    };
    let emoji = target.strip_prefix("tg://emoji?id=").and_then(number);
    let time = target.strip_prefix("tg://time?unix=").and_then(number);
    match (emoji, time) {
        (Some(id), _) => Some((Style::Emoji, id)),
        (None, Some(time)) => Some((Style::Time, time)),
        (None, None) => None,
    }
}
