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
            let sender = self.channels.sender_of(names.first()?);
            Some(match gate.scope.as_str() {
                "channel" => format!("the channel {}", names.join(", ")),
                "bot" => format!("{sender} of {}", names.join(", ")),
                _ => format!(
                    "everything that is sent through {sender} of {}",
                    names.join(", ")
                ),
            })
        };
        let named = match gate.scope.as_str() {
            "channel" => channels_with(|keys| &keys.channel),
            "bot" => channels_with(|keys| &keys.bot),
            "method" => channels_with(|keys| &keys.method),
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

#[cfg(test)]
mod tests {
    use super::*;
    use shared::config::{Program, Surroundings};
    use std::path::Path;

    #[test]
    fn a_gate_is_named_by_what_a_person_has_configured() {
        let text = "default_channel = 'ops'\n\
            [channel.ops]\nkind = 'telegram'\ntoken_file = 't'\nchat_id = 1\n\
            [channel.team]\nkind = 'telegram'\ntoken_file = 't'\nchat_id = 2\n\
            [channel.phone]\nkind = 'ntfy'\ntopic = 'x'\n\
            [channel.mail]\nkind = 'email'\nsmtp = 'smtp://mail.example.net'\nfrom = 'a@example.net'\nto = ['b@example.net']\n";
        let around = Surroundings {
            directory: Path::new("/nowhere"),
            credentials: None,
            program: Program::Ingest,
        };
        let gates = Gates::of(&Config::parse(text, &around).unwrap());
        let named = |channel: &str, scope: &str| {
            let place = gates.places.iter().find(|to| to.channel == channel);
            let keys = gates.channels.keys(place.unwrap());
            let key = match scope {
                "channel" => keys.channel,
                "bot" => keys.bot,
                _ => keys.method,
            };
            gates.whom(&Gate {
                scope: scope.to_owned(),
                key,
                closed_until: Timestamp::EPOCH,
                breaker: "open".to_owned(),
                reason: None,
                refused_since: None,
            })
        };
        assert_eq!(named("team", "bot"), "the bot of ops, team");
        assert_eq!(named("phone", "bot"), "the account of phone");
        assert_eq!(
            named("mail", "method"),
            "everything that is sent through the account of mail"
        );
        assert_eq!(named("mail", "channel"), "the channel mail");
    }
}
