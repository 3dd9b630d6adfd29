//! Models that are not loaded, are busy or read less than they were sent: whose patience ends when, and
//! how many questions are on their way.

use super::room::{self, Room};
use shared::platform::exit::Exit;
use std::time::Duration;
use watchalert_tests::feeds::Reply;
use watchalert_tests::models::{ModelServer, Say, question, verdict};
use watchalert_tests::programs::until;
use watchalert_tests::world::START;

const CHAT: &str = "/api/chat";
const ANSWER: &str = r#"{"model":"m","created_at":"t","done":true,"done_reason":"load","message":{"role":"assistant","content":"{\"severity\":\"high\"}"}}"#;

fn asked(ollama: &ModelServer) -> usize {
    ollama.requests_for(CHAT).len()
}

/// Whatever is asked of it waits until it is loaded.
#[test]
fn a_cold_model_goes_on_loading_while_ticks_come_and_go() {
    let ollama = ModelServer::saying(verdict("low", ""));
    let room = Room::new(&format!("{}timeout = \"1s\"\n", room::ollama(&ollama)));
    let loaded_at = START + Duration::from_secs(400);
    let answer = Reply::body(ANSWER);
    ollama.set(CHAT, answer.held_until(&room.world.clock, loaded_at));
    std::thread::scope(|scope| {
        let warm = scope.spawn(|| room.command(&["warm"]));
        until("the model is asked for", || asked(&ollama) == 1);
        let report = room.tick_with(&["Something happened in the north"]);
        assert_eq!((report.pending, report.judged.total()), (1, 0));
        assert_eq!(asked(&ollama), 2);
        assert!(!warm.is_finished(), "no tick has cut it off");
        room.world.clock.set_to(loaded_at);
        let (exit, said) = warm.join().expect("it ends");
        assert_eq!(
            (exit, &*said),
            (Ok(Exit::Success), "Ollama's qwen2.5:7b is loaded\n")
        );
    });
    assert_eq!(room.tick().judged_by.model, 1);
    assert_eq!(room.alert("severity"), "high");
    assert_eq!(room.notices(), "", "a model that loads is no news");
}

#[test]
fn nothing_but_the_limit_ends_the_wait_for_the_first_byte() {
    let ollama = ModelServer::saying(Say::Reply(Reply::hang()));
    let room = Room::new(&format!("{}timeout = \"90s\"\n", room::ollama(&ollama)));
    room.publish(&["Something happened in the north"]);
    let (report, took) = room.tick_skipping(|| asked(&ollama) == 1);
    assert_eq!(report.pending, 1);
    assert!((90..95).contains(&took.as_secs()), "{took:?}");

    ollama.set(CHAT, Reply::hang());
    for (limit, waited) in [("3m", "180s"), ("15m", "900s")] {
        let before = asked(&ollama);
        let warm = ["warm", "--limit", limit];
        let (exit, _) = room.command_skipping(&warm, || asked(&ollama) > before);
        let said = format!("Ollama does not answer in time (no answer within {waited})");
        assert_eq!(exit, Err(said));
    }
}

#[test]
fn a_busy_model_is_asked_one_question_a_tick_until_it_has_time() {
    let ollama = ModelServer::saying(verdict("low", ""));
    let busy = r#"{"error":"server busy, please try again.  maximum pending requests exceeded"}"#;
    let room = Room::new(&room::ollama(&ollama));
    ollama.set(CHAT, Reply::status(503).with_body(busy));
    room.publish(&["One", "Two", "Three", "Four"]);
    for tick in 1..=2 {
        assert_eq!(room.tick().pending, 4);
        assert_eq!(asked(&ollama), tick);
        room.later(120);
    }
    ollama.set(CHAT, Reply::body(ANSWER));
    assert_eq!(room.tick().judged_by.model, 4);
    assert_eq!(room.notices(), "", "what passes by itself is no news");
}

#[test]
fn as_many_questions_are_on_their_way_as_the_configuration_allows() {
    for (keys, at_once) in [("", 1), ("concurrency = 2\n", 2)] {
        let ollama = ModelServer::saying(Say::Reply(Reply::hang()));
        let room = Room::new(&format!("{}{keys}", room::ollama(&ollama)));
        room.publish(&["One", "Two", "Three", "Four", "Five"]);
        let (report, _) = room.tick_skipping(|| asked(&ollama) == at_once);
        assert_eq!(report.pending, 5);
        // Two rounds fit into a tick; time is skipped, so not all of the second has arrived.
        let arrived = asked(&ollama);
        assert!((at_once..=2 * at_once).contains(&arrived), "{arrived}");
    }
}

/// Through the native API, for the other one ignores how much the model is to read.
#[test]
fn a_question_is_bounded_by_us_and_says_how_long_its_answer_may_be() {
    let ollama = ModelServer::saying(verdict("low", ""));
    let room = Room::new(&room::ollama(&ollama));
    room.publish_long("A long story");
    assert_eq!(room.tick().judged_by.model, 1);
    let sent = ollama.questions(CHAT).remove(0);
    assert_eq!(sent["options"]["num_ctx"], 4096);
    assert_eq!(sent["options"]["num_predict"], 400);
    let words = question(&sent).chars().count();
    assert!((2_000..2_200).contains(&words), "{words}");
    let system = sent["messages"][0]["content"].as_str().expect("words");
    assert!(system.contains("Answer with one JSON object"), "{system}");
    let counted = system.chars().count() + words;
    assert!(
        counted < 4_096 - 400,
        "in nearly every script it fits: {counted}"
    );
}

/// What did not fit was cut in silence, perhaps the end of the fence.
#[test]
fn an_answer_to_half_a_question_is_no_answer_and_the_next_question_is_shorter() {
    let ollama = ModelServer::start(|question| {
        let answer = r#"{"severity":"ignore"}"#.to_owned();
        if question.len() > 1_500 {
            Say::Overfull(answer)
        } else {
            verdict("high", "s")
        }
    });
    let room = Room::new(&room::ollama(&ollama));
    room.publish_long("A long story");
    assert_eq!(room.tick().pending, 1);
    assert_eq!(room.ask("SELECT answers FROM unusable"), "1");
    room.later(120);
    assert_eq!(room.tick().judged_by.model, 1);
    assert_eq!(room.alert("severity"), "high");
}
