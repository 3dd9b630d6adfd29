//! The sender against channels that fail: nothing is lost, every possible repeat is marked, every
//! death is told.

use shared::Failure;
use shared::config::{Config, Program, Surroundings};
use shared::model::Priority;
use shared::platform::lock::LockFile;
use shared::platform::term::Style;
use shared::store::{SCHEMA, beside};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use watchalert_sender::channel::console::Output;
use watchalert_sender::drain::{Drained, Until};
use watchalert_sender::run::{Scene, run};
use watchalert_tests::world::{World, runtime, stranger, to};

/// What the next write to standard output does; when the script is over, all is well.
#[derive(Clone, Copy)]
enum Next {
    Print,
    /// Nobody reads: nothing was taken.
    Broken,
    /// A part may have been taken.
    Fail,
    Panic,
    /// Prints, and meanwhile a newer version takes the database over.
    Upgrade,
}

#[derive(Clone, Default)]
struct Screen {
    script: Arc<Mutex<VecDeque<Next>>>,
    shown: Arc<Mutex<String>>,
    database: Arc<Mutex<Option<PathBuf>>>,
}

impl Screen {
    fn will(script: &[Next]) -> Self {
        let screen = Self::default();
        screen.script.lock().expect("free").extend(script);
        screen
    }

    fn shown(&self) -> String {
        self.shown.lock().expect("free").clone()
    }

    /// The first lines of what was shown.
    fn headings(&self) -> Vec<String> {
        let shown = self.shown();
        let first = |line: &&str| !line.starts_with(' ') && !line.is_empty();
        shown.lines().filter(first).map(str::to_owned).collect()
    }
}

impl Write for Screen {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let next = self.script.lock().expect("free").pop_front();
        match next.unwrap_or(Next::Print) {
            Next::Print | Next::Upgrade => {
                if let Some(path) = self.database.lock().expect("free").take() {
                    stranger(&path)
                        .pragma_update(None, "user_version", SCHEMA + 1)
                        .expect("upgraded");
                }
                let text = String::from_utf8_lossy(text);
                self.shown.lock().expect("free").push_str(&text);
                Ok(text.len())
            }
            Next::Broken => Err(ErrorKind::BrokenPipe.into()),
            Next::Fail => Err(ErrorKind::StorageFull.into()),
            Next::Panic => panic!("a channel with a bug"),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const ONE: &str = "[channel.screen]\nkind = \"console\"\n";
const TWO: &str = "default_channel = \"screen\"\n[channel.screen]\nkind = \"console\"\n[channel.other]\nkind = \"console\"\n";

/// One sender, from start until nothing is due.
fn drained(world: &World, config: &str, screen: &Screen) -> Drained {
    try_drained(world, config, screen).expect("a clean end")
}

fn try_drained(world: &World, config: &str, screen: &Screen) -> Result<Drained, Failure> {
    let around = Surroundings {
        directory: world.dir.path(),
        credentials: None,
        program: Program::Sender,
    };
    let text = format!("{config}\n[state]\npath = \"state.db\"\nmin_free = \"0 KiB\"\n");
    let scene = Scene {
        config: Config::parse(&text, &around).expect("a good configuration"),
        clock: world.clock.clone(),
        chance: fastrand::Rng::with_seed(7),
        output: Output::new(screen.clone()),
        style: Style::default(),
    };
    runtime().block_on(run(scene, Until::Empty, std::future::pending()))
}

fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

#[test]
fn everything_that_is_due_is_delivered_the_gravest_first() {
    let world = World::new();
    let screen = Screen::default();
    for (key, priority) in [
        ("a", Priority::Low),
        ("b", Priority::Critical),
        ("c", Priority::High),
    ] {
        world.enqueue(key, &to("screen", "-"), priority);
    }
    let done = drained(&world, ONE, &screen);
    assert_eq!((done.sent, done.dead, done.postponed), (3, 0, 0));
    assert_eq!(
        screen.headings(),
        [
            "CRITICAL Title of b  #a1b2c3",
            "HIGH Title of c  #a1b2c3",
            "LOW Title of a  #a1b2c3"
        ]
    );
    world.all_invariants_hold();
}

#[test]
fn what_nobody_read_is_sent_again_without_a_mark() {
    let world = World::new();
    let screen = Screen::will(&[Next::Broken, Next::Broken]);
    world.enqueue("a", &to("screen", "-"), Priority::High);
    assert_eq!(drained(&world, ONE, &screen).postponed, 1);
    assert_eq!(
        drained(&world, ONE, &screen).postponed,
        0,
        "it is not due yet"
    );
    world.advance(minutes(1));
    assert_eq!(drained(&world, ONE, &screen).postponed, 1);
    world.advance(minutes(1));
    assert_eq!(drained(&world, ONE, &screen).sent, 1);
    assert_eq!(screen.headings(), ["HIGH Title of a  #a1b2c3"]);
    world.all_invariants_hold();
}

#[test]
fn what_may_have_been_read_is_sent_again_with_a_mark_three_copies_in_all_and_then_told() {
    let world = World::new();
    let screen = Screen::will(&[Next::Fail, Next::Fail, Next::Fail]);
    world.enqueue("a", &to("screen", "-"), Priority::High);
    for wait in [20, 40] {
        assert_eq!(drained(&world, TWO, &screen).postponed, 1);
        world.advance(Duration::from_secs(wait - 1));
        assert_eq!(drained(&world, TWO, &screen), Drained::default());
        world.advance(Duration::from_secs(1));
    }
    let done = drained(&world, TWO, &screen);
    assert_eq!(
        (done.dead, done.sent),
        (1, 1),
        "the death, and the notice of it"
    );
    let said = screen.shown();
    assert!(
        said.starts_with("HIGH An alert for screen/- was given up (row 1)"),
        "{said}"
    );
    assert!(said.contains("outcome unknown after 3 copies"), "{said}");
    assert_eq!(
        world.ask("SELECT channel FROM outbox WHERE kind='notice'"),
        "other"
    );
    assert_eq!(
        world.ask("SELECT n FROM ledger WHERE name='repeat_marked'"),
        "2"
    );
    world.all_invariants_hold();
}

#[test]
fn a_repeat_is_marked_for_the_reader() {
    let world = World::new();
    let screen = Screen::will(&[Next::Fail]);
    world.enqueue("a", &to("screen", "-"), Priority::Critical);
    assert_eq!(
        drained(&world, ONE, &screen).sent,
        1,
        "what is critical does not wait"
    );
    assert_eq!(
        screen.headings(),
        ["(possible repeat) CRITICAL Title of a  #a1b2c3"]
    );
}

#[test]
fn a_bug_in_a_channel_costs_one_attempt_and_not_the_sender() {
    let world = World::new();
    let screen = Screen::will(&[Next::Panic]);
    world.enqueue("a", &to("screen", "-"), Priority::High);
    world.enqueue("b", &to("other", "-"), Priority::High);
    let done = drained(&world, TWO, &screen);
    assert_eq!((done.sent, done.postponed), (1, 1));
    world.advance(minutes(1));
    assert_eq!(drained(&world, TWO, &screen).sent, 1);
    world.all_invariants_hold();
}

#[test]
fn a_payload_that_cannot_be_read_stops_nothing_and_is_told() {
    let world = World::new();
    let screen = Screen::default();
    world
        .stranger()
        .execute_batch(
            "INSERT INTO outbox(channel,chat_id,payload,created_at,priority) VALUES('screen','-','{\"v\":9}',1796025600,0);
             INSERT INTO outbox(channel,chat_id,payload,created_at) VALUES('screen','-','{\"text\":\"after it\"}',1796025600)",
        )
        .expect("inserted");
    let done = drained(&world, TWO, &screen);
    assert_eq!(
        (done.sent, done.dead),
        (2, 1),
        "the other row and the notice"
    );
    assert!(screen.shown().contains("after it"));
    assert!(screen.shown().contains("version 9"), "{}", screen.shown());
    world.all_invariants_hold();
}

#[test]
fn in_its_first_minutes_a_sender_believes_no_age_and_buries_nothing_for_it() {
    let world = World::new();
    world.enqueue("a", &to("screen", "-"), Priority::Critical);
    // The machine booted with an old clock, the network is not up, and then the clock is set.
    world.advance(minutes(4 * 24 * 60));
    let screen = Screen::will(&[Next::Broken]);
    let done = drained(&world, TWO, &screen);
    assert_eq!((done.postponed, done.dead), (1, 0));
    world.advance(minutes(1));
    assert_eq!(drained(&world, TWO, &screen).sent, 1);
    world.all_invariants_hold();
}

#[test]
fn what_is_critical_passes_the_backlog_of_two_hundred_others() {
    let world = World::new();
    for number in 0..200 {
        let chat = to("screen", &format!("chat {number}"));
        world.enqueue(&format!("low {number}"), &chat, Priority::Low);
    }
    world.advance(Duration::from_millis(5));
    world.enqueue("urgent", &to("screen", "idle"), Priority::Critical);
    let screen = Screen::default();
    assert_eq!(drained(&world, ONE, &screen).sent, 201);
    let place = screen
        .headings()
        .iter()
        .position(|line| line.contains("urgent"));
    assert!(place < Some(64), "it was number {place:?} of 201");
}

#[test]
fn what_was_sent_before_the_database_became_unusable_is_kept_in_the_journal() {
    let world = World::new();
    world.enqueue("a", &to("screen", "-"), Priority::High);
    let screen = Screen::will(&[Next::Upgrade]);
    *screen.database.lock().expect("free") = Some(world.database());
    let refused = try_drained(&world, ONE, &screen).expect_err("a newer schema");
    assert!(refused.to_string().contains("newer"), "{refused}");
    assert_eq!(screen.headings(), ["HIGH Title of a  #a1b2c3"]);
    let kept = shared::store::journal::read(&world.database()).expect("a journal");
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].outbox_id, 1);
}

#[test]
fn a_turnstile_that_somebody_keeps_stops_nobody() {
    let world = World::new();
    let turnstile = LockFile::open(&beside(&world.database(), ".turn")).expect("opened");
    let _kept = turnstile.take().expect("asked").expect("free");
    world.enqueue("a", &to("screen", "-"), Priority::High);
    let screen = Screen::default();
    assert_eq!(drained(&world, ONE, &screen).sent, 1);
}

#[test]
fn rows_for_a_channel_that_is_not_configured_wait_and_that_is_told_once() {
    let world = World::new();
    let screen = Screen::default();
    world.enqueue("a", &to("team", "7"), Priority::High);
    world.enqueue("b", &to("team", "8"), Priority::High);
    assert_eq!(drained(&world, ONE, &screen).sent, 1, "the notice");
    assert_eq!(drained(&world, ONE, &screen).sent, 0);
    assert!(
        screen.shown().contains("wait for the channel \"team\""),
        "{}",
        screen.shown()
    );
    let configured = TWO.replace("other", "team");
    assert_eq!(drained(&world, &configured, &screen).sent, 2);
    world.all_invariants_hold();
}

#[test]
fn the_journal_of_completions_keeps_a_sent_alert_from_being_sent_again() {
    let world = World::new();
    let screen = Screen::default();
    world.enqueue("a", &to("screen", "-"), Priority::High);
    let epoch = world.take_over();
    let lease = world.lease(epoch, &to("screen", "-"));
    let completion = shared::store::journal::Completion {
        outbox_id: lease.held().id,
        attempt: lease.attempt(),
        epoch: lease.epoch(),
        message_id: "m".to_owned(),
        rest: Vec::new(),
    };
    shared::store::journal::write(&world.database(), &[completion]).expect("written");
    assert_eq!(drained(&world, ONE, &screen), Drained::default());
    assert_eq!(screen.shown(), "");
    assert_eq!(world.ask("SELECT state||message_id FROM outbox"), "sentm");
    assert!(!shared::store::beside(&world.database(), ".unsettled").exists());
    world.all_invariants_hold();
}
