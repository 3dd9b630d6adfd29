//! What the stand-in remembers: every request, every message that it sent, every 429.

use super::chats::ChatKind;
use super::entity::Entity;
use super::limits::Limit;
use super::markup::Button;
use super::request::Parameters;
use serde_json::Value;
use shared::model::Timestamp;
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// A message that arrived on the phone, whatever its sender was told.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub chat_id: i64,
    pub chat_kind: ChatKind,
    pub message_id: i64,
    pub at: Timestamp,
    /// After parsing, as it is read.
    pub text: String,
    /// The parameter as it came.
    pub raw: String,
    pub entities: Vec<Entity>,
    /// Entities past the hundredth: gone, and nobody was told.
    pub entities_dropped: usize,
    pub buttons: Vec<Vec<Button>>,
    /// By `disable_notification`.
    pub silent: bool,
    pub thread: Option<i64>,
    pub link_preview_options: Option<Value>,
    /// Somebody deleted it at once, and the sender was told so.
    pub deleted: bool,
}

/// A request, and how it was answered. Its token is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub at: Timestamp,
    /// `GET` or `POST`.
    pub verb: String,
    /// As it came: `sendMessage`; empty for a path that is no call.
    pub method: String,
    pub parameters: Parameters,
    /// None where no answer went out whole: a reset, a silence.
    pub status: Option<u16>,
    /// Of the message that was sent.
    pub message_id: Option<i64>,
    /// The description of a refusal, or the fault.
    pub remark: String,
    /// When the answer went out, or will, or the client gave up; None while it waits in silence.
    pub over_at: Option<Timestamp>,
}

impl Asked {
    pub fn chat(&self) -> Option<&str> {
        self.parameters.get("chat_id")
    }

    /// Somebody waits for its answer.
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.over_at.is_none_or(|over_at| over_at > now)
    }
}

impl fmt::Display for Asked {
    /// One line: `12:00:01.250  POST sendMessage chat 42  200  message 7  "text"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.at.unix_millis().rem_euclid(86_400_000);
        let (seconds, millis) = (millis / 1000, millis % 1000);
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        write!(f, "{hours:02}:{minutes:02}:{:02}.{millis:03}", seconds % 60)?;
        write!(f, "  {} {}", self.verb, self.method.escape_debug())?;
        if let Some(chat) = self.chat() {
            write!(f, " chat {}", chat.escape_debug())?;
        }
        match self.status {
            Some(status) => write!(f, "  {status}")?,
            None => f.write_str("  ---")?,
        }
        if let Some(id) = self.message_id {
            write!(f, "  message {id}")?;
        }
        if !self.remark.is_empty() {
            write!(f, "  {}", self.remark.replace(char::is_control, " "))?;
        }
        let text = self.parameters.get("text").unwrap_or_default();
        if !text.is_empty() {
            let start: String = text.chars().take(80).collect();
            let more = if start.len() < text.len() { "…" } else { "" };
            write!(f, "  {start:?}{more}")?;
        }
        Ok(())
    }
}

/// A 429 that went out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flooded {
    pub at: Timestamp,
    /// None when it was no `sendMessage`.
    pub chat_id: Option<i64>,
    pub retry_after: u64,
    /// The limit that was hit; None for one from the script.
    pub limit: Option<Limit>,
    /// To the millisecond.
    pub wait: Duration,
}

/// The records, with an end: past it the oldest go.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) requests: Log<Asked>,
    pub(super) messages: Log<Message>,
    pub(super) floods: Log<Flooded>,
}

#[derive(Debug)]
pub(super) struct Log<T> {
    entries: VecDeque<(T, usize)>,
    bytes: usize,
    forgotten: usize,
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
            bytes: 0,
            forgotten: 0,
        }
    }
}

impl<T: Clone> Log<T> {
    const MOST_BYTES: usize = 64 * 1024 * 1024;

    /// `bytes` is what it holds beside itself.
    pub(super) fn push(&mut self, entry: T, bytes: usize) {
        let bytes = bytes + size_of::<T>();
        self.entries.push_back((entry, bytes));
        self.bytes += bytes;
        while self.bytes > Self::MOST_BYTES {
            let Some((_, bytes)) = self.entries.pop_front() else {
                break;
            };
            self.bytes -= bytes;
            self.forgotten += 1;
        }
    }

    /// The entry that was the `number`th, counted from 1.
    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        let place = number.checked_sub(self.forgotten + 1)?;
        self.entries.get_mut(place).map(|(entry, _)| entry)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(entry, _)| entry)
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut T> {
        self.entries.back_mut().map(|(entry, _)| entry)
    }

    /// # Panics
    /// When some are gone: a test that counts must not count what is left.
    pub(super) fn all(&self) -> Vec<T> {
        assert_eq!(self.forgotten, 0, "more came than the stand-in remembers");
        self.entries
            .iter()
            .map(|(entry, _)| entry.clone())
            .collect()
    }

    pub(super) fn len(&self) -> usize {
        self.forgotten + self.entries.len()
    }
}
