//! What a hostile or broken server can send, through the real program: bounded in memory and time,
//! told in one clear line each, and no other feed is touched.
//!
//! Redirects from a public server to this machine's own network cannot be shown here, where every
//! server is on loopback: `ingest/src/fetch/client.rs` pins a public name for that.

use serde_json::Value;
use std::fs;
use std::process::Stdio;
use std::time::Duration;
use watchalert_tests::feeds::{FeedServer, Reply, packed, packed_zeros};
use watchalert_tests::programs::{BOUND, Place, Program, tell, within};
use watchalert_tests::world::{ask, stranger};

const MIB: usize = 1024 * 1024;
/// Of the whole program, at its worst moment.
const MOST_KIB: u64 = 100 * 1024;
/// The slowest feed answers so late that all others are read by then.
const LATEST: Duration = Duration::from_secs(12);

fn rss(inside: &str) -> String {
    format!("<rss version=\"2.0\"><channel><title>News</title>{inside}</channel></rss>")
}

fn items(range: std::ops::Range<usize>, guid: impl Fn(usize) -> String) -> String {
    let item = |number: usize| {
        let guid = guid(number);
        format!(
            "<item><guid>{guid}</guid><link>https://example.org/{number}</link><title>Story number {number} of many</title></item>"
        )
    };
    range.map(item).collect()
}

/// Each with its path and with what its line says; `None`: it is read.
type Hostile = (&'static str, Reply, Option<&'static str>);

/// Documents that are read, and cost no more than others, though a short tag can become a large
/// object in a parser's memory.
fn readable() -> Vec<Hostile> {
    let mut entities = String::new();
    for n in 1..10 {
        let ten = format!("&l{};", n - 1).repeat(10);
        entities += &format!("<!ENTITY l{n} \"{ten}\">");
    }
    let laughs = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE rss [<!ENTITY l0 \"ha\">{entities}]>{}",
        item("<title>&l9;</title>")
    );
    let (deep, end) = ("<x>".repeat(10_000), "</x>".repeat(10_000));
    let author =
        "<title>Told</title><author>\u{7de8}\u{96c6}\u{90e8}\u{3001}a@example.com</author>";
    let groups = "<group xmlns='http://search.yahoo.com/mrss/'/>".repeat(150_000);
    let nul = "\0".repeat(1_000);
    let read = |path, document: String| (path, Reply::body(document), None);
    vec![
        read("/laughs", laughs),
        read("/nested", item(&format!("<title>Deep</title>{deep}{end}"))),
        read("/nul", item(&format!("<title>N\0U{nul}L</title>"))),
        read("/author", item(author)),
        read("/long-title", title(7 * MIB)),
        read("/groups", item(&groups)),
        read("/one-guid", rss(&items(0..10_000, |_| "same".to_owned()))),
    ]
}

fn refused() -> Vec<Hostile> {
    let twice = packed(&packed(rss("").as_bytes()));
    let mut chance = fastrand::Rng::with_seed(7);
    let noise: Vec<u8> = std::iter::repeat_with(|| chance.u8(..))
        .take(4 * MIB)
        .collect();
    let endless = "<item><title>x</title></item>".repeat(1_000);
    let challenge = Reply::status(403)
        .header("Content-Type", "text/html")
        .with_body("<!DOCTYPE html><title>Just a moment...</title>");
    let metadata = Reply::redirect(302, "http://169.254.169.254/latest/meta-data");
    let unclosed = format!(
        "<rss version=\"2.0\"><channel>{}",
        "<item><title>x".repeat(200_000)
    );
    let objects = format!(
        "{{\"version\":\"https://jsonfeed.org/version/1\",\"items\":[{}{{}}]}}",
        "{},".repeat(2 * MIB)
    );
    let links = item(&"<link/>".repeat(MIB));
    let too_many = "more than 10000 entries";
    let too_large = "larger than 8388608 bytes";
    let refused = |path, reply, words| (path, reply, Some(words));
    vec![
        refused("/title", Reply::body(title(50 * MIB)), too_large),
        refused("/bomb", Reply::gzip(packed_zeros(1024 * MIB)), too_large),
        refused("/twice", Reply::gzip(twice), "packed (gzip) once more"),
        refused("/endless", Reply::endless(endless), too_large),
        refused("/unclosed", Reply::body(unclosed), too_many),
        refused("/empty", Reply::body(rss(&"<item/>".repeat(MIB))), too_many),
        refused("/links", Reply::body(links), "too many elements"),
        refused("/objects", Reply::body(objects), "more values than"),
        refused("/noise", Reply::body(noise), "not a feed"),
        refused("/metadata", metadata, "169.254.169.254"),
        refused(
            "/round",
            Reply::redirect(301, "/round"),
            "more than 5 redirects",
        ),
        refused("/challenge", challenge, "a challenge (Cloudflare"),
    ]
}

fn item(inside: &str) -> String {
    rss(&format!("<item><guid>1</guid>{inside}</item>"))
}

fn title(length: usize) -> String {
    item(&format!("<title>{}</title>", "long ".repeat(length / 5)))
}

/// Runs a tick and gives its report and the most memory that it used, in KiB.
fn tick(place: &Place, name: &str) -> (Value, u64) {
    let out = place.path(name);
    let mut command = place.command(Program::Ingest, &["--json", "--now"]);
    command.stdout(Stdio::from(fs::File::create(&out).expect("a file")));
    let mut running = place.start(command);
    let status = format!("/proc/{}/status", running.id());
    let mut most = 0;
    // What the tick's own deadline allows, of which its report is asked below.
    let ended = within(Duration::from_secs(110), || {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        most = most.max(kib.unwrap_or(0));
        !running.runs()
    });
    assert!(ended, "the tick did not end: {}", running.said());
    running.ended(BOUND).well();
    let text = fs::read_to_string(out).expect("a report");
    (serde_json::from_str(&text).expect("JSON"), most)
}

fn of<'r>(report: &'r Value, path: &str) -> &'r Value {
    let feeds = report["feeds"].as_array().expect("feeds");
    let mut named = feeds.iter().filter(|feed| feed["name"] == path);
    named.next().expect("a line for each feed")
}

fn is_told(report: &Value, (path, _, expected): &Hostile) {
    let feed = of(report, path);
    let Some(words) = expected else {
        assert_eq!(feed["result"], "read", "{feed}");
        return;
    };
    assert_eq!(feed["result"], "failed", "{feed}");
    let error = feed["error"].as_str().expect("why");
    assert!(
        error.contains(words) && error.lines().count() == 1,
        "{path}: {error}"
    );
}

#[test]
fn what_hostile_servers_send_costs_neither_memory_nor_time_nor_another_feed() {
    let server = FeedServer::start();
    let hostile: Vec<Hostile> = readable().into_iter().chain(refused()).collect();
    let good = |range| Reply::feed(rss(&items(range, |n| n.to_string())));
    let mut feeds = String::new();
    let mut add = |path: &str, reply: Reply| {
        server.set(path, reply);
        feeds += &format!(
            "[[feed]]\nurl = \"{}\"\nname = \"{path}\"\n",
            server.url(path)
        );
    };
    add("/good-first", good(0..2));
    for (path, reply, _) in &hostile {
        add(path, reply.clone());
    }
    add("/good-last", good(2..4).delayed(LATEST));
    let place = Place::new(&format!(
        "default_channel = \"screen\"\n[channel.screen]\nkind = \"console\"\n\
         [ingest]\nallow_private = true\n{feeds}"
    ));

    let (report, most) = tick(&place, "first.json");
    let took = &report["took_seconds"];
    tell(&format!("hostile: {} MiB at most, {took} s", most / 1024));
    assert!(
        most < MOST_KIB && took.as_f64() < Some(100.0),
        "{most} KiB, {took} s"
    );
    for one in &hostile {
        is_told(&report, one);
    }
    for path in ["/good-first", "/good-last"] {
        assert_eq!(of(&report, path)["seeded"], 2, "{report}");
    }
    assert_eq!(of(&report, "/one-guid")["seeded"], 10_000);
    let db = stranger(&place.database());
    let items = "SELECT (max(length(title))<=500)||' '||sum(instr(title,char(0))) FROM item";
    assert_eq!(ask(&db, items), "1 0");

    // And again: what is known stays known, what is new arrives.
    server.set("/good-first", good(0..3));
    let (again, most) = tick(&place, "again.json");
    assert!(most < MOST_KIB, "{most} KiB");
    let feeds = again["feeds"].as_array().expect("feeds");
    let news: u64 = feeds.iter().filter_map(|feed| feed["new"].as_u64()).sum();
    assert_eq!(news, 1, "{again}");
}
