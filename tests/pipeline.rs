//! The tick against a feed server: from the bytes of a feed to rows in the outbox, each item once.

#[path = "pipeline/access.rs"]
mod access;
#[path = "pipeline/conditional.rs"]
mod conditional;
#[path = "pipeline/day.rs"]
mod day;
#[path = "pipeline/deadline.rs"]
mod deadline;
#[path = "pipeline/hosts.rs"]
mod hosts;
#[path = "pipeline/known.rs"]
mod known;
#[path = "pipeline/moves.rs"]
mod moves;
#[path = "pipeline/refusals.rs"]
mod refusals;
#[path = "pipeline/stories.rs"]
mod stories;

use shared::Failure;
use shared::config::{Config, Program, Surroundings};
use shared::platform::exit::Exit;
use std::time::Duration;
use watchalert_ingest::dry_run;
use watchalert_ingest::progress::Progress;
use watchalert_ingest::report::{FeedResult, Report};
use watchalert_ingest::run::{self, Options, Scene};
use watchalert_tests::feeds::{FeedServer, Reply};
use watchalert_tests::world::{World, ask, runtime};

/// An RSS feed with one entry for each `(guid, link, title)`.
fn rss(entries: &[(&str, &str, &str)]) -> String {
    let mut items = String::new();
    for (guid, link, title) in entries {
        items += &format!(
            "<item><guid isPermaLink=\"false\">{guid}</guid><link>https://example.org/{link}</link><title>{title}</title></item>"
        );
    }
    format!(
        "<rss version=\"2.0\"><channel><title>Example news</title><link>https://example.org/</link><description>d</description>{items}</channel></rss>"
    )
}

/// A world with a feed server and a configuration for it.
struct Newsroom {
    world: World,
    server: FeedServer,
    extra: String,
}

impl Newsroom {
    fn new() -> Self {
        Self {
            world: World::new(),
            server: FeedServer::start(),
            extra: String::new(),
        }
    }

    /// A feed that is known already, so that what comes next is news.
    fn seeded(entries: &[(&str, &str, &str)]) -> Self {
        let room = Self::new();
        room.server.set("/news", Reply::feed(rss(entries)));
        room.tick(&["/news"]);
        room.world.advance(Duration::from_secs(120));
        room
    }

    fn config(&self, paths: &[&str]) -> Config {
        let mut feeds = String::new();
        for path in paths {
            feeds += &format!(
                "[[feed]]\nurl = \"{}\"\ntags = [\"test\", \"{path}\"]\n",
                self.server.url(path)
            );
        }
        let text = format!(
            "default_channel = \"screen\"\n[state]\npath = \"state.db\"\nmin_free = \"0 KiB\"\n[ingest]\nallow_private = true\n{}\n{feeds}\n[channel.screen]\nkind = \"console\"\n[channel.other]\nkind = \"console\"\n",
            self.extra
        );
        let around = Surroundings {
            directory: self.world.dir.path(),
            credentials: None,
            program: Program::Ingest,
        };
        Config::parse(&text, &around).expect("a good configuration")
    }

    fn scene(&self, paths: &[&str]) -> Scene {
        Scene {
            config: self.config(paths),
            clock: self.world.clock.clone(),
            chance: fastrand::Rng::with_seed(7),
            progress: Progress::default(),
        }
    }

    fn try_tick(&self, paths: &[&str], options: Options) -> Result<Report, Failure> {
        runtime().block_on(run::run(self.scene(paths), options))
    }

    fn tick(&self, paths: &[&str]) -> Report {
        let report = self.try_tick(paths, Options::default()).expect("a tick");
        self.world.all_invariants_hold();
        report
    }

    /// The titles of the alerts that wait in the outbox.
    fn alerted(&self) -> String {
        self.world
            .ask("SELECT coalesce(group_concat(json_extract(payload,'$.title'),' | '),'') FROM outbox WHERE kind='alert'")
    }
}

/// A tick that was killed between storing and judging leaves this.
fn leave_behind(room: &Newsroom, title: &str) {
    room.world
        .stranger()
        .execute(
            "INSERT INTO item(feed_id,dedup_key,title,summary,first_seen_at,last_seen_at,state)
             VALUES(1,'0123456789abcdef',?2,'',?1,?1,'pending')",
            (room.world.clock.now().unix_seconds(), title),
        )
        .expect("inserted");
}

#[test]
fn with_little_room_feeds_wait_and_what_is_there_is_judged_and_told() {
    let room = Newsroom::seeded(&[]);
    leave_behind(&room, "CVE-2026-50001 exploited in the wild");
    let asked = room.server.requests().len();
    let mut scene = room.scene(&["/news"]);
    scene.config.min_free = u64::MAX;
    let ended = runtime().block_on(run::run(scene, Options::default()));
    let said = ended.expect_err("little room").to_string();
    assert!(said.contains("of state.min_free"), "{said}");
    assert_eq!(room.alerted(), "CVE-2026-50001 exploited in the wild");
    assert_eq!(room.server.requests().len(), asked);
}

fn read(new: usize, known: usize, seeded: usize) -> FeedResult {
    FeedResult::Read {
        new,
        known,
        seeded,
        repaired: false,
    }
}

#[test]
fn a_first_fetch_is_known_not_told_and_one_notice_says_so() {
    let room = Newsroom::new();
    let old = rss(&[("1", "1", "Old flaw"), ("2", "2", "Old news")]);
    room.server.set("/a", Reply::feed(old.clone()));
    room.server.set("/b", Reply::feed(old));
    let report = room.tick(&["/a", "/b"]);
    assert_eq!(report.feeds[0].result, read(0, 0, 2));
    assert_eq!(room.alerted(), "");
    assert_eq!(
        room.world
            .ask("SELECT json_extract(payload,'$.title') FROM outbox WHERE kind='notice'"),
        "2 new feeds, 4 items known: alerts begin with what is new from now on"
    );
    room.world.advance(Duration::from_secs(120));
    room.tick(&["/a", "/b"]);
    assert_eq!(
        room.world.ask("SELECT count(*) FROM outbox"),
        "1",
        "told once"
    );
}

#[test]
fn a_new_entry_is_alerted_exactly_once() {
    let room = Newsroom::seeded(&[("1", "1", "Old")]);
    let news = rss(&[("2", "2", "Server actively exploited"), ("1", "1", "Old")]);
    room.server.set("/news", Reply::feed(news));
    let report = room.tick(&["/news"]);
    assert_eq!(report.feeds[0].result, read(1, 1, 0));
    assert_eq!((report.judged.critical, report.deliveries), (1, 1));
    assert_eq!(room.alerted(), "Server actively exploited");
    for _ in 0..3 {
        room.world.advance(Duration::from_secs(120));
        room.tick(&["/news"]);
    }
    assert_eq!(room.alerted(), "Server actively exploited");
}

#[test]
fn a_feed_that_did_not_change_is_asked_conditionally() {
    let room = Newsroom::seeded(&[("1", "1", "Old")]);
    let report = room.tick(&["/news"]);
    assert_eq!(report.feeds[0].result, FeedResult::NotModified);
    let requests = room.server.requests_for("/news");
    assert!(requests[0].header("if-none-match").is_none());
    assert!(requests[1].header("if-none-match").is_some());
}

#[test]
fn a_feed_is_not_asked_before_its_interval_is_over_unless_told_to() {
    let room = Newsroom::seeded(&[("1", "1", "Old")]);
    room.tick(&["/news"]);
    assert_eq!(room.tick(&["/news"]).feeds.len(), 0);
    let now = Options {
        now: true,
        ..Options::default()
    };
    let report = room.try_tick(&["/news"], now).expect("a tick");
    assert_eq!(report.feeds.len(), 1);
}

#[test]
fn an_edit_is_not_news_and_neither_is_a_new_guid_for_the_same_page() {
    let room = Newsroom::seeded(&[("1", "1", "Old flaw in the mail gateway")]);
    room.server.set(
        "/news",
        Reply::feed(rss(&[(
            "1",
            "1",
            "Old flaw in the mail gateway, corrected",
        )])),
    );
    room.tick(&["/news"]);
    room.world.advance(Duration::from_secs(120));
    room.server.set(
        "/news",
        Reply::feed(rss(&[("new-guid", "1", "Old flaw in the mail gateway")])),
    );
    room.tick(&["/news"]);
    assert_eq!(room.alerted(), "");
}

#[test]
fn a_page_that_shows_one_entry_at_a_time_loses_none() {
    let room = Newsroom::seeded(&[("1", "status", "Outage of the registry")]);
    for (guid, title) in [
        ("2", "Network maintenance"),
        ("3", "Release 1.2.3"),
        ("4", "Release 1.2.4"),
    ] {
        room.server
            .set("/news", Reply::feed(rss(&[(guid, "status", title)])));
        room.tick(&["/news"]);
        room.world.advance(Duration::from_secs(120));
    }
    assert_eq!(
        room.alerted(),
        "Network maintenance | Release 1.2.3 | Release 1.2.4"
    );
}

#[test]
fn entries_without_titles_that_share_their_link_are_told_apart_by_their_text() {
    let entry = |guid: &str, text: &str| {
        format!(
            "<rss version=\"2.0\"><channel><title>t</title><link>https://example.org/</link><description>d</description><item><guid isPermaLink=\"false\">{guid}</guid><link>https://example.org/status</link><description>{text}</description></item></channel></rss>"
        )
    };
    let room = Newsroom::new();
    for (guid, text) in [
        ("1", "All is well."),
        ("2", "The registry does not answer."),
        ("3", "Disks in eu-2 are lost."),
    ] {
        room.server.set("/news", Reply::feed(entry(guid, text)));
        room.tick(&["/news"]);
        room.world.advance(Duration::from_secs(120));
    }
    let alerts = "SELECT count(*) FROM outbox WHERE kind='alert'";
    assert_eq!(room.world.ask(alerts), "2", "the first was seeded");
}

#[test]
fn entries_that_share_a_guid_are_each_told_once() {
    let room = Newsroom::seeded(&[("1", "1", "Old")]);
    let news = rss(&[
        ("same", "2", "Second"),
        ("same", "3", "Third"),
        ("1", "1", "Old"),
    ]);
    room.server.set("/news", Reply::feed(news.clone()));
    room.tick(&["/news"]);
    assert_eq!(room.alerted(), "Second | Third");
    room.world.advance(Duration::from_secs(120));
    room.server.set("/news", Reply::feed(news + " "));
    room.tick(&["/news"]);
    assert_eq!(room.alerted(), "Second | Third");
}

#[test]
fn a_feed_that_fails_costs_no_other_and_is_read_again_later() {
    let mut room = Newsroom::seeded(&[("1", "1", "Old")]);
    room.extra = "# three feeds\n".to_owned();
    room.server
        .set("/news", Reply::feed(rss(&[("2", "2", "News")])));
    room.server.set("/gone", Reply::status(500));
    room.server.set(
        "/page",
        Reply::body("<html><body>Please log in</body></html>"),
    );
    let report = room.tick(&["/gone", "/page", "/news"]);
    let failed = |index: usize| matches!(report.feeds[index].result, FeedResult::Failed { .. });
    let by_url = |path: &str| {
        let url = room.server.url(path);
        report
            .feeds
            .iter()
            .position(|feed| feed.url == url)
            .expect("reported")
    };
    assert!(failed(by_url("/gone")) && failed(by_url("/page")) && !failed(by_url("/news")));
    assert_eq!(room.alerted(), "News");
    assert_eq!(
        room.world
            .ask("SELECT group_concat(failures,' ') FROM feed"),
        "0 1 1"
    );
    room.world.advance(Duration::from_secs(600));
    room.server
        .set("/gone", Reply::feed(rss(&[("1", "1", "Back")])));
    room.tick(&["/gone", "/page", "/news"]);
    assert_eq!(
        room.world
            .ask("SELECT group_concat(failures,' ') FROM feed"),
        "0 0 2"
    );
}

#[test]
fn what_an_earlier_tick_left_unjudged_is_judged_by_the_next() {
    let room = Newsroom::seeded(&[("1", "1", "Old")]);
    leave_behind(&room, "Left behind");
    let report = room.tick(&["/news"]);
    assert_eq!((report.judged.total(), report.pending), (1, 0));
    assert_eq!(room.alerted(), "Left behind");
}

#[test]
fn rules_drop_and_routes_send_to_several() {
    let mut room = Newsroom::seeded(&[("1", "1", "Old")]);
    room.extra = "[[rule]]\nmatch = { title = \"Webinar\" }\ndrop = true\n[[route]]\nseverity = [\"critical\"]\nto = [\"screen\", \"other\"]\n".to_owned();
    let news = rss(&[
        ("2", "2", "Webinar about naps"),
        ("3", "3", "Flaw exploited in the wild"),
    ]);
    room.server.set("/news", Reply::feed(news));
    let report = room.tick(&["/news"]);
    assert_eq!((report.judged.ignore, report.judged.critical), (1, 1));
    assert_eq!(report.deliveries, 2);
    assert_eq!(
        room.world
            .ask("SELECT group_concat(channel,' ') FROM outbox WHERE kind='alert'"),
        "screen other"
    );
    assert_eq!(
        room.world
            .ask("SELECT severity||' '||judge FROM item WHERE title LIKE 'Webinar%'"),
        "ignore rule"
    );
}

#[test]
fn a_dry_run_says_what_would_be_alerted_and_writes_nothing() {
    let room = Newsroom::seeded(&[("1", "1", "Old")]);
    room.server.set(
        "/news",
        Reply::feed(rss(&[("2", "2", "News"), ("1", "1", "Old")])),
    );
    // It changes, on this connection, when anybody else has committed.
    let stranger = room.world.stranger();
    let before = ask(&stranger, "PRAGMA data_version");
    let tried = |options: Options| {
        runtime()
            .block_on(dry_run::run(room.scene(&["/news"]), options))
            .expect("a dry run")
    };
    let report = tried(Options::default());
    assert_eq!(report.feeds[0].result, read(1, 1, 0));
    assert_eq!(report.alerts.len(), 1);
    assert_eq!(report.alerts[0].title, "News");
    assert_eq!(ask(&stranger, "PRAGMA data_version"), before);
    assert_eq!(room.alerted(), "");
    room.server
        .set("/other", Reply::feed(rss(&[("9", "9", "Elsewhere")])));
    let unconfigured = Options {
        feed: Some(room.server.url("/other").parse().expect("a URL")),
        alert_existing: true,
        ..Options::default()
    };
    assert_eq!(tried(unconfigured).alerts[0].title, "Elsewhere");
}

#[test]
fn a_dry_run_keeps_each_feed_with_its_own_items_whichever_is_done_first() {
    let room = Newsroom::new();
    let feed = |title: &str| rss(&[("1", "1", title)]).replace("Example news", title);
    let slow = Reply::feed(feed("Slow")).delayed(Duration::from_millis(300));
    room.server.set("/slow", slow);
    room.server.set("/gone", Reply::status(404));
    room.server.set("/fast", Reply::feed(feed("Fast")));
    let options = Options {
        alert_existing: true,
        ..Options::default()
    };
    let report = runtime()
        .block_on(dry_run::run(
            room.scene(&["/slow", "/gone", "/fast"]),
            options,
        ))
        .expect("a dry run");
    let urls: Vec<String> = report.feeds.iter().map(|feed| feed.url.clone()).collect();
    assert_eq!(
        urls,
        ["/slow", "/gone", "/fast"].map(|path| room.server.url(path))
    );
    let of = |index: usize| {
        let alert = &report.alerts[index];
        (alert.title.as_str(), alert.source.as_str())
    };
    assert_eq!([of(0), of(1)], [("Slow", "Slow"), ("Fast", "Fast")]);
    assert_eq!(report.alerts.len(), 2);
}

#[test]
fn a_feed_that_is_not_configured_is_not_read_for_real() {
    let room = Newsroom::seeded(&[("1", "1", "Old")]);
    let other = Options {
        feed: Some("https://example.org/other".parse().expect("a URL")),
        ..Options::default()
    };
    let refused = room.try_tick(&["/news"], other).expect_err("refused");
    assert_eq!(refused.exit(), Exit::Usage);
}

#[test]
fn a_second_tick_is_refused_while_one_runs() {
    let room = Newsroom::seeded(&[("1", "1", "Old")]);
    let lock = shared::store::beside(&room.world.database(), ".tick");
    let held = shared::platform::lock::LockFile::open(&lock)
        .and_then(shared::platform::lock::LockFile::take);
    let refused = room
        .try_tick(&["/news"], Options::default())
        .expect_err("refused");
    assert_eq!(refused.exit(), Exit::AlreadyRunning);
    drop(held);
    room.tick(&["/news"]);
}

#[test]
fn a_secret_is_sent_and_its_absence_costs_only_its_feed() {
    let mut room = Newsroom::new();
    let url = room.server.url("/private");
    room.extra = format!("[[feed]]\nurl = \"{url}\"\nauthorization_file = \"token\"\n");
    let token = room.world.dir.path().join("token");
    std::fs::write(&token, "Bearer sesame\n").expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&token, mode).expect("locked up");
    room.server
        .set("/private", Reply::feed(rss(&[("1", "1", "Old")])));
    let scene = room.scene(&[]);
    let report = runtime()
        .block_on(run::run(scene, Options::default()))
        .expect("a tick");
    assert_eq!(report.feeds[0].result, read(0, 0, 1));
    let requests = room.server.requests_for("/private");
    assert_eq!(requests[0].header("authorization"), Some("Bearer sesame"));
    room.world.advance(Duration::from_secs(120));
    let scene = room.scene(&[]);
    std::fs::remove_file(&token).expect("gone");
    let report = runtime()
        .block_on(run::run(scene, Options::default()))
        .expect("a tick");
    assert!(
        matches!(&report.feeds[0].result, FeedResult::Failed { error } if error.contains("token"))
    );
}

#[test]
fn the_heartbeat_tells_when_a_tick_began_and_ended() {
    let room = Newsroom::seeded(&[("1", "1", "Old")]);
    room.tick(&["/news"]);
    let now = room.world.clock.now().unix_seconds();
    let told = room
        .world
        .ask("SELECT started_at||' '||finished_at FROM heartbeat WHERE name='tick'");
    assert_eq!(told, format!("{now:.1} {now:.1}"));
}
