//! The Telegram channel: a delivery becomes one or a few messages, each sent once; a refusal that
//! proves that nothing was sent is mended and sent again at once.

pub mod classify;
pub mod letter;
mod progress;
pub mod wire;

use crate::policy::limiter::Limits;
use crate::render;
use classify::{Answer, Follows, Repair, Ruling, classify, fault};
use letter::Letter;
use progress::{Left, Progress};
use serde_json::{Map, Value};
use shared::config::Telegram as Configured;
use shared::model::{Blame, Content, Delivery, Fault, Hold, Outcome, Receipt};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::timeout;
use wire::{Bot, Key, Wire};

/// After this long the outcome is unknown; longer than one exchange may take.
pub const DEADLINE: Duration = Duration::from_secs(45);
/// Between two messages of one delivery; Telegram allows one a second to a chat, and two that
/// leave 1.00 s apart may arrive closer.
const GAP: Duration = Duration::from_millis(1_050);
/// A question that tells whether the bot is to blame.
const QUESTION: Duration = Duration::from_secs(4);
/// The most repairs in one flight.
const REPAIRS: usize = 8;

#[derive(Debug)]
pub struct Telegram {
    bot: Bot,
    configured: Configured,
    progress: Progress,
    /// Groups that were upgraded since the start, by their old id.
    moved: Mutex<BTreeMap<String, String>>,
}

/// What came of one flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flown {
    pub outcome: Outcome,
    /// What the last answer asks for beyond this delivery.
    pub follows: Follows,
    /// The chat has this id from now on.
    pub migrated_to: Option<i64>,
}

/// Telegram limits groups otherwise than private chats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatKind {
    Private,
    Group,
    Supergroup,
    Channel,
}

impl Telegram {
    pub fn new(wire: Wire, configured: Configured) -> Self {
        let (api_url, token) = (configured.api_url.clone(), configured.token.clone());
        Self {
            bot: Bot::new(wire, api_url, token),
            configured,
            progress: Progress::default(),
            moved: Mutex::default(),
        }
    }

    /// Sends, repairs included.
    pub async fn send(&self, delivery: &Delivery) -> Flown {
        let whole = match self.letters(delivery) {
            Ok(whole) => whole,
            Err(why) => return ended(Outcome::Rejected(fault(Blame::Message, why))),
        };
        let key = match self.bot.unlock().await {
            Ok(key) => key,
            Err(why) => {
                return Flown {
                    follows: Follows::StopBot,
                    ..ended(Outcome::Deferred(Fault {
                        hold: Some(Hold::Stopped),
                        ..fault(Blame::Channel, why)
                    }))
                };
            }
        };
        if delivery.unknown_outcomes > 0
            && let Err(fault) = self.probe().await
        {
            // A question that changes nothing goes before a copy that may be one too many: while
            // the server is not well, copies would only be multiplied.
            return ended(Outcome::Deferred(Fault {
                maybe_delivered: false,
                ..fault
            }));
        }
        let left = self.left(delivery, &whole);
        let flight = Flight {
            key: &key,
            row: delivery.id,
            whole: &whole,
            left,
            migrated_to: None,
        };
        let mut flown = flight.fly(&self.progress).await;
        self.ask_before_blaming_the_bot(&mut flown).await;
        if let Some(id) = flown.migrated_to {
            self.remember(&delivery.destination.chat_id, id);
        }
        if matches!(flown.outcome, Outcome::Delivered(_)) {
            self.progress.forget(delivery.id);
        }
        flown
    }

    /// A server that answers a question is not down, and a bot that it answers to is not refused: then
    /// the fault is the message's, or the chat's, and the others go on.
    async fn ask_before_blaming_the_bot(&self, flown: &mut Flown) {
        let Outcome::Deferred(fault) = &mut flown.outcome else {
            return;
        };
        let blamed = matches!(fault.hold, Some(Hold::Down | Hold::Stopped));
        if !blamed || !matches!(timeout(QUESTION, self.probe()).await, Ok(Ok(()))) {
            return;
        }
        if fault.hold == Some(Hold::Stopped) {
            flown.follows = Follows::Nothing;
            flown.outcome = Outcome::Rejected(Fault {
                blame: Blame::Ours,
                hold: None,
                ..fault.clone()
            });
        } else {
            fault.hold = None;
        }
    }

    /// Under which name the gates of this bot are kept: two channels with one token share them.
    pub fn bot(&self) -> String {
        format!(
            "{} of {}",
            self.configured.token.place(),
            self.configured.api_url
        )
    }

    /// Users have positive ids, groups and channels negative ones; a name may be either, and the
    /// limits of a group are the narrower.
    pub fn limits(&self, chat: &str) -> Limits {
        match self.current(chat).parse::<i64>() {
            Ok(id) if id > 0 => Limits::PRIVATE,
            _ => Limits::GROUP,
        }
    }

    /// Whether the token is good, without sending anything.
    ///
    /// # Errors
    /// Why not, without the token.
    pub async fn probe(&self) -> Result<(), Fault> {
        self.ask("getMe", &Map::new()).await.map(|_| ())
    }

    /// What kind of chat it is.
    ///
    /// # Errors
    /// The refusal, which is most often about the chat.
    pub async fn chat_kind(&self, chat: &str) -> Result<Option<ChatKind>, Fault> {
        let body = Map::from_iter([("chat_id".to_owned(), letter::chat_id(chat))]);
        let chat = self.ask("getChat", &body).await?;
        Ok(match chat.get("type").and_then(Value::as_str) {
            Some("private") => Some(ChatKind::Private),
            Some("group") => Some(ChatKind::Group),
            Some("supergroup") => Some(ChatKind::Supergroup),
            Some("channel") => Some(ChatKind::Channel),
            _ => None,
        })
    }

    /// A question that changes nothing; its `result`.
    async fn ask(&self, method: &str, body: &Map<String, Value>) -> Result<Value, Fault> {
        let stopped = |why| Fault {
            hold: Some(Hold::Stopped),
            ..fault(Blame::Channel, why)
        };
        let key = self.bot.unlock().await.map_err(stopped)?;
        let answer = key.call(method, body).await;
        if let Some(result) = result_of(&answer) {
            return Ok(result);
        }
        match classify(&answer).outcome {
            Outcome::Deferred(fault) | Outcome::Rejected(fault) => Err(fault),
            Outcome::Delivered(_) => Ok(Value::Null),
        }
    }

    /// The whole delivery, unmarked.
    fn letters(&self, delivery: &Delivery) -> Result<Vec<Letter>, String> {
        let asked = &delivery.destination.chat_id;
        let chat = self.current(asked);
        match &delivery.content {
            Content::Alert(alert) => {
                let Configured { thread, silent, .. } = &self.configured;
                // The topic is one of the configured chat.
                let thread = thread.filter(|_| *asked == self.configured.chat_id);
                let silent = silent.contains(&delivery.priority);
                let posts = render::telegram::render(alert).into_iter();
                let letter = |post| Letter::of_post(post, &chat, thread, silent);
                Ok(posts.map(letter).collect())
            }
            Content::Raw { body, .. } => Letter::of_raw(body, &chat),
            Content::Unreadable(why) => Err(why.clone()),
        }
    }

    /// What to send now. Only what may have arrived is marked.
    fn left(&self, delivery: &Delivery, whole: &[Letter]) -> Left {
        let repeat = delivery.possible_repeat;
        match self.progress.resume(delivery.id, whole) {
            Some(mut left) => {
                if repeat
                    && left.unsure
                    && let Some(first) = left.letters.pop_front()
                {
                    left.letters.push_front(first.marked());
                }
                left
            }
            None => Left {
                letters: if repeat {
                    whole.iter().cloned().map(Letter::marked).collect()
                } else {
                    whole.iter().cloned().collect()
                },
                ..Left::default()
            },
        }
    }

    fn current(&self, chat: &str) -> String {
        let moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        moved.get(chat).map_or(chat, String::as_str).to_owned()
    }

    fn remember(&self, chat: &str, id: i64) {
        tracing::warn!(
            "the group {chat} was upgraded and is now {id}; write that into the configuration"
        );
        let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        moved.insert(chat.to_owned(), id.to_string());
    }
}

/// One delivery on its way.
struct Flight<'f> {
    key: &'f Key<'f>,
    row: i64,
    whole: &'f [Letter],
    left: Left,
    migrated_to: Option<i64>,
}

impl Flight<'_> {
    async fn fly(mut self, progress: &Progress) -> Flown {
        let mut repairs = 0;
        let mut is_second = false;
        while let Some(letter) = self.left.letters.front() {
            if is_second {
                tokio::time::sleep(GAP).await;
            }
            self.left.unsure = true;
            progress.keep(self.row, self.whole, &self.left);
            let answer = self.key.call("sendMessage", letter.body()).await;
            let Ruling { outcome, follows } = classify(&answer);
            match outcome {
                Outcome::Delivered(receipt) => {
                    self.left.receipts.push(receipt.message_id);
                    self.left.letters.pop_front();
                    self.left.unsure = false;
                    progress.keep(self.row, self.whole, &self.left);
                    is_second = true;
                }
                Outcome::Deferred(fault) if fault.maybe_delivered => {
                    return self.ends(Outcome::Deferred(fault), follows);
                }
                refused => {
                    self.left.unsure = false;
                    progress.keep(self.row, self.whole, &self.left);
                    if repairs == REPAIRS || !self.mend(follows) {
                        return self.ends(refused, follows);
                    }
                    repairs += 1;
                    is_second = false;
                }
            }
        }
        let message_id = self.left.receipts.join(",");
        self.ends(Outcome::Delivered(Receipt { message_id }), Follows::Nothing)
    }

    /// Puts something better in the place of the letter that was refused, if there is something.
    fn mend(&mut self, follows: Follows) -> bool {
        let Follows::Repair(repair) = follows else {
            return false;
        };
        let refused = self.left.letters.front();
        let Some(better) = refused.and_then(|letter| letter.repaired(repair)) else {
            return false;
        };
        self.left.letters.pop_front();
        for letter in better.into_iter().rev() {
            self.left.letters.push_front(letter);
        }
        if let Repair::Migrate(id) = repair {
            self.migrated_to = Some(id);
            let letters = std::mem::take(&mut self.left.letters).into_iter();
            self.left.letters = letters.map(|letter| letter.to(&id.to_string())).collect();
        }
        true
    }

    fn ends(&self, outcome: Outcome, follows: Follows) -> Flown {
        let shown = |fault: Fault| Fault {
            detail: self.key.without_token(&fault.detail),
            partly: !self.left.receipts.is_empty(),
            ..fault
        };
        let outcome = match outcome {
            Outcome::Deferred(fault) => Outcome::Deferred(shown(fault)),
            Outcome::Rejected(fault) => Outcome::Rejected(shown(fault)),
            delivered @ Outcome::Delivered(_) => delivered,
        };
        Flown {
            outcome,
            follows,
            migrated_to: self.migrated_to,
        }
    }
}

/// What a question was answered with, when it was.
fn result_of(answer: &Answer) -> Option<Value> {
    let Answer::Reply(reply) = answer else {
        return None;
    };
    let body: Value = serde_json::from_slice(&reply.body).ok()?;
    (body.get("ok") == Some(&Value::Bool(true)))
        .then(|| body.get("result").cloned())
        .flatten()
}

fn ended(outcome: Outcome) -> Flown {
    Flown {
        outcome,
        follows: Follows::Nothing,
        migrated_to: None,
    }
}

#[cfg(test)]
mod tests;
