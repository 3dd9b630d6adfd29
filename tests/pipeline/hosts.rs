//! The same pages under several host names: known as one where the configuration says so.

use super::{Newsroom, read};
use std::time::Duration;
use watchalert_tests::feeds::Reply;

const SAME: &str = "[feeds]\nsame_hosts = [[\"a.example\", \"b.example\"]]\n";

/// A feed with one entry for each `(host, page, title)`, whose guid is its address.
fn rss(entries: &[(&str, &str, &str)]) -> Reply {
    let mut items = String::new();
    for (host, page, title) in entries {
        let url = format!("https://{host}/{page}");
        items +=
            &format!("<item><guid>{url}</guid><link>{url}</link><title>{title}</title></item>");
    }
    Reply::feed(format!(
        "<rss version=\"2.0\"><channel><title>Example news</title><link>https://a.example/</link><description>d</description>{items}</channel></rss>"
    ))
}

fn room(extra: &str, entries: &[(&str, &str, &str)]) -> Newsroom {
    let mut room = Newsroom::new();
    extra.clone_into(&mut room.extra);
    for path in ["/one", "/two"] {
        room.server.set(path, rss(&[("c.example", path, "Old")]));
    }
    room.server.set("/one", rss(entries));
    room.tick(&["/one", "/two"]);
    room.world.advance(Duration::from_secs(120));
    room
}

const FLAWS: [(&str, &str, &str); 2] = [
    ("a.example", "flaw-1", "Flaw 1 is exploited"),
    ("a.example", "flaw-2", "Flaw 2 is exploited"),
];

fn at(host: &'static str) -> Vec<(&'static str, &'static str, &'static str)> {
    FLAWS
        .iter()
        .map(|(_, page, title)| (host, *page, *title))
        .collect()
}

#[test]
fn a_feed_whose_pages_move_between_two_names_of_one_host_tells_nothing_again() {
    for (extra, host, known) in [
        (SAME, "b.example", true),
        (SAME, "c.example", false),
        ("", "b.example", false),
    ] {
        let room = room(extra, &FLAWS);
        for host in [host, "a.example", host] {
            room.server.set("/one", rss(&at(host)));
            room.tick(&["/one", "/two"]);
            room.world.advance(Duration::from_secs(120));
        }
        let alerts = room.world.ask("SELECT count(*) FROM alert");
        assert_eq!(alerts == "0", known, "{extra:?} {host}: {alerts}");
    }
}

#[test]
fn a_list_that_is_written_or_taken_back_later_makes_nothing_new() {
    let mut room = room("", &at("b.example"));
    for extra in [SAME, "", SAME] {
        extra.clone_into(&mut room.extra);
        let report = room.tick(&["/one", "/two"]);
        assert!(!report.feeds[0].result.brought_news(), "{extra:?}");
        room.world.advance(Duration::from_secs(86_400));
    }
    assert_eq!(room.alerted(), "");
}

#[test]
fn two_names_in_one_document_are_one_entry() {
    let room = room(SAME, &[("a.example", "old", "Old")]);
    let twice: Vec<_> = at("b.example").into_iter().chain(FLAWS).collect();
    room.server.set("/one", rss(&twice));
    assert_eq!(room.tick(&["/one", "/two"]).feeds[0].result, read(2, 0, 0));
    room.world.advance(Duration::from_secs(120));
    room.server.set(
        "/one",
        rss(&FLAWS.into_iter().chain(at("b.example")).collect::<Vec<_>>()),
    );
    assert_eq!(
        room.tick(&["/one", "/two"]).feeds[0].result,
        read(0, 2, 0),
        "whichever of them comes first"
    );
}

#[test]
fn two_feeds_with_two_names_of_one_page_tell_one_story() {
    for (extra, alerts) in [(SAME, "1"), ("", "2")] {
        let room = room(extra, &[("a.example", "old", "Old")]);
        room.server.set(
            "/one",
            rss(&[("a.example", "2026/sable-17", "Exploited flaw in Sable")]),
        );
        room.tick(&["/one", "/two"]);
        room.world.advance(Duration::from_secs(120));
        room.server.set(
            "/two",
            rss(&[("b.example", "2026/sable-17", "Sable is exploited")]),
        );
        room.tick(&["/one", "/two"]);
        assert_eq!(
            room.world.ask("SELECT count(*) FROM alert"),
            alerts,
            "{extra:?}"
        );
    }
}
