//! Silences and quiet hours hold alerts back and lose none.

use shared::model::{Priority, Severity};
use shared::store::silences;
use std::time::Duration;
use watchalert_tests::world::{World, alert, owed, to};

const HOUR: Duration = Duration::from_secs(3_600);

/// How many wait that are due now.
fn due(world: &World) -> String {
    let now = world.clock.now().unix_seconds();
    world.ask(&format!(
        "SELECT count(*) FROM outbox WHERE state='ready' AND due_at<={now}"
    ))
}

fn begin(world: &World, pattern: &'static str, lasting: Duration) -> (i64, usize) {
    let now = world.clock.now();
    world
        .write(move |db| silences::begin(db, pattern, now + lasting, now))
        .expect("begun")
}

#[test]
fn what_a_silence_matches_waits_for_its_end_before_and_after_it_was_said() {
    let world = World::new();
    let screen = to("screen", "-");
    world.enqueue("nginx one", &screen, Priority::High);
    world.enqueue("other", &screen, Priority::High);
    assert_eq!(begin(&world, "NGINX", 2 * HOUR), (1, 1));
    world.enqueue("nginx two", &screen, Priority::Critical);
    assert_eq!(due(&world), "1");
    world.advance(2 * HOUR);
    assert_eq!(due(&world), "3");
    world.enqueue("nginx three", &screen, Priority::High);
    assert_eq!(due(&world), "4", "it is over");
    world.all_invariants_hold();
}

#[test]
fn a_silence_that_is_ended_gives_up_what_it_held_and_the_longest_of_several_counts() {
    let world = World::new();
    let screen = to("screen", "-");
    begin(&world, "nginx", HOUR);
    let (long, _) = begin(&world, "example", 5 * HOUR);
    world.enqueue("nginx", &screen, Priority::High);
    world.advance(2 * HOUR);
    assert_eq!(due(&world), "0");
    let now = world.clock.now();
    let end = move |db: &_| silences::end(db, long, now);
    assert_eq!(world.write(end).expect("ended"), Some(1));
    assert_eq!(due(&world), "1");
    assert_eq!(world.write(end).expect("none"), None);
    let active = world.read(move |db| silences::active(db, now));
    assert_eq!(active, []);
    world.all_invariants_hold();
}

#[test]
fn what_is_silenced_fails_over_no_earlier_than_it_may_be_sent() {
    use shared::store::outbox::{self, Fallback};
    let world = World::new();
    begin(&world, "nginx", HOUR);
    let mut owed = owed("nginx", &to("screen", "-"), Priority::High);
    owed.alert = alert("nginx", Severity::High);
    owed.to[0].fallback = Some(Fallback {
        to: to("other", "-"),
        after: Duration::from_secs(60),
    });
    let now = world.clock.now();
    world
        .write(move |db| outbox::enqueue(db, &owed, now))
        .expect("enqueued");
    let after = world.ask(&format!(
        "SELECT CAST(fallback_at-{} AS INT) FROM outbox",
        now.unix_seconds()
    ));
    assert_eq!(after, "3660");
}

#[test]
fn a_short_silence_within_a_long_one_ends_without_breaking_it() {
    let world = World::new();
    world.enqueue("nginx", &to("screen", "-"), Priority::High);
    begin(&world, "nginx", 5 * HOUR);
    let (short, _) = begin(&world, "nginx", HOUR);
    let now = world.clock.now();
    let end = move |db: &_| silences::end(db, short, now);
    assert_eq!(world.write(end).expect("ended"), Some(0));
    world.advance(4 * HOUR);
    assert_eq!(due(&world), "0", "the long one holds");
    world.advance(HOUR);
    assert_eq!(due(&world), "1");
}
