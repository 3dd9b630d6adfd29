//! `[channel.NAME]` and `default_channel`: where alerts can go.

use super::Surroundings;
use super::email::{self, Email};
use super::ntfy::{self, Ntfy};
use super::reader::{Read, Section};
use super::suggest::instead_of;
use super::telegram::{self, Telegram};
use super::value::text;
use crate::model::Destination;
use toml::de::DeValue;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Letters, digits, `_` and `-`; no other channel has it.
    pub name: String,
    pub kind: ChannelKind,
}

impl Channel {
    /// Where what is said once goes: the first of [`destinations`](Self::destinations).
    pub fn destination(&self) -> Destination {
        let chat_id = match &self.kind {
            // There is one standard output.
            ChannelKind::Console => "-",
            ChannelKind::Email(email) => email.to.first().map_or("", String::as_str),
            ChannelKind::Telegram(telegram) => &telegram.chat_id,
            ChannelKind::Ntfy(ntfy) => &ntfy.topic,
        };
        self.place(chat_id)
    }

    /// Where alerts go that only name the channel, the first first: a row for each, so that one that
    /// is refused keeps no other from its own.
    pub fn destinations(&self) -> Vec<Destination> {
        match &self.kind {
            ChannelKind::Email(email) => email.to.iter().map(|to| self.place(to)).collect(),
            _ => vec![self.destination()],
        }
    }

    fn place(&self, chat_id: &str) -> Destination {
        Destination {
            channel: self.name.clone(),
            chat_id: chat_id.to_owned(),
        }
    }
}

/// What kind of channel it is, with what that kind needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    /// Prints to standard output.
    Console,
    /// Writes mails.
    Email(Box<Email>),
    /// Writes to a Telegram chat as a bot.
    Telegram(Box<Telegram>),
    /// Publishes to a topic of an ntfy server.
    Ntfy(Box<Ntfy>),
}

/// The channels, in the order of their names.
pub(super) struct Channels<'r> {
    /// Also of channels that were refused, so that routes to them are not refused for that.
    pub(super) names: Vec<&'r str>,
    pub(super) sound: Vec<Channel>,
}

impl Channels<'_> {
    /// The name of a channel that is configured.
    pub(super) fn named_by(&self, value: &DeValue<'_>) -> Read<String> {
        let name = text(value)?;
        // Without any channel that is the problem, not this.
        if self.names.is_empty() || self.names.contains(&name.as_str()) {
            Ok(name)
        } else {
            let instead = instead_of(&name, self.names.iter().copied());
            Err(format!("unknown channel {name:?}{instead}"))
        }
    }
}

pub(super) fn read_all<'r>(root: &mut Section<'r>, around: &Surroundings<'_>) -> Channels<'r> {
    let mut channels = Channels {
        names: Vec::new(),
        sound: Vec::new(),
    };
    let known = root.problems();
    for (name, section) in root.named_tables("channel") {
        channels.names.push(name);
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || !name.chars().all(plain) {
            section.refuse_whole("a channel's name is letters, digits, _ and - only; rename it");
        }
        let kind = read_kind(section, around);
        channels.sound.extend(kind.map(|kind| Channel {
            name: name.to_owned(),
            kind,
        }));
    }
    if channels.names.is_empty() && root.problems() == known {
        let what = "no channel is configured; add [channel.screen] with kind = \"console\"";
        root.refuse("channel", what);
    }
    channels
}

fn read_kind(mut section: Section<'_>, around: &Surroundings<'_>) -> Option<ChannelKind> {
    const KINDS: [&str; 4] = ["console", "telegram", "ntfy", "email"];
    let missing = format!("is missing; write one of: {}", KINDS.join(", "));
    let name = section.need("kind", &missing, |value| {
        let name = text(value)?;
        match KINDS.into_iter().find(|kind| *kind == name) {
            Some(kind) => Ok(kind),
            None => Err(format!("unknown kind {name:?}{}", instead_of(&name, KINDS))),
        }
    })?;
    // Only now: which keys there are depends on the kind.
    let kind = match name {
        "email" => email::read(&mut section, around)
            .map(Box::new)
            .map(ChannelKind::Email),
        "telegram" => telegram::read(&mut section, around)
            .map(Box::new)
            .map(ChannelKind::Telegram),
        "ntfy" => ntfy::read(&mut section, around)
            .map(Box::new)
            .map(ChannelKind::Ntfy),
        _ => Some(ChannelKind::Console),
    };
    section.finish();
    kind
}

pub(super) fn read_default(root: &mut Section<'_>, channels: &Channels<'_>) -> Option<String> {
    let chosen = root.get("default_channel", |value| channels.named_by(value));
    let names = &channels.names;
    match names.as_slice() {
        [only] if !root.has("default_channel") => Some((*only).to_owned()),
        [_, _, ..] if !root.has("default_channel") => {
            let what = format!(
                "is missing, and there are several channels; name one of: {}",
                names.join(", ")
            );
            root.refuse("default_channel", what);
            None
        }
        _ => chosen,
    }
}
