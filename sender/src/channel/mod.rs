//! The channels: each one file of wire and one pure `classify`. A channel never sees the store.

pub mod console;
pub mod email;
pub mod http;
pub mod look;
pub mod ntfy;
pub mod telegram;

use crate::policy::limiter::Limits;
use crate::render;
use console::Console;
use email::Email;
use http::Wire;
use ntfy::Ntfy;
use shared::config::{Channel as Configured, ChannelKind, Digests};
use shared::model::{Alert, Blame, Delivery, Destination, Fault, Outcome, Timestamp};
use shared::platform::term::Style;
use shared::policy::text::span;
use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::time::Duration;
use telegram::Telegram;

/// How one delivery leaves the house.
#[derive(Debug)]
pub enum Channel {
    Console(Console),
    Email(Box<Email>),
    Telegram(Box<Telegram>),
    Ntfy(Box<Ntfy>),
}

impl Channel {
    /// After this long without an answer the outcome is unknown.
    fn deadline(&self) -> Duration {
        match self {
            Self::Console(_) => console::DEADLINE,
            Self::Email(_) => email::DEADLINE,
            Self::Telegram(_) => telegram::DEADLINE,
            Self::Ntfy(_) => ntfy::DEADLINE,
        }
    }

    async fn send(&self, delivery: &Delivery, now: Timestamp) -> Sent {
        match self {
            Self::Console(console) => console.send(delivery).await.into(),
            Self::Email(email) => email.send(delivery).await.into(),
            Self::Ntfy(ntfy) => ntfy.send(delivery, now).await.into(),
            Self::Telegram(telegram) => {
                let flown = telegram.send(delivery).await;
                Sent {
                    outcome: flown.outcome,
                    renamed: flown.migrated_to.map(|id| id.to_string()),
                }
            }
        }
    }
}

/// What came of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub outcome: Outcome,
    /// The chat has this id from now on.
    pub renamed: Option<String>,
}

impl From<Outcome> for Sent {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            renamed: None,
        }
    }
}

/// The configured channels by name.
#[derive(Debug)]
pub struct Channels {
    by_name: BTreeMap<String, Channel>,
    /// The names of the channels of each bot.
    by_bot: BTreeMap<String, Vec<String>>,
    destinations: Vec<Destination>,
    has_limits: bool,
    digests: Option<Digests>,
}

impl Channels {
    pub fn open(configured: &[Configured], output: &console::Output, style: Style) -> Self {
        let wire = LazyCell::new(Wire::open);
        let open = |channel: &Configured| match &channel.kind {
            ChannelKind::Console => Channel::Console(Console::new(output.clone(), style)),
            ChannelKind::Email(configured) => {
                Channel::Email(Box::new(Email::new((**configured).clone())))
            }
            ChannelKind::Telegram(configured) => {
                let telegram = Telegram::new(Wire::clone(&wire), (**configured).clone());
                Channel::Telegram(Box::new(telegram))
            }
            ChannelKind::Ntfy(configured) => {
                let ntfy = Ntfy::new(Wire::clone(&wire), (**configured).clone());
                Channel::Ntfy(Box::new(ntfy))
            }
        };
        let mut channels = Self {
            by_name: configured
                .iter()
                .map(|channel| (channel.name.clone(), open(channel)))
                .collect(),
            by_bot: BTreeMap::new(),
            destinations: configured.iter().map(Configured::destination).collect(),
            has_limits: true,
            digests: None,
        };
        for channel in configured {
            let bot = channels.bot(&channel.name);
            let of_this_bot = channels.by_bot.entry(bot).or_default();
            of_this_bot.push(channel.name.clone());
        }
        channels
    }

    /// The same, sending as fast as it can, to measure that against a server of our own. On purpose
    /// no setting leads here: Telegram would close the chats, then the bot.
    #[must_use]
    pub fn without_limits(self) -> Self {
        Self {
            has_limits: false,
            ..self
        }
    }

    /// The same, folding what waits for one chat.
    #[must_use]
    pub fn with_digests(self, digests: Option<Digests>) -> Self {
        Self { digests, ..self }
    }

    /// How alerts for that channel are folded; `None`: they are not.
    pub fn digests(&self, channel: &str) -> Option<Digests> {
        match self.by_name.get(channel)? {
            Channel::Console(_) => None,
            Channel::Email(_) | Channel::Telegram(_) | Channel::Ntfy(_) => self.digests,
        }
    }

    /// How many of `alerts`, in their order, go into each digest of one window.
    pub fn digest_sizes(&self, channel: &str, alerts: &[Alert]) -> Vec<usize> {
        let most = self.digests(channel).map_or(0, |it| it.max_messages);
        match self.by_name.get(channel) {
            Some(Channel::Email(_)) => render::email::sizes(alerts.len(), most),
            Some(Channel::Ntfy(_)) => render::ntfy::digest::sizes(alerts, most),
            _ => render::digest::sizes(alerts, most),
        }
    }

    pub fn is_configured(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Where the death of a delivery is told: on another channel. `None`: there is no other.
    pub fn notices(&self, failed: &str) -> Option<&Destination> {
        self.elsewhere(failed).next()
    }

    /// On which channels something about `failed` can be told: first those that do not share its bot.
    pub fn elsewhere(&self, failed: &str) -> impl Iterator<Item = &Destination> {
        let others = self
            .destinations
            .iter()
            .filter(move |to| to.channel != failed);
        let sharing = self.sharing(failed);
        let (beside, beyond): (Vec<_>, Vec<_>) =
            others.partition(|to| sharing.contains(&to.channel));
        beyond.into_iter().chain(beside)
    }

    /// Where it is told that the whole bot of `failed` gets nothing through.
    pub fn beyond(&self, failed: &str) -> Option<&Destination> {
        let sharing = self.sharing(failed);
        self.elsewhere(failed)
            .find(|to| !sharing.contains(&to.channel))
    }

    /// Under which name the bot's gates are kept: channels of one bot share them.
    pub fn bot(&self, channel: &str) -> String {
        match self.by_name.get(channel) {
            Some(Channel::Telegram(telegram)) => telegram.bot(),
            Some(Channel::Email(email)) => email.account(),
            Some(Channel::Ntfy(ntfy)) => ntfy.visitor(),
            Some(Channel::Console(_)) | None => channel.to_owned(),
        }
    }

    /// What a person calls that which its channels share.
    pub fn sender_of(&self, channel: &str) -> &'static str {
        match self.by_name.get(channel) {
            Some(Channel::Telegram(_)) => "the bot",
            Some(Channel::Email(_) | Channel::Ntfy(_)) => "the account",
            Some(Channel::Console(_)) | None => "the console",
        }
    }

    /// The channels of the same bot, this one among them.
    pub fn sharing(&self, channel: &str) -> &[String] {
        let names = self.by_bot.get(&self.bot(channel));
        names.map(Vec::as_slice).unwrap_or_default()
    }

    /// What the other side allows; `None`: everything.
    pub fn limits(&self, to: &Destination) -> Option<Limits> {
        match self.by_name.get(&to.channel)? {
            Channel::Console(_) => None,
            Channel::Email(email) => self.has_limits.then(|| email.limits()),
            Channel::Telegram(telegram) => self.has_limits.then(|| telegram.limits(&to.chat_id)),
            Channel::Ntfy(ntfy) => self.has_limits.then(|| ntfy.limits()),
        }
    }

    /// The id that a chat has by now, when it is another one.
    pub fn renamed(&self, to: &Destination) -> Option<String> {
        let Some(Channel::Telegram(telegram)) = self.by_name.get(&to.channel) else {
            return None;
        };
        Some(telegram.current(&to.chat_id)).filter(|current| *current != to.chat_id)
    }

    /// The chat `old` of a bot has the id `new` from now on, for all channels of that bot.
    pub fn rename(&self, bot: &str, old: &str, new: &str) {
        for channel in self.by_name.values() {
            if let Channel::Telegram(telegram) = channel
                && telegram.bot() == bot
            {
                telegram.rename(old, new);
            }
        }
    }

    /// The new ids that chats were found to have, by the names of the gates of the old.
    pub fn recall(&self, renamed: Vec<(String, String)>) {
        for (gate, new) in renamed {
            for channel in self.by_name.values() {
                if let Channel::Telegram(telegram) = channel
                    && let Some(old) = gate.strip_prefix(&format!("{}/", telegram.bot()))
                {
                    telegram.rename(old, &new);
                }
            }
        }
    }

    /// Sends within the channel's deadline, beginning `now`.
    pub async fn send(&self, delivery: &Delivery, now: Timestamp) -> Sent {
        let Some(channel) = self.by_name.get(&delivery.destination.channel) else {
            return Sent::from(Outcome::Deferred(Fault {
                blame: Blame::Channel,
                hold: None,
                retry_after: None,
                maybe_delivered: false,
                detail: "the channel is not configured".to_owned(),
            }));
        };
        let deadline = channel.deadline();
        match tokio::time::timeout(deadline, channel.send(delivery, now)).await {
            Ok(sent) => sent,
            Err(_elapsed) => Sent::from(Outcome::Deferred(Fault {
                blame: Blame::Channel,
                hold: None,
                retry_after: None,
                maybe_delivered: true,
                detail: format!("no answer within {}", span(deadline)),
            })),
        }
    }
}
