//! What is told of feeds themselves, and the commands about them.

use std::time::Duration;
use watchalert_tests::desk::Desk;
use watchalert_tests::feeds::Reply;

const MINUTE: Duration = Duration::from_mins(1);
const DAY: Duration = Duration::from_hours(24);

/// Feeds that were read once, and that notice out of the way.
fn desk(paths: &[&str]) -> Desk {
    let desk = Desk::new();
    desk.configure(paths, "");
    for path in paths {
        desk.show(path, &[("old", "Heron 1.0 is out")]);
    }
    desk.tick();
    desk.world
        .stranger()
        .execute("UPDATE outbox SET state='cancelled'", [])
        .expect("cancelled");
    desk
}

/// What was told after the first notice.
fn told(desk: &Desk) -> Vec<String> {
    desk.notices().split_off(1)
}

fn ticks(desk: &Desk, count: usize) {
    for _ in 0..count {
        desk.tick();
    }
}

#[test]
fn a_feed_that_fails_is_told_after_an_hour_once_and_its_return_too() {
    let desk = desk(&["/a", "/b"]);
    desk.server.set("/a", Reply::status(503));
    ticks(&desk, 30);
    assert_eq!(told(&desk), Vec::<String>::new(), "not within the hour");
    ticks(&desk, 20);
    let first = told(&desk).remove(0);
    assert!(
        first.starts_with("The feed News of /a cannot be read for 1 h"),
        "{first}"
    );
    assert_eq!(told(&desk).len(), 1);
    let summary = "SELECT json_extract(payload,'$.summary') FROM outbox ORDER BY id DESC LIMIT 1";
    let summary = desk.world.ask(summary);
    assert!(
        summary.contains("503") && summary.contains("times in a row"),
        "{summary}"
    );
    desk.show("/a", &[("old", "Heron 1.0 is out")]);
    desk.world.advance(7 * 60 * MINUTE);
    ticks(&desk, 3);
    let back = told(&desk).split_off(1);
    assert_eq!(back, ["The feed News of /a can be read again"]);
}

#[test]
fn a_feed_that_is_asked_once_a_day_is_told_after_a_day_without_success() {
    let desk = desk(&["/a"]);
    let daily = desk.server.url("/daily");
    let daily = format!("[[feed]]\nurl = \"{daily}\"\nname = \"Daily\"\ninterval = \"24h\"\n");
    desk.configure(&["/a"], &daily);
    desk.server.set("/daily", Reply::status(503));
    for _ in 0..23 {
        desk.tick();
        desk.world.advance(58 * MINUTE);
    }
    assert_eq!(told(&desk), Vec::<String>::new(), "not within the day");
    for _ in 0..30 {
        desk.tick();
        desk.world.advance(58 * MINUTE);
    }
    assert_eq!(told(&desk), ["The feed Daily cannot be read for 1 d"]);
    desk.show("/daily", &[("old", "Heron 1.0 is out")]);
    for _ in 0..3 {
        desk.tick();
        desk.world.advance(DAY);
    }
    assert_eq!(
        told(&desk)[1],
        "1 new feed, 1 item known: alerts begin with what is new from now on"
    );
    assert_eq!(told(&desk)[2..], ["The feed Daily can be read again"]);
}

#[test]
fn when_no_feed_can_be_read_that_is_one_notice() {
    let desk = desk(&["/a", "/b", "/c"]);
    for path in ["/a", "/b", "/c"] {
        desk.server.set(path, Reply::status(502));
    }
    ticks(&desk, 40);
    let all = "None of the 3 feeds can be read: perhaps this machine has no connection";
    assert_eq!(told(&desk), [all]);
}

#[test]
fn a_feed_that_is_gone_is_told_at_once_asked_once_a_week_and_comes_back() {
    let desk = desk(&["/a", "/b"]);
    desk.server.set("/a", Reply::status(410));
    ticks(&desk, 1);
    assert_eq!(
        told(&desk),
        ["The feed News of /a is gone for good, says the server"]
    );
    let asked = || desk.server.requests_for("/a").len();
    let before = asked();
    for _ in 0..5 {
        desk.world.advance(DAY);
        ticks(&desk, 1);
    }
    assert_eq!(asked(), before, "not within a week");
    desk.show("/a", &[("old", "Heron 1.0 is out")]);
    desk.world.advance(3 * DAY);
    ticks(&desk, 2);
    assert!(asked() > before, "nothing latches");
    assert_eq!(
        told(&desk).split_off(1),
        ["The feed News of /a can be read again"]
    );
}

#[test]
fn a_feed_that_brings_nothing_new_is_told_once_and_so_is_what_ends_it() {
    let desk = desk(&["/a"]);
    for _ in 0..40 {
        desk.world.advance(DAY);
        ticks(&desk, 1);
    }
    assert_eq!(
        told(&desk),
        ["The feed News of /a brought nothing new for 30 days"]
    );
    desk.show("/a", &[("new", "Heron 1.1"), ("old", "Heron 1.0 is out")]);
    ticks(&desk, 2);
    assert_eq!(
        told(&desk).split_off(1),
        ["The feed News of /a brings something new again"]
    );
}

#[test]
fn items_under_new_names_are_told_once() {
    let desk = Desk::new();
    desk.configure(&["/a"], "");
    for prefix in ["old", "new", "new"] {
        let guids: Vec<String> = (0..6).map(|n| format!("{prefix}{n}")).collect();
        let titles: Vec<String> = (0..6).map(|n| format!("Advisory {n} of Sable")).collect();
        let entries: Vec<(&str, &str)> = guids
            .iter()
            .zip(&titles)
            .map(|(guid, title)| (guid.as_str(), title.as_str()))
            .collect();
        desk.show("/a", &entries);
        desk.tick();
    }
    assert_eq!(
        told(&desk),
        ["The feed News of /a shows its 6 items under new names: none was told again"]
    );
}

#[test]
fn the_list_tells_the_health_of_each_feed_the_worst_first() {
    let desk = desk(&["/a", "/b", "/c"]);
    desk.server.set("/b", Reply::status(503));
    ticks(&desk, 1);
    desk.configure(&["/a", "/b", "/c", "/d"], "");
    desk.said(&["feeds", "pause", "News of /c", "--for", "2h"]);
    let said = desk.said(&["feeds"]);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 6, "{said}");
    for (line, parts) in [
        (0, ["feed", "health", "next fetch"]),
        (1, ["News of /b", "failing 2 min", "503"]),
        (2, ["News of /c", "paused", "in 2 h"]),
        (3, ["http://127.0.0.1", "new", "never"]),
        (4, ["News of /a", "ok", "2 min ago"]),
        (5, ["4 feeds:", "1 ok, 1 new", "1 failing, 1 paused"]),
    ] {
        for part in parts {
            assert!(
                lines[line].contains(part),
                "{part:?} in line {line} of\n{said}"
            );
        }
    }
    let json: serde_json::Value =
        serde_json::from_str(&desk.said(&["feeds", "--json"])).expect("JSON");
    assert_eq!(json[0]["health"], "failing");
    assert_eq!(json[0]["failures"], 1);
    assert_eq!(json[3]["items"], 1);
}

/// `/a` leaves the configuration for so many days, with a tick each day; `/b` stays.
fn leaves(desk: &Desk, days: usize) {
    desk.configure(&["/b"], "");
    for _ in 0..days {
        desk.tick();
        desk.world.advance(DAY.saturating_sub(2 * MINUTE));
    }
}

const OF_A: &str = "SELECT count(*) FROM item WHERE feed_id=1";
const ALERTS: &str = "SELECT coalesce(group_concat(title,'|'),'') FROM alert";

#[test]
fn a_feed_that_comes_back_within_thirty_days_tells_only_what_is_new() {
    let desk = desk(&["/a", "/b"]);
    leaves(&desk, 28);
    let said = desk.said(&["feeds"]);
    assert!(
        said.contains("not configured for 28 d: News of /a (http://127.0.0.1")
            && said.contains("1 items, forgotten in 3 d"),
        "{said}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&desk.said(&["feeds", "--json"])).expect("JSON");
    assert_eq!(json[1]["health"], "left");
    desk.configure(&["/a", "/b"], "");
    desk.show("/a", &[("new", "Heron 1.1"), ("old", "Heron 1.0 is out")]);
    ticks(&desk, 2);
    assert_eq!(desk.world.ask(ALERTS), "Heron 1.1");
    assert_eq!(desk.world.ask("SELECT count(left_at) FROM feed"), "0");
    leaves(&desk, 20);
    assert_eq!(desk.world.ask(OF_A), "2", "it is counted anew");
}

/// Two feeds, and what `/a` holds is forgotten in two ticks: this is after the first.
fn half_forgotten() -> Desk {
    let desk = Desk::new();
    desk.configure(&["/a", "/b"], "");
    let many: Vec<String> = (0..1_200).map(|n| format!("n{n}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "Heron")).collect();
    desk.show("/a", &many);
    desk.show("/b", &many[..1]);
    desk.tick();
    leaves(&desk, 32);
    assert_eq!(desk.world.ask(OF_A), "200", "a thousand with each tick");
    desk
}

#[test]
fn a_feed_that_comes_back_later_is_read_for_the_first_time() {
    let desk = half_forgotten();
    ticks(&desk, 1);
    assert_eq!(desk.world.ask(OF_A), "0");
    assert_eq!(desk.world.ask("SELECT group_concat(id) FROM feed"), "2");
    assert!(!desk.said(&["feeds"]).contains("not configured"));
    desk.configure(&["/a", "/b"], "");
    ticks(&desk, 1);
    assert_eq!(desk.world.ask(ALERTS), "");
    let told = desk.notices().pop().expect("told");
    assert!(told.starts_with("1 new feed, 1200 items known"), "{told}");
}

#[test]
fn a_feed_that_comes_back_while_it_is_forgotten_floods_nobody() {
    let desk = half_forgotten();
    desk.configure(&["/a", "/b"], "");
    ticks(&desk, 1);
    assert_eq!(desk.world.ask(ALERTS), "");
    assert_eq!(desk.world.ask(OF_A), "1200");
}

#[test]
fn a_paused_feed_is_read_again_when_its_pause_ends_or_is_ended() {
    let desk = desk(&["/a", "/b"]);
    let asked = || desk.server.requests_for("/a").len();
    assert!(
        desk.said(&["feeds", "pause", "News of /a", "--for", "10m"])
            .ends_with("is paused until 2026-11-30 08:12:00\n")
    );
    let before = asked();
    ticks(&desk, 5);
    assert_eq!(asked(), before);
    ticks(&desk, 1);
    assert_eq!(asked(), before + 1, "its pause has ended");
    desk.said(&["feeds", "pause", &desk.server.url("/a")]);
    desk.world.advance(300 * DAY);
    ticks(&desk, 1);
    assert_eq!(asked(), before + 1);
    desk.said(&["feeds", "resume", "NEWS OF /A"]);
    ticks(&desk, 1);
    assert_eq!(asked(), before + 2);
}

#[test]
fn a_name_that_several_feeds_have_is_refused_with_their_urls() {
    let desk = desk(&["/a", "/b"]);
    let refused = desk.refused(&["feeds", "pause", "news of"]);
    assert!(
        refused.contains("2 feeds are called") && refused.contains(&desk.server.url("/b")),
        "{refused}"
    );
    let refused = desk.refused(&["feeds", "resume", "nobody"]);
    assert!(
        refused.contains("no configured feed is called"),
        "{refused}"
    );
}
