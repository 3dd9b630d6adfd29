//! The limiter: may a delivery start now, and if not, when; pure, over gates that the store keeps.
//!
//! Two layers. For a chat: a gap between sends, and for groups so many in any minute, exactly, by
//! the times of the last sends. For the bot: a bucket (GCRA: one time says it all), so that many
//! chats together keep the bot's rate. Sources: DELIVERY A1.1 (documented limits), C1 and C6 (why
//! these forms, and the margins).

use shared::model::{Breaker, Gate, Gates, Pass, Priority, Timestamp};
use std::time::Duration;

/// What a channel's other side allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Between two sends of a chat, from the claim on; it holds while there is no answer.
    pub gap: Duration,
    /// The same from the answer, before which the other side has surely counted the send. How long a
    /// request was on its way there nobody knows, so this alone is exact.
    pub gap_from_answer: Duration,
    /// At most so many in any minute; groups have it, private chats do not.
    pub per_minute: Option<usize>,
    /// Of the bot, at its nominal rate.
    pub interval: Duration,
    /// So many may go at once after a pause.
    pub burst: u32,
}

/// A probe has this long before another may be sent.
const PROBE: Duration = Duration::from_secs(60);
const MINUTE: Duration = Duration::from_secs(60);
/// Of a group's minute, what low priority may fill: 16 of 20.
const LOW_SHARE: usize = 16;
/// Sends of the bot's burst that low priority leaves to others.
const LOW_RESERVE: u32 = 2;

/// Without limits: only what was closed keeps a delivery waiting.
pub fn pass_unlimited(gates: &Gates, now: Timestamp) -> Pass {
    let (chat, others) = (gates.chat.closed_until(now), closed_until(gates, now));
    wait(chat, others, now).unwrap_or_else(|| Pass::Now(Box::new(probing(gates, now))))
}

/// Until the chat's moment and that of what it shares with others have both come.
fn wait(chat: Timestamp, others: Timestamp, now: Timestamp) -> Option<Pass> {
    match chat.max(others) {
        at if at <= now => None,
        at if at == chat => Some(Pass::At(at)),
        at => Some(Pass::Held(at)),
    }
}

impl Limits {
    /// Telegram, a private chat: 1 a second, with a margin for what rounding takes; the bot 25 a second of "30 or so".
    pub const PRIVATE: Self = Self {
        gap: Duration::from_millis(1_050),
        gap_from_answer: Duration::from_millis(1_005),
        per_minute: None,
        interval: Duration::from_millis(40),
        burst: 5,
    };

    /// Telegram, a group: also 20 a minute.
    pub const GROUP: Self = Self {
        per_minute: Some(20),
        ..Self::PRIVATE
    };

    /// ntfy: a visitor has 60 requests at once and another each 5 s (server/config.go), of whatever
    /// topic; so many of the 60 are left to phones behind the same address, questions and repairs.
    pub const NTFY: Self = Self {
        gap: Duration::ZERO,
        gap_from_answer: Duration::ZERO,
        per_minute: None,
        interval: Duration::from_millis(5_250),
        burst: 45,
    };

    /// A mail account: at most so many in any minute. A third of them may go at once after a pause, the
    /// others are spread over the minute.
    pub fn mail(per_minute: usize) -> Self {
        let most = u32::try_from(per_minute).unwrap_or(u32::MAX).max(1);
        let burst = (most / 3).max(1);
        Self {
            gap: Duration::ZERO,
            gap_from_answer: Duration::ZERO,
            per_minute: None,
            interval: MINUTE / most.saturating_sub(burst).max(1),
            burst,
        }
    }

    /// Asks, and spends when the answer is yes.
    pub fn pass(&self, gates: &Gates, priority: Priority, now: Timestamp) -> Pass {
        let is_low = priority > Priority::Normal;
        let chat = gates
            .chat
            .closed_until(now)
            .max(gates.chat.next_at)
            .max(self.minute_free_at(&gates.chat, is_low));
        let others = closed_until(gates, now).max(self.bucket_free_at(&gates.bot, is_low));
        if let Some(wait) = wait(chat, others, now) {
            return wait;
        }
        let mut spent = probing(gates, now);
        spent.chat.next_at = now + stretched(self.gap, &gates.chat);
        if let Some(most) = self.per_minute {
            remember(&mut spent.chat.ring, now, most);
        }
        let interval = stretched(self.interval, &gates.bot);
        spent.bot.next_at = gates.bot.next_at.max(now) + interval;
        Pass::Now(Box::new(spent))
    }

    /// A request was written after `begun` and answered at `answered`, before which the other side has
    /// surely counted it: from then on the next one is free to the letter, whatever the network does.
    pub fn answered(&self, gates: &mut Gates, begun: Timestamp, answered: Timestamp) {
        let chat = &mut gates.chat;
        let next = answered + stretched(self.gap_from_answer, chat);
        // Somebody else may have claimed meanwhile: what they reserved is never taken back.
        let is_own = chat.next_at <= begun + stretched(self.gap, chat);
        chat.next_at = if is_own { next } else { chat.next_at.max(next) };
        if let Some(most) = self.per_minute {
            // The claim has counted it with a time at which it was not sent yet.
            if let Some(own) = chat.ring.iter().rposition(|at| *at <= begun) {
                chat.ring.remove(own);
            }
            remember(&mut chat.ring, answered, most);
            chat.ring.sort_unstable();
        }
    }

    /// Gates that a clock which went back left in the future would keep a chat waiting for days: the
    /// limiter's own times are never further ahead than it can have put them. Whoever asks keeps what this
    /// gives, or each later `now` would put them off again.
    pub fn believable(&self, gates: &Gates, now: Timestamp) -> Gates {
        let mut gates = gates.clone();
        let chat = now + stretched(self.gap, &gates.chat);
        gates.chat.next_at = gates.chat.next_at.min(chat);
        for sent in &mut gates.chat.ring {
            *sent = (*sent).min(now);
        }
        let bot = now + stretched(self.interval, &gates.bot) * (self.burst + 1);
        gates.bot.next_at = gates.bot.next_at.min(bot);
        gates
    }

    fn minute_free_at(&self, chat: &Gate, is_low: bool) -> Timestamp {
        let Some(most) = self.per_minute else {
            return Timestamp::EPOCH;
        };
        let most = if is_low { LOW_SHARE.min(most) } else { most };
        // The one whose minute must be over before there is room for another.
        let blocking = chat.ring.len().checked_sub(most);
        let blocking = blocking.and_then(|place| chat.ring.get(place));
        blocking.map_or(Timestamp::EPOCH, |sent| *sent + MINUTE)
    }

    fn bucket_free_at(&self, bot: &Gate, is_low: bool) -> Timestamp {
        let reserve = if is_low { LOW_RESERVE } else { 0 };
        let tolerance = self.burst.saturating_sub(1 + reserve);
        bot.next_at.minus(stretched(self.interval, bot) * tolerance)
    }
}

/// Until when the other side, a breaker or the operator closed what several chats share.
fn closed_until(gates: &Gates, now: Timestamp) -> Timestamp {
    let shared = [&gates.channel, &gates.bot, &gates.method];
    let until = shared.map(|gate| gate.closed_until(now));
    until.into_iter().max().unwrap_or_default()
}

/// A gate that was closed lets one delivery through, as a probe; the others wait for what becomes
/// of it. For a chat that needs no more than the one flight it has.
fn probing(gates: &Gates, now: Timestamp) -> Gates {
    let mut gates = gates.clone();
    for gate in [&mut gates.channel, &mut gates.bot, &mut gates.method] {
        if gate.breaker == Breaker::Open {
            gate.breaker = Breaker::HalfOpen;
            gate.block(now + PROBE, now);
        }
    }
    if gates.chat.breaker == Breaker::Open {
        gates.chat.breaker = Breaker::HalfOpen;
    }
    gates
}

fn stretched(nominal: Duration, gate: &Gate) -> Duration {
    nominal.mul_f64(gate.stretch.max(1.0))
}

fn remember(ring: &mut Vec<Timestamp>, now: Timestamp, most: usize) {
    ring.push(now);
    let surplus = ring.len().saturating_sub(most);
    ring.drain(..surplus);
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_unix_millis(1_796_025_600_000);

    /// Sends as early as allowed, each answered after `answer`; the seconds at which they start.
    fn schedule(limits: Limits, priority: Priority, count: usize, answer: Duration) -> Vec<f64> {
        let (mut gates, mut now, mut starts) = (Gates::default(), NOW, Vec::new());
        while starts.len() < count {
            match limits.pass(&gates, priority, now) {
                Pass::At(at) | Pass::Held(at) => now = at,
                Pass::Now(spent) => {
                    starts.push(now.since(NOW).as_secs_f64());
                    gates = *spent;
                    let written = now;
                    now = now + answer;
                    limits.answered(&mut gates, written, now);
                }
            }
        }
        starts
    }

    fn most_in_a_minute(starts: &[f64]) -> usize {
        let within = |from: &f64| {
            starts
                .iter()
                .filter(|at| (*from..from + 60.0).contains(*at))
                .count()
        };
        starts.iter().map(within).max().unwrap_or(0)
    }

    #[test]
    fn two_hundred_to_a_private_chat_take_the_limits_own_time_and_a_margin() {
        let starts = schedule(
            Limits::PRIVATE,
            Priority::High,
            200,
            Duration::from_millis(20),
        );
        let last = starts[199];
        assert!((199.0..=199.0 * 1.06).contains(&last), "{last}");
        let gaps = starts.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(gaps.fold(f64::MAX, f64::min) >= 1.0);
    }

    #[test]
    fn after_a_slow_answer_the_gap_counts_from_the_answer() {
        let starts = schedule(Limits::PRIVATE, Priority::High, 3, Duration::from_secs(8));
        assert_eq!(
            starts,
            [0.0, 9.005, 18.01],
            "when it reached the other side is not known"
        );
    }

    #[test]
    fn what_another_claim_reserved_meanwhile_is_not_taken_back() {
        let mut gates = Gates::default();
        let reserved = NOW + Duration::from_millis(2_100);
        gates.chat.next_at = reserved;
        Limits::PRIVATE.answered(&mut gates, NOW, NOW + Duration::from_millis(20));
        assert_eq!(gates.chat.next_at, reserved);
    }

    #[test]
    fn a_group_never_gets_more_than_twenty_in_any_minute() {
        let starts = schedule(
            Limits::GROUP,
            Priority::High,
            100,
            Duration::from_millis(20),
        );
        assert_eq!(most_in_a_minute(&starts), 20);
        assert!(
            starts[19] < 21.0,
            "the first twenty go at one a second: {}",
            starts[19]
        );
        assert!(starts[20] >= 60.0);
    }

    #[test]
    fn low_priority_leaves_a_fifth_of_the_minute() {
        let starts = schedule(Limits::GROUP, Priority::Low, 40, Duration::from_millis(20));
        assert_eq!(most_in_a_minute(&starts), 16);
    }

    /// Many chats of one bot at once.
    fn bot_starts(priority: Priority, chats: usize) -> Vec<f64> {
        let (mut bot, mut now, mut starts) = (Gate::default(), NOW, Vec::new());
        while starts.len() < chats {
            let gates = Gates {
                bot: bot.clone(),
                ..Gates::default()
            };
            match Limits::PRIVATE.pass(&gates, priority, now) {
                Pass::At(at) | Pass::Held(at) => now = at,
                Pass::Now(spent) => {
                    starts.push(now.since(NOW).as_secs_f64());
                    bot = spent.bot;
                }
            }
        }
        starts
    }

    #[test]
    fn the_bot_sends_five_at_once_and_then_twenty_five_a_second() {
        let starts = bot_starts(Priority::High, 55);
        assert!(starts[4] < 0.001, "{}", starts[4]);
        assert!((starts[54] - 2.0).abs() < 0.01, "{}", starts[54]);
    }

    #[test]
    fn an_ntfy_visitor_sends_forty_five_at_once_and_then_one_each_five_seconds() {
        let answer = Duration::from_millis(20);
        let starts = schedule(Limits::NTFY, Priority::High, 60, answer);
        assert!(starts[44] < 1.0 && starts[45] > 4.0, "{starts:?}");
        assert!((starts[59] - 15.0 * 5.25).abs() < 0.1, "{starts:?}");
    }

    #[test]
    fn a_mail_account_never_sends_more_in_a_minute_than_it_may() {
        for most in [1, 2, 3, 30, 100] {
            let answer = Duration::from_millis(20);
            let starts = schedule(Limits::mail(most), Priority::High, 3 * most + 1, answer);
            assert!(most_in_a_minute(&starts) <= most, "{most}: {starts:?}");
            assert!(
                starts[most / 3] <= 60.0 && starts[3 * most] <= 361.0,
                "{most}"
            );
        }
    }

    #[test]
    fn low_priority_leaves_a_part_of_the_burst() {
        let starts = bot_starts(Priority::Low, 5);
        assert!(starts[2] < 0.001 && starts[3] > 0.001, "{starts:?}");
    }

    #[test]
    fn a_wait_that_the_other_side_set_is_kept_to_the_second() {
        let mut gates = Gates::default();
        let until = NOW + Duration::from_secs(43_838);
        gates.chat.block(until, NOW);
        assert_eq!(
            Limits::PRIVATE.pass(&gates, Priority::Critical, NOW),
            Pass::At(until)
        );
        assert!(matches!(
            Limits::PRIVATE.pass(&gates, Priority::Critical, until),
            Pass::Now(_)
        ));
    }

    #[test]
    fn a_clock_that_went_back_keeps_no_chat_waiting() {
        let mut gates = Gates::default();
        let future = NOW + Duration::from_secs(30 * 86_400);
        gates.chat.next_at = future;
        gates.bot.next_at = future;
        gates.chat.ring = vec![future; 20];
        let gates = Limits::GROUP.believable(&gates, NOW);
        let Pass::At(at) = Limits::GROUP.pass(&gates, Priority::High, NOW) else {
            panic!("as if all had been sent just now");
        };
        assert_eq!(at, NOW + Duration::from_secs(60));
        assert_eq!(
            Limits::GROUP.believable(&gates, at),
            gates,
            "once and for good"
        );
        let passed = Limits::GROUP.pass(&gates, Priority::High, at);
        assert!(matches!(passed, Pass::Now(_)), "{passed:?}");
    }

    #[test]
    fn a_gate_that_was_closed_lets_one_probe_through() {
        let mut gates = Gates::default();
        gates.bot.breaker = Breaker::Open;
        gates.bot.block(NOW, NOW.minus(PROBE));
        let Pass::Now(spent) = Limits::PRIVATE.pass(&gates, Priority::High, NOW) else {
            panic!("the probe");
        };
        assert_eq!(spent.bot.breaker, Breaker::HalfOpen);
        let other = Gates {
            chat: Gate::default(),
            ..*spent
        };
        assert_eq!(
            Limits::PRIVATE.pass(&other, Priority::Critical, NOW),
            Pass::Held(NOW + PROBE)
        );
    }

    #[test]
    fn nothing_is_spent_when_one_gate_refuses() {
        let mut gates = Gates::default();
        gates.chat.next_at = NOW + Duration::from_secs(1);
        assert!(matches!(
            Limits::PRIVATE.pass(&gates, Priority::High, NOW),
            Pass::At(_)
        ));
        assert_eq!(gates.bot.next_at, Timestamp::EPOCH);
    }

    #[test]
    fn a_stretched_chat_sends_slower() {
        let mut gates = Gates::default();
        gates.chat.stretch = 2.0;
        let Pass::Now(spent) = Limits::PRIVATE.pass(&gates, Priority::High, NOW) else {
            panic!("free");
        };
        assert_eq!(spent.chat.next_at, NOW + Duration::from_millis(2_100));
    }
}
