//! The programs end from one moment to the next at each named point of the protocol: at its first passing, its second,
//! and so on, until a run passes it no more. After each of them the next start brings everything that was accepted.

use super::kills::{self, News};
use super::receiver::Scene;
use super::town::Town;
use super::{arrived, ask, causes, verified};
use shared::platform::clock::Clock;
use std::collections::BTreeSet;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;
use watchalert_tests::programs::{BOUND, Place, Program, Running, long, until};
use watchalert_tests::proof::Proof;
use watchalert_tests::smtp::{Act, At, Seen};
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

/// One life after the other until nothing waits any more: the first for mail and bot, which fails; before each of the
/// others what waits for the bot comes to be late. From life `from` on they crash, until one of them has. Whether one did.
fn drain(town: &Town, from: usize, crash_at: &str) -> bool {
    let (mut has_crashed, mut life) = (false, 0);
    until("nothing waits", || {
        let crash_at = if has_crashed || life < from {
            ""
        } else {
            crash_at
        };
        if life > 0 {
            town.make_late();
        }
        life += 1;
        let arguments = ["run", "--until-empty"];
        has_crashed |= crashed(start(&town.place, Program::Sender, &arguments, crash_at));
        town.is_done()
    });
    has_crashed
}

/// A batch for each crash: six alerts by mail in a digest and singly, and by failover to ntfy.
fn sender(point: &str) {
    // Later than any test runs: what is late is said.
    let mut town = Town::with_fallback_after(Duration::from_secs(3_600));
    // The first life calls the bot and the mail server; the second one finds what is late, and calls ntfy.
    let is_call = point.starts_with("call");
    let points = if is_call {
        vec![(0, ".ops"), (0, ".mail"), (1, ".phone")]
    } else {
        vec![(0, ""), (1, "")]
    };
    let mut crashes = 0;
    for (from, channel) in points {
        crashes += at_each_passing(&format!("{point}{channel}"), |crash_at| {
            town.enqueue();
            let has_crashed = drain(&town, from, crash_at);
            assert!(!drain(&town, 0, ""));
            verified(&town.place);
            has_crashed
        });
    }
    let count = |sql: &str| ask(&town.place, sql).parse::<usize>().expect("a number");
    let arrived = town.account();
    let counted = count("SELECT n FROM ledger WHERE name='repeat_marked'");
    assert!(
        arrived.marked <= counted,
        "{} marks arrived, {counted} counted",
        arrived.marked
    );
    let interrupted = "SELECT count(DISTINCT channel) FROM attempt JOIN outbox ON id=outbox_id WHERE outcome='interrupted'";
    assert!(
        !is_call || count(interrupted) == 3,
        "calls of every channel"
    );
    verified(&town.place);
    Proof {
        what: &format!("a sender, ended at {point}"),
        how: format!("{crashes} crashes"),
        accepted: 2 * town.alerts,
        delivered: arrived.alerts,
        repeats: arrived.again,
        cause: &causes(&town.place),
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
        let told: usize = ask(&place, "SELECT count(*) FROM alert")
            .parse()
            .expect("a number");
        assert_eq!(told, 3 * shown, "{point}: every entry");
        place
            .start_sender(&["run", "--until-empty"])
            .ended(BOUND)
            .well();
        verified(&place);
        Proof {
            what: &format!("a tick, ended at {point}"),
            how: format!("{crashes} crashes"),
            accepted: told,
            delivered: kills::printed_once(&place),
            ..Proof::default()
        }
        .tell();
    }
}

/// Deliveries of one life of a receiver.
const POSTS: usize = 12;

/// What was answered with 2xx.
#[derive(Default)]
struct Answered {
    posts: BTreeSet<usize>,
    /// When the last call of a heartbeat was begun, in Unix seconds.
    called_at: f64,
    posted: usize,
}

impl Answered {
    /// Posts, and calls once, until the receiver ends or all have come.
    fn go_on(&mut self, scene: &Scene) {
        let began = Clock::system().now().unix_seconds();
        if scene.call() {
            self.called_at = began;
        }
        for number in self.posted..self.posted + POSTS {
            if scene.post(number) {
                self.posts.insert(number);
            }
        }
        self.posted += POSTS;
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
    let bell = UnixDatagram::bind(scene.place.path("state/state.db.bell")).expect("a bell");
    bell.set_nonblocking(true)
        .expect("a bell that is looked at");
    let mut answered = Answered::default();
    let crashes = at_each_passing(point, |crash_at| {
        let held = is_held.then(|| stranger(&scene.place.database()));
        if let Some(db) = &held {
            db.execute_batch("BEGIN IMMEDIATE").expect("held");
        }
        let running = start(&scene.place, Program::Ingest, &["listen"], crash_at);
        until("it listens, or has ended", || {
            scene.is_open() || !is_alive(&running)
        });
        answered.go_on(&scene);
        if let Some(db) = held {
            db.execute_batch("COMMIT").expect("let go");
        }
        until("it has told what it took, or has ended", || {
            !is_alive(&running) || scene.told().is_superset(&answered.posts)
        });
        until("it has rung, or has ended", || {
            !is_alive(&running) || bell.recv(&mut [0]).is_ok()
        });
        while bell.recv(&mut [0]).is_ok() {}
        stopped(running)
    });
    let delivered = all_are_told(&scene, &answered);
    let what = format!("the receiver, ended at {point}");
    proof_of_the_receiver(&what, crashes, &answered, &delivered);
}

/// Each that was answered has arrived, once.
fn proof_of_the_receiver(
    what: &str,
    crashes: usize,
    answered: &Answered,
    delivered: &BTreeSet<usize>,
) {
    Proof {
        what,
        how: format!("{crashes} crashes"),
        accepted: answered.posts.len(),
        delivered: answered.posts.intersection(delivered).count(),
        ..Proof::default()
    }
    .tell();
}

fn is_alive(running: &Running) -> bool {
    std::path::Path::new(&format!("/proc/{}/fd/0", running.id())).exists()
}

/// What has arrived in the end, each once.
fn all_are_told(scene: &Scene, answered: &Answered) -> BTreeSet<usize> {
    let last = start(&scene.place, Program::Ingest, &["listen"], "");
    until("it listens", || scene.is_open());
    until("all that was answered is told", || {
        scene.told().is_superset(&answered.posts)
    });
    until("the spool is empty", || scene.spooled() == 0);
    last.terminate();
    last.ended(BOUND).well();
    assert!(!answered.posts.is_empty());
    assert!(scene.called_at() >= answered.called_at, "a call is lost");
    let delivered = scene.delivered();
    verified(&scene.place);
    delivered
}

#[test]
fn a_receiver_that_ends_around_a_commit_keeps_what_it_answered() {
    receiver("commit.before", false);
    receiver("commit.after", false);
    receiver("bell.before", false);
}

#[test]
fn a_receiver_that_ends_around_its_spool_keeps_what_it_answered() {
    receiver("spool.written", true);
    receiver("spool.kept", true);
}

#[test]
fn a_receiver_that_ends_after_it_has_taken_in_what_was_spooled_tells_it_once() {
    let scene = Scene::new();
    let mut answered = Answered::default();
    let crashes = at_each_passing("spool.taken", |crash_at| {
        let db = stranger(&scene.place.database());
        db.execute_batch("BEGIN IMMEDIATE").expect("held");
        let before = start(&scene.place, Program::Ingest, &["listen"], "");
        until("it listens", || scene.is_open());
        answered.go_on(&scene);
        before.terminate();
        before.ended(BOUND).well();
        db.execute_batch("COMMIT").expect("let go");
        let mut running = start(&scene.place, Program::Ingest, &["listen"], crash_at);
        until("it ends, or has taken in all", || {
            !running.runs() || scene.spooled() == 0
        });
        stopped(running)
    });
    let delivered = all_are_told(&scene, &answered);
    let what = "the receiver, ended at spool.taken";
    proof_of_the_receiver(what, crashes, &answered, &delivered);
}

/// What cannot be taken in is told before it is out of the way, and once.
#[test]
fn a_receiver_that_ends_before_it_has_set_a_file_aside_tells_it_once() {
    let scene = Scene::new();
    let spool = scene.place.path("state/state.db.spool");
    std::fs::create_dir(&spool).expect("a folder");
    std::fs::write(spool.join("000000000000000-1-1.post"), "broken").expect("written");
    for crash_at in ["commit.after:1", "spool.aside:1", ""] {
        let mut running = start(&scene.place, Program::Ingest, &["listen"], crash_at);
        until("it ends, or has set it aside", || {
            !running.runs() || spool.join("000000000000000-1-1.bad").exists()
        });
        assert_eq!(stopped(running), !crash_at.is_empty(), "{crash_at}");
    }
    let told = "SELECT group_concat(payload->>'title') FROM outbox WHERE kind='notice'";
    let title = "A delivery that was accepted cannot be taken in";
    assert_eq!(ask(&scene.place, told), title);
    verified(&scene.place);
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
    assert_eq!(drain(&town, 0, &crash_at), is_at_start, "{point}");
    assert!(!drain(&town, 0, ""));
    let mails: Vec<String> = town
        .mail
        .mails()
        .into_iter()
        .map(|mail| Seen::of(&mail.text).subject)
        .collect();
    let again = arrived(mails.iter().map(String::as_str), "Title of alert-000.");
    assert_eq!((mails.len(), again), (copies, copies - 1), "{point}");
    verified(&town.place);
    Proof {
        what: &format!("a sender that cannot commit, ended at {point}"),
        how: "1 crash".to_owned(),
        accepted: 1,
        delivered: mails.len() - again,
        repeats: again,
        cause: "the journal was not whole",
        ..Proof::default()
    }
    .tell();
}
