//! Known once, whatever publishers do to ids, addresses, titles and dates.

use super::{Newsroom, read};
use std::time::Duration;
use watchalert_ingest::report::FeedResult;
use watchalert_tests::feeds::Reply;

/// One entry: guid, link, title, date, text.
type Entry<'e> = (&'e str, &'e str, &'e str, &'e str, &'e str);

fn dated(entries: &[Entry<'_>]) -> String {
    let item = |(guid, link, title, date, text): &Entry<'_>| {
        format!(
            "<item><guid isPermaLink=\"false\">{guid}</guid><link>https://example.org/{link}</link><title>{title}</title><pubDate>{date}</pubDate><description>{text}</description></item>"
        )
    };
    let items: String = entries.iter().map(item).collect();
    format!(
        "<rss version=\"2.0\"><channel><title>Example news</title><link>https://example.org/</link><description>d</description>{items}</channel></rss>"
    )
}

const MONDAY: &str = "Mon, 30 Nov 2026 06:01:12 +0000";
const LATER: &str = "Mon, 30 Nov 2026 07:31:23 +0000";

impl Newsroom {
    /// What the feed shows next, two minutes later.
    fn shows(&self, entries: &[Entry<'_>]) {
        self.world.advance(Duration::from_secs(120));
        self.server.set("/news", Reply::feed(dated(entries)));
    }
}

fn room(entries: &[Entry<'_>]) -> Newsroom {
    let room = Newsroom::new();
    room.server.set("/news", Reply::feed(dated(entries)));
    room.tick(&["/news"]);
    room
}

fn titles() -> Vec<String> {
    (1..=20)
        .map(|number| format!("Flaw {number} is actively exploited"))
        .collect()
}

fn under<'e>(prefix: &'e [String], titles: &'e [String]) -> Vec<Entry<'e>> {
    let named = prefix.iter().zip(titles);
    named
        .map(|(name, title)| (name.as_str(), name.as_str(), title.as_str(), MONDAY, ""))
        .collect()
}

fn names(prefix: &str) -> Vec<String> {
    (1..=20)
        .map(|number| format!("{prefix}/{number}"))
        .collect()
}

#[test]
fn when_all_items_come_under_new_names_nothing_is_told_and_it_is_remembered() {
    let (titles, old, new) = (titles(), names("old"), names("new"));
    let room = room(&under(&old, &titles));
    let mut more = under(&new, &titles);
    // A pinned entry keeps its name.
    more[19] = under(&old, &titles)[19];
    room.shows(&more);
    assert_eq!(room.tick(&["/news"]).feeds[0].result, read(0, 20, 0));
    assert_eq!(room.alerted(), "");
    assert_eq!(room.world.ask("SELECT storm_items FROM feed"), "19");
    assert_eq!(
        room.world.ask("SELECT count(*) FROM item"),
        "20",
        "each is one item still"
    );
    more.push(("21", "21", "Flaw 21 is actively exploited", LATER, ""));
    room.shows(&more);
    room.tick(&["/news"]);
    assert_eq!(
        room.alerted(),
        "Flaw 21 is actively exploited",
        "what is new is told again"
    );
}

#[test]
fn twenty_really_new_items_at_once_are_no_storm() {
    let room = room(&[("0", "0", "Old", MONDAY, "")]);
    let (titles, names) = (titles(), names("new"));
    room.shows(&under(&names, &titles));
    assert_eq!(room.tick(&["/news"]).feeds[0].result, read(20, 0, 0));
}

#[test]
fn a_corrected_headline_that_changes_id_and_address_too_is_an_edit() {
    let before = "How to build your own actively exploited honeypot at home";
    let after = "How to build your own, actively exploited, honeypot at home today";
    let room = room(&[("0", "0", "Old", MONDAY, "")]);
    room.shows(&[
        ("build-your", "build-your", before, LATER, ""),
        ("0", "0", "Old", MONDAY, ""),
    ]);
    room.tick(&["/news"]);
    assert_eq!(room.alerted(), before);
    room.shows(&[
        ("build-a-your", "build-a-your", after, LATER, ""),
        ("0", "0", "Old", MONDAY, ""),
    ]);
    room.tick(&["/news"]);
    room.world.advance(Duration::from_secs(86_400 * 4));
    room.shows(&[
        ("build-a-your", "build-a-your", after, LATER, "more"),
        ("0", "0", "Old", MONDAY, ""),
    ]);
    room.tick(&["/news"]);
    assert_eq!(room.alerted(), before, "once, and for good");
}

#[test]
fn the_same_words_at_another_time_or_beside_each_other_are_two_items() {
    let title = "Heron 2.8.1 of the image registry is down again";
    let room = room(&[("0", "0", "Old", MONDAY, "")]);
    room.shows(&[("1", "1", title, MONDAY, ""), ("0", "0", "Old", MONDAY, "")]);
    room.tick(&["/news"]);
    room.shows(&[("2", "2", title, LATER, ""), ("1", "1", title, MONDAY, "")]);
    room.tick(&["/news"]);
    assert_eq!(
        room.world
            .ask("SELECT count(*) FROM item WHERE state='judged'"),
        "2"
    );
}

#[test]
fn what_happens_again_on_one_page_is_told_again_and_a_new_guid_alone_is_not() {
    let title = "Registry actively exploited";
    let room = room(&[("0", "status", "Old", MONDAY, "")]);
    room.shows(&[("1", "status", title, MONDAY, "We look into it.")]);
    room.tick(&["/news"]);
    room.shows(&[("2", "status", title, MONDAY, "We look into it.")]);
    room.tick(&["/news"]);
    assert_eq!(room.alerted(), title, "a guid that is made anew each day");
    room.shows(&[(
        "3",
        "status",
        title,
        LATER,
        "It is back, and we look into it.",
    )]);
    room.tick(&["/news"]);
    assert_eq!(
        room.alerted(),
        format!("{title} | {title}"),
        "it happened again"
    );
}

#[test]
fn a_release_candidate_that_becomes_the_release_under_its_old_id_is_news_once() {
    let room = room(&[("0", "0", "Old", MONDAY, "")]);
    for title in [
        "Heron 3.1-rc1",
        "Heron 3.1-rc2",
        "Heron 3.1",
        "Heron 3.1",
        "Heron 3.1 ",
    ] {
        room.shows(&[("tag", "releases/3.1", title, MONDAY, "")]);
        room.tick(&["/news"]);
    }
    let seen = "SELECT group_concat(title,', ') FROM (SELECT title FROM item WHERE state<>'seeded' ORDER BY id)";
    assert_eq!(room.world.ask(seen), "Heron 3.1, Heron 3.1");
    let keys = "SELECT count(DISTINCT substr(dedup_key,1,6)) FROM item WHERE state<>'seeded'";
    assert_eq!(room.world.ask(keys), "2", "each with a number of its own");
}

#[test]
fn only_what_is_old_and_far_behind_is_forgotten_and_only_after_a_good_parse() {
    let room = room(&[("0", "0", "Old", MONDAY, "")]);
    let insert = "\
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<1050)
INSERT INTO item(feed_id,dedup_key,title,summary,first_seen_at,last_seen_at,state)
SELECT 1,'old'||i,'t','',0,0,'seeded' FROM n";
    room.world
        .stranger()
        .execute(insert, [])
        .expect("a long history");
    room.world.advance(Duration::from_secs(120));
    room.server.set("/news", Reply::status(503));
    room.tick(&["/news"]);
    let items = "SELECT count(*) FROM item";
    assert_eq!(room.world.ask(items), "1051", "an outage forgets nothing");
    room.shows(&[("0", "0", "Old", MONDAY, "edited")]);
    room.world.advance(Duration::from_secs(3_600));
    room.tick(&["/news"]);
    assert_eq!(room.world.ask(items), "1002");
    assert_eq!(
        room.world
            .ask("SELECT count(*) FROM item WHERE title='Old'"),
        "1",
        "what is shown stays"
    );
}

/// Of what stands as it stood only the names are read, which is not enough to store it.
#[test]
fn an_item_that_was_forgotten_and_is_shown_still_is_read_whole_and_told_once() {
    let flaw = "Flaw in Heron is actively exploited";
    let shown = [
        ("1", "1", flaw, MONDAY, "All the words about it."),
        ("0", "0", "Old", MONDAY, "Old words."),
    ];
    let room = room(&shown);
    let forget = "DELETE FROM item WHERE dedup_key=(SELECT dedup_key FROM item WHERE guid='1')";
    room.world
        .stranger()
        .execute(forget, [])
        .expect("forgotten");
    room.shows(&[("2", "2", "News", LATER, ""), shown[0], shown[1]]);
    assert_eq!(room.tick(&["/news"]).feeds[0].result, read(1, 1, 0));
    assert_eq!(room.alerted(), "News");
    let mut results = Vec::new();
    for _ in 0..2 {
        room.world.advance(Duration::from_secs(120));
        results.push(room.tick(&["/news"]).feeds.remove(0).result);
    }
    assert_eq!(results, [read(1, 2, 0), FeedResult::NotModified]);
    assert_eq!(room.alerted(), format!("News | {flaw}"));
    let words = "SELECT summary FROM item WHERE guid='1'";
    assert_eq!(room.world.ask(words), "All the words about it.");
}

/// A machine's events: the same titles each night, under new ids.
#[test]
fn twenty_events_under_known_titles_are_news() {
    for (date, text) in [
        (LATER, "It does not answer."),
        (LATER, ""),
        (MONDAY, "It does not answer."),
    ] {
        let title = "db1 is actively exploited";
        let names = names("new");
        let events = names
            .iter()
            .map(|name| (name.as_str(), name.as_str(), title, date, text));
        // One such event was shown before, and only one can have been renamed.
        let room = room(&[("old", "old", title, MONDAY, text)]);
        room.shows(&events.collect::<Vec<_>>());
        let result = room.tick(&["/news"]).feeds.remove(0).result;
        assert_eq!(result, read(20, 0, 0), "{date} {text}");
    }
}

#[test]
fn what_happens_again_with_the_same_words_a_day_later_is_news() {
    let title = "db1 is actively exploited";
    let day = "Tue, 01 Dec 2026 06:01:13 +0000";
    for (text, date, news) in [
        ("", day, "2"),
        ("We look into it.", day, "2"),
        ("", LATER, "1"),
    ] {
        let room = room(&[("0", "status", "Old", MONDAY, "")]);
        room.shows(&[("1", "status", title, MONDAY, text)]);
        room.tick(&["/news"]);
        room.shows(&[("2", "status", title, date, text)]);
        room.tick(&["/news"]);
        assert_eq!(
            room.world.ask("SELECT count(*) FROM alert"),
            news,
            "{text:?} {date}"
        );
    }
}

#[test]
fn another_name_in_the_same_sentence_is_another_item_and_neither_is_overwritten() {
    let flaw = |name: &str| {
        format!("The {name} plugin for WordPress is actively exploited through its shortcodes")
    };
    let (bar, baz) = (flaw("Bar"), flaw("Baz"));
    let room = room(&[("0", "0", "Old", MONDAY, "")]);
    room.shows(&[("1", "1", &bar, LATER, ""), ("0", "0", "Old", MONDAY, "")]);
    room.tick(&["/news"]);
    room.shows(&[("2", "2", &baz, LATER, ""), ("0", "0", "Old", MONDAY, "")]);
    room.tick(&["/news"]);
    assert_eq!(room.alerted(), format!("{bar} | {baz}"));
    let titles = "SELECT group_concat(title,' | ') FROM (SELECT title FROM item WHERE state='judged' ORDER BY id)";
    assert_eq!(room.world.ask(titles), format!("{bar} | {baz}"));
}

#[test]
fn two_items_are_never_the_same_known_one() {
    let title = |words: &str| format!("Heron is actively exploited by {words} on the network");
    let (old, one, other) = (
        title("somebody"),
        title("somebody else"),
        title("somebody new"),
    );
    let room = room(&[("0", "0", "Old", MONDAY, "")]);
    room.shows(&[("1", "1", &old, LATER, ""), ("0", "0", "Old", MONDAY, "")]);
    room.tick(&["/news"]);
    room.shows(&[
        ("2", "2", &one, LATER, ""),
        ("3", "3", &other, LATER, ""),
        ("0", "0", "Old", MONDAY, ""),
    ]);
    room.tick(&["/news"]);
    assert_eq!(
        room.alerted(),
        format!("{old} | {other}"),
        "one is the correction, the other is news"
    );
    assert_eq!(room.world.ask("SELECT count(*) FROM item"), "3");
}

#[test]
fn what_scrolled_off_is_not_what_came_in() {
    let title = |word: &str| format!("heron is actively exploited by {word} on the network");
    let (old, new) = (title("somebody"), title("anybody"));
    let room = room(&[("0", "0", "Old", MONDAY, "")]);
    room.shows(&[("1", "1", &old, LATER, "")]);
    room.tick(&["/news"]);
    // The window holds one entry.
    room.shows(&[("2", "2", &new, LATER, "")]);
    room.tick(&["/news"]);
    assert_eq!(room.alerted(), format!("{old} | {new}"));
}

#[test]
fn a_feed_whose_guids_fail_tells_nothing_again() {
    let entries = [
        ("a", "list", "Flaw 1 is actively exploited", MONDAY, "one"),
        ("b", "list", "Flaw 2 is actively exploited", MONDAY, "two"),
        ("c", "list", "Flaw 3 is actively exploited", MONDAY, "three"),
    ];
    let room = room(&[("0", "0", "Old", MONDAY, "")]);
    room.shows(&entries);
    room.tick(&["/news"]);
    assert_eq!(room.world.ask("SELECT count(*) FROM alert"), "3");
    // One of them is there twice, under its guid.
    let mut failing = entries.to_vec();
    failing.push(("c", "list", "Flaw 4 is actively exploited", LATER, "four"));
    for _ in 0..2 {
        room.shows(&failing);
        room.tick(&["/news"]);
    }
    assert_eq!(room.world.ask("SELECT guids_unreliable FROM feed"), "1");
    let again = "SELECT count(*) FROM alert WHERE title LIKE 'Flaw 1%' OR title LIKE 'Flaw 2%'";
    assert_eq!(room.world.ask(again), "2", "once each");
    assert_eq!(
        room.world
            .ask("SELECT count(*) FROM alert WHERE title LIKE 'Flaw 4%'"),
        "1"
    );
}
