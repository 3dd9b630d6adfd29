//! The sender against a Telegram that keeps its limits to the letter and refuses in every way: on a
//! set clock, with a new sender after every wait, so that whatever is remembered is in the file; and,
//! in the modules, with senders that live on while the test lets the time pass.

#[path = "telegram/broadcast.rs"]
mod broadcast;
#[path = "telegram/digests.rs"]
mod digests;
#[path = "telegram/failover.rs"]
mod failover;
#[path = "telegram/four_minutes.rs"]
mod four_minutes;
#[path = "telegram/hanging.rs"]
mod hanging;
#[path = "telegram/killed.rs"]
mod killed;
#[path = "telegram/long_outage.rs"]
mod long_outage;
#[path = "telegram/outages.rs"]
mod outages;

#[path = "telegram/parts.rs"]
mod parts;
#[path = "telegram/set_clock.rs"]
mod set_clock;
#[path = "telegram/watch.rs"]
mod watch;

use shared::config::{Config, Program, Surroundings};
use shared::model::{Priority, Timestamp};
use shared::platform::term::Style;
use shared::store::outbox::Epoch;
use std::cell::OnceCell;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use watchalert_sender::channel::console::Output;
use watchalert_sender::drain::Until;
use watchalert_sender::run::{Scene, run};
use watchalert_tests::life::{self, Home, Open};
use watchalert_tests::programs::{long, tell};
use watchalert_tests::telegram::{Fault, Limits, Message, Options, Telegram};
use watchalert_tests::world::{START, World, runtime, to};

/// A bot in a private chat and in a group, and a world to send from.
struct Room {
    world: World,
    telegram: Telegram,
    /// More of the configuration.
    more: &'static str,
    /// What waits for one chat is folded; without, each alert is a message, as the limits want it.
    digests: bool,
    /// That much of the disk shall stay free.
    min_free: &'static str,
    /// Of a sender before all others.
    past: OnceCell<Epoch>,
}

const PERSON: &str = "7001";
const GROUP: &str = "-100200300";

type Life<'r> = life::Life<'r, Room>;

impl Home for Room {
    fn world(&self) -> &World {
        &self.world
    }

    fn scene(&self) -> Scene {
        self.scene()
    }

    fn past(&self) -> &OnceCell<Epoch> {
        &self.past
    }

    fn open(&self) -> Vec<Open> {
        Open::at(&self.telegram)
    }
}

impl Room {
    /// See [`Home::live`].
    fn live<T>(&self, play: impl AsyncFnOnce(&Life<'_>) -> T) -> T {
        Home::live(self, play)
    }

    fn new() -> Self {
        let world = World::in_memory();
        let telegram = Telegram::start(Options::strict(&world.clock));
        let token = world.dir.path().join("token");
        fs::write(&token, telegram.token()).expect("written");
        fs::set_permissions(&token, Permissions::from_mode(0o600)).expect("locked up");
        Self {
            world,
            telegram,
            more: "",
            digests: false,
            min_free: "0 KiB",
            past: OnceCell::new(),
        }
    }

    fn scene(&self) -> Scene {
        let text = format!(
            "{}[digest]\nenabled = {}\n[state]\npath = \"state.db\"\nmin_free = {:?}\n[channel.ops]\nkind = \"telegram\"\napi_url = \"{}\"\ntoken_file = \"token\"\nchat_id = {PERSON}\n",
            self.more,
            self.digests,
            self.min_free,
            self.telegram.url()
        );
        let around = Surroundings {
            directory: self.world.dir.path(),
            credentials: None,
            program: Program::Sender,
        };
        Scene {
            config: Config::parse(&text, &around).expect("a good configuration"),
            clock: self.world.clock.clone(),
            chance: fastrand::Rng::with_seed(7),
            output: Output::new(io::sink()),
            style: Style::default(),
        }
    }

    fn enqueue(&self, count: usize, chat: &str, priority: Priority) {
        for number in 0..count {
            self.world
                .enqueue(&format!("{chat} {number}"), &to("ops", chat), priority);
        }
    }

    /// One sender, from start until nothing is due.
    fn send(&self) {
        let ended = runtime().block_on(run(self.scene(), Until::Empty, std::future::pending()));
        ended.expect("a clean end");
    }

    /// The next moment at which anything may happen; a second later when only a group's minute is
    /// waited for.
    fn next_moment(&self) -> Timestamp {
        let now = self.world.clock.now();
        let next = self.world.ask(&format!(
            "SELECT min(at) FROM (SELECT next_at AS at FROM gate UNION ALL SELECT blocked_until FROM gate
              UNION ALL SELECT due_at FROM outbox WHERE state='ready') WHERE at>{}",
            now.unix_seconds()
        ));
        next.parse()
            .map_or(now + Duration::from_secs(1), Timestamp::from_unix_seconds)
    }

    /// Sends, and moves the clock to whatever comes next, until nothing waits or the time is over.
    fn drain_within(&self, bound: Duration) {
        let end = self.world.clock.now() + bound;
        loop {
            self.send();
            let waits = self
                .world
                .ask("SELECT count(*) FROM outbox WHERE state='ready'");
            let next = self.next_moment();
            if waits == "0" || next > end {
                break;
            }
            self.world.clock.set_to(next);
        }
        self.world.all_invariants_hold();
    }

    fn state(&self, state: &str) -> String {
        self.world.ask(&format!(
            "SELECT count(*) FROM outbox WHERE state='{state}'"
        ))
    }

    /// Every copy of that alert, in the order of their arrival. No key may begin with another.
    fn copies(&self, key: &str) -> Vec<Message> {
        let title = format!("Title of {key}");
        let mut messages = self.telegram.accepted();
        messages.retain(|message| message.text.contains(&title));
        messages
    }

    fn texts(&self) -> Vec<String> {
        let accepted = self.telegram.accepted().into_iter();
        accepted.map(|message| message.text).collect()
    }

    fn all_are_sent_within_the_limits(&self, count: usize) {
        self.drain_within(minutes(10));
        assert_eq!(self.state("sent"), count.to_string());
        assert!(self.telegram.answers_429().is_empty());
        assert!(self.telegram.breaches(Limits::strict()).is_empty());
    }

    /// When messages arrived, in seconds from the start.
    fn arrivals(&self) -> Vec<f64> {
        let accepted = self.telegram.accepted();
        let at = accepted.iter().map(|message| message.at.since(START));
        at.map(|since| since.as_secs_f64()).collect()
    }
}

fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

#[test]
fn twenty_eight_alerts_at_once_arrive_at_the_limits_own_pace_and_none_is_refused() {
    let room = Room::new();
    room.enqueue(28, PERSON, Priority::High);
    room.all_are_sent_within_the_limits(28);
    let last = room.arrivals()[27];
    assert!((27.0..=27.0 * 1.06).contains(&last), "{last} s");
    assert_eq!(
        room.world
            .ask("SELECT n FROM ledger WHERE name='repeat_marked'"),
        "0"
    );
}

/// The bad day itself, in the long form: the bar is 1.06 times the limit's own 199 s.
#[test]
fn two_hundred_alerts_at_once_arrive_within_the_bar_and_none_is_refused() {
    if !long() {
        tell("SKIPPED: 200 alerts take half a minute; WATCHALERT_LONG=1 sends them");
        return;
    }
    let room = Room::new();
    room.enqueue(200, PERSON, Priority::High);
    room.all_are_sent_within_the_limits(200);
    let last = room.arrivals()[199];
    assert!((199.0..=199.0 * 1.06).contains(&last), "{last} s");
    tell(&format!(
        "telegram: 200 alerts to one chat in {last:.1} s of its clock, {:.3} of the limit's minimum, no 429",
        last / 199.0
    ));
}

#[test]
fn ten_chats_do_not_wait_for_each_other() {
    let room = Room::new();
    for chat in 1..=10 {
        room.enqueue(6, &format!("{chat}"), Priority::High);
    }
    room.all_are_sent_within_the_limits(60);
    let last = room.arrivals().into_iter().fold(0.0, f64::max);
    assert!(last < 6.5, "as long as one of them alone: {last} s");
}

#[test]
fn a_group_gets_twenty_a_minute_to_the_letter() {
    let room = Room::new();
    room.enqueue(25, GROUP, Priority::High);
    room.all_are_sent_within_the_limits(25);
    let arrivals = room.arrivals();
    assert!(
        arrivals[19] < 21.0,
        "the first twenty at one a second: {arrivals:?}"
    );
    assert!(arrivals[20] >= 60.0 && arrivals[24] < 66.0, "{arrivals:?}");
}

#[test]
fn a_429_is_obeyed_to_the_second_over_restarts_and_costs_nothing() {
    let room = Room::new();
    room.telegram
        .script([Fault::flood(43_838).in_chat(7001).times(1)]);
    room.enqueue(3, PERSON, Priority::Critical);
    room.enqueue(3, GROUP, Priority::Low);
    room.drain_within(minutes(10));
    assert_eq!(
        room.telegram.accepted_in(-100_200_300).len(),
        3,
        "other chats go on"
    );
    assert_eq!(room.telegram.accepted_in(7001).len(), 0);
    room.drain_within(minutes(13 * 60));
    let first = room.telegram.accepted_in(7001)[0].at.since(START).as_secs();
    assert!((43_838..43_845).contains(&first), "{first}");
    assert_eq!(
        (room.state("sent"), room.state("dead")),
        ("6".to_owned(), "0".to_owned())
    );
}

#[test]
fn twenty_minutes_of_broken_gateways_kill_nothing_and_multiply_nothing() {
    let room = Room::new();
    room.telegram
        .script([Fault::page(502).lasting(minutes(20))]);
    room.enqueue(5, PERSON, Priority::High);
    room.enqueue(2, GROUP, Priority::Critical);
    room.drain_within(minutes(60));
    assert_eq!(
        (room.state("sent"), room.state("dead")),
        ("7".to_owned(), "0".to_owned())
    );
    assert_eq!(room.telegram.accepted_count(), 7, "each arrived once");
    assert!(room.arrivals()[0] >= 1_200.0);
    assert!(room.telegram.answers_429().is_empty());
}

#[test]
fn a_token_that_is_refused_for_an_hour_keeps_everything_and_says_why() {
    let room = Room::new();
    room.telegram
        .script([Fault::refuse("unauthorized").lasting(minutes(60))]);
    room.enqueue(4, PERSON, Priority::Normal);
    room.drain_within(minutes(30));
    assert_eq!(room.state("ready"), "4");
    let reason = room.world.ask("SELECT reason FROM gate WHERE scope='bot'");
    assert!(reason.contains("401"), "{reason}");
    assert!(
        !reason.contains(room.telegram.token()),
        "no token in any word"
    );
    room.drain_within(minutes(120));
    assert_eq!(
        (room.state("sent"), room.state("dead")),
        ("4".to_owned(), "0".to_owned())
    );
}

#[test]
fn a_refusal_that_a_person_must_see_is_told_once_on_another_channel() {
    let mut room = Room::new();
    room.more = "default_channel = \"ops\"\nchannel.screen.kind = \"console\"\n";
    room.telegram.script([
        Fault::refuse("blocked").in_chat(7001).lasting(minutes(90)),
        Fault::refuse("unauthorized").lasting(minutes(60)),
    ]);
    room.enqueue(3, PERSON, Priority::Normal);
    room.drain_within(minutes(12 * 60));
    let told = "SELECT group_concat(channel||': '||json_extract(payload,'$.title'),'; ') FROM outbox WHERE kind='notice'";
    assert_eq!(
        room.world.ask(told),
        "screen: Nothing gets through to the channel ops: it is refused; \
         screen: Nothing gets through to the chat ops/7001: it is refused"
    );
    assert_eq!(room.state("sent"), "5", "three alerts and two notices");
}

#[test]
fn a_chat_that_blocks_us_for_two_days_gets_everything_when_it_comes_back() {
    let room = Room::new();
    room.telegram.script([Fault::refuse("blocked")
        .in_chat(7001)
        .lasting(minutes(2 * 24 * 60))]);
    room.enqueue(3, PERSON, Priority::Normal);
    room.enqueue(2, GROUP, Priority::Low);
    room.drain_within(minutes(5));
    assert_eq!(
        room.telegram.accepted_in(-100_200_300).len(),
        2,
        "other chats go on"
    );
    let asked = room.telegram.requests().len();
    room.drain_within(minutes(3 * 24 * 60));
    assert_eq!(
        (room.state("sent"), room.state("dead")),
        ("5".to_owned(), "0".to_owned())
    );
    let probes = room.telegram.requests().len() - asked;
    assert!(probes < 20, "probed slowly, not hammered: {probes}");
}

#[test]
fn an_answer_that_is_lost_makes_one_marked_copy() {
    let room = Room::new();
    room.telegram
        .script([Fault::reset_after().in_chat(7001).times(1)]);
    room.enqueue(1, PERSON, Priority::High);
    room.drain_within(minutes(10));
    let texts = room.texts();
    assert_eq!(texts.len(), 2);
    assert!(!texts[0].contains("possible repeat"), "{texts:?}");
    assert!(texts[1].contains("possible repeat"), "{texts:?}");
    assert!(texts.iter().all(|text| text.contains("#a1b2c3")));
    assert_eq!(
        room.world
            .ask("SELECT n FROM ledger WHERE name='repeat_marked'"),
        "1"
    );
}

#[test]
fn the_articles_markdown_is_delivered_also_when_it_is_wrong() {
    let room = Room::new();
    for text in ["*bold* is fine", "server_name is *broken"] {
        let payload = format!(r#"{{"chat_id": 7001, "text": "{text}", "parse_mode": "Markdown"}}"#);
        let insert = "INSERT INTO outbox (chat_id, payload, next_attempt, created_at) VALUES ('7001', ?1, ?2, ?2)";
        room.world
            .stranger()
            .execute(insert, rusqlite::params![payload, START.unix_seconds()])
            .expect("inserted");
    }
    room.drain_within(minutes(5));
    let texts = room.texts();
    assert_eq!(texts, ["bold is fine", "server_name is *broken"]);
    assert_eq!(room.state("sent"), "2");
}

#[test]
fn chats_that_hang_do_not_hold_up_an_urgent_alert_for_another() {
    let room = Room::new();
    let hang = |chat| Fault::hang().in_chat(chat).times(9);
    room.telegram.script([hang(1), hang(2), hang(3)]);
    for chat in ["1", "2", "3"] {
        room.enqueue(2, chat, Priority::Low);
    }
    room.enqueue(1, "4", Priority::Critical);
    let arrived = async {
        while room.telegram.accepted_in(4).is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let sending = run(room.scene(), Until::Stopped, std::future::pending());
    runtime().block_on(async {
        tokio::select! {
            ended = sending => panic!("{ended:?}"),
            () = arrived => {}
            () = tokio::time::sleep(Duration::from_secs(10)) => panic!("it did not arrive"),
        }
    });
    assert_eq!(room.telegram.accepted_count(), 1, "the others hang still");
}
