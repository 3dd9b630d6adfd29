//! What each refusal closes, for how long, and what opens it again.

use super::*;

const NOW: Timestamp = Timestamp::from_unix_millis(1_796_025_600_000);

/// A chat of one bot.
fn chat(name: &str) -> GateKeys {
    GateKeys {
        channel: "ops".to_owned(),
        bot: "bot".to_owned(),
        method: "bot/sendMessage".to_owned(),
        chat: format!("bot/{name}"),
    }
}

fn fault(hold: Hold, retry_after: Option<u64>) -> Fault {
    Fault {
        blame: Blame::Destination,
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

/// Of chat "a", and nothing else is known.
fn refuse_a(gates: &mut Gates, told: &Fault, now: Timestamp) {
    refused(gates, &chat("a"), told, &mut Evidence::default(), now, 0.5);
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
        refuse_a(&mut gates, &told, NOW);
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
        refuse_a(&mut gates, &told, now);
        waits.push(gate(&gates).blocked_until.since(now).as_secs());
        now = gate(&gates).blocked_until;
    }
    waits
}

#[test]
fn a_429_that_names_no_wait_holds_longer_each_time_in_a_row() {
    let waits = openings(Hold::RateLimited, 7, |gates| &gates.chat);
    assert_eq!(waits, [15, 30, 60, 120, 240, 300, 300]);
    let (mut gates, mut evidence) = (Gates::default(), Evidence::default());
    let told = fault(Hold::RateLimited, None);
    let at = |second| NOW + Duration::from_secs(second);
    for second in [0, 100] {
        refused(
            &mut gates,
            &chat("a"),
            &told,
            &mut evidence,
            at(second),
            0.5,
        );
    }
    passed(&mut gates, at(200));
    refused(&mut gates, &chat("a"), &told, &mut evidence, at(300), 0.5);
    let wait = gates.chat.blocked_until.since(at(300)).as_secs();
    assert_eq!(wait, 15, "a success starts over");
}

#[test]
fn a_429_of_the_whole_bot_holds_the_bot_and_no_chat() {
    let (mut gates, mut evidence) = (Gates::default(), Evidence::default());
    let of_the_bot = |retry_after| Fault {
        blame: Blame::Channel,
        ..fault(Hold::RateLimited, retry_after)
    };
    let mut refuse = |gates: &mut Gates, retry_after, now| {
        refused(
            gates,
            &chat("a"),
            &of_the_bot(retry_after),
            &mut evidence,
            now,
            0.5,
        );
    };
    refuse(&mut gates, Some(35), NOW);
    assert_eq!(seconds(gates.bot.blocked_until), 35);
    assert_eq!(
        (&gates.chat, &gates.method),
        (&Gate::default(), &Gate::default())
    );
    // Those in flight at the same time are one event.
    let (mut gates, mut now) = (Gates::default(), NOW);
    for wait in [15, 30, 60] {
        for _ in 0..3 {
            refuse(&mut gates, None, now);
            assert_eq!(gates.bot.blocked_until.since(now).as_secs(), wait);
        }
        now = gates.bot.blocked_until;
    }
}

#[test]
fn failures_that_pass_do_not_count_as_refusals_that_a_person_must_see() {
    let mut gates = Gates::default();
    let mut refuse = |hold, second| {
        let (told, now) = (fault(hold, None), NOW + Duration::from_secs(second));
        refuse_a(&mut gates, &told, now);
        (closed_since(&gates, &told, now), gates.clone(), now)
    };
    for second in [0, 100, 200] {
        assert_eq!(refuse(Hold::RateLimited, second).0, None);
        assert_eq!(refuse(Hold::Down, second).0, None);
    }
    let (since, gates, now) = refuse(Hold::Suspended, 300);
    assert_eq!(since, Some(now));
    assert_eq!(gates.chat.blocked_until.since(now).as_secs(), 600);
    let (since, gates, now) = refuse(Hold::Stopped, 300);
    assert_eq!(since, Some(now));
    assert_eq!(gates.bot.blocked_until.since(now).as_secs(), 60);
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

#[test]
fn one_bots_429s_are_no_evidence_against_another() {
    let mut evidence = Evidence::default();
    let told = fault(Hold::RateLimited, Some(43_838));
    for bot in ["a", "b", "c"] {
        let keys = GateKeys {
            bot: bot.to_owned(),
            chat: format!("{bot}/7"),
            ..chat("7")
        };
        let mut gates = Gates::default();
        refused(&mut gates, &keys, &told, &mut evidence, NOW, 0.5);
        assert_eq!(gates.method.blocked_until, Timestamp::EPOCH);
        assert!(seconds(gates.bot.blocked_until) < 3);
    }
}

#[test]
fn when_half_of_a_minutes_answers_are_429s_the_bot_rests() {
    let (mut evidence, mut gates) = (Evidence::default(), Gates::default());
    let told = fault(Hold::RateLimited, Some(35));
    for second in [0, 11, 22, 33] {
        let at = NOW + Duration::from_secs(second);
        evidence.passed("bot", at);
        gates.chat = Gate::default();
        refused(
            &mut gates,
            &chat(&format!("{second}")),
            &told,
            &mut evidence,
            at,
            0.5,
        );
    }
    assert_eq!(seconds(gates.bot.blocked_until), 33 + 35);
}

#[test]
fn a_refusal_by_the_chat_is_remembered_from_its_first_until_it_lets_us_in() {
    let mut gates = Gates::default();
    let blocked = fault(Hold::Suspended, None);
    let mut evidence = Evidence::default();
    for hours in [0, 1, 7] {
        let at = NOW + Duration::from_secs(3600 * hours);
        refused(&mut gates, &chat("a"), &blocked, &mut evidence, at, 0.5);
        assert_eq!(gates.chat.refused_since, Some(NOW));
    }
    passed(&mut gates, NOW + Duration::from_secs(3600 * 24));
    assert_eq!(gates.chat.refused_since, None);
}

#[test]
fn a_bot_slows_down_at_429s_that_are_all_of_it_and_recovers_by_one_a_second_each_minute() {
    let mut gates = limited(&["a", "b", "c"]);
    // 1.4 only once: the pause behind each 429 closes nothing.
    assert!(
        (gates.bot.stretch - 1.4).abs() < 0.001,
        "{}",
        gates.bot.stretch
    );
    let rate = |gates: &Gates| 25.0 / gates.bot.stretch;
    let slow = rate(&gates);
    let later = |minutes: u64| NOW + Duration::from_secs(2 + 60 * minutes);
    passed(&mut gates, later(1));
    assert!((rate(&gates) - slow - 1.0).abs() < 0.001);
    passed(&mut gates, later(1) + Duration::from_secs(59));
    assert!(
        (rate(&gates) - slow - 1.0).abs() < 0.001,
        "not before its minute"
    );
    for minute in 2..30 {
        passed(&mut gates, later(minute));
    }
    assert!((rate(&gates) - 25.0).abs() < 0.001);
}
