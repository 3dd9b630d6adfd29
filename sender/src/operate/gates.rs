//! Closed gates in the words of the configuration: whom each of them keeps waiting.

use crate::channel::Channels;
use crate::channel::console::Output;
use shared::config::{Channel, Config};
use shared::model::{Destination, GateKeys, Gatekeeper, Timestamp};
use shared::platform::term::Style;
use shared::store::status::{Backlog, Gate};
use std::io;

/// The configured channels, to ask them for the names of their gates.
pub(crate) struct Gates {
    channels: Channels,
    places: Vec<Destination>,
}

impl Gates {
    pub(crate) fn of(config: &Config) -> Self {
        let nowhere = Output::new(io::sink());
        Self {
            channels: Channels::open(&config.channels, &nowhere, Style::default()),
            places: config.channels.iter().map(Channel::destination).collect(),
        }
    }

    /// "the chat ops/7001", "the bot of ops"; the gate's own name when no channel is configured that
    /// goes through it.
    pub(crate) fn whom(&self, gate: &Gate) -> String {
        let channels_with = |key: fn(&GateKeys) -> &String| -> Option<String> {
            let has_it = |to: &&Destination| *key(&self.channels.keys(to)) == gate.key;
            let names = self.places.iter().filter(has_it);
            let names: Vec<&str> = names.map(|to| to.channel.as_str()).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        let named = match gate.scope.as_str() {
            "channel" => channels_with(|keys| &keys.channel).map(|of| format!("the channel {of}")),
            "bot" => channels_with(|keys| &keys.bot).map(|of| format!("the bot of {of}")),
            "method" => channels_with(|keys| &keys.method)
                .map(|of| format!("everything that is sent through the bot of {of}")),
            _ => self.chat(&gate.key),
        };
        named.unwrap_or_else(|| format!("{} {}", gate.scope, gate.key))
    }

    fn chat(&self, key: &str) -> Option<String> {
        self.places.iter().find_map(|to| {
            let chat = key.strip_prefix(&self.channels.keys(to).bot)?;
            let chat = chat.strip_prefix('/')?;
            Some(format!("the chat {}/{chat}", to.channel))
        })
    }

    /// When the next of what waits may go: not before the gates in front of it open.
    pub(super) fn next(&self, waiting: &Backlog, closed: &[Gate]) -> Timestamp {
        let opens = closed.iter().filter(|gate| self.is_before(gate, waiting));
        opens
            .map(|gate| gate.closed_until)
            .fold(waiting.next_due, Timestamp::max)
    }

    /// Whether any of what waits will wait until a person does something about a refusal.
    pub(super) fn need_a_person(&self, backlog: &[Backlog], closed: &[Gate]) -> bool {
        let mut refused = closed.iter().filter(|gate| gate.refused_since.is_some());
        refused.any(|gate| backlog.iter().any(|waiting| self.is_before(gate, waiting)))
    }

    fn is_before(&self, gate: &Gate, waiting: &Backlog) -> bool {
        let keys = self.channels.keys(&waiting.destination);
        match gate.scope.as_str() {
            "channel" => gate.key == keys.channel,
            "bot" => gate.key == keys.bot,
            "method" => gate.key == keys.method,
            _ => gate.key == keys.chat,
        }
    }
}
