//! The limits of a chat, a group and the bot, by a clock that only the test moves.

use super::client::send;
use super::{NOW, hello, strict, unlimited};
use serde_json::json;
use shared::platform::clock::Clock;
use std::time::Duration;
use watchalert_tests::telegram::{Limit, Limits, Options, Telegram};

#[test]
fn a_429_is_telegrams_to_the_letter() {
    let (telegram, _clock) = strict();
    assert_eq!(send(&telegram, &hello(42)).status, 200);
    let answer = send(&telegram, &hello(42));
    assert_eq!(answer.status, 429);
    assert_eq!(answer.header("Retry-After"), Some("1"));
    assert_eq!(
        answer.json(),
        json!({
            "ok": false,
            "error_code": 429,
            "description": "Too Many Requests: retry after 1",
            "parameters": {"retry_after": 1},
        })
    );
}

#[test]
fn a_chat_takes_one_a_second_to_the_millisecond() {
    let (telegram, clock) = strict();
    let at = |millis: u64, chat_id: i64| {
        clock.set_to(NOW + Duration::from_millis(millis));
        send(&telegram, &hello(chat_id)).status
    };
    assert_eq!(at(0, 42), 200);
    assert_eq!(at(0, 43), 200); // another chat
    assert_eq!(at(999, 42), 429);
    assert_eq!(at(1000, 42), 200); // a 429 costs nothing
    assert_eq!(at(1999, 42), 429);
    let [first, second] = telegram.answers_429().try_into().unwrap();
    assert_eq!((first.chat_id, first.limit), (Some(42), Some(Limit::Chat)));
    assert_eq!(
        (second.retry_after, second.wait),
        (1, Duration::from_millis(1))
    );
    assert_eq!(telegram.breaches(Limits::strict()), []);
}

#[test]
fn after_a_rest_a_chat_takes_a_burst() {
    let clock = Clock::set(NOW);
    let telegram = Telegram::start(Options {
        limits: Limits::default().burst(3),
        clock: clock.clone(),
        ..Options::default()
    });
    let four = || [(); 4].map(|()| send(&telegram, &hello(42)).status);
    assert_eq!(four(), [200, 200, 200, 429]);
    clock.advance(Duration::from_secs(1));
    assert_eq!(four(), [200, 429, 429, 429]);
    clock.advance(Duration::from_secs(3));
    assert_eq!(four(), [200, 200, 200, 429]);
    assert_eq!(telegram.breaches(Limits::strict()).len(), 4);
}

#[test]
fn a_group_takes_twenty_in_any_minute() {
    let (telegram, clock) = strict();
    let next = |seconds: u64| {
        let answer = send(&telegram, &hello(-5));
        clock.advance(Duration::from_secs(seconds));
        (
            answer.status,
            answer.json()["parameters"]["retry_after"].as_u64(),
        )
    };
    for _ in 0..20 {
        assert_eq!(next(1), (200, None));
    }
    // 20 s after the first: 40 are left of the minute.
    assert_eq!(next(39), (429, Some(40)));
    assert_eq!(next(1), (429, Some(1)));
    assert_eq!(next(1), (200, None)); // the first has left the window
    assert_eq!(next(1), (200, None));
    assert_eq!(telegram.answers_429()[0].limit, Some(Limit::Group));
    assert_eq!(telegram.accepted_in(-5).len(), 22);
    assert_eq!(telegram.breaches(Limits::strict()), []);
}

#[test]
fn a_private_chat_knows_no_limit_of_a_minute() {
    let (telegram, clock) = strict();
    for _ in 0..60 {
        assert_eq!(send(&telegram, &hello(42)).status, 200);
        clock.advance(Duration::from_secs(1));
    }
}

#[test]
fn the_bot_takes_thirty_in_any_second() {
    let (telegram, clock) = strict();
    let taken = |chats: std::ops::Range<i64>| {
        let statuses: Vec<u16> = chats
            .map(|chat| send(&telegram, &hello(chat)).status)
            .collect();
        statuses.iter().filter(|status| **status == 200).count()
    };
    assert_eq!(taken(1..41), 30);
    assert_eq!(telegram.answers_429()[0].limit, Some(Limit::Bot));
    clock.advance(Duration::from_millis(999));
    assert_eq!(taken(101..102), 0);
    clock.advance(Duration::from_millis(1));
    assert_eq!(taken(201..241), 30);
    assert_eq!(telegram.breaches(Limits::strict()), []);
}

#[test]
fn without_limits_a_hasty_sender_is_found_out_afterwards() {
    let telegram = unlimited();
    for _ in 0..31 {
        assert_eq!(send(&telegram, &hello(-5)).status, 200);
    }
    let breaches = telegram.breaches(Limits::strict());
    assert_eq!(breaches.len(), 30);
    assert_eq!(
        (breaches[0].limit, breaches[0].early_by),
        (Limit::Chat, Duration::from_secs(1))
    );
    let group_alone = Limits {
        chat: None,
        bot: None,
        ..Limits::strict()
    };
    assert_eq!(telegram.breaches(group_alone).len(), 11);
    assert_eq!(telegram.answers_429(), []);
}

#[test]
fn what_is_refused_otherwise_costs_nothing() {
    let (telegram, _clock) = strict();
    let bad = json!({"chat_id": 42, "text": "<b>", "parse_mode": "HTML"});
    assert_eq!(send(&telegram, &bad).status, 400);
    assert_eq!(send(&telegram, &hello(42)).status, 200);
}
