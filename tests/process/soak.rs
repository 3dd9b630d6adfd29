//! Everything at once for as long as one likes: ticks, deliveries, a sender and its Telegram with faults by chance, kills,
//! stops and a held database. Nothing is lost, and memory, files and latency are sampled for a picture.

use super::{ask, causes, verified};
use shared::platform::clock::Clock;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};
use watchalert_tests::feeds::{FeedServer, Reply};
use watchalert_tests::posting;
use watchalert_tests::programs::{
    BOUND, Place, Program, Running, now, pause, seed, soak, tell, within,
};
use watchalert_tests::proof::Proof;
use watchalert_tests::telegram::{Limits, Options, Storm, Telegram};
use watchalert_tests::world::stranger;

const FEEDS: usize = 8;
const TOKEN: &str = "a-token-of-the-tests";
const MARK: &str = "(possible repeat) ";
/// Of everything that was accepted, once the faults are over.
const PATIENCE: Duration = Duration::from_secs(200);
const STEP: Duration = Duration::from_millis(500);
const SAMPLE: Duration = Duration::from_secs(5);

/// An installation in its weather.
struct Soak {
    place: Place,
    server: FeedServer,
    telegram: Telegram,
    address: SocketAddr,
    chance: fastrand::Rng,
    began: Instant,
    sender: Running,
    receiver: Running,
    tick: Option<Running>,
    /// Entries of each feed by now.
    shown: usize,
    posted: usize,
    /// What the receiver has answered with 2xx.
    answered: BTreeSet<usize>,
    kills: usize,
    ticks: usize,
    sampled: Instant,
    last_row: i64,
}

impl Soak {
    fn new(seed: u64, time: Duration) -> Self {
        let telegram = Telegram::start(Options {
            limits: Limits::strict(),
            ..Options::default()
        });
        telegram.storm(Storm {
            ends: Some(Clock::system().now() + time),
            ..Storm::new(seed)
        });
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr());
        let (server, address) = (FeedServer::start(), free.expect("a free port"));
        let place = Place::new(&config(&telegram, &server, address));
        for (file, secret) in [("token", telegram.token()), ("hook", TOKEN)] {
            fs::write(place.path(file), secret).expect("written");
            let mode = Permissions::from_mode(0o600);
            fs::set_permissions(place.path(file), mode).expect("locked up");
        }
        show(&server, 0);
        place.run(Program::Ingest, &["--now"]).well();
        let sender = place.start_sender(&["run"]);
        let receiver = place.start(place.command(Program::Ingest, &["listen"]));
        Self {
            place,
            server,
            telegram,
            address,
            chance: fastrand::Rng::with_seed(seed),
            began: now(),
            sender,
            receiver,
            tick: None,
            shown: 0,
            posted: 0,
            answered: BTreeSet::new(),
            kills: 0,
            ticks: 0,
            sampled: now(),
            last_row: 0,
        }
    }

    /// Half a second of its life. On average three alerts a second for four chats, which take four messages.
    fn step(&mut self) {
        self.restart();
        if self.chance.bool() {
            self.post();
        }
        let (ticks_one_in, faults_one_in) = if soak().is_some() { (8, 50) } else { (4, 4) };
        let is_free = self.tick.as_mut().is_none_or(|tick| !tick.runs());
        if is_free && self.chance.u8(..ticks_one_in) == 0 {
            self.shown += 1;
            show(&self.server, self.shown);
            let tick = self.place.command(Program::Ingest, &["--now"]);
            self.tick = Some(self.place.start(tick));
            self.ticks += 1;
        }
        let fault = if self.chance.u8(..faults_one_in) == 0 {
            self.chance.u8(..4)
        } else {
            4
        };
        match fault {
            0 => self.kill_sender(),
            1 => self.kill_receiver(),
            2 => self.hold(),
            3 => self.stop(),
            _ => pause(STEP),
        }
        if self.sampled.elapsed() >= SAMPLE {
            self.sample();
        }
    }

    fn post(&mut self) {
        let body = format!("{{\"title\":\"Title of post-{}.\"}}", self.posted);
        let authorization = format!("Bearer {TOKEN}");
        let headers = [("Authorization", authorization.as_str())];
        let posted = posting::post(self.address, "/hook/any", &headers, body.as_bytes());
        if posted.is_ok_and(|(status, _)| matches!(status, 200 | 202)) {
            self.answered.insert(self.posted);
        }
        self.posted += 1;
    }

    /// As systemd does: a sender that starts while somebody holds the database for long says so and ends.
    fn restart(&mut self) {
        if !self.sender.runs() {
            let said = self.sender.said();
            assert!(said.contains("was held by another process"), "{said}");
            self.sender = self.place.start_sender(&["run"]);
        }
    }

    fn kill_sender(&mut self) {
        self.restart();
        let next = self.place.start_sender(&["queue", "list"]);
        let old = std::mem::replace(&mut self.sender, next);
        assert!(old.kill(), "the sender ended by itself");
        self.sender = self.place.start_sender(&["run"]);
        self.kills += 1;
    }

    fn kill_receiver(&mut self) {
        let command = self.place.command(Program::Ingest, &["beats"]);
        let old = std::mem::replace(&mut self.receiver, self.place.start(command));
        assert!(old.kill(), "the receiver ended by itself");
        let command = self.place.command(Program::Ingest, &["listen"]);
        self.receiver = self.place.start(command);
        self.kills += 1;
    }

    /// Somebody has a transaction open.
    fn hold(&mut self) {
        let db = stranger(&self.place.database());
        if db.execute_batch("BEGIN IMMEDIATE").is_ok() {
            for _ in 0..4 {
                self.post();
                pause(STEP);
            }
            db.execute_batch("COMMIT").expect("let go");
        }
    }

    /// The sender is stopped for a while, as by a machine that sleeps.
    fn stop(&mut self) {
        self.sender.signal("STOP");
        pause(4 * STEP);
        self.sender.signal("CONT");
    }

    /// Seconds; KiB of the sender and of the receiver; KiB of the database and of its log; rows that wait;
    /// milliseconds from acceptance to delivery, of the middle one and the slowest, of what came since.
    fn sample(&mut self) {
        self.sampled = now();
        let db = stranger(&self.place.database());
        let sql = "SELECT id,(updated_at-created_at)*1000 FROM outbox WHERE state='sent' AND id>?1 ORDER BY 2";
        let mut statement = db.prepare(sql).expect("a statement");
        let rows = statement.query_map([self.last_row], |row| Ok((row.get(0)?, row.get(1)?)));
        let rows: Vec<(i64, f64)> = rows.and_then(Iterator::collect).expect("rows");
        self.last_row = rows
            .iter()
            .map(|(id, _)| *id)
            .max()
            .unwrap_or(self.last_row);
        let middle = rows.get(rows.len() / 2).map_or(0.0, |(_, took)| *took);
        let slowest = rows.last().map_or(0.0, |(_, took)| *took);
        let size =
            |name: &str| fs::metadata(self.place.path(name)).map_or(0, |file| file.len() / 1024);
        let waiting = ask(
            &self.place,
            "SELECT count(*) FROM outbox WHERE state IN('ready','leased') AND kind<>'digest' OR state='folded' AND (SELECT state FROM outbox AS digest WHERE digest.id=outbox.parent_id) IN('ready','leased')",
        );
        tell(&format!(
            "sample {:.0} {} {} {} {} {waiting} {middle:.0} {slowest:.0}",
            self.began.elapsed().as_secs_f64(),
            memory(&self.sender),
            memory(&self.receiver),
            size("state/state.db"),
            size("state/state.db-wal"),
        ));
    }

    /// The weather is over by itself: everything arrives.
    fn end(&mut self) {
        if let Some(tick) = self.tick.take() {
            tick.ended(BOUND);
        }
        self.place.run(Program::Ingest, &["--now"]).well();
        let mut is_done = || {
            self.restart();
            let waits = "SELECT count(*) FROM outbox WHERE state IN('ready','leased')";
            fs::read_dir(self.place.path("state/state.db.spool")).map_or(0, Iterator::count) == 0
                && ask(&self.place, waits) == "0"
                && ask(
                    &self.place,
                    "SELECT count(*) FROM item WHERE state='pending'",
                ) == "0"
        };
        assert!(within(PATIENCE, &mut is_done), "{}", self.sender.said());
    }

    /// Every entry and every delivery that was answered has arrived; copies beyond the first are marked.
    /// Returns how many alerts there were, and how many copies.
    fn account(&self) -> (usize, usize) {
        let arrived: Vec<String> = self
            .telegram
            .accepted()
            .into_iter()
            .map(|message| message.text)
            .collect();
        let posts = self
            .answered
            .iter()
            .map(|number| format!("Title of post-{number}."));
        let entries =
            (0..FEEDS).flat_map(|feed| (0..self.shown).map(move |entry| title(feed, entry)));
        let (mut alerts, mut repeats) = (0, 0);
        for title in posts.chain(entries) {
            let copies: Vec<&String> = arrived
                .iter()
                .filter(|text| text.contains(&title))
                .collect();
            assert!(!copies.is_empty(), "{title} is lost");
            let bare = copies.iter().skip(1).filter(|copy| !copy.starts_with(MARK));
            assert_eq!(bare.count(), 0, "{title}: a repeat without its mark");
            alerts += 1;
            repeats += copies.len() - 1;
        }
        (alerts, repeats)
    }
}

fn title(feed: usize, entry: usize) -> String {
    format!("Title of entry-{feed}-{entry}.")
}

/// The last twenty of so many entries, and one that was there from the beginning.
fn show(server: &FeedServer, count: usize) {
    for feed in 0..FEEDS {
        let mut items = String::from("<item><guid>old</guid><title>An old story</title></item>");
        for entry in count.saturating_sub(20)..count {
            let title = title(feed, entry);
            let written = write!(
                items,
                "<item><guid>{feed}/{entry}</guid><link>https://example.org/{feed}/{entry}</link><title>{title}</title></item>"
            );
            written.expect("a string takes all");
        }
        let text = format!(
            "<rss version=\"2.0\"><channel><title>Feed {feed}</title><link>https://example.org/</link><description>d</description>{items}</channel></rss>"
        );
        server.set(&format!("/{feed}"), Reply::feed(text));
    }
}

fn config(telegram: &Telegram, server: &FeedServer, address: SocketAddr) -> String {
    let mut text = format!(
        "default_channel = \"ops0\"\n[ingest]\nallow_private = true\n[listen]\naddress = \"{address}\"\n\
         [[webhook]]\nname = \"any\"\nkind = \"generic\"\ntoken_file = \"hook\"\n"
    );
    for chat in 0..4 {
        let url = telegram.url();
        let written = write!(
            text,
            "[channel.ops{chat}]\nkind = \"telegram\"\napi_url = \"{url}\"\ntoken_file = \"token\"\nchat_id = {}\n\
            [[route]]\ntag = [\"t{chat}\"]\nto = [\"ops{chat}\"]\n",
            7_001 + chat
        );
        written.expect("a string takes all");
    }
    for feed in 0..FEEDS {
        let (url, tag) = (server.url(&format!("/{feed}")), feed % 4);
        text += &format!("[[feed]]\nurl = \"{url}\"\ntags = [\"t{tag}\"]\n");
    }
    text
}

/// Resident, in KiB; 0 of a process that is gone.
fn memory(running: &Running) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let word = line.and_then(|line| line.split_whitespace().nth(1));
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}

#[test]
fn everything_at_once_loses_nothing() {
    let time = soak().unwrap_or(Duration::from_secs(12));
    let seed = seed("soak");
    let mut soak = Soak::new(seed, time);
    while soak.began.elapsed() < time {
        soak.step();
    }
    soak.end();
    let (alerts, repeats) = soak.account();
    verified(&soak.place);
    Proof {
        what: "everything at once",
        how: format!(
            "{:.1} min: {} ticks, {} posts, {} kill -9, one Telegram answer in ten a fault",
            time.as_secs_f64() / 60.0,
            soak.ticks,
            soak.posted,
            soak.kills
        ),
        seed: Some(seed),
        accepted: alerts,
        delivered: alerts,
        repeats,
        cause: &causes(&soak.place),
        ..Proof::default()
    }
    .tell();
}
