//! One body of `sendMessage`, and what can be done to it when it was refused: pure.

use super::classify::Repair;
use crate::render::split::{Room, escaped, lines, pack, plain};
use crate::render::telegram::{PARTS, Post, REPEAT, numbered};
use serde_json::{Map, Value, json};

/// Stands for a text that shows nothing.
const NO_TEXT: &str = "(no text)";
/// The mark where parentheses mean something.
const REPEAT_V2: &str = "\\(possible repeat\\) ";
/// The most units of a text, with what is put before and behind its parts.
const UNITS: usize = Room::MESSAGE.units;

/// A body, and the text to fall back to when its formatting is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Letter {
    body: Map<String, Value>,
    plain: Option<String>,
}

impl Letter {
    /// One of our own messages.
    pub fn of_post(post: Post, chat: &str, thread: Option<i64>, silent: bool) -> Self {
        let mut body = Map::new();
        body.insert("chat_id".to_owned(), chat_id(chat));
        body.insert("text".to_owned(), post.html.into());
        body.insert("parse_mode".to_owned(), "HTML".into());
        body.insert(
            "link_preview_options".to_owned(),
            json!({"is_disabled": true}),
        );
        if let Some(thread) = thread {
            body.insert("message_thread_id".to_owned(), thread.into());
        }
        if silent {
            body.insert("disable_notification".to_owned(), true.into());
        }
        Self {
            body,
            plain: Some(post.plain),
        }
    }

    /// A body that somebody else wrote: passed on as it is, but for the chat, which the row's
    /// column names, and for a text that no message can hold. An object without a text is shown
    /// as it stands.
    ///
    /// # Errors
    /// When it is no JSON object.
    pub fn of_raw(raw: &str, chat: &str) -> Result<Vec<Self>, String> {
        let value = serde_json::from_str(raw);
        let Ok(Value::Object(mut body)) = value else {
            return Err("the payload is no JSON object".to_owned());
        };
        let text = match body.get("text") {
            Some(Value::String(text)) if text.trim().is_empty() => NO_TEXT.to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => {
                body = Map::new();
                raw.to_owned()
            }
            Some(other) => other.to_string(),
        };
        body.insert("chat_id".to_owned(), chat_id(chat));
        let letter = Self { body, plain: None }.with_text(text);
        if letter.is_formatted() || units(letter.text()) <= UNITS {
            return Ok(vec![letter]);
        }
        Ok(letter.pieces(UNITS))
    }

    pub fn body(&self) -> &Map<String, Value> {
        &self.body
    }

    /// As it is kept until its turn comes.
    pub fn kept(&self) -> String {
        json!({"body": self.body, "plain": self.plain}).to_string()
    }

    /// What [`kept`](Self::kept) wrote; `None` for anything else.
    pub fn restored(kept: &str) -> Option<Self> {
        let mut kept: Map<String, Value> = serde_json::from_str(kept).ok()?;
        let Some(Value::Object(body)) = kept.remove("body") else {
            return None;
        };
        let plain = kept.remove("plain");
        let plain = plain.and_then(|plain| plain.as_str().map(str::to_owned));
        Some(Self { body, plain })
    }

    /// With the mark of a possible repeat before its text.
    #[must_use]
    pub fn marked(self) -> Self {
        let is_v2 = |mode: &str| mode.eq_ignore_ascii_case("MarkdownV2");
        let mode = self.body.get("parse_mode").and_then(Value::as_str);
        let mark = match mode {
            Some(mode) if is_v2(mode) => REPEAT_V2,
            _ => REPEAT,
        };
        if self.text().starts_with(mark) {
            return self;
        }
        let text = format!("{mark}{}", self.text());
        let plain = self.plain.as_ref().map(|plain| format!("{REPEAT}{plain}"));
        let mut marked = Self { plain, ..self }.with_text(text);
        let entities = marked
            .body
            .get_mut("entities")
            .and_then(Value::as_array_mut);
        for entity in entities.into_iter().flatten() {
            let moved = entity.get("offset").and_then(Value::as_u64);
            if let (Some(offset), Some(entity)) = (moved, entity.as_object_mut()) {
                entity.insert("offset".to_owned(), (offset + REPEAT.len() as u64).into());
            }
        }
        marked
    }

    /// What to send in its place; `None` when the repair would change nothing.
    pub fn repaired(&self, repair: Repair) -> Option<Vec<Self>> {
        match repair {
            Repair::Plain => self.plain(),
            Repair::Split => self.halved(),
            Repair::Fill => {
                let filled = self.clone().unformatted().with_text(NO_TEXT.to_owned());
                (filled != *self).then(|| vec![filled])
            }
            Repair::DropMarkup => self.without_markup().map(|letter| vec![letter]),
            Repair::DropThread => self.without(&["message_thread_id"]),
            Repair::DropReply => self.without(&["reply_parameters", "reply_to_message_id"]),
            Repair::DropEffect => self.without(&["message_effect_id"]),
            Repair::Migrate(id) => {
                let moved = self.clone().to(&id.to_string());
                (moved != *self).then(|| vec![moved])
            }
        }
    }

    /// To another chat.
    #[must_use]
    pub fn to(mut self, chat: &str) -> Self {
        self.body.insert("chat_id".to_owned(), chat_id(chat));
        self
    }

    /// Without any formatting, in several messages if that makes it too long for one.
    fn plain(&self) -> Option<Vec<Self>> {
        if !self.is_formatted() {
            return None;
        }
        let plain = self.clone().unformatted();
        if units(plain.text()) <= UNITS {
            return Some(vec![plain]);
        }
        Some(plain.pieces(UNITS))
    }

    /// In several messages, each at most half as long; without formatting, for markup cannot be cut.
    fn halved(&self) -> Option<Vec<Self>> {
        let plain = self.clone().unformatted();
        let whole = units(plain.text());
        if whole < 200 {
            return None;
        }
        Some(plain.pieces(UNITS.min(whole / 2 + 50)))
    }

    /// Its keyboard's links go into the text.
    fn without_markup(&self) -> Option<Self> {
        let mut bare = self.clone();
        let markup = bare.body.remove("reply_markup")?;
        let is_html = |mode: &str| mode.eq_ignore_ascii_case("HTML");
        let mode = self.body.get("parse_mode").and_then(Value::as_str);
        let links: Vec<String> = links(&markup);
        let behind = |text: &str, escape: bool| {
            links.iter().fold(text.to_owned(), |text, link| {
                let link = if escape { escaped(link) } else { link.clone() };
                format!("{text}\n{link}")
            })
        };
        bare.plain = bare.plain.map(|plain| behind(&plain, false));
        let text = behind(bare.text(), mode.is_some_and(is_html));
        Some(bare.with_text(text))
    }

    fn without(&self, fields: &[&str]) -> Option<Vec<Self>> {
        let mut bare = self.clone();
        bare.body
            .retain(|field, _| !fields.contains(&field.as_str()));
        (bare != *self).then(|| vec![bare])
    }

    fn text(&self) -> &str {
        let text = self.body.get("text").and_then(Value::as_str);
        text.unwrap_or_default()
    }

    fn with_text(mut self, text: String) -> Self {
        self.body.insert("text".to_owned(), text.into());
        self
    }

    /// Whether its text is more than text; then it cannot be cut.
    fn is_formatted(&self) -> bool {
        let filled = |field: &str| match self.body.get(field) {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(list)) => !list.is_empty(),
            Some(_) => true,
        };
        filled("parse_mode") || filled("entities")
    }

    fn unformatted(mut self) -> Self {
        self.body.remove("parse_mode");
        self.body.remove("entities");
        let plain = self.plain.take();
        let text = plain.unwrap_or_else(|| match self.text().strip_prefix(REPEAT_V2) {
            Some(text) => format!("{REPEAT}{text}"),
            None => self.text().to_owned(),
        });
        self.with_text(text)
    }

    /// Numbered pieces of a plain text. It answers the same message and asks with the same
    /// keyboard only once.
    fn pieces(self, most: usize) -> Vec<Self> {
        let added = Room {
            units: 60,
            ..Room::default()
        };
        let room = Room {
            units: most,
            ..Room::MESSAGE
        };
        let packed = pack(lines(self.text()), room.less(added), PARTS);
        let of = packed.parts.len();
        let piece = |(at, part): (usize, &Vec<_>)| {
            let (is_first, is_last) = (at == 0, at + 1 == of);
            let mut text = format!("{}{}", numbered(at + 1, of), plain(part));
            if is_last && packed.left_out > 0 {
                text = format!("{text}\n[cut here, {} characters more]", packed.left_out);
            }
            let mut piece = self.clone().with_text(text);
            let once = |field: &str| match field {
                "reply_markup" => is_last,
                "reply_parameters" | "reply_to_message_id" | "message_effect_id" => is_first,
                _ => true,
            };
            piece.body.retain(|field, _| once(field));
            piece
        };
        packed.parts.iter().enumerate().map(piece).collect()
    }
}

/// Numbers as numbers: limits are counted for them, not for names.
pub(super) fn chat_id(chat: &str) -> Value {
    match chat.trim().parse::<i64>() {
        Ok(number) => number.into(),
        Err(_) => chat.into(),
    }
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The links of an inline keyboard, with their labels.
fn links(markup: &Value) -> Vec<String> {
    let rows = markup.get("inline_keyboard").and_then(Value::as_array);
    let buttons = rows.into_iter().flatten().filter_map(Value::as_array);
    let link = |button: &Value| {
        let text = button.get("text").and_then(Value::as_str)?;
        let url = button.get("url").and_then(Value::as_str)?;
        Some(format!("{text}: {url}"))
    };
    buttons.flatten().filter_map(link).collect()
}

#[cfg(test)]
mod tests;
