//! Faults that a stand-in commits on purpose: for a chat or the whole bot, in the order scripted, so
//! many times or for so long.

use super::refusal::Refusal;
use shared::model::Timestamp;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// One fault. It meets every request of the bot until [`in_chat`](Self::in_chat) says otherwise, and
/// once until [`times`](Self::times) or [`lasting`](Self::lasting).
#[derive(Clone, Debug)]
pub struct Fault {
    pub(super) scope: Scope,
    pub(super) what: What,
    /// The request is judged as usual and must pass before the fault shows: what is refused anyway is
    /// answered as usual, and the fault waits for the next.
    pub(super) accepts: bool,
    span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Scope {
    Bot,
    /// `sendMessage` to this chat.
    Chat(i64),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Refuse(&'static Refusal),
    Flood(Duration),
    Upgrade {
        to: i64,
    },
    /// An HTML page of the proxy in front.
    Page(u16),
    /// The connection is reset.
    Cut,
    /// The connection is reset in the middle of the true answer.
    CutAmid,
    Hang,
    /// The true answer, later.
    Hold(Duration),
    /// The first half of the true answer, as if it were all.
    Half,
    /// 200 and nothing that anybody could read.
    Garbage,
}

#[derive(Clone, Copy, Debug)]
enum Span {
    Times(u32),
    /// From the first request that it meets.
    For(Duration),
}

impl Fault {
    fn new(what: What) -> Self {
        Self {
            scope: Scope::Bot,
            what,
            accepts: matches!(what, What::CutAmid | What::Hold(_) | What::Half),
            span: Span::Times(1),
        }
    }

    /// A row of the table.
    pub fn refuse(name: &str) -> Self {
        Self::refused(Refusal::named(name))
    }

    pub fn refused(refusal: &'static Refusal) -> Self {
        Self {
            accepts: refusal.was_sent,
            ..Self::new(What::Refuse(refusal))
        }
    }

    /// 429 from the first request that it meets until so many seconds later, with what is left.
    pub fn flood(seconds: u64) -> Self {
        Self::new(What::Flood(Duration::from_secs(seconds)))
    }

    /// From its next message on, the group is a supergroup with this id.
    pub fn upgraded(group: i64, to: i64) -> Self {
        Self::new(What::Upgrade { to }).in_chat(group)
    }

    /// An HTML page from nginx: 502, 503, 504; a 429 among them says nothing about how long.
    pub fn page(status: u16) -> Self {
        Self::new(What::Page(status))
    }

    /// The request is read and dropped, the connection reset.
    pub fn reset_before() -> Self {
        Self::new(What::Cut)
    }

    /// The message is sent, the connection reset without an answer.
    pub fn reset_after() -> Self {
        Self::new(What::Cut).after_acceptance()
    }

    /// The message is sent, the connection reset in the middle of the answer.
    pub fn reset_amid() -> Self {
        Self::new(What::CutAmid)
    }

    /// No answer, ever; nothing is sent.
    pub fn hang() -> Self {
        Self::new(What::Hang)
    }

    /// No answer, ever, though the message is sent.
    pub fn hang_after() -> Self {
        Self::new(What::Hang).after_acceptance()
    }

    /// The message is sent at once, and the answer comes so much later by the stand-in's clock: what
    /// Telegram does with waits of up to 8 s.
    pub fn hold(time: Duration) -> Self {
        Self::new(What::Hold(time))
    }

    /// The message is sent, the answer half a JSON object.
    pub fn half() -> Self {
        Self::new(What::Half)
    }

    /// 200 with something else; nothing is sent.
    pub fn garbage() -> Self {
        Self::new(What::Garbage)
    }

    /// The message is sent, and only then the fault shows.
    #[must_use]
    pub fn after_acceptance(mut self) -> Self {
        self.accepts = true;
        self
    }

    /// For `sendMessage` to this chat alone.
    #[must_use]
    pub fn in_chat(mut self, chat_id: i64) -> Self {
        self.scope = Scope::Chat(chat_id);
        self
    }

    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.span = Span::Times(times);
        self
    }

    /// From the first request that it meets, by the stand-in's clock.
    #[must_use]
    pub fn lasting(mut self, time: Duration) -> Self {
        self.span = Span::For(time);
        self
    }
}

/// Faults by chance, of those requests that meet no scripted one.
#[derive(Clone, Debug)]
pub struct Storm {
    pub seed: u64,
    /// On average one `sendMessage` in so many meets a fault.
    pub one_in: u32,
    /// Drawn from with equal chance; their scope and span do not count.
    pub faults: Vec<Fault>,
    /// None: it does not end.
    pub ends: Option<Timestamp>,
}

impl Storm {
    /// One in ten, of what happens by itself and passes by itself.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            one_in: 10,
            faults: vec![
                Fault::page(502),
                Fault::page(504).after_acceptance(),
                Fault::refuse("restart"),
                Fault::refuse("restart").after_acceptance(),
                Fault::reset_before(),
                Fault::reset_after(),
                Fault::reset_amid(),
                Fault::half(),
                Fault::garbage(),
            ],
            ends: None,
        }
    }
}

/// What is still to come.
#[derive(Debug, Default)]
pub(super) struct Script {
    queues: HashMap<Scope, VecDeque<Pending>>,
    storm: Option<(fastrand::Rng, Storm)>,
}

#[derive(Debug)]
struct Pending {
    fault: Fault,
    left: u32,
    ends: Option<Timestamp>,
}

impl Script {
    pub(super) fn new(storm: Option<Storm>) -> Self {
        let mut script = Self::default();
        script.storm(storm);
        script
    }

    pub(super) fn storm(&mut self, storm: Option<Storm>) {
        self.storm = storm.map(|storm| (fastrand::Rng::with_seed(storm.seed), storm));
    }

    pub(super) fn add(&mut self, fault: Fault) {
        let left = match fault.span {
            Span::Times(times) => times,
            Span::For(_) => 1,
        };
        let queue = self.queues.entry(fault.scope).or_default();
        queue.push_back(Pending {
            fault,
            left,
            ends: None,
        });
    }

    /// How many are not yet through.
    pub(super) fn left(&self) -> usize {
        self.queues.values().map(VecDeque::len).sum()
    }

    /// The fault that this request meets, if it lets it: the bot's first, then the chat's, then
    /// chance. `sending` names the chat of a `sendMessage`.
    pub(super) fn next(&mut self, sending: Option<i64>, now: Timestamp) -> Option<Fault> {
        let scopes = [Some(Scope::Bot), sending.map(Scope::Chat)];
        for queue in scopes.into_iter().flatten() {
            let Some(queue) = self.queues.get_mut(&queue) else {
                continue;
            };
            let is_over =
                |first: &Pending| first.left == 0 || first.ends.is_some_and(|ends| now >= ends);
            while queue.front().is_some_and(is_over) {
                queue.pop_front();
            }
            if let Some(first) = queue.front() {
                return Some(first.fault.clone());
            }
        }
        let chat_id = sending?;
        let (chance, storm) = self.storm.as_mut()?;
        let is_over = storm.ends.is_some_and(|ends| now >= ends);
        if is_over || storm.faults.is_empty() || chance.u32(..storm.one_in.max(1)) != 0 {
            return None;
        }
        let drawn = &storm.faults[chance.usize(..storm.faults.len())];
        Some(drawn.clone().in_chat(chat_id).times(0))
    }

    /// The fault showed.
    pub(super) fn spend(&mut self, fault: &Fault, now: Timestamp) {
        let drawn = matches!(fault.span, Span::Times(0));
        let Some(queue) = self.queues.get_mut(&fault.scope).filter(|_| !drawn) else {
            return;
        };
        let Some(first) = queue.front_mut() else {
            return;
        };
        match fault.span {
            Span::Times(_) => first.left = first.left.saturating_sub(1),
            Span::For(time) => {
                first.ends.get_or_insert(now + time);
            }
        }
        if first.left == 0 {
            queue.pop_front();
        }
    }
}
