//! A disk that fails at the first operation, at the second, at the third … until a run that needs no
//! more of them: both programs end with their exit code or go on by themselves, say so, and nothing
//! that was accepted is lost.

mod receiver;
mod sender;
mod tick;

use super::{arrived, ask, verified};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::Command;
use watchalert_tests::failing::{Error, Fault, Library, Met, On};
use watchalert_tests::programs::{Ended, Place, Program, Running, long, now, seed, tell};
use watchalert_tests::proof::Proof;

/// Points of a story that the short form tries.
const POINTS: u64 = 3;
/// Runs in a row that need no more operations: one may be shorter than another, by what a commit holds.
const IN_VAIN: usize = 3;
/// Operations during which a disk stays full.
const FULL_FOR: u64 = 3;

/// What one program does while its disk fails, and what must come of it.
trait Story {
    type Scene;

    /// Where it begins, the same each time.
    fn scene(&self) -> Self::Scene;

    fn place(scene: &Self::Scene) -> &Place;

    /// The program at work; `load` puts the failing disk under a command.
    fn play(&self, scene: &Self::Scene, load: &dyn Fn(&mut Command)) -> Ended;

    /// The same again on a good disk, to its end. All that was accepted has arrived, or is given up and told.
    fn end(&self, scene: &Self::Scene) -> Account;
}

/// Of what was accepted.
#[derive(Clone, Copy, Default)]
struct Account {
    accepted: usize,
    /// Given up, and told.
    dead: usize,
    /// Copies beyond the first, each marked.
    repeats: usize,
}

/// What was seen at all points of a story.
#[derive(Default)]
struct Tally {
    points: usize,
    /// Ended with 4: the others went on and ended with 0.
    refused: usize,
    account: Account,
    /// After which operations nothing was said.
    silent: BTreeMap<String, usize>,
}

impl Tally {
    fn note(&mut self, ended: &Ended, failed: &[String]) {
        self.points += 1;
        self.refused += usize::from(ended.code == Some(4));
        if !says_so(ended) {
            *self.silent.entry(failed[0].clone()).or_default() += 1;
        }
    }

    fn add(&mut self, other: Account) {
        let Account {
            accepted,
            dead,
            repeats,
        } = &mut self.account;
        *accepted += other.accepted;
        *dead += other.dead;
        *repeats += other.repeats;
    }

    fn tell(&self, name: &str, fault: Fault, operations: u64) {
        let which = match fault.on {
            On::Reads => " where it reads".to_owned(),
            _ if fault.times == 1 => " where it writes or syncs".to_owned(),
            _ => format!(
                " where it needs room, and the next {} times",
                fault.times - 1
            ),
        };
        let Account {
            accepted,
            dead,
            repeats,
        } = self.account;
        Proof {
            what: &format!("{name}: {}{which}", fault.with.name()),
            how: format!("at {} of about {operations} operations", self.points),
            accepted,
            // Each story has looked for everything.
            delivered: accepted - dead,
            dead,
            repeats,
            cause: "its completion did not reach the disk",
            ..Proof::default()
        }
        .tell();
    }
}

/// Plays `story` with a fault at every operation, or, in the short form, at some of them.
fn at_every_operation<S: Story>(name: &str, story: &S, on: On, with: Error, times: u64) {
    let Some(library) = Library::compiled() else {
        return;
    };
    let start = now();
    let never = Fault {
        on,
        with,
        at: 0,
        times,
    };
    let scene = story.scene();
    let (ended, met) = play(&library, story, &scene, never);
    ended.well();
    assert_eq!(story.end(&scene).repeats, 0, "a repeat without a fault");
    let operations = met.operations();
    assert!(operations > 0, "nothing was counted");

    let step = if long() {
        1
    } else {
        operations.div_ceil(POINTS)
    };
    let mut at = 1 + if step == 1 { 0 } else { seed(name) % step };
    let mut tally = Tally::default();
    let mut in_vain = 0;
    while in_vain < IN_VAIN && (long() || at <= operations) {
        let scene = story.scene();
        let (ended, met) = play(&library, story, &scene, Fault { at, ..never });
        let failed = met.failed();
        at += step;
        in_vain += 1;
        if failed.is_empty() {
            continue;
        }
        in_vain = 0;
        ends_as_documented(&ended, at - step, &failed);
        tally.note(&ended, &failed);
        tally.add(story.end(&scene));
        let mode = ask(S::place(&scene), "PRAGMA journal_mode");
        assert_eq!(mode, "wal", "operation {}, {failed:?}", at - step);
    }
    tally.tell(name, never, operations);
    tell(&format!(
        "io-errors: {name}, {}: {} ended with 4, {} went on; nothing was said after {:?}; {:.0} s",
        with.name(),
        tally.refused,
        tally.points - tally.refused,
        tally.silent,
        start.elapsed().as_secs_f64()
    ));
}

fn play<S: Story>(library: &Library, story: &S, scene: &S::Scene, fault: Fault) -> (Ended, Met) {
    let place = S::place(scene);
    let state = place.path("state").canonicalize().expect("the folder");
    let met = std::cell::RefCell::new(None);
    let ended = story.play(scene, &|command| {
        met.replace(Some(library.load(command, &state, &place.path("."), fault)));
    });
    (ended, met.into_inner().expect("a loaded command"))
}

/// It went on and ended well, or it ended with 4 and one sentence; and there is no trace of a bug.
fn ends_as_documented(ended: &Ended, at: u64, failed: &[String]) {
    let here = format!("operation {at}, {failed:?}: {ended:#?}");
    for word in ["panicked", "a bug"] {
        assert!(!ended.err.contains(word), "{here}");
    }
    let words = ended.words();
    match ended.code {
        Some(0) => assert!(words.is_empty(), "{here}"),
        Some(4) => assert!(words.len() == 1 && words[0].contains("state.db"), "{here}"),
        _ => panic!("{here}"),
    }
}

/// Whether log or last sentence tell of trouble.
fn says_so(ended: &Ended) -> bool {
    let is_trouble = |line: &str| line.contains(" WARN ") || line.contains(" ERROR ");
    ended.code != Some(0) || ended.err.lines().any(is_trouble)
}

/// A sender, whose alerts are appended to the place's one file.
fn start_sender(place: &Place, load: &dyn Fn(&mut Command)) -> Running {
    let mut command = place.command(Program::Sender, &["run", "--until-empty"]);
    let mut printed = OpenOptions::new();
    let printed = printed
        .append(true)
        .create(true)
        .open(place.path("printed"));
    command.stdout(printed.expect("a file for alerts"));
    load(&mut command);
    place.start(command)
}

/// The database of one place, in another, with all that stands beside it.
fn copy_state(from: &Place, to: &Place) {
    for file in fs::read_dir(from.path("state")).expect("the folder") {
        let file = file.expect("a file").path();
        let name = file.file_name().expect("a name");
        if file.is_file() {
            fs::copy(&file, to.path("state").join(Path::new(name))).expect("copied");
        }
    }
}

fn errors<S: Story>(name: &str, story: &S) {
    at_every_operation(name, story, On::All, Error::Io, 1);
}

/// A disk that is full for a few operations: more than one meets it.
fn full<S: Story>(name: &str, story: &S) {
    at_every_operation(name, story, On::Room, Error::NoSpace, FULL_FOR);
}

fn unreadable<S: Story>(name: &str, story: &S) {
    at_every_operation(name, story, On::Reads, Error::Io, 1);
}

#[test]
fn a_sender_on_a_disk_that_fails_loses_nothing() {
    errors("sender", &sender::Delivers::new());
}

#[test]
fn a_sender_on_a_full_disk_loses_nothing() {
    full("sender", &sender::Delivers::new());
}

#[test]
fn a_sender_on_a_disk_that_reads_with_errors_loses_nothing() {
    unreadable("sender", &sender::Delivers::new());
}

#[test]
fn a_tick_on_a_disk_that_fails_loses_nothing() {
    errors("tick", &tick::Reads::news());
}

#[test]
fn a_tick_on_a_full_disk_loses_nothing() {
    full("tick", &tick::Reads::news());
}

#[test]
fn a_tick_on_a_disk_that_reads_with_errors_loses_nothing() {
    unreadable("tick", &tick::Reads::news());
}

#[test]
fn the_first_tick_on_a_disk_that_fails_leaves_what_the_next_can_go_on_with() {
    errors("first tick", &tick::Reads::first());
}

#[test]
fn the_first_tick_on_a_full_disk_leaves_what_the_next_can_go_on_with() {
    full("first tick", &tick::Reads::first());
}

#[test]
fn a_receiver_on_a_disk_that_fails_keeps_what_it_has_answered() {
    errors("receiver", &receiver::Receives);
}

#[test]
fn a_receiver_on_a_full_disk_keeps_what_it_has_answered() {
    full("receiver", &receiver::Receives);
}
