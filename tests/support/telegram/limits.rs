//! Telegram's documented limits, kept to the millisecond: when the next message may come, and which
//! limit a list of messages broke.

use shared::model::Timestamp;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// Past so many chats those without a recent message are forgotten.
const MOST_CHATS: usize = 10_000;

/// How fast messages may come; None for a limit that is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub chat: Option<Pace>,
    /// In each group and supergroup.
    pub group: Option<Window>,
    /// Of all chats together.
    pub bot: Option<Window>,
}

/// One every so often; `burst` at once after a rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    pub every: Duration,
    pub burst: u32,
}

/// At most so many in any stretch of that length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub most: usize,
    pub within: Duration,
}

impl Default for Limits {
    /// As documented (DELIVERY A1.1), with "short bursts" of three in a chat.
    fn default() -> Self {
        Self {
            chat: Some(Pace {
                every: Duration::from_secs(1),
                burst: 3,
            }),
            group: Some(Window {
                most: 20,
                within: Duration::from_secs(60),
            }),
            bot: Some(Window {
                most: 30,
                within: Duration::from_secs(1),
            }),
        }
    }
}

impl Limits {
    /// As documented, to the letter: never two messages within a second in a chat.
    pub fn strict() -> Self {
        Self::default().burst(1)
    }

    /// Takes whatever comes.
    pub const NONE: Self = Self {
        chat: None,
        group: None,
        bot: None,
    };

    #[must_use]
    pub fn burst(mut self, burst: u32) -> Self {
        if let Some(pace) = &mut self.chat {
            pace.burst = burst;
        }
        self
    }
}

/// Which limit it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Chat,
    Group,
    Bot,
}

/// A message that came too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breach {
    pub limit: Limit,
    pub chat_id: i64,
    pub at: Timestamp,
    /// How much later it should have come.
    pub early_by: Duration,
}

/// What was sent when, as far as a limit asks.
#[derive(Debug)]
pub(super) struct Meter {
    limits: Limits,
    /// When each chat has rested.
    rested: HashMap<i64, Timestamp>,
    groups: HashMap<i64, VecDeque<Timestamp>>,
    bot: VecDeque<Timestamp>,
}

impl Meter {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            rested: HashMap::new(),
            groups: HashMap::new(),
            bot: VecDeque::new(),
        }
    }

    /// The limit that stands longest in the way of a message now, and for how long.
    pub(super) fn wait(
        &self,
        chat_id: i64,
        in_group: bool,
        now: Timestamp,
    ) -> Option<(Limit, Duration)> {
        let chat = self.limits.chat.map(|pace| {
            let credit = pace.every * pace.burst.saturating_sub(1);
            let rested = self.rested.get(&chat_id).copied().unwrap_or_default();
            (Limit::Chat, rested.minus(credit).since(now))
        });
        let group = self.limits.group.filter(|_| in_group).map(|window| {
            let log = self.groups.get(&chat_id);
            (
                Limit::Group,
                log.map_or(Duration::ZERO, |log| window.wait(log, now)),
            )
        });
        let bot = self
            .limits
            .bot
            .map(|window| (Limit::Bot, window.wait(&self.bot, now)));
        [chat, group, bot]
            .into_iter()
            .flatten()
            .filter(|(_, wait)| !wait.is_zero())
            .max_by_key(|(_, wait)| *wait)
    }

    pub(super) fn spend(&mut self, chat_id: i64, in_group: bool, now: Timestamp) {
        if let Some(pace) = self.limits.chat {
            self.forget(now);
            let rested = self.rested.entry(chat_id).or_insert(now);
            // What came too early leaves no debt beyond its own.
            let most = now + pace.every * pace.burst;
            *rested = ((*rested).max(now) + pace.every).min(most);
        }
        if let Some(window) = self.limits.group.filter(|_| in_group) {
            window.push(self.groups.entry(chat_id).or_default(), now);
        }
        if let Some(window) = self.limits.bot {
            window.push(&mut self.bot, now);
        }
    }

    fn forget(&mut self, now: Timestamp) {
        if self.rested.len() < MOST_CHATS {
            return;
        }
        self.rested.retain(|_, rested| *rested > now);
        if let Some(window) = self.limits.group {
            let recent = |last: &Timestamp| now.since(*last) < window.within;
            self.groups.retain(|_, log| log.back().is_some_and(recent));
        }
    }
}

impl Window {
    fn wait(self, log: &VecDeque<Timestamp>, now: Timestamp) -> Duration {
        let decisive = log.len().checked_sub(self.most).and_then(|at| log.get(at));
        decisive.map_or(Duration::ZERO, |then| (*then + self.within).since(now))
    }

    fn push(self, log: &mut VecDeque<Timestamp>, now: Timestamp) {
        log.push_back(now);
        if log.len() > self.most {
            log.pop_front();
        }
    }
}

/// Every message, given as chat, whether it is a group, and time, that came too early after those
/// before it.
pub(super) fn breaches(
    limits: Limits,
    messages: impl IntoIterator<Item = (i64, bool, Timestamp)>,
) -> Vec<Breach> {
    let mut meter = Meter::new(limits);
    let mut breaches = Vec::new();
    for (chat_id, in_group, at) in messages {
        if let Some((limit, early_by)) = meter.wait(chat_id, in_group, at) {
            breaches.push(Breach {
                limit,
                chat_id,
                at,
                early_by,
            });
        }
        meter.spend(chat_id, in_group, at);
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_unix_millis(millis)
    }

    #[test]
    fn a_message_a_millisecond_early_is_a_breach_and_says_so() {
        let early = |millis| {
            breaches(
                Limits::strict(),
                [(7, false, at(10_000)), (7, false, at(millis))],
            )
        };
        assert_eq!(early(11_000), []);
        let breach = Breach {
            limit: Limit::Chat,
            chat_id: 7,
            at: at(10_999),
            early_by: Duration::from_millis(1),
        };
        assert_eq!(early(10_999), [breach]);
    }

    #[test]
    fn a_window_slides() {
        let limits = Limits {
            chat: None,
            ..Limits::default()
        };
        // Twenty spread over 57 s; the next is due 60 s after the first, the one after 60 s after the
        // second.
        let twenty = (0..20).map(|n| (-5, true, at(1000 + n * 3000)));
        let and = |more: &[i64]| {
            let more: Vec<_> = more.iter().map(|millis| (-5, true, at(*millis))).collect();
            breaches(limits, twenty.clone().chain(more))
        };
        assert_eq!(and(&[61_000, 64_000, 67_000]), []);
        let late: Vec<_> = and(&[60_999, 64_000])
            .iter()
            .map(|b| (b.limit, b.at))
            .collect();
        assert_eq!(late, [(Limit::Group, at(60_999))]);
        let late: Vec<_> = and(&[61_000, 63_000])
            .iter()
            .map(|b| (b.at, b.early_by))
            .collect();
        assert_eq!(late, [(at(63_000), SECOND)]);
    }

    #[test]
    fn thirty_chats_a_second_and_no_more() {
        let chats = |count: i64| (1..=count).map(|chat| (chat, false, at(5_000)));
        assert_eq!(breaches(Limits::default(), chats(30)), []);
        let broken = breaches(Limits::default(), chats(31));
        assert_eq!(broken.len(), 1);
        assert_eq!((broken[0].limit, broken[0].chat_id), (Limit::Bot, 31));
    }
}
