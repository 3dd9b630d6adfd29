//! What a refusal closes, and what a success opens again: breakers over the gates; pure.
//!
//! The answer to a 429 does not say whom it means (DELIVERY A1.2). So it is held against the chat,
//! and by evidence against the method, or the whole bot.

use shared::model::{Breaker, Destination, Fault, Gate, Gates, Hold, Scope, Timestamp};
use std::time::Duration;

/// 429s within this time are one piece of evidence.
const TOGETHER: Duration = Duration::from_secs(10);
/// A 429 that does not say how long.
const UNTOLD: Duration = Duration::from_secs(15);
/// A chat's interval is stretched by a half at each 429, so far and no further.
const MOST_STRETCH: f64 = 10.0;
/// After so long without a 429 it shrinks by a twentieth.
const CLEAN: Duration = Duration::from_secs(60);
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

/// The 429s of the last seconds.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    recent: Vec<(Timestamp, Destination)>,
}

impl Evidence {
    /// Whom a 429 for `chat` is held against. `again`: it is that chat's second in a row, although
    /// its wait was kept and nothing was sent meanwhile.
    fn note(&mut self, chat: &Destination, again: bool, now: Timestamp) -> Scope {
        self.recent
            .retain(|(at, known)| now.since(*at) <= TOGETHER && known != chat);
        self.recent.push((now, chat.clone()));
        match self.recent.len() {
            0 | 1 if again => Scope::Method,
            0 | 1 => Scope::Chat,
            2 => Scope::Method,
            _ => Scope::Bot,
        }
    }
}

/// Closes what `fault` speaks of. `chance` is uniform in `[0, 1)`.
pub fn refused(
    gates: &mut Gates,
    chat: &Destination,
    fault: &Fault,
    evidence: &mut Evidence,
    now: Timestamp,
    chance: f64,
) {
    match fault.hold {
        Some(Hold::RateLimited) => rate_limited(gates, chat, fault, evidence, now, chance),
        Some(Hold::Suspended) => open(&mut gates.chat, SUSPENDED, fault, now, chance),
        Some(Hold::Stopped) => open(&mut gates.bot, STOPPED, fault, now, chance),
        Some(Hold::Down) => down(&mut gates.bot, fault, now, chance),
        None => {}
    }
}

fn rate_limited(
    gates: &mut Gates,
    chat: &Destination,
    fault: &Fault,
    evidence: &mut Evidence,
    now: Timestamp,
    chance: f64,
) {
    let wait = fault.retry_after.unwrap_or(UNTOLD);
    let jitter = Duration::from_millis(100) + Duration::from_millis(900).mul_f64(chance);
    // A success of anybody since this chat's last 429 speaks for the method.
    let others_pass = gates.method.clean_since > gates.chat.clean_since;
    let again =
        gates.chat.breaker == Breaker::HalfOpen && gates.chat.clean_since.is_some() && !others_pass;
    let scope = evidence.note(chat, again, now);
    gates.chat.stretch = (gates.chat.stretch.max(1.0) * 1.5).min(MOST_STRETCH);
    gates.chat.clean_since = Some(now);
    close(&mut gates.chat, now + wait + jitter, fault, now);
    match scope {
        Scope::Chat => {}
        Scope::Method => close(&mut gates.method, now + wait + jitter, fault, now),
        Scope::Channel | Scope::Bot => close(&mut gates.bot, now + wait + jitter, fault, now),
    }
    // Those in flight report first, before anything more is launched.
    let pause = now + Duration::from_secs(1) + Duration::from_secs(1).mul_f64(chance);
    gates.bot.block(pause, now);
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
    let since = *bot.failing_since.get_or_insert(now);
    let lasts = now.since(since) >= LASTING;
    // Many at once are no worse than a few: only probes that fail make it longer.
    let most = if lasts { u32::MAX } else { STRIKES };
    bot.strikes = bot.strikes.saturating_add(1).min(most);
    if bot.strikes >= STRIKES && lasts {
        let over = bot.strikes - STRIKES;
        let doubled = DOWN.first.saturating_mul(1 << over.min(16));
        let wait = doubled.min(DOWN.longest).mul_f64(0.9 + 0.2 * chance);
        close(bot, now + wait, fault, now);
    }
}

/// Whether this refusal is the one that closed its gate: a person is told of that, not of each
/// probe that fails.
pub fn is_first(gates: &Gates, fault: &Fault) -> bool {
    match fault.hold {
        Some(Hold::Suspended) => gates.chat.strikes == 1,
        Some(Hold::Stopped) => gates.bot.strikes == 1,
        Some(Hold::RateLimited | Hold::Down) | None => false,
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
        gate.reason = None;
    }
    gates.method.clean_since = Some(now);
    let chat = &mut gates.chat;
    if chat.stretch > 1.0
        && chat
            .clean_since
            .is_none_or(|since| now.since(since) >= CLEAN)
    {
        chat.stretch = (chat.stretch * 0.95).max(1.0);
        chat.clean_since = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::model::Blame;

    const NOW: Timestamp = Timestamp::from_unix_millis(1_796_025_600_000);

    fn chat(name: &str) -> Destination {
        Destination {
            channel: "ops".to_owned(),
            chat_id: name.to_owned(),
        }
    }

    fn fault(hold: Hold, retry_after: Option<u64>) -> Fault {
        Fault {
            blame: Blame::Channel,
            hold: Some(hold),
            retry_after: retry_after.map(Duration::from_secs),
            maybe_delivered: false,
            detail: "told".to_owned(),
        }
    }

    /// A 429 of 35 s for each of `chats`, one a second, through gates of which they share the bot's.
    fn limited(chats: &[&str]) -> Gates {
        let (mut evidence, mut shared_gates) = (Evidence::default(), Gates::default());
        for (second, name) in (0..).zip(chats) {
            let mut gates = Gates {
                chat: Gate::default(),
                ..shared_gates.clone()
            };
            let at = NOW + Duration::from_secs(second);
            let told = fault(Hold::RateLimited, Some(35));
            refused(&mut gates, &chat(name), &told, &mut evidence, at, 0.5);
            shared_gates = gates;
        }
        shared_gates
    }

    fn seconds(until: Timestamp) -> u64 {
        until.since(NOW).as_secs()
    }

    #[test]
    fn a_429_holds_its_chat_for_what_it_says_and_a_little_more() {
        let gates = limited(&["a"]);
        assert_eq!(
            gates.chat.blocked_until,
            NOW + Duration::from_millis(35_550)
        );
        assert_eq!(gates.method.blocked_until, Timestamp::EPOCH);
        assert_eq!(
            seconds(gates.bot.blocked_until),
            1,
            "a pause, so that those in flight report"
        );
        assert_eq!(gates.chat.reason.as_deref(), Some("told"));
    }

    #[test]
    fn evidence_of_two_chats_holds_the_method_and_of_three_the_bot() {
        assert_eq!(seconds(limited(&["a", "b"]).method.blocked_until), 36);
        assert_eq!(seconds(limited(&["a", "b"]).bot.blocked_until), 2);
        assert_eq!(seconds(limited(&["a", "b", "c"]).bot.blocked_until), 37);
        assert_eq!(
            limited(&["a", "a", "a"]).method.blocked_until,
            Timestamp::EPOCH,
            "one chat is no evidence against the others"
        );
    }

    #[test]
    fn a_429_although_its_wait_was_kept_holds_the_method() {
        let mut evidence = Evidence::default();
        let mut gates = Gates::default();
        let told = fault(Hold::RateLimited, Some(5));
        refused(&mut gates, &chat("a"), &told, &mut evidence, NOW, 0.5);
        let later = NOW + Duration::from_secs(60);
        gates.chat.breaker = Breaker::HalfOpen;
        let mut others_pass = gates.clone();
        passed(&mut others_pass, later);
        others_pass.chat = gates.chat.clone();
        let mut none = Evidence::default();
        refused(&mut others_pass, &chat("a"), &told, &mut none, later, 0.5);
        assert_eq!(
            others_pass.method.blocked_until,
            Timestamp::EPOCH,
            "others speak for it"
        );
        refused(&mut gates, &chat("a"), &told, &mut evidence, later, 0.5);
        assert!(gates.method.blocked_until > later);
    }

    #[test]
    fn a_long_flood_wait_is_kept_to_the_second() {
        let mut gates = Gates::default();
        let told = fault(Hold::RateLimited, Some(43_838));
        refused(
            &mut gates,
            &chat("a"),
            &told,
            &mut Evidence::default(),
            NOW,
            0.0,
        );
        let shorter = fault(Hold::RateLimited, Some(3));
        refused(
            &mut gates,
            &chat("a"),
            &shorter,
            &mut Evidence::default(),
            NOW,
            0.0,
        );
        assert_eq!(seconds(gates.chat.blocked_until), 43_838);
    }

    #[test]
    fn a_chat_slows_down_at_429s_and_recovers_slowly() {
        let mut gates = Gates::default();
        let told = fault(Hold::RateLimited, Some(1));
        for _ in 0..20 {
            refused(
                &mut gates,
                &chat("a"),
                &told,
                &mut Evidence::default(),
                NOW,
                0.5,
            );
        }
        assert!((gates.chat.stretch - MOST_STRETCH).abs() < 0.001);
        passed(&mut gates, NOW + Duration::from_secs(59));
        assert!((gates.chat.stretch - MOST_STRETCH).abs() < 0.001);
        passed(&mut gates, NOW + Duration::from_secs(60));
        assert!((gates.chat.stretch - 9.5).abs() < 0.001);
        for minute in 2..200 {
            passed(&mut gates, NOW + Duration::from_secs(60 * minute));
        }
        assert!((gates.chat.stretch - 1.0).abs() < 0.001);
    }

    /// How long a gate stays closed after each refusal in a row.
    fn openings(hold: Hold, count: usize, gate: fn(&Gates) -> &Gate) -> Vec<u64> {
        let mut gates = Gates::default();
        let mut now = NOW;
        let mut waits = Vec::new();
        for _ in 0..count {
            let told = fault(hold, None);
            refused(
                &mut gates,
                &chat("a"),
                &told,
                &mut Evidence::default(),
                now,
                0.5,
            );
            waits.push(gate(&gates).blocked_until.since(now).as_secs());
            now = gate(&gates).blocked_until;
        }
        waits
    }

    #[test]
    fn a_destination_that_refuses_us_is_probed_ever_more_slowly() {
        let waits = openings(Hold::Suspended, 8, |gates| &gates.chat);
        assert_eq!(waits, [600, 1200, 2400, 4800, 9600, 19_200, 21_600, 21_600]);
    }

    #[test]
    fn a_refused_token_stops_the_bot_and_is_probed_within_a_quarter_of_an_hour() {
        let waits = openings(Hold::Stopped, 6, |gates| &gates.bot);
        assert_eq!(waits, [60, 120, 240, 480, 900, 900]);
    }

    #[test]
    fn a_server_is_down_after_five_failures_over_half_a_minute() {
        let mut gates = Gates::default();
        let down = fault(Hold::Down, None);
        for second in [0, 1, 2, 3, 4, 5, 6] {
            let at = NOW + Duration::from_secs(second);
            refused(
                &mut gates,
                &chat("a"),
                &down,
                &mut Evidence::default(),
                at,
                0.5,
            );
            assert_eq!(
                gates.bot.blocked_until,
                Timestamp::EPOCH,
                "a moment is no outage"
            );
        }
        let at = NOW + Duration::from_secs(30);
        refused(
            &mut gates,
            &chat("b"),
            &down,
            &mut Evidence::default(),
            at,
            0.5,
        );
        assert!(gates.bot.blocked_until > at);
        passed(&mut gates, at + Duration::from_secs(60));
        assert_eq!((gates.bot.breaker, gates.bot.strikes), (Breaker::Closed, 0));
    }
}
