//! The programs end from one moment to the next at each named point of the protocol: at its first passing, its second,
//! and so on, until a run passes it no more. After each of them the next start brings everything that was accepted.

use super::kills::News;
use super::receiver::Scene;
use super::town::Town;
use super::{ask, verified};
use std::collections::BTreeSet;
use std::time::Duration;
use watchalert_tests::programs::{BOUND, Place, Program, Running, long, until};
use watchalert_tests::proof::Proof;
use watchalert_tests::smtp::{Act, At};
use watchalert_tests::world::stranger;

/// Ends at so many of the passings of one point: at all of them in the long form, else at ever later ones.
/// `run` says whether the program got so far.
fn at_each_passing(point: &str, mut run: impl FnMut(&str) -> bool) -> usize {
    let (mut number, mut crashes) = (1, 0);
    while run(&format!("{point}:{number}")) {
        crashes += 1;
        number = if long() { number + 1 } else { number * 2 };
    }
    assert!(crashes > 0, "{point} is never passed");
    crashes
}

fn start(place: &Place, program: Program, arguments: &[&str], crash_at: &str) -> Running {
    let mut command = place.command(program, arguments);
    command.env("WATCHALERT_CRASH_AT", crash_at);
    place.start(command)
}

/// Whether it crashed; else it ended well.
fn crashed(running: Running) -> bool {
    let ended = running.ended(BOUND);
    if ended.code.is_some() {
        ended.well();
        return false;
    }
    true
}

/// One life after the other until nothing waits any more; each looks anew for what is late. Whether one of
/// them crashed: then the others do not.
fn drain(town: &Town, crash_at: &str) -> bool {
    let mut has_crashed = false;
    until("nothing waits", || {
        let crash_at = if has_crashed { "" } else { crash_at };
        let arguments = ["run", "--until-empty"];
        has_crashed |= crashed(start(&town.place, Program::Sender, &arguments, crash_at));
        town.is_done()
    });
    has_crashed
}

/// A batch for each crash: six alerts by mail in a digest and singly, and by failover to ntfy.
fn sender(point: &str) {
    let mut town = Town::with_fallback_after(Duration::from_millis(20));
    let crashes = at_each_passing(point, |crash_at| {
        town.enqueue();
        let crashed = drain(&town, crash_at);
        assert!(!drain(&town, ""));
        verified(&town.place);
        crashed
    });
    let count = |sql: &str| ask(&town.place, sql).parse::<usize>().expect("a number");
    let arrived = town.account();
    let counted = count("SELECT n FROM ledger WHERE name='repeat_marked'");
    assert!(
        arrived.marked <= counted,
        "{} marks arrived, {counted} counted",
        arrived.marked
    );
    verified(&town.place);
    Proof {
        what: &format!("a sender, ended at {point}"),
        how: format!("{crashes} crashes"),
        accepted: 2 * town.alerts,
        delivered: arrived.alerts,
        repeats: arrived.again,
        cause: "taken by the other side, and ended before the commit",
        ..Proof::default()
    }
    .tell();
}

#[test]
fn a_sender_that_ends_before_a_commit_loses_nothing() {
    sender("commit.before");
}

#[test]
fn a_sender_that_ends_after_a_commit_loses_nothing() {
    sender("commit.after");
}

#[test]
fn a_sender_that_ends_after_a_claim_and_before_its_call_loses_nothing() {
    sender("call.before");
}

#[test]
fn a_sender_that_ends_after_an_answer_and_before_its_commit_loses_nothing() {
    sender("call.after");
}

/// Each tick finds one more entry in each feed.
#[test]
fn a_tick_that_ends_anywhere_loses_no_entry_and_tells_none_twice() {
    for point in ["commit.before", "commit.after", "bell.before"] {
        let news = News::new(3, 60);
        let place = Place::new(&news.config());
        place.run(Program::Ingest, &["--now"]).well();
        let mut shown = 0;
        let crashes = at_each_passing(point, |crash_at| {
            shown += 1;
            news.show(shown);
            let crashed = crashed(start(&place, Program::Ingest, &["--now"], crash_at));
            place.run(Program::Ingest, &["--now"]).well();
            crashed
        });
        let told = ask(&place, "SELECT count(*) FROM alert");
        assert_eq!(told, (3 * shown).to_string(), "{point}");
        let owed = ask(&place, "SELECT count(*) FROM outbox WHERE kind='alert'");
        assert_eq!(owed, told, "{point}");
        verified(&place);
        Proof {
            what: &format!("a tick, ended at {point}"),
            how: format!("{crashes} crashes"),
            accepted: 3 * shown,
            delivered: told.parse().expect("a number"),
            ..Proof::default()
        }
        .tell();
    }
}

/// Deliveries of one life of a receiver.
const POSTS: usize = 12;

/// Posts until the receiver ends or all have come; what was answered with 2xx.
fn post(scene: &Scene, first: usize, answered: &mut BTreeSet<usize>) {
    for number in first..first + POSTS {
        if scene.post(number) {
            answered.insert(number);
        }
    }
}

/// Whether it crashed; else it ends at a signal.
fn stopped(mut receiver: Running) -> bool {
    if receiver.runs() {
        receiver.terminate();
    }
    crashed(receiver)
}

fn receiver(point: &str, is_held: bool) {
    let scene = Scene::new();
    let (mut answered, mut posted) = (BTreeSet::new(), 0);
    let crashes = at_each_passing(point, |crash_at| {
        let held = is_held.then(|| stranger(&scene.place.database()));
        if let Some(db) = &held {
            db.execute_batch("BEGIN IMMEDIATE").expect("held");
        }
        let running = start(&scene.place, Program::Ingest, &["listen"], crash_at);
        until("it listens, or has ended", || {
            scene.is_open() || !is_alive(&running)
        });
        post(&scene, posted, &mut answered);
        posted += POSTS;
        if let Some(db) = held {
            db.execute_batch("COMMIT").expect("let go");
        }
        stopped(running)
    });
    let told = all_are_told(&scene, &answered);
    let what = format!("the receiver, ended at {point}");
    proof_of_the_receiver(&what, crashes, &answered, &told);
}

/// Each that was answered is told, once.
fn proof_of_the_receiver(
    what: &str,
    crashes: usize,
    answered: &BTreeSet<usize>,
    told: &BTreeSet<usize>,
) {
    Proof {
        what,
        how: format!("{crashes} crashes"),
        accepted: answered.len(),
        delivered: answered.intersection(told).count(),
        ..Proof::default()
    }
    .tell();
}

fn is_alive(running: &Running) -> bool {
    std::path::Path::new(&format!("/proc/{}/fd/0", running.id())).exists()
}

/// What is told in the end, each once.
fn all_are_told(scene: &Scene, answered: &BTreeSet<usize>) -> BTreeSet<usize> {
    let last = start(&scene.place, Program::Ingest, &["listen"], "");
    until("it listens", || scene.is_open());
    until("all that was answered is told", || {
        scene.told().is_superset(answered)
    });
    until("the spool is empty", || scene.spooled() == 0);
    last.terminate();
    last.ended(BOUND).well();
    assert!(!answered.is_empty());
    verified(&scene.place);
    scene.told()
}

#[test]
fn a_receiver_that_ends_around_a_commit_keeps_what_it_answered() {
    receiver("commit.before", false);
    receiver("commit.after", false);
}

#[test]
fn a_receiver_that_ends_around_its_spool_keeps_what_it_answered() {
    receiver("spool.written", true);
    receiver("spool.kept", true);
}

#[test]
fn a_receiver_that_ends_after_it_has_taken_in_what_was_spooled_tells_it_once() {
    let scene = Scene::new();
    let (mut answered, mut posted) = (BTreeSet::new(), 0);
    let crashes = at_each_passing("spool.taken", |crash_at| {
        let db = stranger(&scene.place.database());
        db.execute_batch("BEGIN IMMEDIATE").expect("held");
        let before = start(&scene.place, Program::Ingest, &["listen"], "");
        until("it listens", || scene.is_open());
        post(&scene, posted, &mut answered);
        posted += POSTS;
        before.terminate();
        before.ended(BOUND).well();
        db.execute_batch("COMMIT").expect("let go");
        let mut running = start(&scene.place, Program::Ingest, &["listen"], crash_at);
        until("it ends, or has taken in all", || {
            !running.runs() || scene.spooled() == 0
        });
        stopped(running)
    });
    let told = all_are_told(&scene, &answered);
    let what = "the receiver, ended at spool.taken";
    proof_of_the_receiver(what, crashes, &answered, &told);
}

#[test]
fn a_sender_that_ends_before_its_journal_is_whole_marks_what_it_sends_again() {
    journal("journal.written", 2);
}

#[test]
fn a_sender_that_ends_after_its_journal_is_whole_sends_nothing_again() {
    journal("journal.kept", 1);
}

#[test]
fn a_sender_that_ends_after_it_has_replayed_its_journal_sends_nothing_again() {
    journal("journal.replayed", 1);
}

/// An answer comes while the database is held, and the sender must end: the journal has to keep it.
fn journal(point: &str, copies: usize) {
    let town = Town::new();
    let late = Act::Late("250 2.0.0 queued".to_owned());
    town.mail.set_times("sender.test", At::Text, late, 1);
    town.enqueue_mail();
    let (crash_at, is_at_start) = (format!("{point}:1"), point == "journal.replayed");
    let first = if is_at_start { "" } else { &crash_at };
    let sender = start(&town.place, Program::Sender, &["run"], first);
    until("its mail is under way", || town.mail.hanging() == 1);
    let db = stranger(&town.place.database());
    db.execute_batch("BEGIN IMMEDIATE").expect("held");
    town.mail.recover();
    until("it has arrived", || town.mail.mails().len() == 1);
    until("its result waits", || {
        sender.said().contains("a result waits in memory")
    });
    sender.terminate();
    assert_eq!(crashed(sender), !is_at_start, "{point}");
    db.execute_batch("COMMIT").expect("let go");
    assert_eq!(drain(&town, &crash_at), is_at_start, "{point}");
    assert!(!drain(&town, ""));
    assert_eq!(town.mail.mails().len(), copies, "{point}");
    verified(&town.place);
    Proof {
        what: &format!("a sender that cannot commit, ended at {point}"),
        how: "1 crash".to_owned(),
        accepted: 1,
        delivered: 1,
        repeats: copies - 1,
        cause: "the journal was not whole",
        ..Proof::default()
    }
    .tell();
}
