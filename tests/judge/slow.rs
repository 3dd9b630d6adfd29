//! How long a model takes, on a set clock that each answer moves: one slow answer says nothing of the
//! others, and a model that was slow before may be quick now.

use super::room::{self, Room};
use shared::platform::clock::Clock;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use watchalert_ingest::report::Report;
use watchalert_tests::models::{ModelServer, verdict};

/// A room before a model of which the n-th answer, counted from 0, takes so many seconds.
fn room(mut takes: impl FnMut(usize) -> u64 + Send + 'static) -> Room {
    let clock = Arc::new(Mutex::new(None::<Clock>));
    let moved = Arc::clone(&clock);
    let mut answers = 0;
    let ollama = ModelServer::start(move |_| {
        let clock = moved.lock().expect("free");
        let clock = clock.as_ref().expect("set");
        clock.advance(Duration::from_secs(takes(answers)));
        answers += 1;
        verdict("normal", "")
    });
    let room = Room::before(&room::ollama(&ollama), ollama);
    *clock.lock().expect("free") = Some(room.world.clock.clone());
    room
}

fn storm(room: &Room, items: usize) -> Report {
    let titles: Vec<String> = (0..items)
        .map(|n| format!("Report number {n} of the day"))
        .collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    room.tick_with(&titles)
}

#[test]
fn the_first_answer_for_which_the_model_was_loaded_does_not_speak_for_the_others() {
    let room = room(|nth| if nth == 0 { 57 } else { 1 });
    let report = storm(&room, 100);
    // 57 s, and one more each second of the hundred.
    assert_eq!(report.judged_by.model, 44);
    assert_eq!((report.judged_by.unclassified, report.pending), (0, 56));
    room.later(20);
    assert_eq!(room.tick().judged_by.model, 56);
}

#[test]
fn one_slow_answer_among_quick_ones_costs_its_own_time_alone() {
    let room = room(|nth| if nth == 10 { 49 } else { 1 });
    let report = storm(&room, 60);
    let by = report.judged_by;
    assert_eq!((by.model, by.unclassified, report.pending), (52, 0, 8));
}

/// On quiet days each answer waits for the model to be loaded.
#[test]
fn a_model_that_was_slow_on_quiet_days_may_be_quick_in_a_storm() {
    let room = room(|nth| if nth < 6 { 49 } else { 1 });
    for n in 0..5 {
        let report = room.tick_with(&[&format!("Quiet day {n}")]);
        assert_eq!(report.judged_by.model, 1);
    }
    let by = storm(&room, 100).judged_by;
    assert_eq!((by.model, by.unclassified), (52, 0));
}

#[test]
fn what_a_slow_model_cannot_reach_in_time_is_judged_by_the_rules_after_two_answers() {
    let room = room(|_| 40);
    let report = storm(&room, 100);
    let by = report.judged_by;
    // Eighty seconds later 520 s are left, of each 120 a hundred for answers: ten more.
    assert_eq!((by.model, by.unclassified, report.pending), (2, 88, 10));
}
