//! From the text parameter of a request to the text of a message: parsed, cleaned, counted, or
//! refused in Telegram's words.

use super::entity::{Entity, Style, keep_the_first};
use super::request::Parameters;
use super::{html, markdown, markdown_v2};
use serde_json::Value;

/// In Unicode code points, after parsing.
pub const MOST_CODE_POINTS: usize = 4096;
/// Of the parameter as it came.
pub const MOST_RAW_BYTES: usize = 32_768;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) content: String,
    pub(super) entities: Vec<Entity>,
    /// Entities past the hundredth.
    pub(super) dropped: usize,
}

/// The text of a message; else the description of a 400, without its `Bad Request: `. Its length is
/// looked at later: see [`fits`].
pub(super) fn of(parameters: &Parameters) -> Result<Text, String> {
    let raw = parameters.get("text").unwrap_or_default();
    if raw.is_empty() {
        return Err("message text is empty".to_owned());
    }
    if raw.len() > MOST_RAW_BYTES {
        return Err("text is too long".to_owned());
    }
    let mode = parameters.get("parse_mode").unwrap_or_default();
    let parsed = match mode.to_ascii_lowercase().as_str() {
        "" | "none" => entities_of(parameters, raw).map(|entities| (raw.to_owned(), entities))?,
        "html" => complained(html::parse(raw))?,
        "markdown" => complained(markdown::parse(raw))?,
        "markdownv2" => complained(markdown_v2::parse(raw))?,
        _ => return Err("unsupported parse_mode".to_owned()),
    };
    let (content, mut entities) = trimmed(&clean(&parsed.0), parsed.1);
    let dropped = keep_the_first(&mut entities);
    Ok(Text {
        content,
        entities,
        dropped,
    })
}

/// What Telegram looks at once it knows the chat.
pub(super) fn fits(text: &str) -> Result<(), String> {
    if text.chars().all(is_invisible) {
        return Err("text must be non-empty".to_owned());
    }
    if text.chars().count() > MOST_CODE_POINTS {
        return Err("message is too long".to_owned());
    }
    Ok(())
}

fn complained<T>(parsed: Result<T, String>) -> Result<T, String> {
    parsed.map_err(|complaint| format!("can't parse entities: {complaint}"))
}

/// The `entities` parameter: each must lie on whole characters of the text.
fn entities_of(parameters: &Parameters, text: &str) -> Result<Vec<Entity>, String> {
    let Some(given) = parameters.get("entities").filter(|given| !given.is_empty()) else {
        return Ok(Vec::new());
    };
    let unreadable = |what: &str| format!("can't parse entities: {what}");
    let Ok(Value::Array(list)) = serde_json::from_str(given) else {
        return Err(unreadable("expected an Array of MessageEntity"));
    };
    let borders = borders(text);
    let mut entities = Vec::new();
    for entity in &list {
        // Kinds that Telegram finds by itself, such as `url`, are taken and forgotten.
        let Some(kind) = entity["type"].as_str() else {
            let what = "can't parse MessageEntity: Field \"type\" must be of type String";
            return Err(unreadable(what));
        };
        let number = |name: &str| entity[name].as_u64().and_then(|n| usize::try_from(n).ok());
        let (Some(offset), Some(length)) = (number("offset"), number("length")) else {
            return Err("ENTITY_BOUNDS_INVALID".to_owned());
        };
        let end = offset.saturating_add(length);
        if [offset, end]
            .iter()
            .any(|at| borders.binary_search(at).is_err())
        {
            return Err(out_of_bounds(offset, end, &borders));
        }
        let detail = |name: &str| entity[name].as_str().map(str::to_owned);
        let detail = detail("url").or_else(|| detail("language"));
        let Some(style) = Style::named(kind) else {
            continue;
        };
        entities.push(Entity {
            style,
            offset,
            length,
            detail: detail.unwrap_or_default(),
        });
    }
    Ok(entities)
}

fn out_of_bounds(offset: usize, end: usize, borders: &[usize]) -> String {
    let length = borders.last().copied().unwrap_or(0);
    if offset > length {
        format!("entity begins after the end of the text at UTF-16 offset {offset}")
    } else if end > length {
        format!(
            "entity beginning at UTF-16 offset {offset} ends after the end of the text at UTF-16 \
             offset {end}"
        )
    } else if borders.binary_search(&offset).is_err() {
        "entity begins in a middle of a UTF-16 symbol".to_owned()
    } else {
        format!("entity beginning at UTF-16 offset {offset} ends in a middle of a UTF-16 symbol")
    }
}

/// The UTF-16 offsets at which a character begins, and the end.
fn borders(text: &str) -> Vec<usize> {
    let mut at = 0;
    let ends = text.chars().map(|character| {
        at += character.len_utf16();
        at
    });
    std::iter::once(0).chain(ends.collect::<Vec<_>>()).collect()
}

/// Control characters become spaces, one for one; the offsets stay as they are.
fn clean(text: &str) -> String {
    let is_control = |c: char| c < ' ' && c != '\n';
    text.replace(is_control, " ")
}

/// Without whitespace at the end, nor at the start before the first entity.
fn trimmed(text: &str, mut entities: Vec<Entity>) -> (String, Vec<Entity>) {
    let first = entities.iter().map(|entity| entity.offset).min();
    let mut skipped = 0;
    let kept = text.trim_start_matches(|character: char| {
        let white = matches!(character, ' ' | '\n') && first.is_none_or(|first| skipped < first);
        skipped += usize::from(white);
        white
    });
    let skipped = text.len() - kept.len(); // of one unit each
    let kept = kept.trim_end_matches([' ', '\n']);
    let length = kept.encode_utf16().count();
    for entity in &mut entities {
        let end = (entity.offset + entity.length)
            .saturating_sub(skipped)
            .min(length);
        entity.offset = entity.offset.saturating_sub(skipped).min(length);
        entity.length = end - entity.offset;
    }
    (kept.to_owned(), entities)
}

/// A message of nothing else is empty.
fn is_invisible(character: char) -> bool {
    character.is_whitespace()
        || matches!(
            character,
            '\u{00ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{2064}' | '\u{2800}' | '\u{feff}' | '\u{fffc}'
        )
}
