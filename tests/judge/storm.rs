//! Two hundred items at once before a slow model: the set clock moves with each answer.

use super::room::{self, Room};
use std::time::Duration;
use watchalert_tests::models::{ModelServer, verdict};
use watchalert_tests::world::START;

#[test]
fn two_hundred_items_at_five_seconds_each_are_all_told_within_fifteen_minutes() {
    let cloud = ModelServer::saying(verdict("low", ""));
    let clock = std::sync::Arc::new(std::sync::Mutex::new(
        None::<shared::platform::clock::Clock>,
    ));
    let moved = std::sync::Arc::clone(&clock);
    let ollama = ModelServer::start(move |_| {
        let clock = moved.lock().expect("free");
        clock.as_ref().expect("set").advance(Duration::from_secs(5));
        verdict("normal", "")
    });
    let room = Room::new(&format!(
        "{}{}",
        room::ollama(&ollama),
        room::cloud(&cloud, "openai", 200)
    ));
    *clock.lock().expect("free") = Some(room.world.clock.clone());

    let mut titles: Vec<String> = (0..199)
        .map(|n| format!("Report number {n} of the day"))
        .collect();
    titles.insert(150, "Actively exploited flaw in Quillmark".to_owned());
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    room.publish(&titles);
    let (mut by_model, mut unclassified, mut ticks) = (0, 0, 0);
    loop {
        room.world
            .clock
            .set_to(START + Duration::from_secs(120) * (ticks + 1));
        let report = room.tick();
        by_model += report.judged_by.model;
        unclassified += report.judged_by.unclassified;
        ticks += 1;
        if report.pending == 0 {
            break;
        }
        assert!(ticks < 10, "{report}");
    }
    assert_eq!(by_model + unclassified, 199);
    // Five ticks of a hundred seconds: what 600 s of waiting hold.
    assert!((80..=120).contains(&by_model), "{by_model}");
    let urgent = room.ask("SELECT CAST(max(outbox.created_at-item.first_seen_at) AS INTEGER) FROM outbox JOIN item USING(alert_id) WHERE outbox.priority=0");
    assert!(urgent.parse::<u32>().expect("seconds") <= 10, "{urgent}");
    let longest = room
        .ask("SELECT CAST(max(judged_at-first_seen_at) AS INTEGER) FROM item WHERE state='judged'");
    assert!(longest.parse::<u32>().expect("seconds") <= 900, "{longest}");
    assert_eq!(
        room.ask("SELECT count(*) FROM outbox WHERE kind='alert'"),
        "200"
    );
    assert_eq!(cloud.requests_for("/v1/chat/completions").len(), 0);
}
