//! Every fault as a sender meets it: what comes over the wire, and what arrived all the same.

use super::client::{begun, call, eventually, post, read, send};
use super::{NOW, hello, strict, unlimited};
use serde_json::{Value, json};
use shared::platform::clock::Clock;
use std::time::Duration;
use watchalert_tests::telegram::{Fault, Limits, Options, REFUSALS, Storm, Telegram, script};

const MINUTE: Duration = Duration::from_secs(60);

/// Status and how many messages have arrived by then.
fn next(telegram: &Telegram) -> (u16, usize) {
    let status = send(telegram, &hello(42)).status;
    (status, telegram.accepted_count())
}

#[test]
fn every_row_of_the_table_goes_out_as_it_stands() {
    let telegram = unlimited();
    for row in REFUSALS {
        telegram.script([Fault::refuse(row.name)]);
        let answer = send(&telegram, &hello(42));
        let expected = json!({"ok": false, "error_code": row.code, "description": row.description});
        assert_eq!(
            (answer.status, answer.json()),
            (row.code, expected),
            "{}",
            row.name
        );
    }
    let deleted: Vec<bool> = telegram.accepted().iter().map(|m| m.deleted).collect();
    assert_eq!(deleted, [true]); // that one was sent, its description says so
    assert_eq!(telegram.faults_left(), 0);
}

#[test]
fn names_of_the_table_are_unique() {
    let mut names: Vec<&str> = REFUSALS.iter().map(|row| row.name).collect();
    names.sort_unstable();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
}

#[test]
fn faults_come_in_order_and_then_all_is_well() {
    let telegram = unlimited();
    telegram.script([
        Fault::page(502).times(2),
        Fault::refuse("restart"),
        Fault::refuse("restart").after_acceptance(),
    ]);
    let met = [(); 5].map(|()| next(&telegram));
    assert_eq!(met, [(502, 0), (502, 0), (500, 0), (500, 1), (200, 2)]);
}

#[test]
fn a_fault_of_one_chat_leaves_the_others_alone() {
    let telegram = unlimited();
    telegram.script([Fault::refuse("blocked").in_chat(43)]);
    assert_eq!(send(&telegram, &hello(42)).status, 200);
    assert_eq!(
        call(&telegram, "getChat", &json!({"chat_id": 43})).status,
        200
    );
    let answer = send(&telegram, &hello(43));
    assert_eq!(
        answer.description(),
        "Forbidden: bot was blocked by the user"
    );
    assert_eq!(send(&telegram, &hello(43)).status, 200);
}

#[test]
fn blocked_for_a_minute_and_back() {
    let (telegram, clock) = strict();
    clock.advance(MINUTE); // counted from the first request that meets it
    telegram.script([Fault::refuse("kicked").in_chat(-5).lasting(MINUTE)]);
    let status = || send(&telegram, &hello(-5)).status;
    assert_eq!([status(), status()], [403, 403]);
    clock.advance(MINUTE.saturating_sub(Duration::from_millis(1)));
    assert_eq!(status(), 403);
    clock.advance(Duration::from_millis(1));
    assert_eq!(status(), 200);
}

#[test]
fn a_token_revoked_for_a_while_stops_every_method() {
    let (telegram, clock) = strict();
    telegram.script([Fault::refuse("unauthorized").lasting(MINUTE)]);
    let me = || call(&telegram, "getMe", &json!({})).status;
    assert_eq!((me(), next(&telegram)), (401, (401, 0)));
    clock.advance(MINUTE);
    assert_eq!((me(), next(&telegram)), (200, (200, 1)));
}

#[test]
fn a_flood_counts_down_and_holds_for_its_chat_alone() {
    let (telegram, clock) = strict();
    telegram.script([Fault::flood(35).in_chat(42)]);
    let wait = || {
        let answer = send(&telegram, &hello(42));
        let header = answer.header("Retry-After").map(str::to_owned);
        (answer.json()["parameters"]["retry_after"].as_u64(), header)
    };
    assert_eq!(wait(), (Some(35), Some("35".to_owned())));
    clock.advance(Duration::from_millis(33_500));
    assert_eq!(wait().0, Some(2));
    assert_eq!(send(&telegram, &hello(43)).status, 200);
    clock.advance(Duration::from_millis(1_500));
    assert_eq!(next(&telegram), (200, 2));
    let floods = telegram.answers_429();
    assert_eq!(floods.len(), 2);
    assert!(
        floods
            .iter()
            .all(|flood| flood.limit.is_none() && flood.chat_id == Some(42))
    );
}

#[test]
fn a_flood_of_the_bot_holds_for_hours_and_for_every_method() {
    let (telegram, clock) = strict();
    telegram.script([Fault::flood(43_838)]);
    assert_eq!(next(&telegram), (429, 0));
    assert_eq!(
        call(&telegram, "getMe", &json!({})).json()["parameters"]["retry_after"],
        43_838
    );
    clock.advance(Duration::from_secs(43_838));
    assert_eq!(next(&telegram), (200, 1));
}

#[test]
fn nginx_speaks_html_and_says_nothing_about_how_long() {
    let telegram = unlimited();
    telegram.script([502, 503, 504, 429].map(Fault::page));
    for status in [502, 503, 504, 429] {
        let answer = send(&telegram, &hello(42));
        assert_eq!((answer.status, answer.json()), (status, Value::Null));
        assert_eq!(answer.header("Content-Type"), Some("text/html"));
        assert_eq!(answer.header("Retry-After"), None);
        let page = String::from_utf8(answer.body).unwrap();
        assert!(
            page.contains(&format!("<title>{status} ")) && page.contains("nginx"),
            "{page}"
        );
    }
    assert_eq!(telegram.accepted(), []);
}

#[test]
fn a_reset_comes_before_after_or_in_the_midst() {
    let telegram = unlimited();
    telegram.script([
        Fault::reset_before(),
        Fault::reset_after(),
        Fault::reset_amid(),
    ]);
    let answers = [(); 3].map(|()| send(&telegram, &hello(42)));
    assert!(answers.iter().all(|answer| answer.was_reset));
    assert_eq!([0, 1].map(|n| answers[n].status), [0, 0]);
    assert_eq!((answers[2].status, answers[2].json()), (200, Value::Null));
    assert!(!answers[2].body.is_empty());
    let ids: Vec<Option<i64>> = telegram
        .requests()
        .iter()
        .map(|asked| asked.message_id)
        .collect();
    assert_eq!(ids, [None, Some(1), Some(2)]);
    assert_eq!(telegram.accepted_count(), 2);
}

#[test]
fn half_a_json_and_garbage_come_with_200() {
    let telegram = unlimited();
    telegram.script([Fault::half(), Fault::garbage()]);
    let half = send(&telegram, &hello(42));
    assert!(half.body.starts_with(b"{\"ok\":true") && half.json() == Value::Null);
    assert_eq!((half.status, telegram.accepted_count()), (200, 1));
    let garbage = send(&telegram, &hello(42));
    assert_eq!((garbage.status, garbage.json()), (200, Value::Null));
    assert_eq!(telegram.accepted_count(), 1);
}

#[test]
fn a_hang_is_silence_with_or_without_the_message() {
    let telegram = unlimited();
    telegram.script([Fault::hang(), Fault::hang_after().in_chat(43)]);
    let silent =
        [42, 43].map(|chat| begun(&telegram, &post(&telegram, "sendMessage", &hello(chat))));
    // Answered in between, whoever hangs.
    eventually(|| telegram.requests().len() == 2);
    assert_eq!(send(&telegram, &hello(44)).status, 200);
    for mut socket in silent {
        socket.set_nonblocking(true).unwrap();
        let nothing = std::io::Read::read(&mut socket, &mut [0; 1]).unwrap_err();
        assert_eq!(nothing.kind(), std::io::ErrorKind::WouldBlock);
    }
    let chats: Vec<i64> = telegram
        .accepted()
        .iter()
        .map(|message| message.chat_id)
        .collect();
    assert_eq!(chats, [43, 44]);
}

#[test]
fn a_held_answer_comes_when_the_clock_has_come_so_far() {
    let (telegram, clock) = strict();
    telegram.script([Fault::hold(Duration::from_secs(8))]);
    let mut socket = begun(&telegram, &post(&telegram, "sendMessage", &hello(42)));
    eventually(|| telegram.accepted_count() == 1);
    clock.advance(Duration::from_millis(7_999));
    assert_eq!(send(&telegram, &hello(43)).status, 200); // it had its chance to answer too early
    socket.set_nonblocking(true).unwrap();
    assert!(std::io::Read::read(&mut socket, &mut [0; 1]).is_err());
    socket.set_nonblocking(false).unwrap();
    clock.advance(Duration::from_millis(1));
    let answer = read(&mut socket);
    assert_eq!(
        (answer.status, &answer.json()["result"]["message_id"]),
        (200, &json!(1))
    );
    assert_eq!(telegram.accepted()[0].at, NOW);
}

#[test]
fn an_upgraded_group_names_its_new_id_and_that_accepts() {
    let telegram = unlimited();
    telegram.script([Fault::upgraded(-5, -1_000_000_000_005)]);
    for _ in 0..2 {
        assert_eq!(
            send(&telegram, &hello(-5)).json(),
            json!({
                "ok": false,
                "error_code": 400,
                "description": "Bad Request: group chat was upgraded to a supergroup chat",
                "parameters": {"migrate_to_chat_id": -1_000_000_000_005_i64},
            })
        );
    }
    let answer = send(&telegram, &hello(-1_000_000_000_005)).json();
    assert_eq!(answer["result"]["chat"]["type"], "supergroup");
    assert_eq!(answer["result"]["chat"]["title"], "group -5");
}

#[test]
fn a_fault_after_acceptance_waits_for_a_message_that_is_accepted() {
    let (telegram, clock) = strict();
    assert_eq!(next(&telegram), (200, 1));
    telegram.script([Fault::reset_after()]);
    assert_eq!(next(&telegram), (429, 1));
    assert_eq!(telegram.faults_left(), 1);
    clock.advance(Duration::from_secs(1));
    assert_eq!(next(&telegram), (0, 2));
}

#[test]
fn a_storm_is_the_same_for_the_same_seed() {
    let weather = |seed: u64| -> Vec<u16> {
        let telegram = Telegram::start(Options {
            limits: Limits::NONE,
            clock: Clock::set(NOW),
            storm: Some(Storm::new(seed)),
            ..Options::default()
        });
        let statuses = (0..200)
            .map(|_| send(&telegram, &hello(42)).status)
            .collect();
        let ids: Vec<i64> = telegram.accepted().iter().map(|m| m.message_id).collect();
        assert!(
            ids.iter()
                .copied()
                .eq(1..=i64::try_from(ids.len()).unwrap())
        );
        statuses
    };
    let first = weather(7);
    let faults = first.iter().filter(|status| **status != 200).count();
    assert!((5..40).contains(&faults), "{faults} of 200");
    assert_eq!(first, weather(7));
    assert_ne!(first, weather(8));
}

#[test]
fn a_script_says_the_same_in_words() {
    let words = "chat 42 blocked x2; 429 35\n502 accepted; hold 8s; chat -5 upgraded -1007;";
    let faults = script::faults(words).unwrap();
    let same = [
        Fault::refuse("blocked").in_chat(42).times(2),
        Fault::flood(35),
        Fault::page(502).after_acceptance(),
        Fault::hold(Duration::from_secs(8)),
        Fault::upgraded(-5, -1007),
    ];
    assert_eq!(format!("{faults:?}"), format!("{same:?}"));
    let for_a_minute = script::faults("unauthorized for 1m").unwrap();
    assert_eq!(
        format!("{for_a_minute:?}"),
        format!("{:?}", [Fault::refuse("unauthorized").lasting(MINUTE)])
    );
}

#[test]
fn a_script_that_nobody_understands_says_where() {
    let why = |words: &str| script::faults(words).unwrap_err();
    assert_eq!(why("502; blokced"), "\"blokced\": there is no such fault");
    assert_eq!(why("429"), "\"429\": seconds is missing or no number");
    assert!(why("upgraded -1007").contains("only a chat can be upgraded"));
    assert!(why("502 xthree").contains("xN needs a number"));
    assert!(why("blocked for ever").contains("\"ever\" is no time"));
    assert!(why("502 sometimes").contains("what is \"sometimes\"?"));
}
