//! The real tick, killed anywhere: what is told of heartbeats and that it was told are one thing.

use watchalert_tests::programs::{Place, Program, long, now, pause, seed};
use watchalert_tests::world::{ask, stranger};

const BEATS: usize = 40;

fn config() -> String {
    let mut text =
        "default_channel = \"screen\"\n[channel.screen]\nkind = \"console\"\n".to_owned();
    for beat in 0..BEATS {
        text += &format!("[[heartbeat]]\nname = \"job{beat}\"\nevery = \"1h\"\ngrace = \"1m\"\n");
    }
    text
}

/// Each that was told is told to be back, each other to be missing, when the next tick looks.
const TURN: &str = "\
UPDATE beat SET seen_at=unixepoch(),waited=0 WHERE told IS NOT NULL;
UPDATE beat SET seen_at=unixepoch()-7200,waits_since=unixepoch()-3600,waited=3600,looked_at=unixepoch() WHERE told IS NULL;";

/// Of a beat: what was told, less what was told to be over, and whether that is what it says itself.
const ODD: &str = "\
SELECT count(*) FROM beat WHERE (told IS NOT NULL)<>
 (SELECT coalesce(sum(CASE WHEN title LIKE '% is missing' THEN 1 ELSE -1 END),0) FROM alert WHERE source='heartbeat '||name)";

#[test]
fn ticks_that_are_killed_anywhere_tell_each_turn_of_a_heartbeat_once() {
    let (kills, seed) = (if long() { 300 } else { 30 }, seed("killed beats"));
    let mut chance = fastrand::Rng::with_seed(seed);
    let place = Place::new(&config());
    let start = now();
    place.run(Program::Ingest, &[]).well();
    // Of a tick; the first one made the database, too.
    let mut whole = start.elapsed();
    let db = stranger(&place.database());
    let (mut hits, mut turned) = (0, 0);
    for _ in 0..kills * 4 {
        if hits == kills {
            break;
        }
        db.execute_batch(TURN).expect("turned");
        let before = ask(&db, "SELECT count(*) FROM alert");
        let tick = place.start(place.command(Program::Ingest, &[]));
        pause(whole.mul_f64(chance.f64()));
        if tick.kill() {
            hits += 1;
        } else {
            whole = whole.mul_f64(0.9);
        }
        assert_eq!(ask(&db, ODD), "0");
        turned += usize::from(ask(&db, "SELECT count(*) FROM alert") != before);
        if turned == 0 && hits % 5 == 4 {
            whole = whole.mul_f64(1.3);
        }
    }
    assert!(hits >= kills / 2, "{hits} of {kills} met a tick that lived");
    assert!(turned > 0, "none told anything");
    db.execute_batch(TURN).expect("turned");
    place.run(Program::Ingest, &[]).well();
    assert_eq!(ask(&db, ODD), "0");
    let twice = "SELECT count(*)-count(DISTINCT alert_id) FROM outbox";
    assert_eq!(ask(&db, twice), "0");
    place.run(Program::Sender, &["verify"]).well();
    let status = place.run(Program::Sender, &["status"]).well().out;
    assert_eq!(
        status.matches("\nheartbeat      job").count(),
        BEATS,
        "{status}"
    );
    let status = place.run(Program::Sender, &["status", "--json"]).well().out;
    let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    assert_eq!(status["heartbeats"][7]["name"], "job7");
    assert!(["missed", "up"].contains(&status["heartbeats"][7]["state"].as_str().expect("text")));
}
