//! A publication as it goes over the wire, and what can be taken from it when it is refused.

use super::classify::Repair;
use crate::render::ntfy::Note;
use serde_json::{Value, json};
use shared::model::{Content, Delivery, Priority};

/// One publication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    topic: String,
    priority: Priority,
    note: Note,
    /// Under the same a repeat takes the place of what the phone shows already.
    sequence_id: Option<String>,
    is_bare: bool,
    is_short: bool,
}

impl Letter {
    pub fn new(note: Note, delivery: &Delivery) -> Self {
        Self {
            topic: delivery.destination.chat_id.clone(),
            priority: delivery.priority,
            note,
            sequence_id: Some(sequence_id(delivery)),
            is_bare: false,
            is_short: false,
        }
    }

    pub fn sequence_id(&self) -> Option<&str> {
        self.sequence_id.as_deref()
    }

    /// The JSON that is posted to the root of the server.
    pub fn body(&self) -> String {
        let mut body = json!({"topic": self.topic, "message": self.note.message()});
        let mut add = |field: &str, value: Value| {
            if let Some(body) = body.as_object_mut() {
                body.insert(field.to_owned(), value);
            }
        };
        if let Some(sequence_id) = &self.sequence_id {
            add("sequence_id", json!(sequence_id));
        }
        if !self.is_bare {
            add("priority", json!(number(self.priority)));
            if !self.note.title.is_empty() {
                add("title", json!(self.note.title));
            }
            let tags: Vec<&String> = self
                .note
                .tags
                .iter()
                .filter(|tag| !tag.is_empty())
                .collect();
            if !tags.is_empty() {
                add("tags", json!(tags));
            }
            if let Some(link) = &self.note.click {
                add("click", json!(link));
                add(
                    "actions",
                    json!([{"action": "view", "label": "Open", "url": link}]),
                );
            }
        }
        body.to_string()
    }

    /// Changed so that it may pass; `None`: that was done already.
    pub fn repaired(&self, repair: Repair) -> Option<Self> {
        let mut better = self.clone();
        match repair {
            Repair::Bare if !self.is_bare => {
                better.is_bare = true;
                better.note = better.note.bare();
            }
            Repair::Shorter if !self.is_short => {
                better.is_short = true;
                better.note = better.note.shorter();
            }
            Repair::NoSequence => {
                better.sequence_id.take()?;
            }
            Repair::Bare | Repair::Shorter => return None,
        }
        Some(better)
    }
}

/// ntfy's: 5 rings until somebody looks, 2 makes no sound.
fn number(priority: Priority) -> u8 {
    match priority {
        Priority::Critical => 5,
        Priority::High => 4,
        Priority::Normal => 3,
        Priority::Low => 2,
    }
}

/// The same for every copy of a row, and of no other: its number, and something of what is in it, should
/// the database be a new one. Letters, digits and hyphens, at most 64 (`server/server.go`).
fn sequence_id(delivery: &Delivery) -> String {
    let within = match &delivery.content {
        Content::Alert(alert) => alert.short_id.clone(),
        Content::Digest(alerts) => {
            let first = alerts.first().map(|alert| alert.short_id.as_str());
            first.unwrap_or_default().to_owned()
        }
        Content::Raw { body, .. } | Content::Unreadable(body) => format!("{:08x}", print(body)),
    };
    let plain = within.chars().filter(char::is_ascii_alphanumeric);
    let within: String = plain.take(12).collect();
    format!("watchalert-{}-{within}", delivery.id)
}

/// FNV-1a, which is the same in every version of this program.
fn print(text: &str) -> u32 {
    let add = |print: u32, byte: u8| (print ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    text.bytes().fold(0x811c_9dc5, add)
}

#[cfg(test)]
mod tests;
