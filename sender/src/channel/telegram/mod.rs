//! The Telegram channel: a delivery becomes one or a few messages, one in a flight; a refusal that
//! proves that nothing was sent is mended and sent again at once.

pub mod classify;
pub mod letter;
pub mod look;
pub mod wire;

use super::http::Wire;
use crate::policy::limiter::Limits;
use crate::render;
use crate::render::telegram::Post;
use classify::{Answer, Follows, Repair, Ruling, classify, fault};
use letter::Letter;
use serde_json::{Map, Value};
use shared::config::Telegram as Configured;
use shared::model::{Blame, Content, Delivery, Fault, Hold, Outcome, Receipt};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::timeout;
use wire::{Bot, Key};

/// After this long the outcome is unknown: longer than the file with the token, a question, one
/// exchange, and a question after it may take, each within its own limit.
pub const DEADLINE: Duration = Duration::from_secs(60);
/// To read the token.
const UNLOCK: Duration = Duration::from_secs(5);
/// A question that tells whether the bot is to blame.
const QUESTION: Duration = Duration::from_secs(4);
/// The most new ids of one chat that are followed.
const RENAMES: usize = 8;
/// The most repairs in one flight.
const REPAIRS: usize = 8;

#[derive(Debug)]
pub struct Telegram {
    bot: Bot,
    configured: Configured,
    /// Groups that were upgraded, by their old id.
    renamed: Mutex<BTreeMap<String, String>>,
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
            renamed: Mutex::default(),
        }
    }

    /// Sends the next message of the delivery, repairs included.
    pub async fn send(&self, delivery: &Delivery) -> Flown {
        let chat = &self.current(&delivery.destination.chat_id);
        let letters = match self.letters(delivery, chat) {
            Ok(letters) => letters,
            Err(why) => return ended(Outcome::Rejected(fault(Blame::Message, why))),
        };
        let key = match self.unlock().await {
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
            && let Err(fault) = self.probe_in_time().await
        {
            // A question that changes nothing goes before a copy that may be one too many: while
            // the server is not well, copies would only be multiplied.
            return ended(Outcome::Deferred(fault));
        }
        let flight = Flight {
            key: &key,
            letters,
            migrated_to: None,
        };
        let mut flown = flight.fly().await;
        self.ask_before_blaming_the_bot(&mut flown).await;
        flown
    }

    async fn probe_in_time(&self) -> Result<(), Fault> {
        let probe = timeout(QUESTION, self.probe()).await;
        probe.unwrap_or_else(|_elapsed| {
            let why = "a question was not answered in time".to_owned();
            Err(Fault {
                hold: Some(Hold::Down),
                ..fault(Blame::Channel, why)
            })
        })
    }

    /// A group was upgraded: what is meant for `old` goes to `new`.
    pub fn rename(&self, old: &str, new: &str) {
        if old == self.configured.chat_id {
            tracing::warn!(
                "the group {old} was upgraded and is now {new}; write that into the configuration"
            );
        }
        let mut renamed = self.renamed.lock().unwrap_or_else(PoisonError::into_inner);
        renamed.insert(old.to_owned(), new.to_owned());
    }

    /// The id that a chat has by now.
    pub fn current(&self, chat: &str) -> String {
        let renamed = self.renamed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut current = chat;
        for _ in 0..RENAMES {
            match renamed.get(current) {
                Some(next) => current = next,
                None => break,
            }
        }
        current.to_owned()
    }

    /// A server that answers a question is not down, and a bot that it answers to is not refused: then
    /// the fault is the message's, or the chat's, and the others go on. When it asks the bot to wait,
    /// that is what is wrong.
    async fn ask_before_blaming_the_bot(&self, flown: &mut Flown) {
        let Outcome::Deferred(fault) = &mut flown.outcome else {
            return;
        };
        if !matches!(fault.hold, Some(Hold::Down | Hold::Stopped)) {
            return;
        }
        match timeout(QUESTION, self.probe()).await {
            Ok(Ok(())) => {}
            Ok(Err(asked)) if asked.hold == Some(Hold::RateLimited) => {
                fault.retry_after = asked.retry_after;
                if fault.hold == Some(Hold::Down) {
                    fault.hold = asked.hold;
                }
                return;
            }
            Ok(Err(_)) | Err(_) => return,
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
    /// Why not, without the token; held against the bot if against anybody, for no chat was named.
    pub async fn probe(&self) -> Result<(), Fault> {
        let asked = self.ask("getMe", &Map::new()).await;
        asked.map(|_| ()).map_err(|fault| Fault {
            blame: Blame::Channel,
            hold: fault.hold.filter(|hold| *hold != Hold::Suspended),
            maybe_delivered: false,
            ..fault
        })
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
        let key = self.unlock().await.map_err(stopped)?;
        let answer = key.call(method, body).await;
        if let Some(result) = result_of(&answer) {
            return Ok(result);
        }
        match classify(&answer).outcome {
            Outcome::Deferred(fault) | Outcome::Rejected(fault) => Err(fault),
            Outcome::Delivered(_) | Outcome::Begun(..) => Ok(Value::Null),
        }
    }

    async fn unlock(&self) -> Result<Key<'_>, String> {
        let key = timeout(UNLOCK, self.bot.unlock()).await;
        key.unwrap_or_else(|_elapsed| Err("the token file could not be read in time".to_owned()))
    }

    /// What is to be sent, the next message first. Only that may have arrived before, and is marked
    /// then.
    fn letters(&self, delivery: &Delivery, chat: &str) -> Result<VecDeque<Letter>, String> {
        let rest = rest_of(delivery, chat);
        // Somebody else's rest: the whole goes out, and a part of it has arrived before.
        let is_repeat = delivery.possible_repeat || (rest.is_none() && !delivery.rest.is_empty());
        let mut letters = match rest {
            Some(rest) => rest,
            None => self.whole(delivery, chat)?,
        };
        if is_repeat && let Some(first) = letters.pop_front() {
            letters.push_front(first.marked());
        }
        Ok(letters)
    }

    fn letter(&self, post: Post, delivery: &Delivery, chat: &str) -> Letter {
        let Configured { thread, silent, .. } = &self.configured;
        // The topic is one of the configured chat.
        let thread = thread.filter(|_| chat == self.current(&self.configured.chat_id));
        let silent = silent.contains(&delivery.priority);
        Letter::of_post(post, chat, thread, silent)
    }

    fn whole(&self, delivery: &Delivery, chat: &str) -> Result<VecDeque<Letter>, String> {
        match &delivery.content {
            Content::Alert(alert) => {
                let posts = render::telegram::render(alert).into_iter();
                Ok(posts
                    .map(|post| self.letter(post, delivery, chat))
                    .collect())
            }
            Content::Digest(alerts) => {
                let post = render::digest::render(alerts);
                Ok(VecDeque::from([self.letter(post, delivery, chat)]))
            }
            Content::Raw { body, .. } => Letter::of_raw(body, chat).map(VecDeque::from),
            Content::Unreadable(why) => Err(why.clone()),
        }
    }
}

/// What is left of a delivery that was begun; `None` when nothing of it was sent.
fn rest_of(delivery: &Delivery, chat: &str) -> Option<VecDeque<Letter>> {
    let restored = |kept: &String| Some(Letter::restored(kept)?.to(chat));
    let rest: Option<VecDeque<Letter>> = delivery.rest.iter().map(restored).collect();
    rest.filter(|rest| !rest.is_empty())
}

/// One message on its way, and those behind it.
struct Flight<'f> {
    key: &'f Key<'f>,
    letters: VecDeque<Letter>,
    migrated_to: Option<i64>,
}

impl Flight<'_> {
    async fn fly(mut self) -> Flown {
        let mut repairs = 0;
        while let Some(letter) = self.letters.front() {
            let answer = self.key.call("sendMessage", letter.body()).await;
            let Ruling { outcome, follows } = classify(&answer);
            match outcome {
                Outcome::Delivered(receipt) => {
                    self.letters.pop_front();
                    return self.arrived(receipt);
                }
                Outcome::Deferred(fault) if fault.maybe_delivered => {
                    return self.ends(Outcome::Deferred(fault), follows);
                }
                refused => {
                    if repairs == REPAIRS || !self.mend(follows) {
                        return self.ends(refused, follows);
                    }
                    repairs += 1;
                }
            }
        }
        let nothing = fault(Blame::Message, "there is nothing to send".to_owned());
        self.ends(Outcome::Rejected(nothing), Follows::Nothing)
    }

    /// What is left is kept as it would be sent, whatever a later version makes of its alert.
    fn arrived(self, receipt: Receipt) -> Flown {
        let rest: Vec<String> = self.letters.iter().map(Letter::kept).collect();
        let outcome = if rest.is_empty() {
            Outcome::Delivered(receipt)
        } else {
            Outcome::Begun(receipt, rest)
        };
        self.ends(outcome, Follows::Nothing)
    }

    /// Puts something better in the place of the letter that was refused, if there is something.
    fn mend(&mut self, follows: Follows) -> bool {
        let Follows::Repair(repair) = follows else {
            return false;
        };
        let refused = self.letters.front();
        let Some(better) = refused.and_then(|letter| letter.repaired(repair)) else {
            return false;
        };
        self.letters.pop_front();
        for letter in better.into_iter().rev() {
            self.letters.push_front(letter);
        }
        if let Repair::Migrate(id) = repair {
            self.migrated_to = Some(id);
        }
        true
    }

    fn ends(&self, outcome: Outcome, follows: Follows) -> Flown {
        let shown = |fault: Fault| Fault {
            detail: self.key.without_token(&fault.detail),
            ..fault
        };
        let outcome = match outcome {
            Outcome::Deferred(fault) => Outcome::Deferred(shown(fault)),
            Outcome::Rejected(fault) => Outcome::Rejected(shown(fault)),
            arrived @ (Outcome::Delivered(_) | Outcome::Begun(..)) => arrived,
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
