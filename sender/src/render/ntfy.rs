//! From a delivery to what an ntfy topic shows: one notification, whose message is counted in bytes.
//!
//! A server makes an attachment of a message that fills its buffer of 4,096 bytes, without a word
//! (ntfy `util/peek.go`), and shows "triggered" in place of an empty one.

pub mod digest;

use super::link::{is_invisible, web_link};
use super::sources;
use super::split::visible;
use super::telegram::{REPEAT, marker, short_id};
use shared::model::{Alert, Content, Delivery};
use shared::policy::text::shorten;

/// Bytes of a message that stays one.
pub const LIMIT: usize = 4_095;
/// Of a message that was too long for a server all the same.
const SHORT: usize = 1_000;

/// The most characters of each field; the summary may fill the message.
const TITLE: usize = 250;
const SOURCE: usize = 150;
const REASON: usize = 250;
const NO_LINK: usize = 250;
/// Bytes of a link that is spelled out in the message.
const SPELLED_OUT: usize = 1_000;
/// Characters of a tag.
const TAG: usize = 40;

/// One notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Empty: the phone shows the topic.
    pub title: String,
    /// What stands before and behind the text, and is never cut.
    head: String,
    text: String,
    tail: String,
    /// Bytes that the message may have.
    room: usize,
    /// Where a tap leads.
    pub click: Option<String>,
    /// None with a comma, at which the server would split it.
    pub tags: Vec<String>,
}

/// The notification for a delivery; a repeat has the same, with [`REPEAT`] first of all.
///
/// # Errors
/// The reason, when the payload cannot be understood.
pub fn render(delivery: &Delivery) -> Result<Note, String> {
    let mut note = match &delivery.content {
        Content::Alert(alert) => of_alert(alert),
        Content::Digest(alerts) => digest::render(alerts),
        Content::Raw { text, body } => of_text(text.as_deref().unwrap_or(body)),
        Content::Unreadable(why) => return Err(why.clone()),
    };
    if delivery.possible_repeat {
        let first = if note.title.is_empty() {
            &mut note.head
        } else {
            &mut note.title
        };
        first.insert_str(0, REPEAT);
    }
    Ok(note)
}

impl Note {
    pub(super) fn new(title: String, text: String) -> Self {
        Self {
            title,
            head: String::new(),
            text,
            tail: String::new(),
            room: LIMIT,
            click: None,
            tags: Vec::new(),
        }
    }

    /// Never empty, and never longer than a message may be.
    pub fn message(&self) -> String {
        let around = self.head.len() + self.tail.len();
        let text = cut(&self.text, self.room.saturating_sub(around));
        let message = format!("{}{text}{}", self.head, self.tail);
        match cut(message.trim(), self.room) {
            empty if empty.is_empty() => "(no text)".to_owned(),
            message => message,
        }
    }

    /// All in the message, for when the rest is refused.
    #[must_use]
    pub fn bare(self) -> Self {
        let mut bare = Self {
            title: String::new(),
            click: None,
            tags: Vec::new(),
            ..self
        };
        if !self.title.is_empty() {
            bare.head.insert_str(0, &format!("{}\n", self.title));
        }
        let link = self.click.filter(|link| link.len() <= SPELLED_OUT);
        if let Some(link) = link {
            bare.tail = format!("{}\n{link}", bare.tail);
        }
        bare
    }

    /// With a message that is surely short.
    #[must_use]
    pub fn shorter(self) -> Self {
        Self {
            room: SHORT,
            ..self
        }
    }
}

fn of_alert(alert: &Alert) -> Note {
    let source = shorten(&visible(&sources(alert)), SOURCE);
    let link = alert.link.as_deref().map(|link| (web_link(link), link));
    let mut tail = Vec::new();
    if let Some((None, text)) = link {
        tail.push(shorten(&visible(text), NO_LINK));
    }
    let reason = shorten(&visible(&alert.reason), REASON);
    if !reason.is_empty() {
        tail.push(format!("why: {reason}"));
    }
    tail.push(short_id(alert));
    let summary = alert.summary.lines().map(visible);
    let summary = summary.filter(|line| !line.is_empty());
    let lines: Vec<String> = std::iter::once(String::new()).chain(summary).collect();
    Note {
        head: format!("{} · {source}", alert.category),
        tail: format!("\n{}", tail.join("\n")),
        click: link.and_then(|(url, _)| url).map(str::to_owned),
        tags: vec![
            alert.severity.to_string(),
            alert.category.to_string(),
            tag(&alert.source),
        ],
        ..Note::new(heading(alert), lines.join("\n"))
    }
}

/// `■ CRITICAL A flaw`
fn heading(alert: &Alert) -> String {
    let severity = alert.severity.name().to_uppercase();
    let title = shown_title(alert, TITLE);
    format!("{} {severity} {title}", marker(alert.severity))
}

fn shown_title(alert: &Alert, most: usize) -> String {
    match shorten(&visible(&alert.title), most) {
        empty if empty.is_empty() => "(no title)".to_owned(),
        title => title,
    }
}

/// A tag is one word or a few; at a comma the server would split it.
fn tag(text: &str) -> String {
    shorten(&visible(&text.replace(',', " ")), TAG)
}

/// A raw text keeps its lines, but none of what drives a terminal or turns the direction.
fn of_text(text: &str) -> Note {
    let shown = |c: &char| matches!(c, '\n' | '\t') || !(c.is_control() || is_invisible(*c));
    Note::new(String::new(), text.chars().filter(shown).collect())
}

/// At most so many bytes, cut between two characters, with a word about what is missing.
fn cut(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    let told = |left_out: usize| format!(" [cut here, {left_out} characters more]");
    let end = room.saturating_sub(told(text.chars().count()).len());
    let kept = text
        .get(..text.floor_char_boundary(end))
        .unwrap_or_default();
    let kept = kept.trim_end();
    let left_out = text.chars().count() - kept.chars().count();
    format!("{kept}{}", told(left_out))
}

#[cfg(test)]
mod tests;
