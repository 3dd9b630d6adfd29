//! SIGTERM in the midst of a drain: what is in flight finishes, nothing is left leased, and the
//! next run delivers the rest without a repeat.

use super::{QUIET, ask, copies, enqueue, spread, verified};
use std::io::Read;
use std::process::Stdio;
use std::time::Duration;
use watchalert_tests::programs::{
    BOUND, Place, Program, Running, long, pause, seed, tell, until, within,
};

const ROWS: usize = 300;
const STOPS: usize = 6;

fn names() -> impl Iterator<Item = String> {
    (0..ROWS).map(|row| row.to_string())
}

fn stocked(letters: usize) -> Place {
    let place = Place::new(QUIET);
    place.run(Program::Sender, &["migrate"]).well();
    enqueue(&place, names(), letters);
    place
}

fn nothing_is_leased(place: &Place) {
    let open = "SELECT (SELECT count(*) FROM outbox WHERE state='leased')+(SELECT count(*) FROM attempt WHERE ended_at IS NULL)";
    assert_eq!(ask(place, open), "0");
}

fn drain(place: &Place) {
    let last = place.start_sender(&["run", "--until-empty"]);
    last.ended(BOUND).well();
}

/// Each row was sent by one attempt.
fn no_repeats(place: &Place) {
    let audit = verified(place);
    let counted = [
        &audit["audit"]["repeats_marked"],
        &audit["audit"]["outbox"]["sent"],
    ];
    assert_eq!(counted, [0, ROWS]);
    assert_eq!(ask(place, "SELECT max(attempts) FROM outbox"), "1");
}

#[test]
fn a_sender_that_is_stopped_again_and_again_repeats_nothing() {
    let mut chance = fastrand::Rng::with_seed(seed("stops"));
    let place = stocked(20);
    spread(&place, 4);
    let mut in_the_midst = 0;
    for _ in 0..STOPS {
        let before = place.printed().len();
        let sender = place.start_sender(&[]);
        within(Duration::from_secs(5), || place.printed().len() > before);
        pause(Duration::from_millis(40).mul_f64(chance.f64()));
        sender.terminate();
        sender.ended(BOUND).well();
        nothing_is_leased(&place);
        let rest = ask(&place, "SELECT count(*) FROM outbox WHERE state='ready'");
        in_the_midst += usize::from(rest != "0");
    }
    drain(&place);
    let printed = place.printed();
    for name in names() {
        assert_eq!(copies(&printed, &name), 1, "{name}");
    }
    no_repeats(&place);
    tell(&format!(
        "stops: {in_the_midst} of {STOPS} with rows still waiting"
    ));
    assert!(in_the_midst > 0, "no stop came in the midst of a drain");
}

/// A delivery hangs in a pipe that nobody reads, so there is something in flight for certain.
#[test]
fn what_is_in_flight_at_a_stop_finishes() {
    let place = stocked(1_000);
    let mut command = place.command(Program::Sender, &[]);
    command.stdout(Stdio::piped());
    let mut sender = place.start(command);
    let mut pipe = sender.take_output();
    // The pipe holds 64 KiB: the sender must come to wait long before the last row.
    until("a delivery hangs", || hangs(&place, &mut sender));
    sender.terminate();
    pause(Duration::from_millis(300));
    assert!(sender.runs(), "it waits for what is in flight");

    let mut printed = String::new();
    pipe.read_to_string(&mut printed).expect("alerts");
    sender.ended(BOUND).well();
    nothing_is_leased(&place);
    let sent = names().filter(|name| copies(&printed, name) == 1).count();
    assert_eq!(
        ask(&place, "SELECT count(*) FROM outbox WHERE state='sent'"),
        sent.to_string()
    );
    assert!((1..ROWS).contains(&sent), "{sent}");

    drain(&place);
    printed += &place.printed();
    for name in names() {
        assert_eq!(copies(&printed, &name), 1, "{name}");
    }
    no_repeats(&place);
}

/// An attempt is open for longer than any write to a pipe with room in it takes.
fn hangs(place: &Place, sender: &mut Running) -> bool {
    assert!(sender.runs(), "{}", sender.said());
    let open =
        "SELECT count(*) FROM attempt WHERE ended_at IS NULL AND started_at<unixepoch('subsec')-2";
    ask(place, open) == "1"
}

/// A machine that sleeps, a debugger, a full pipe of systemd's: longer than a watchdog waits. Whoever is
/// stopped keeps nobody else from working, and goes on as if nothing had been.
#[test]
fn a_sender_that_stands_still_for_longer_than_its_watchdog_goes_on_and_repeats_nothing() {
    let stands = Duration::from_secs(if long() { 35 } else { 3 });
    let mut chance = fastrand::Rng::with_seed(seed("standstill"));
    let place = stocked(20);
    spread(&place, 4);
    let mut sender = place.start_sender(&[]);
    until("it is at work", || copies(&place.printed(), "9") == 1);
    pause(Duration::from_millis(20).mul_f64(chance.f64()));
    sender.signal("STOP");
    pause(stands);
    let before = place.printed();
    // Unless it stands in the midst of a commit: then the others are told that the file is held.
    let tick = place.run(Program::Ingest, &["--now"]);
    assert!(matches!(tick.code, Some(0 | 4)), "{tick:#?}");
    assert_eq!(before, place.printed(), "it stands");
    sender.signal("CONT");
    until("all is sent", || {
        ask(
            &place,
            "SELECT count(*) FROM outbox WHERE state='ready' OR state='leased'",
        ) == "0"
    });
    assert!(sender.runs());
    sender.terminate();
    sender.ended(BOUND).well();
    let printed = place.printed();
    for name in names() {
        assert_eq!(copies(&printed, &name), 1, "{name}");
    }
    no_repeats(&place);
    tell(&format!(
        "standstill: {stands:?} amid a drain, no repeat; a tick meanwhile ended with {:?} after {:.1} s",
        tick.code,
        tick.took.as_secs_f64()
    ));
}
