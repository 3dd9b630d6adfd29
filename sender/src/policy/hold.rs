//! What a refusal closes, and what a success opens again: breakers over the gates; pure.
//!
//! The answer to a 429 does not say whom it means (DELIVERY A1.2). So it is held against the chat,
//! and by evidence against the method, or the whole bot.

use shared::model::{Blame, Breaker, Fault, Gate, GateKeys, Gates, Hold, Scope, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

/// 429s within this time are one piece of evidence.
const TOGETHER: Duration = Duration::from_secs(10);
/// The window in which the share of 429s is looked at: so many answers are enough to say, and no more
/// are remembered than these.
const WINDOW: Duration = Duration::from_secs(60);
const ENOUGH: usize = 8;
const ANSWERS: usize = 256;
/// 429s that do not say how long.
const UNTOLD: Opening = Opening {
    first: Duration::from_secs(15),
    longest: Duration::from_secs(300),
};
/// A chat's interval is stretched by a half at each 429, so far and no further.
const MOST_STRETCH: f64 = 10.0;
/// A bot's, whose 25 a second become 5, by two fifths at each 429 that is held against all of it.
const MOST_BOT_STRETCH: f64 = 5.0;
/// After so long without a 429 a chat's shrinks by a twentieth, and a bot's by one more a second.
const CLEAN: Duration = Duration::from_secs(60);
/// A second, when nothing is stretched.
const BOT_RATE: f64 = 25.0;
/// Failures in a row, of whatever chats, and the time they must have lasted, before the channel
/// itself is taken to be down.
const STRIKES: u32 = 5;
const LASTING: Duration = Duration::from_secs(30);

/// How long a breaker stays open: doubling with each probe that failed.
#[derive(Clone, Copy, Debug)]
struct Opening {
    first: Duration,
    longest: Duration,
}

/// A chat that blocked us, kicked us, or is not there.
const SUSPENDED: Opening = Opening {
    first: Duration::from_secs(600),
    longest: Duration::from_secs(6 * 3600),
};
/// A token that is refused.
const STOPPED: Opening = Opening {
    first: Duration::from_secs(60),
    longest: Duration::from_secs(15 * 60),
};
/// A server that does not answer.
const DOWN: Opening = Opening {
    first: Duration::from_secs(10),
    longest: Duration::from_secs(300),
};

/// The 429s of the last seconds, by the names of the gates of bot and chat.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    recent: Vec<(Timestamp, String, String)>,
    /// The answers of the last minute, by bot, and whether each was a 429.
    answers: VecDeque<(Timestamp, String, bool)>,
}

impl Evidence {
    /// Whom a 429 for a chat is held against. `again`: it is that chat's second in a row, although
    /// its wait was kept and nothing was sent meanwhile.
    fn note(&mut self, keys: &GateKeys, again: bool, now: Timestamp) -> Scope {
        let mostly_refused = self.answered(&keys.bot, true, now);
        self.recent
            .retain(|(at, _, chat)| now.since(*at) <= TOGETHER && *chat != keys.chat);
        self.recent.push((now, keys.bot.clone(), keys.chat.clone()));
        let of_this_bot = self.recent.iter().filter(|(_, bot, _)| *bot == keys.bot);
        match of_this_bot.count() {
            _ if mostly_refused => Scope::Bot,
            0 | 1 if again => Scope::Method,
            0 | 1 => Scope::Chat,
            2 => Scope::Method,
            _ => Scope::Bot,
        }
    }
}

impl Evidence {
    /// A delivery of this bot passed.
    pub fn passed(&mut self, bot: &str, now: Timestamp) {
        self.answered(bot, false, now);
    }

    /// Whether too many of the bot's last answers were 429s.
    fn answered(&mut self, bot: &str, refused: bool, now: Timestamp) -> bool {
        self.answers.push_back((now, bot.to_owned(), refused));
        while self.answers.len() > ANSWERS {
            self.answers.pop_front();
        }
        self.answers.retain(|(at, _, _)| now.since(*at) <= WINDOW);
        let of_this_bot = || self.answers.iter().filter(|(_, of, _)| of == bot);
        let refused = of_this_bot().filter(|(_, _, refused)| *refused).count();
        let all = of_this_bot().count();
        all >= ENOUGH && refused * 2 >= all
    }
}

/// Closes what `fault` speaks of. `chance` is uniform in `[0, 1)`.
pub fn refused(
    gates: &mut Gates,
    keys: &GateKeys,
    fault: &Fault,
    evidence: &mut Evidence,
    now: Timestamp,
    chance: f64,
) {
    match fault.hold {
        Some(Hold::RateLimited) => rate_limited(gates, keys, fault, evidence, now, chance),
        Some(Hold::Suspended) => {
            gates.chat.refused_since.get_or_insert(now);
            open(&mut gates.chat, SUSPENDED, fault, now, chance);
        }
        Some(Hold::Stopped) => {
            gates.bot.refused_since.get_or_insert(now);
            open(&mut gates.bot, STOPPED, fault, now, chance);
        }
        Some(Hold::Down) => down(&mut gates.bot, fault, now, chance),
        None => {}
    }
    let is_the_way = matches!(fault.blame, Blame::Channel | Blame::Destination);
    if is_the_way && matches!(fault.hold, Some(Hold::Down) | None) {
        // Closes nothing by itself: what is late behind it may go elsewhere.
        gates.chat.failing_since.get_or_insert(now);
    }
}

fn rate_limited(
    gates: &mut Gates,
    keys: &GateKeys,
    fault: &Fault,
    evidence: &mut Evidence,
    now: Timestamp,
    chance: f64,
) {
    let jitter = Duration::from_millis(100) + Duration::from_millis(900).mul_f64(chance);
    if fault.blame == Blame::Channel {
        // A proxy that counts requests of whatever chat, or the answer to a question about the bot.
        let wait = told(&mut gates.bot, fault, now);
        return close(&mut gates.bot, now + wait + jitter, fault, now);
    }
    let wait = told(&mut gates.chat, fault, now);
    // A success of anybody since this chat's last 429 speaks for the method.
    let others_pass = gates.method.clean_since > gates.chat.clean_since;
    let again =
        gates.chat.breaker == Breaker::HalfOpen && gates.chat.clean_since.is_some() && !others_pass;
    let scope = evidence.note(keys, again, now);
    gates.chat.stretch = (gates.chat.stretch.max(1.0) * 1.5).min(MOST_STRETCH);
    gates.chat.clean_since = Some(now);
    close(&mut gates.chat, now + wait + jitter, fault, now);
    match scope {
        Scope::Chat => {}
        Scope::Method => close(&mut gates.method, now + wait + jitter, fault, now),
        Scope::Channel | Scope::Bot => {
            let bot = &mut gates.bot;
            // Those that were in flight together are one event.
            if !is_closed(bot, now) {
                bot.stretch = (bot.stretch.max(1.0) * 1.4).min(MOST_BOT_STRETCH);
            }
            bot.clean_since = Some(now);
            close(bot, now + wait + jitter, fault, now);
        }
    }
    // Those in flight report first, before anything more is launched.
    let pause = now + Duration::from_secs(1) + Duration::from_secs(1).mul_f64(chance);
    gates.bot.block(pause, now);
}

/// The wait that a 429 asks for; one that names none is taken to mean more each time in a row.
fn told(gate: &mut Gate, fault: &Fault, now: Timestamp) -> Duration {
    if !is_closed(gate, now) {
        passing_strike(gate, now);
    }
    fault.retry_after.unwrap_or_else(|| {
        let doubled = UNTOLD.first * (1 << gate.strikes.saturating_sub(1).min(16));
        doubled.min(UNTOLD.longest)
    })
}

/// One more failure in a row of those that pass by themselves; since when they last. Refusals that a
/// person must look into are counted apart, for each kind has its own first wait and is told once.
fn passing_strike(gate: &mut Gate, now: Timestamp) -> Timestamp {
    if gate.failing_since.is_none() {
        gate.strikes = 0;
    }
    gate.strikes = gate.strikes.saturating_add(1);
    *gate.failing_since.get_or_insert(now)
}

fn close(gate: &mut Gate, until: Timestamp, fault: &Fault, now: Timestamp) {
    gate.block(until, now);
    gate.breaker = Breaker::Open;
    gate.reason = Some(fault.detail.clone());
}

fn open(gate: &mut Gate, opening: Opening, fault: &Fault, now: Timestamp, chance: f64) {
    if is_closed(gate, now) {
        // Those that were in flight when it closed are one event.
        return;
    }
    if gate.failing_since.take().is_some() {
        gate.strikes = 0;
    }
    let doubled = opening.first.saturating_mul(1 << gate.strikes.min(16));
    let wait = doubled.min(opening.longest).mul_f64(0.9 + 0.2 * chance);
    gate.strikes = gate.strikes.saturating_add(1);
    let told = fault.retry_after.unwrap_or_default();
    close(gate, now + wait.max(told), fault, now);
}

/// One failure is the row's own backoff; many in a row, over a while, are the channel's.
fn down(bot: &mut Gate, fault: &Fault, now: Timestamp, chance: f64) {
    if is_closed(bot, now) {
        return;
    }
    let lasts = now.since(passing_strike(bot, now)) >= LASTING;
    if !lasts {
        // Many at once are no worse than a few: only probes that fail make it longer.
        bot.strikes = bot.strikes.min(STRIKES);
    }
    if bot.strikes >= STRIKES && lasts {
        let over = bot.strikes - STRIKES;
        let doubled = DOWN.first.saturating_mul(1 << over.min(16));
        let wait = doubled.min(DOWN.longest).mul_f64(0.9 + 0.2 * chance);
        close(bot, now + wait, fault, now);
    }
}

/// Since when what `fault` speaks of is closed, when a person must see to that: of a chat at each refusal,
/// of a bot at the first.
pub fn closed_since(gates: &Gates, fault: &Fault, now: Timestamp) -> Option<Timestamp> {
    match fault.hold? {
        Hold::Suspended => gates.chat.refused_since,
        Hold::Stopped => (gates.bot.strikes == 1).then_some(now),
        Hold::RateLimited | Hold::Down => None,
    }
}

/// Closed, and not by waiting for its own probe.
fn is_closed(gate: &Gate, now: Timestamp) -> bool {
    gate.breaker == Breaker::Open && gate.blocked_until > now
}

/// A delivery passed: what it went through is open.
pub fn passed(gates: &mut Gates, now: Timestamp) {
    for gate in [
        &mut gates.channel,
        &mut gates.bot,
        &mut gates.method,
        &mut gates.chat,
    ] {
        // What was closed while this one was in flight stays closed.
        if is_closed(gate, now) {
            continue;
        }
        if gate.breaker == Breaker::HalfOpen {
            gate.blocked_until = gate.blocked_until.min(now);
        }
        gate.breaker = Breaker::Closed;
        gate.strikes = 0;
        gate.failing_since = None;
        gate.refused_since = None;
        gate.reason = None;
    }
    gates.method.clean_since = Some(now);
    recover(&mut gates.chat, now, |stretch| stretch * 0.95);
    recover(&mut gates.bot, now, |stretch| {
        BOT_RATE / (BOT_RATE / stretch + 1.0)
    });
}

fn recover(gate: &mut Gate, now: Timestamp, shorter: fn(f64) -> f64) {
    let is_clean = |since: Timestamp| now.since(since) >= CLEAN;
    if gate.stretch > 1.0 && gate.clean_since.is_none_or(is_clean) {
        gate.stretch = shorter(gate.stretch).max(1.0);
        gate.clean_since = Some(now);
    }
}

#[cfg(test)]
mod tests;
