//! The sender against an ntfy that counts what a visitor may send and refuses in every way: on a set clock,
//! with a new sender after every wait, so that whatever is remembered is in the file.

use shared::config::{Config, Program, Surroundings};
use shared::model::{Priority, Timestamp};
use shared::platform::term::Style;
use shared::store::outbox::{self, Fallback};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use watchalert_sender::channel::console::Output;
use watchalert_sender::drain::Until;
use watchalert_sender::run::{Scene, run};
use watchalert_tests::ntfy::{Fault, Ntfy, Options, Published};
use watchalert_tests::world::{START, World, runtime, to};

/// A topic on somebody's phone, a screen for what the sender says of itself, and a world to send from.
struct Room {
    world: World,
    ntfy: Ntfy,
    /// More keys of the channel.
    keys: &'static str,
    digests: bool,
}

const TOPIC: &str = "my-alerts";
const TOKEN: &str = "tk_hunter2";

impl Room {
    fn new() -> Self {
        Self::with(|_| {})
    }

    /// Against a server that is not quite as ntfy.sh.
    fn with(change: impl FnOnce(&mut Options)) -> Self {
        let world = World::in_memory();
        let mut options = Options::strict(&world.clock);
        change(&mut options);
        let token = world.dir.path().join("token");
        fs::write(&token, TOKEN).expect("written");
        fs::set_permissions(&token, Permissions::from_mode(0o600)).expect("locked up");
        Self {
            world,
            ntfy: Ntfy::start(options),
            keys: "",
            digests: false,
        }
    }

    fn scene(&self) -> Scene {
        let text = format!(
            "default_channel = \"phone\"\n[digest]\nenabled = {}\n[state]\npath = \"state.db\"\nmin_free = \"0 KiB\"\n\
             [channel.screen]\nkind = \"console\"\n\
             [channel.phone]\nkind = \"ntfy\"\nurl = \"{}\"\ntopic = \"{TOPIC}\"\n{}",
            self.digests,
            self.ntfy.url(),
            self.keys
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

    fn enqueue(&self, count: usize, priority: Priority) {
        for number in 0..count {
            let key = format!("{} {number}", priority.name());
            self.world.enqueue(&key, &to("phone", TOPIC), priority);
        }
    }

    /// As the article does it.
    fn insert(&self, topic: &str, text: &str) {
        let sql = "INSERT INTO outbox (channel, chat_id, payload, next_attempt, created_at)
                   VALUES ('phone', ?1, json_object('text', ?2), 0, ?3)";
        let now = self.world.clock.now().unix_seconds();
        let db = self.world.stranger();
        db.execute(sql, (topic, text, now)).expect("inserted");
    }

    /// One sender, from start until nothing is due.
    fn send(&self) {
        let ended = runtime().block_on(run(self.scene(), Until::Empty, std::future::pending()));
        ended.expect("a clean end");
    }

    /// The next moment at which anything may happen.
    fn next_moment(&self) -> Timestamp {
        let now = self.world.clock.now();
        // A bucket's own time is that many sends ahead of the moment at which the next may go.
        let credit = 44.0 * 5.25;
        let next = self.world.ask(&format!(
            "SELECT min(at) FROM (SELECT next_at-{credit} AS at FROM gate UNION ALL SELECT blocked_until FROM gate
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
            let next = self.next_moment();
            if self.count("state='ready'") == 0 || next > end {
                break;
            }
            self.world.clock.set_to(next);
        }
        self.world.all_invariants_hold();
    }

    fn count(&self, rows: &str) -> usize {
        let count = format!("SELECT count(*) FROM outbox WHERE {rows}");
        self.world.ask(&count).parse().expect("a number")
    }

    /// Seconds from the start to the last publication.
    fn last_at(&self) -> f64 {
        let published = self.ntfy.published();
        let last = published.last().expect("something was published");
        last.at.since(START).as_secs_f64()
    }

    fn only(&self) -> Published {
        let published = self.ntfy.published();
        assert_eq!(published.len(), 1, "{published:#?}");
        published[0].clone()
    }
}

fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

const NONE: [u64; 0] = [];

#[test]
fn an_alert_arrives_with_priority_tags_click_and_one_action() {
    let room = Room::new();
    room.enqueue(1, Priority::Critical);
    room.send();
    let shown = room.only();
    assert_eq!(shown.title, "\u{25a0} CRITICAL Title of critical 0");
    assert_eq!(
        shown.message,
        "other · example.org\nhttps://example.org/critical 0\nwhy: a test says so\n#a1b2c3"
    );
    assert_eq!((shown.topic.as_str(), shown.priority), (TOPIC, 5));
    assert_eq!(shown.tags, ["critical", "other", "example.org"]);
    // Not a link of the web, for there is a space in it.
    assert_eq!((shown.click, shown.actions.len()), (None, 0));
    assert_eq!(room.world.ask("SELECT message_id FROM outbox"), shown.id);
    room.world.all_invariants_hold();
}

#[test]
fn two_hundred_alerts_at_once_are_never_too_many_for_the_server() {
    let room = Room::new();
    room.enqueue(200, Priority::High);
    room.drain_within(minutes(30));
    assert_eq!(room.ntfy.published().len(), 200);
    assert_eq!(room.ntfy.codes(), NONE);
    // 45 at once, then one each 5.25 s.
    let last = room.last_at();
    assert!((155.0 * 5.0..155.0 * 5.25 + 30.0).contains(&last), "{last}");
}

#[test]
fn two_hundred_alerts_at_once_are_few_digests_each_alert_with_its_link() {
    let mut room = Room::new();
    room.digests = true;
    for number in 0..200 {
        let key = format!("n{number:03}");
        room.world
            .enqueue(&key, &to("phone", TOPIC), Priority::Normal);
    }
    room.drain_within(minutes(10));
    let published = room.ntfy.published();
    assert!(published.len() <= 8, "{}", published.len());
    assert!(
        published
            .iter()
            .all(|one| !one.is_attachment && one.message.len() < 4_096)
    );
    let all: String = published.iter().map(|one| one.message.as_str()).collect();
    for number in 0..200 {
        let link = format!("https://example.org/n{number:03}");
        assert_eq!(all.matches(&link).count(), 1, "{link}");
    }
    assert_eq!(
        (room.ntfy.codes().len(), room.count("state='dead'")),
        (0, 0)
    );
    assert!(room.last_at() <= 60.0, "{}", room.last_at());
}

#[test]
fn the_quota_of_a_day_is_waited_for_until_midnight_utc_over_restarts() {
    let room = Room::with(|options| options.messages = Some(10));
    room.enqueue(10, Priority::High);
    room.drain_within(minutes(1));
    room.enqueue(5, Priority::Normal);
    room.drain_within(minutes(1));
    assert_eq!(room.ntfy.codes(), [42_908]);
    // It is eight in the morning. Whatever comes meanwhile waits too, and nothing is asked.
    room.enqueue(1, Priority::Critical);
    for _ in 0..15 {
        room.world.advance(minutes(60));
        room.send();
    }
    assert_eq!(room.ntfy.requests().len(), 11);
    room.world.advance(minutes(59));
    room.send();
    assert_eq!(room.ntfy.published().len(), 10);
    room.drain_within(minutes(5));
    let published = room.ntfy.published();
    assert_eq!((published.len(), room.count("state='dead'")), (16, 0));
    let midnight = START + minutes(16 * 60);
    let of_tomorrow: Vec<_> = published.iter().skip(10).collect();
    assert!(
        of_tomorrow
            .iter()
            .all(|one| one.at >= midnight && one.at < midnight + minutes(1))
    );
    assert_eq!(of_tomorrow[0].priority, 5, "the gravest first");
    assert_eq!(room.ntfy.codes(), [42_908]);
}

#[test]
fn what_the_quota_of_a_day_keeps_goes_to_the_fallback_of_its_route() {
    let room = Room::with(|options| options.messages = Some(0));
    let mut owed = watchalert_tests::world::owed("a", &to("phone", TOPIC), Priority::Critical);
    owed.to[0].fallback = Some(Fallback {
        to: to("screen", "-"),
        after: minutes(15),
    });
    let enqueue = move |db: &_| outbox::enqueue(db, &owed, START).map(|_| ());
    room.world.write(enqueue).expect("enqueued");
    room.drain_within(minutes(20));
    room.world.advance(minutes(16));
    room.send();
    assert_eq!(room.count("state='moved' AND channel='phone'"), 1);
    assert_eq!(room.count("state='sent' AND channel='screen'"), 1);
    assert_eq!(room.ntfy.codes(), [42_908]);
    room.world.all_invariants_hold();
}

#[test]
fn a_visitor_who_is_too_fast_because_of_others_waits_as_a_whole_and_loses_nothing() {
    let room = Room::new();
    room.ntfy.script([Fault::Code(42_901), Fault::Code(42_901)]);
    room.enqueue(3, Priority::High);
    room.send();
    room.insert("another-topic", "of the same visitor");
    room.send();
    assert_eq!(
        room.ntfy.requests().len(),
        1,
        "after the first, nobody asks"
    );
    room.drain_within(minutes(5));
    assert_eq!(
        (room.ntfy.published().len(), room.count("state='dead'")),
        (4, 0)
    );
    let at: Vec<f64> = room
        .ntfy
        .requests()
        .iter()
        .map(|it| it.at.since(START).as_secs_f64())
        .collect();
    assert!((15.0..=17.0).contains(&at[1]), "{at:?}");
    assert!(
        at[2] - at[1] >= 30.0,
        "twice as long the second time: {at:?}"
    );
}

#[test]
fn a_token_that_is_refused_is_told_once_on_another_channel_and_everything_waits() {
    let mut room = Room::with(|options| options.authorization = Some("Bearer tk_new".to_owned()));
    room.keys = "token_file = \"token\"\n";
    room.enqueue(3, Priority::High);
    room.drain_within(minutes(60));
    assert_eq!(room.ntfy.published().len(), 0);
    assert_eq!(room.count("state='ready' AND channel='phone'"), 3);
    assert_eq!(
        room.count("kind='notice' AND channel='screen' AND state='sent'"),
        1
    );
    let told = room
        .world
        .ask("SELECT payload FROM outbox WHERE kind='notice'");
    assert!(told.contains("the channel phone: it is refused"), "{told}");
    assert!(told.contains("ntfy answered 40101: unauthorized"), "{told}");
    let asked = room.ntfy.requests().len();
    assert!((2..=10).contains(&asked), "{asked} requests in an hour");
    assert!(!room.ntfy.codes().contains(&42_909));
    // Somebody writes the new token into the file; no sender has to be told.
    fs::write(room.world.dir.path().join("token"), "tk_new\n").expect("written");
    room.drain_within(minutes(30));
    assert_eq!(room.ntfy.published().len(), 3);
}

#[test]
fn a_password_is_sent_as_one() {
    // ada:tk_hunter2
    let basic = "Basic YWRhOnRrX2h1bnRlcjI=";
    let mut room = Room::with(|options| options.authorization = Some(basic.to_owned()));
    room.keys = "user = \"ada\"\npassword_file = \"token\"\n";
    room.enqueue(1, Priority::High);
    room.send();
    assert_eq!(room.only().priority, 4);
}

#[test]
fn a_topic_that_refuses_us_is_told_and_stops_no_other() {
    let room = Room::new();
    room.ntfy.forbid("of-somebody");
    for topic in ["of-somebody", "not a topic", "docs"] {
        room.insert(topic, "a stranger's row");
    }
    room.enqueue(2, Priority::Normal);
    room.drain_within(minutes(30));
    assert_eq!(room.ntfy.published().len(), 2);
    assert_eq!(room.count("state='ready'"), 3);
    assert_eq!(
        room.count("kind='notice' AND channel='screen' AND state='sent'"),
        3
    );
    assert!(room.last_at() < 5.0, "{}", room.last_at());
}

#[test]
fn an_answer_that_is_lost_makes_a_marked_repeat_that_replaces_the_first() {
    for fault in [Fault::ResetAfter, Fault::FailAfter] {
        let room = Room::new();
        room.ntfy.script([fault]);
        room.enqueue(1, Priority::High);
        room.drain_within(minutes(5));
        let copies = room.ntfy.published();
        assert_eq!(copies.len(), 2);
        assert_eq!(copies[0].sequence_id, copies[1].sequence_id);
        assert_eq!(
            copies[0].sequence_id.as_deref(),
            Some("watchalert-1-a1b2c3")
        );
        let marked = "(possible repeat) \u{25b2} HIGH Title of high 0";
        assert_eq!(
            (copies[0].title.as_str(), copies[1].title.as_str()),
            (&marked[18..], marked)
        );
        assert_eq!(room.ntfy.shown(), [copies[1].clone()], "one on the phone");
        assert_eq!(
            room.world.ask("SELECT message_id FROM outbox"),
            copies[1].id
        );
    }
}

#[test]
fn a_server_too_old_for_sequence_ids_shows_the_repeat_beside_the_first_and_marked() {
    let room = Room::with(|options| options.knows_sequences = false);
    room.ntfy.script([Fault::ResetAfter]);
    room.enqueue(1, Priority::High);
    room.drain_within(minutes(5));
    let titles: Vec<bool> = room
        .ntfy
        .shown()
        .iter()
        .map(|one| one.title.starts_with("(possible repeat) "))
        .collect();
    assert_eq!(titles, [false, true]);
    assert_eq!(room.count("state='sent'"), 1);
}

#[test]
fn half_an_acceptance_is_one() {
    let room = Room::new();
    room.ntfy.script([Fault::Half]);
    room.enqueue(1, Priority::High);
    room.drain_within(minutes(5));
    assert_eq!(
        room.world.ask("SELECT message_id FROM outbox"),
        room.only().id
    );
}

#[test]
fn what_is_not_published_is_sent_again_without_a_mark() {
    let room = Room::new();
    room.ntfy.script([Fault::Page(400), Fault::Code(40_401)]);
    room.enqueue(1, Priority::High);
    room.drain_within(minutes(5));
    assert_eq!(room.only().title, "\u{25b2} HIGH Title of high 0");
}

#[test]
fn what_is_refused_about_a_message_is_mended_once_else_it_is_dead_and_stops_no_other() {
    let room = Room::new();
    room.ntfy.script([Fault::Code(40_018)]);
    room.enqueue(1, Priority::High);
    room.send();
    let bare = room.only();
    assert_eq!((bare.title.as_str(), bare.priority), ("", 3));
    assert!(
        bare.message
            .starts_with("\u{25b2} HIGH Title of high 0\nother · example.org\n")
    );
    room.ntfy.script([Fault::Code(40_018), Fault::Code(40_018)]);
    room.insert(TOPIC, "a bad one");
    room.insert(TOPIC, "a good one");
    room.drain_within(minutes(5));
    let published = room.ntfy.published();
    assert_eq!(
        published.last().map(|one| one.message.as_str()),
        Some("a good one")
    );
    let why = room
        .world
        .ask("SELECT last_error FROM outbox WHERE state='dead'");
    assert_eq!(
        why,
        "refused: ntfy answered 40018: invalid request: actions invalid"
    );
    assert_eq!(
        room.count("kind='notice' AND channel='screen' AND state='sent'"),
        1
    );
}

#[test]
fn signs_of_every_script_arrive_as_they_are() {
    let room = Room::new();
    let title = "Ärger — „naïve“ 🦀 日本 \u{ff}";
    let mut owed = watchalert_tests::world::owed("a", &to("phone", TOPIC), Priority::Normal);
    owed.alert.title = title.to_owned();
    owed.alert.source = "Éditions, n° 5".to_owned();
    let enqueue = move |db: &shared::store::Db| outbox::enqueue(db, &owed, START).map(|_| ());
    room.world.write(enqueue).expect("enqueued");
    room.send();
    let shown = room.only();
    assert_eq!(shown.title, format!("\u{25cf} NORMAL {title}"));
    assert_eq!(shown.tags, ["normal", "other", "Éditions n° 5"]);
    assert_eq!(shown.click.as_deref(), Some("https://example.org/a"));
    assert_eq!(shown.actions[0]["url"], "https://example.org/a");
}

#[test]
fn a_text_of_more_bytes_than_a_message_holds_is_cut_and_no_attachment() {
    for takes_attachments in [true, false] {
        let room = Room::with(|options| options.takes_attachments = takes_attachments);
        for text in ["火".repeat(1_400), "x".repeat(4_096), "x".repeat(40_000)] {
            room.insert(TOPIC, &text);
        }
        room.insert(TOPIC, " ");
        room.drain_within(minutes(1));
        let published = room.ntfy.published();
        assert_eq!((published.len(), room.ntfy.codes().len()), (4, 0));
        for one in &published[..3] {
            assert!(!one.is_attachment && one.message.ends_with(" characters more]"));
        }
        assert_eq!(published[3].message, "(no text)");
    }
}

#[test]
fn a_server_that_finds_it_too_long_all_the_same_gets_a_short_one() {
    for code in [41_303, 41_301, 40_014] {
        let room = Room::new();
        room.ntfy.script([Fault::Code(code)]);
        room.insert(TOPIC, &"x".repeat(4_000));
        room.send();
        assert!(room.only().message.len() <= 1_000);
    }
}
