//! `/metrics`: what a scrape says of a known world, that counts only grow, and that promtool and
//! Prometheus can read it.

use shared::config::{Config, Program as Who, Surroundings};
use shared::model::{
    Blame, Delivery, Destination, Fault, Hold, Lease, Priority, Settlement, Timestamp,
};
use shared::platform::clock::Clock;
use shared::store::outbox::{self, Claim, Epoch, failover, prune};
use shared::store::{Store, heartbeats, metrics};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use watchalert_sender::render::exposition::{Kind, Page};
use watchalert_sender::serve;
use watchalert_sender::serve::metrics::{Machine, Names};
use watchalert_tests::posting;
use watchalert_tests::programs::{BOUND, Place, Program, tell, until};
use watchalert_tests::world::{Folds, START, World, ask, fault, receipt, runtime, stranger, to};

const CONFIG: &str = "\
default_channel = 'ops'
[channel.ops]
kind = 'console'
[channel.phone]
kind = 'console'
";
const SECOND: Duration = Duration::from_secs(1);

fn config(text: &str) -> Config {
    let around = Surroundings {
        directory: Path::new("/nowhere"),
        credentials: None,
        program: Who::Sender,
    };
    Config::parse(text, &around).expect("a good configuration")
}

fn scrape(world: &World) -> String {
    scrape_with(world, CONFIG)
}

fn scrape_with(world: &World, text: &str) -> String {
    let (now, path) = (world.clock.now(), world.database());
    let metrics = world.read(move |db| metrics::read(db, &path, now));
    let machine = Machine {
        started_at: START,
        now,
        file: 315_392,
        log: 4_152,
        free: Some(52_428_800_000),
    };
    serve::metrics::text(&metrics, &Names::of(&config(text)), machine)
}

fn limited(seconds: u64) -> Fault {
    Fault {
        hold: Some(Hold::RateLimited),
        retry_after: Some(SECOND * u32::try_from(seconds).expect("a few")),
        ..fault(Blame::Channel, false)
    }
}

struct Scene {
    world: World,
    epoch: Epoch,
}

impl Scene {
    fn new() -> Self {
        let world = World::new();
        let epoch = world.take_over();
        Self { world, epoch }
    }

    fn enqueue(&self, key: &str, to: &Destination, priority: Priority) {
        self.world.enqueue(key, to, priority);
    }

    fn end(&self, lease: Box<Lease<Delivery>>, settlement: Settlement) {
        self.world
            .settle(lease, settlement, None)
            .expect("the lease is ours");
    }

    fn lease(&self, to: &Destination) -> Box<Lease<Delivery>> {
        self.world.lease(self.epoch, to)
    }

    /// Four alerts for one chat, in one digest that is under way.
    fn digest(&self, to: &Destination) -> Box<Lease<Delivery>> {
        for number in 0..4 {
            self.enqueue(&format!("story {number}"), to, Priority::High);
            self.world.advance(SECOND);
        }
        let (to, epoch, now) = (to.clone(), self.epoch, self.world.clock.now());
        let claim = move |db: &_| outbox::claim(db, epoch, &to, &Folds(9), now);
        match self.world.write(claim).expect("a claim") {
            Claim::Leased(lease) => lease,
            other => panic!("a lease was expected, not {other:?}"),
        }
    }

    fn sql(&self, sql: &str) {
        self.world.stranger().execute_batch(sql).expect("written");
    }

    /// Something of everything.
    fn history(&self) {
        let (ops, phone) = (to("ops", "-"), to("phone", "-1001234567890"));
        let retry = |at: Timestamp, fault: Fault| Settlement::RetryAt(at, fault);
        self.enqueue("in time", &ops, Priority::High);
        self.world.advance(SECOND * 3);
        self.end(self.lease(&ops), receipt("1"));
        self.enqueue("slowly", &ops, Priority::Normal);
        let later = self.world.clock.now() + SECOND * 7;
        self.end(self.lease(&ops), retry(later, limited(7)));
        self.world.advance(SECOND * 7);
        self.end(self.lease(&ops), receipt("2"));
        self.enqueue("perhaps twice", &phone, Priority::Critical);
        let now = self.world.clock.now();
        self.end(self.lease(&phone), retry(now, fault(Blame::Channel, true)));
        self.end(self.lease(&phone), receipt("3"));
        self.enqueue("never", &phone, Priority::Normal);
        let bury = Settlement::Bury("no".to_owned(), fault(Blame::Message, false));
        self.end(self.lease(&phone), bury);
        drop(self.digest(&to("ops", "2")));
        self.enqueue("waits", &phone, Priority::Low);
        self.of_strangers();
        self.of_ticks();
    }

    fn of_strangers(&self) {
        let created = self.world.clock.now().unix_seconds();
        self.sql(&format!(
            "INSERT INTO outbox(channel,chat_id,payload,next_attempt,created_at,expires_at) VALUES
               ('','-','{{\"text\":\"for the default\"}}',0,{created}-90,NULL),
               ('a\"channel\\ of mine','secret-chat','{{\"text\":\"x\"}}',0,{created}-30,NULL),
               ('gone','-','{{\"text\":\"y\"}}',0,{created},{created}-1);
             INSERT INTO gate(scope,key,blocked_until,blocked_for,breaker,refused_since) VALUES
               ('chat','ops/secret-chat',{created}+40,50,'open',NULL),
               ('chat','ops/another',0,0,'closed',NULL),
               ('bot','ops',{created}+600,5,'half-open',{created}-1);
             INSERT INTO feed(url,failures) VALUES('https://example.org/secret',0),('https://example.org/2',3);
             INSERT INTO item(feed_id,dedup_key,title,summary,first_seen_at,last_seen_at,state) VALUES
               (1,'a','A secret title','',0,0,'pending'),(1,'b','t','',0,0,'pending'),(2,'c','t','',0,0,'pending');
             UPDATE item SET state='judged',severity='ignore',judge='rule' WHERE id=1;
             UPDATE item SET state='judged',severity='ignore',judge='model' WHERE id=2;"
        ));
        let now = self.world.clock.now();
        let expired = self.world.write(move |db| failover::expire(db, None, now));
        assert_eq!(expired.expect("written"), 1);
    }

    /// One that takes two seconds and a half, one that fails, and one that goes on.
    fn of_ticks(&self) {
        let tick = |ends: bool| {
            self.world.advance(SECOND);
            let now = self.world.clock.now();
            let started = self
                .world
                .write(move |db| heartbeats::tick_started(db, now));
            started.expect("written");
            self.world.advance(Duration::from_millis(2500));
            let now = self.world.clock.now();
            if ends {
                let finished = move |db: &_| heartbeats::tick_finished(db, "well", now);
                self.world.write(finished).expect("written");
            }
        };
        tick(true);
        tick(false);
        tick(false);
    }
}

#[test]
fn a_scrape_of_a_known_world_is_this_text() {
    let scene = Scene::new();
    scene.history();
    let text = scrape(&scene.world);
    let expected =
        include_str!("fixtures/metrics.txt").replace("VERSION", env!("CARGO_PKG_VERSION"));
    assert_eq!(text, expected, "\n{text}");
    for private in ["secret", "1001234567890", "title", "mine", "gone"] {
        assert!(!text.contains(private), "{private}");
    }
    scene.world.all_invariants_hold();
}

#[test]
fn a_world_without_anything_has_every_count_at_zero() {
    let world = World::new();
    let text = scrape(&world);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        let is_known = ["process_", "watchalert_build_info", "watchalert_database"];
        let is_known =
            is_known.iter().any(|known| name.starts_with(known)) || name.ends_with("_bytes");
        assert!(is_known || value == "0", "{line}");
    }
    assert!(text.contains("watchalert_attempts_total{channel=\"phone\",outcome=\"ok\"} 0\n"));
    assert!(!text.contains("watchalert_tick_started"), "{text}");
}

#[test]
fn whatever_a_label_holds_stays_within_its_quotes() {
    let mut page = Page::default();
    let mut family = page.family(Kind::Gauge, "a_thing", "With a \\ and\na second line.");
    family.number(&[("of", "C:\\ says \"no\"\nand goes"), ("and", "ü{},=")], 1);
    page.family(Kind::Counter, "nothing_total", "Never seen.");
    let text = "# HELP a_thing With a \\\\ and\\na second line.\n# TYPE a_thing gauge\n\
                a_thing{of=\"C:\\\\ says \\\"no\\\"\\nand goes\",and=\"ü{},=\"} 1\n";
    assert_eq!(page.text(), text);
}

/// Every number that must only grow, by its name with labels.
fn counts(text: &str) -> BTreeMap<String, f64> {
    let grows = |line: &&str| {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        let endings = ["_total", "_bucket", "_count", "_sum"];
        endings.iter().any(|ending| name.ends_with(ending))
    };
    let lines = text.lines().filter(grows);
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            (name.to_owned(), value.parse().expect("a number"))
        })
        .collect()
}

#[test]
fn no_count_falls_when_rows_leave_senders_follow_each_other_and_people_decide() {
    let scene = Scene::new();
    scene.history();
    let mut before = counts(&scrape(&scene.world));
    let mut step = |what: &str| {
        let after = counts(&scrape(&scene.world));
        for (name, count) in &before {
            assert!(after[name] >= *count, "{what}: {name} was {count}");
        }
        before = after;
    };
    let end = scene.world.clock.now() + SECOND;
    let revive = move |db: &_| outbox::operator::requeue(db, 4, end).map(drop);
    scene.world.write(revive).expect("revived");
    step("revived");
    // What was under way is interrupted.
    let epoch = scene.world.take_over();
    step("taken over");
    scene.world.advance(SECOND * 2);
    let phone = to("phone", "-1001234567890");
    let lease = scene.world.lease(epoch, &phone);
    assert_eq!(lease.held().id, 4);
    scene.end(lease, receipt("4"));
    step("sent after all");
    let far = end + SECOND * 86_400 * 90;
    let rows = scene.world.write(move |db| prune::prune(db, far));
    assert!(rows.expect("pruned") > 2);
    step("pruned");
    assert_eq!(
        scene
            .world
            .ask("SELECT count(*) FROM attempt WHERE outbox_id=1"),
        "0"
    );
    let all: f64 = ["deferred", "ok", "rejected", "unknown", "interrupted"]
        .iter()
        .flat_map(|outcome| ["ops", "phone"].map(|channel| (channel, outcome)))
        .map(|(channel, outcome)| {
            before[&format!(
                "watchalert_attempts_total{{channel=\"{channel}\",outcome=\"{outcome}\"}}"
            )]
        })
        .sum();
    assert!(
        (all - 8.0).abs() < 0.1,
        "one more than in the history, and one cut off: {all}"
    );
}

#[test]
fn a_channel_that_leaves_the_configuration_keeps_its_counts() {
    let scene = Scene::new();
    scene.history();
    let without = "default_channel = 'ops'\n[channel.ops]\nkind = 'console'\n";
    let attempts = |text: &str| -> Vec<(String, f64)> {
        let counts = counts(text).into_iter();
        let attempts = counts.filter(|(name, _)| name.starts_with("watchalert_attempts_total"));
        attempts.collect()
    };
    let before = attempts(&scrape(&scene.world));
    assert!(
        before
            .iter()
            .any(|(name, count)| name.contains("phone") && *count > 0.0)
    );
    assert_eq!(attempts(&scrape_with(&scene.world, without)), before);
}

#[test]
fn copies_with_a_mark_are_counted_when_they_went_out_and_not_when_they_were_refused() {
    let scene = Scene::new();
    let ops = to("ops", "-");
    scene.enqueue("one", &ops, Priority::High);
    let now = scene.world.clock.now();
    let unknown = Settlement::RetryAt(now, fault(Blame::Channel, true));
    let marked = || {
        let name = "watchalert_possible_repeats_total{channel=\"ops\"}";
        counts(&scrape(&scene.world))[name]
    };
    scene.end(scene.lease(&ops), unknown);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let lease = scene.lease(&ops);
        seen.push(marked());
        scene.end(lease, Settlement::RetryAt(now, limited(1)));
        seen.push(marked());
    }
    scene.end(scene.lease(&ops), receipt("m"));
    assert_eq!(seen, [0.0; 6]);
    let ledger = scene
        .world
        .ask("SELECT n FROM ledger WHERE name='repeat_marked'");
    assert_eq!(
        (marked().to_string(), ledger),
        ("1".to_owned(), "1".to_owned())
    );
}

#[test]
fn each_alert_of_a_digest_is_a_delivery_of_its_own_age() {
    let scene = Scene::new();
    let lease = scene.digest(&to("ops", "2"));
    scene.end(lease, receipt("m"));
    let counts = counts(&scrape(&scene.world));
    let within = |le: &str| {
        counts[&format!(
            "watchalert_delivery_latency_seconds_bucket{{priority=\"high\",le=\"{le}\"}}"
        )]
    };
    // Of 1, 2, 3 and 4 seconds.
    let counted = ["1", "2", "5", "+Inf"].map(|le| within(le).to_string());
    assert_eq!(counted, ["1", "2", "4", "4"]);
    let sum = counts["watchalert_delivery_latency_seconds_sum{priority=\"high\"}"];
    assert!((sum - 10.0).abs() < 1e-6, "{sum}");
}

#[test]
fn times_that_only_a_stranger_writes_break_no_number() {
    let scene = Scene::new();
    scene.sql(
        "INSERT INTO outbox(channel,chat_id,payload,next_attempt,created_at) VALUES
           ('ops','1','{}',0,-9e999),('ops','2','{}',0,9e999),('ops','3','{}',0,1e300);
         UPDATE outbox SET state='leased',lease_epoch=1;
         UPDATE outbox SET state='sent',lease_epoch=NULL;",
    );
    let text = scrape(&scene.world);
    for odd in ["inf", "NaN", "-"] {
        let mut values = text.lines().filter_map(|line| line.rsplit_once(' '));
        assert!(
            !values.any(|(_, value)| value.contains(odd)),
            "{odd}: {text}"
        );
    }
    let count = "watchalert_delivery_latency_seconds_count{priority=\"normal\"} 3\n";
    assert!(text.contains(count), "{text}");
}

/// What `promtool check metrics` says of a page, and whether it is content; `None` where it is not installed.
fn promtool(text: &str) -> Option<(bool, String)> {
    let mut checking = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut page = checking.stdin.take().expect("piped");
    page.write_all(text.as_bytes()).expect("read");
    drop(page);
    let said = checking.wait_with_output().expect("it ends");
    let words = [said.stdout, said.stderr].concat();
    let words = String::from_utf8_lossy(&words).into_owned();
    Some((said.status.success(), words))
}

#[test]
fn promtool_has_nothing_to_say_against_it() {
    let scene = Scene::new();
    scene.history();
    let Some(said) = promtool(&scrape(&scene.world)) else {
        tell(
            "SKIPPED: promtool is not installed (Debian: prometheus), so nobody else has checked /metrics",
        );
        return;
    };
    assert_eq!(said, (true, String::new()));
    let (is_content, _) = promtool("a_thing{ 1\n").expect("installed");
    assert!(!is_content, "it would have said so");
}

fn free_address() -> SocketAddr {
    let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr());
    free.expect("a free port")
}

fn get(address: SocketAddr) -> Option<(u16, String)> {
    let request = "GET /metrics HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n";
    posting::ask(address, request.as_bytes()).ok()
}

#[test]
fn a_database_that_cannot_be_read_is_503_with_one_sentence() {
    let dir = TempDir::new().expect("a folder");
    let path = dir.path().join("state.db");
    let address = free_address();
    let store = Arc::new(Store::open(&path).expect("a fresh database"));
    let served = serve::serve(address, store, &config(CONFIG), Clock::set(START));
    let asked = runtime().block_on(async {
        let served = tokio::spawn(served);
        let asking = tokio::task::spawn_blocking(move || {
            until("it answers", || {
                get(address).is_some_and(|(status, _)| status == 200)
            });
            stranger(&path)
                .execute_batch("DROP TABLE bound")
                .expect("broken");
            get(address).expect("an answer")
        });
        let asked = asking.await.expect("no panic");
        served.abort();
        asked
    });
    let (status, said) = asked;
    assert_eq!((status, said.lines().count()), (503, 1), "{said}");
    assert!(said.contains("no such table: bound"), "{said}");
}

#[test]
fn the_real_sender_serves_it() {
    let address = free_address();
    let place = Place::new(&format!(
        "[status]\naddress = \"{address}\"\n[channel.screen]\nkind = \"console\"\n"
    ));
    for text in ["one", "two"] {
        place.run(Program::Sender, &["queue", "add", text]).well();
    }
    let sender = place.start_sender(&["run"]);
    let sent = "watchalert_attempts_total{channel=\"screen\",outcome=\"ok\"} 2\n";
    until("both are counted", || {
        get(address).is_some_and(|(status, text)| status == 200 && text.contains(sent))
    });
    let head = "HEAD /metrics HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n";
    let head = posting::ask_whole(address, head.as_bytes()).expect("an answer");
    assert!(
        head.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"),
        "{head}"
    );
    let (_, text) = get(address).expect("an answer");
    if let Some(said) = promtool(&format!("{text}\n")) {
        assert_eq!(said, (true, String::new()));
    }
    sender.terminate();
    sender.ended(BOUND).well();
    // The next sender goes on counting where this one ended.
    let sender = place.start_sender(&["run"]);
    let starts = "watchalert_sender_starts_total 2\n";
    until("the next counts on", || {
        get(address).is_some_and(|(_, text)| text.contains(starts) && text.contains(sent))
    });
    sender.terminate();
    sender.ended(BOUND).well();
    let db = stranger(&place.database());
    assert_eq!(
        ask(&db, "SELECT count(*) FROM outbox WHERE state='sent'"),
        "2"
    );
}
