//! Kills while the database is being made: what is left is a file that the next start completes.

use super::{QUIET, verified};
use std::time::Duration;
use watchalert_tests::programs::{BOUND, Place, Program, long, pause, seed, tell};

/// A sender has made its file within about this time.
const MAKING: Duration = Duration::from_millis(60);

#[test]
fn a_kill_while_the_file_is_made_leaves_one_that_the_next_start_completes() {
    let mut chance = fastrand::Rng::with_seed(seed("beginnings"));
    let kills = if long() { 50 } else { 10 };
    let mut hits = 0;
    for _ in 0..kills {
        let place = Place::new(QUIET);
        let first = place.start_sender(&[]);
        pause(MAKING.mul_f64(chance.f64()));
        hits += usize::from(first.kill());
        place.run(Program::Ingest, &[]).well();
        let next = place.start_sender(&["run", "--until-empty"]);
        next.ended(BOUND).well();
        verified(&place);
    }
    tell(&format!(
        "beginnings: {hits} kills of {kills} met a living process"
    ));
    assert!(hits > 0);
}
