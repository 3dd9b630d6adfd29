//! Power cuts while both programs work: what was acknowledged is there when the power comes back, and is
//! delivered; repeats are marked.

mod machine;

use super::{ask, causes, verified};
use machine::{Left, Machine};
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;
use watchalert_tests::feeds::{FeedServer, Reply};
use watchalert_tests::programs::{
    BOUND, Ended, Place, Program, long, now, pause, seed, tell, until,
};
use watchalert_tests::proof::Proof;

/// From the sender's start to the cut, at most.
const LIFE: Duration = Duration::from_millis(3_000);
const QUIET_CONFIG: &str = "[channel.screen]\nkind = \"console\"\n";

/// The processes of one life between two cuts.
#[derive(Default)]
struct Living {
    is_over: bool,
    ids: BTreeSet<u32>,
}

impl Living {
    fn kill(living: &Mutex<Self>) {
        let mut living = living.lock().expect("a lock");
        living.is_over = true;
        for id in &living.ids {
            let killed = Command::new("kill")
                .args(["-KILL", &id.to_string()])
                .status();
            assert!(killed.is_ok(), "kill");
        }
    }
}

/// However a life ends: else a test that fails would never end, and leave its disks behind.
struct Ends<'a>(&'a Mutex<Living>);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            Living::kill(self.0);
        }
    }
}

/// What was acknowledged: nobody may lose it from then on.
#[derive(Default)]
struct Acknowledged {
    keys: BTreeSet<usize>,
    /// The first entries of the feed; by a tick that ended well.
    entries: usize,
}

struct Story {
    place: Place,
    feed: FeedServer,
    acknowledged: Mutex<Acknowledged>,
    next_key: Mutex<usize>,
    shown: Mutex<usize>,
}

impl Story {
    fn new() -> Self {
        let feed = FeedServer::start();
        let place = Place::new(&format!(
            "[ingest]\nallow_private = true\n[[feed]]\nurl = \"{}\"\n{QUIET_CONFIG}",
            feed.url("/news")
        ));
        let story = Self {
            place,
            feed,
            acknowledged: Mutex::default(),
            next_key: Mutex::default(),
            shown: Mutex::default(),
        };
        story.show(0);
        story
    }

    fn show(&self, entries: usize) {
        let item = |name: &str, title: &str| {
            format!(
                "<item><guid>{name}</guid><title>{title}</title><link>https://example.org/{name}.</link></item>"
            )
        };
        // Feeds show their latest; what is older was seen, or comes with the last tick.
        let items = (0..entries).map(|entry| {
            item(
                &format!("n{entry}"),
                &format!("CVE-2026-{}", 20_000 + entry),
            )
        });
        let items: String = items.collect::<String>() + &item("old", "An old story");
        self.feed.set(
            "/news",
            Reply::feed(format!(
                "<rss version=\"2.0\"><channel><title>News</title>{items}</channel></rss>"
            )),
        );
    }

    /// Runs it to its end, unless the power is cut: then `None`.
    fn run(&self, living: &Mutex<Living>, program: Program, arguments: &[&str]) -> Option<Ended> {
        let running = {
            let mut living = living.lock().expect("a lock");
            if living.is_over {
                return None;
            }
            let running = self.place.start(self.place.command(program, arguments));
            living.ids.insert(running.id());
            running
        };
        let id = running.id();
        let ended = running.ended(BOUND);
        living.lock().expect("a lock").ids.remove(&id);
        Some(ended)
    }

    /// One message after the other, by hand.
    fn add(&self, living: &Mutex<Living>) {
        loop {
            let key = {
                let mut next = self.next_key.lock().expect("a lock");
                *next += 1;
                *next
            };
            let (text, name) = (format!("row {key} end"), format!("k{key}"));
            let Some(ended) = self.run(
                living,
                Program::Sender,
                &["queue", "add", &text, "--key", &name],
            ) else {
                return;
            };
            if ended.code == Some(0) {
                let mut acknowledged = self.acknowledged.lock().expect("a lock");
                acknowledged.keys.insert(key);
            }
        }
    }

    /// One tick after the other, each with two more entries.
    fn tick(&self, living: &Mutex<Living>) {
        loop {
            let entries = {
                let mut shown = self.shown.lock().expect("a lock");
                *shown += 2;
                *shown
            };
            self.show(entries);
            let Some(ended) = self.run(living, Program::Ingest, &["--now"]) else {
                return;
            };
            if ended.code == Some(0) {
                self.acknowledged.lock().expect("a lock").entries = entries;
            }
        }
    }

    /// Both programs work until the power is cut.
    fn live_and_die(&self, machine: &mut Machine, chance: &mut fastrand::Rng) -> Left {
        let living = Mutex::new(Living::default());
        std::thread::scope(|scope| {
            let _end = Ends(&living);
            let sender = self.place.start_sender(&[]);
            let adds = scope.spawn(|| self.add(&living));
            let ticks = scope.spawn(|| self.tick(&living));
            let before = self.place.printed().len();
            // Half of the cuts come when something was just sent.
            if chance.bool() {
                until("something is sent", || {
                    self.place.printed().len() > before + 200
                });
                pause(LIFE.mul_f64(chance.f64() / 10.0));
            } else {
                pause(LIFE.mul_f64(chance.f64()));
            }
            let id = sender.id();
            living.lock().expect("a lock").ids.insert(id);
            machine.cut(
                chance,
                || Living::kill(&living),
                || {
                    adds.join().expect("the thread that adds");
                    ticks.join().expect("the thread that ticks");
                    sender.kill();
                },
            )
        })
    }

    /// What was acknowledged is in the file, before anybody writes into it again.
    fn all_is_there(&self) {
        verified(&self.place);
        let acknowledged = self.acknowledged.lock().expect("a lock");
        for key in &acknowledged.keys {
            let row =
                format!("SELECT count(*) FROM outbox WHERE idempotency_key='u:k{key}:screen:-'");
            assert_eq!(ask(&self.place, &row), "1", "k{key} is lost");
        }
        for entry in 0..acknowledged.entries {
            let row =
                format!("SELECT count(*) FROM alert WHERE link='https://example.org/n{entry}.'");
            assert_eq!(ask(&self.place, &row), "1", "entry {entry} is lost");
        }
    }

    /// All that came has arrived. Returns how many copies came beyond the first, each marked.
    fn account(&self) -> usize {
        let printed = self.place.printed();
        let acknowledged = self.acknowledged.lock().expect("a lock");
        let keys = acknowledged
            .keys
            .iter()
            .map(|key| format!(" row {key} end"));
        let entries = *self.shown.lock().expect("a lock");
        let links = (0..entries).map(|entry| format!(" https://example.org/n{entry}.\n"));
        let mut again = 0;
        for name in keys.chain(links) {
            again += super::arrived(printed.split("\n\n"), &name);
        }
        again
    }
}

#[test]
fn power_cuts_while_both_programs_work_lose_nothing_that_was_acknowledged() {
    let cuts = if long() { 24 } else { 2 };
    let story = Story::new();
    let mut machine = match Machine::under(&story.place) {
        Ok(machine) => machine,
        Err(why) => {
            tell(&format!(
                "SKIPPED: no power can be cut here, this machine mounts and freezes nothing: {why}"
            ));
            return;
        }
    };
    let seed = seed("power");
    let mut chance = fastrand::Rng::with_seed(seed);
    let start = now();
    story.place.run(Program::Ingest, &[]).well();
    let (mut cached, mut reached, mut emptied) = (0, 0, 0);
    for _ in 0..cuts {
        let left = story.live_and_die(&mut machine, &mut chance);
        cached += left.cached;
        reached += left.reached;
        emptied += usize::from(left.cached > left.reached);
        story.all_is_there();
    }
    story.place.run(Program::Ingest, &["--now"]).well();
    let last = story.place.start_sender(&["run", "--until-empty"]);
    last.ended(BOUND).well();
    let again = story.account();
    verified(&story.place);
    let acknowledged = story.acknowledged.lock().expect("a lock");
    assert!(emptied > 0, "each cut left everything on the disk");
    assert!(!acknowledged.keys.is_empty(), "no message was acknowledged");
    assert!(
        !long() || acknowledged.entries > 0,
        "no entry was acknowledged"
    );
    let accepted = acknowledged.keys.len() + acknowledged.entries;
    Proof {
        what: "both programs, the power cut",
        how: format!("{cuts} cuts, {emptied} of them lost what no flush had promised"),
        seed: Some(seed),
        accepted,
        delivered: accepted,
        repeats: again,
        cause: &causes(&story.place),
        ..Proof::default()
    }
    .tell();
    tell(&format!(
        "power: {} messages and {} entries acknowledged in the midst of them; {reached} of {cached} pieces that no flush had promised reached the disk; {:.0} s",
        acknowledged.keys.len(),
        acknowledged.entries,
        start.elapsed().as_secs_f64()
    ));
}
