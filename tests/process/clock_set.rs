//! The wall clock is set back while the real programs run, and forward again: nothing waits for the time
//! that comes twice, nothing is repeated.

use super::{QUIET, ask, copies, enqueue, spread, verified};
use std::fs::OpenOptions;
use std::time::Duration;
use watchalert_tests::failing::WallClock;
use watchalert_tests::programs::{BOUND, Place, Program, now, until};
use watchalert_tests::proof::Proof;

const ROWS: usize = 200;
const HOUR: i64 = 3_600;

#[test]
fn a_wall_clock_that_is_set_back_amid_a_drain_delays_and_repeats_nothing() {
    let Some(clock) = WallClock::compiled() else {
        return;
    };
    let place = Place::new(QUIET);
    let command = |program, arguments: &[&str]| {
        let mut command = place.command(program, arguments);
        clock.load(&mut command);
        command
    };
    place.run(Program::Sender, &["migrate"]).well();
    enqueue(&place, (0..ROWS).map(|row| row.to_string()), 20);
    spread(&place, 4);
    let mut sender = command(Program::Sender, &[]);
    let mut printed = OpenOptions::new();
    let printed = printed
        .append(true)
        .create(true)
        .open(place.path("printed"));
    sender.stdout(printed.expect("a file for alerts"));
    let mut sender = place.start(sender);
    let rows = || place.printed().matches(" row ").count();
    until("it is at work", || rows() >= 20);

    let mut longest = Duration::ZERO;
    let noticed = || sender.said().matches("the wall clock was set by").count();
    let steps = [(-HOUR, "back"), (-24 * HOUR, "further"), (HOUR, "forward")];
    for (step, (set_by, name)) in steps.into_iter().enumerate() {
        // So that each of them meets a drain.
        enqueue(&place, (0..ROWS).map(|row| format!("{row}-{name}")), 20);
        clock.set_by(set_by);
        let since = now();
        let text = format!("row {name} end");
        let add = command(Program::Sender, &["queue", "add", &text]);
        place.run_command(add).well();
        place
            .run_command(command(Program::Ingest, &["--now"]))
            .well();
        until("what came by that clock is printed", || {
            copies(&place.printed(), name) == 1
        });
        longest = longest.max(since.elapsed());
        until("the sender has noticed", || noticed() > step);
    }
    let owed = "SELECT count(*) FROM outbox WHERE state IN('ready','leased')";
    until("all is sent", || ask(&place, owed) == "0");
    assert!(sender.runs());
    sender.terminate();
    sender.ended(BOUND).well();
    let printed = place.printed();
    let later = steps.map(|(_, name)| (0..ROWS).map(move |row| format!("{row}-{name}")));
    let rows = (0..ROWS).map(|row| row.to_string());
    let names: Vec<String> = rows.chain(later.into_iter().flatten()).collect();
    for name in &names {
        assert_eq!(copies(&printed, name), 1, "{name}");
    }
    assert_eq!(verified(&place)["audit"]["repeats_marked"], 0);
    Proof {
        what: "the wall clock set back by an hour, by a day, and forward by an hour",
        how: format!(
            "amid drains; what came just then was there within {:.1} s",
            longest.as_secs_f64()
        ),
        accepted: names.len() + steps.len(),
        delivered: names.len() + steps.len(),
        ..Proof::default()
    }
    .tell();
}
