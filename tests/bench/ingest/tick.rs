//! Ticks over many feeds: what one costs when nothing is new, and whether one carries 2,000.

use super::super::Scale;
use super::super::figures::{Bar, Table};
use super::program::{Place, Tick, spent_by_children};
use std::path::Path;
use std::time::Duration;
use watchalert_tests::feeds::{FeedServer, Reply};

/// Of the reference installation.
const FEEDS: usize = 87;
const ENTRIES: usize = 20;
/// What the slowest server takes to answer.
const SLOWEST: Duration = Duration::from_millis(300);
/// A tick's own limit (`ingest.deadline`), and with some grace, ours.
const DEADLINE: Duration = Duration::from_secs(100);
const PATIENCE: Duration = Duration::from_secs(120);

/// Nothing is new on 87 servers, the slowest of which is read last.
pub async fn nothing_new(table: &mut Table, dir: &Path, program: &Path, scale: Scale) {
    let servers: Vec<FeedServer> = (0..FEEDS).map(|_| FeedServer::start()).collect();
    let feeds = Feeds { servers: &servers };
    feeds.set(FEEDS, 0);
    let slow = Reply::feed(document(FEEDS - 1, 0)).delayed(SLOWEST);
    servers[FEEDS - 1].set(&path(FEEDS - 1), slow);
    let place = Place::new(dir, "nothing-new", program, feeds.urls(FEEDS));
    expect(&place.tick(PATIENCE).await, "read", FEEDS);

    let (mut wall, mut peak) = (Duration::MAX, 0.0_f64);
    let before = spent_by_children();
    for _ in 0..scale.ticks {
        let tick = place.tick(PATIENCE).await;
        expect(&tick, "not_modified", FEEDS);
        wall = wall.min(tick.wall);
        peak = peak.max(tick.peak_mib);
    }
    let cpu = spent_by_children().saturating_sub(before) / scale.ticks;
    let what = format!(
        "tick, {FEEDS} feeds, nothing new: CPU, mean of {}",
        scale.ticks
    );
    let bar = Bar {
        text: "0.15 s",
        reached: cpu < Duration::from_millis(150),
    };
    table.line(&what, &seconds(cpu), "", Some(bar));
    let over = wall.saturating_sub(SLOWEST);
    let bar = Bar {
        text: "100 ms",
        reached: over <= Duration::from_millis(100),
    };
    let what = "the same: wall, beyond the slowest server's 300 ms, best";
    table.line(what, &seconds(over), "", Some(bar));
    table.line("the same: memory at most", &mib(peak), "", None);
}

/// Very many feeds: read for the first time, then unchanged, then each with something new.
pub async fn very_many(table: &mut Table, dir: &Path, program: &Path, scale: Scale) {
    let many = scale.feeds;
    let servers: Vec<FeedServer> = (0..FEEDS).map(|_| FeedServer::start()).collect();
    let feeds = Feeds { servers: &servers };
    let place = Place::new(dir, "very-many", program, feeds.urls(many));
    for (what, news, result) in [
        (
            format!("tick, {many} feeds of {ENTRIES} entries, first"),
            0,
            "read",
        ),
        (
            format!("tick, {many} feeds, nothing new"),
            0,
            "not_modified",
        ),
        (
            format!("tick, {many} feeds, an entry new in each"),
            1,
            "read",
        ),
    ] {
        feeds.set(many, news);
        let before = spent_by_children();
        let tick = place.tick(PATIENCE).await;
        let cpu = spent_by_children().saturating_sub(before);
        expect(&tick, result, many);
        assert_eq!(tick.sum("new"), (news * many) as u64, "{what}");
        let bar = Bar {
            text: "100 s",
            reached: tick.wall < DEADLINE,
        };
        let figure = format!("{} (CPU {})", seconds(tick.wall), seconds(cpu));
        table.line(&what, &figure, "", Some(bar));
        let bar = Bar {
            text: "100 MiB",
            reached: tick.peak_mib < 100.0,
        };
        table.line(
            "the same: memory at most",
            &mib(tick.peak_mib),
            "",
            Some(bar),
        );
    }
}

/// Feeds that take turns on some servers.
struct Feeds<'s> {
    servers: &'s [FeedServer],
}

impl Feeds<'_> {
    fn urls(&self, count: usize) -> impl Iterator<Item = String> {
        let servers = self.servers.iter().cycle();
        (0..count)
            .zip(servers)
            .map(|(feed, server)| server.url(&path(feed)))
    }

    /// Each with so many entries more than at first.
    fn set(&self, count: usize, news: usize) {
        for (feed, server) in (0..count).zip(self.servers.iter().cycle()) {
            server.set(&path(feed), Reply::feed(document(feed, news)));
        }
    }
}

fn path(feed: usize) -> String {
    format!("/{feed}.xml")
}

/// As blogs write them: the newest entry first, each with some HTML.
fn document(feed: usize, news: usize) -> String {
    let item = |entry: usize| {
        let text =
            format!("<p>Part {entry} of what feed {feed} has to <b>tell</b> &amp; show.</p>\n")
                .repeat(8);
        format!(
            "<item><title>Story {entry} of feed {feed}</title><guid>https://example.org/{feed}/{entry}</guid>\
             <link>https://example.org/{feed}/{entry}?utm_source=rss</link>\
             <pubDate>Mon, 30 Nov 2026 {:02}:{:02}:00 +0000</pubDate><category>news</category>\
             <description><![CDATA[{text}]]></description></item>\n",
            entry % 24,
            feed % 60
        )
    };
    let items: String = (0..ENTRIES + news).rev().map(item).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss version=\"2.0\"><channel>\
         <title>Feed {feed}</title><link>https://example.org/{feed}</link>\n{items}</channel></rss>"
    )
}

fn expect(tick: &Tick, result: &str, count: usize) {
    assert_eq!(
        tick.count(result),
        count,
        "{:.2000}",
        tick.report.to_string()
    );
}

fn seconds(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}

fn mib(mib: f64) -> String {
    format!("{mib:.1} MiB")
}
