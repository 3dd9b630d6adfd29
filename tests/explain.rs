//! `explain`: for anything that was ever seen, why it reached somebody, or why not.

use serde_json::Value;
use shared::model::{Blame, Settlement};
use std::time::Duration;
use watchalert_tests::desk::{Desk, rss};
use watchalert_tests::feeds::Reply;
use watchalert_tests::world::{fault, receipt, to};

/// A feed that was read, and what it brought afterwards.
fn desk(news: &[(&str, &str)]) -> Desk {
    let desk = Desk::new();
    desk.configure(&["/a"], "");
    desk.show("/a", &[("old", "Heron 1.0 is out")]);
    desk.tick();
    let mut entries = news.to_vec();
    entries.push(("old", "Heron 1.0 is out"));
    desk.show("/a", &entries);
    desk.tick();
    desk
}

const FLAW: (&str, &str) = ("flaw", "CVE-2026-91001: Sable is actively exploited");

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[test]
fn an_alert_is_found_by_whatever_names_it() {
    let desk = desk(&[FLAW]);
    let short_id = desk
        .world
        .ask("SELECT json_extract(payload,'$.short_id') FROM alert");
    let row = desk.world.ask("SELECT id FROM outbox WHERE kind='alert'");
    assert_eq!(row, "2", "so no item has its number but the alert's own");
    let short_id = format!("#{short_id}");
    for query in [
        vec![short_id.as_str()],
        vec!["2"],
        vec!["flaw"],
        vec!["https://example.org/flaw"],
        vec!["http://example.org/flaw/?utm_source=mail"],
        vec!["exploited", "sable"],
        vec!["cve-2026-91001"],
    ] {
        let said = desk.said(&[vec!["explain"], query.clone()].concat());
        assert_eq!(first_line(&said), "On its way to screen/-.", "{query:?}");
        assert!(said.contains("item      2  CVE-2026-91001"), "{said}");
    }
}

#[test]
fn every_stage_is_told_with_its_time_and_reason() {
    let desk = desk(&[FLAW]);
    let epoch = desk.world.take_over();
    let screen = to("screen", "-");
    let told_first = desk.world.lease(epoch, &screen);
    let unclear = Settlement::RetryAt(
        desk.world.clock.now() + Duration::from_secs(60),
        fault(Blame::Channel, true),
    );
    let alert = told_first.held().id == 2;
    assert!(alert, "the graver one goes first");
    desk.world
        .settle(told_first, unclear, None)
        .expect("settled");
    desk.world.advance(Duration::from_secs(120));
    let again = desk.world.lease(epoch, &screen);
    desk.world
        .settle(again, receipt("4711"), None)
        .expect("settled");
    let said = desk.said(&["explain", "flaw"]);
    assert_eq!(first_line(&said), "Sent to screen/-.");
    for part in [
        "link      https://example.org/flaw",
        "feed      News of /a (http://127.0.0.1:",
        "last fetched 2026-11-30 08:02:00 (4 min ago), with success",
        "known     since 2026-11-30 08:02:00, by its guid",
        "verdict   2026-11-30 08:02:00 critical, vulnerability, by floor: ",
        "route     the default channel screen",
        "alert     #",
        "row 2 to screen/-: critical, sent, 2 tries, receipt 4711",
        "1 2026-11-30 08:04:00 unknown: a scripted fault",
        "2 2026-11-30 08:06:00 ok",
        "1 try may have arrived without an answer",
    ] {
        assert!(said.contains(part), "{part:?} is not in\n{said}");
    }
}

#[test]
fn what_was_not_told_says_why() {
    let desk = Desk::new();
    let rule = "[[rule]]\nmatch = { title = \"Newsletter\" }\ndrop = true\n";
    desk.configure(&["/a"], rule);
    desk.show("/a", &[("old", "Heron 1.0 is out")]);
    desk.tick();
    desk.show("/a", &[("letter", "Newsletter of May")]);
    desk.tick();
    let insert = "INSERT INTO item(feed_id,dedup_key,title,summary,first_seen_at,last_seen_at,state) \
                  VALUES(1,'k','Left behind by a tick','',1796025600,1796025600,'pending')";
    desk.world.stranger().execute(insert, []).expect("inserted");
    for (query, answer) in [
        (
            "old",
            "Not told: it stood in the feed already when that was read for the first time.",
        ),
        ("letter", "Not told: it was judged to be ignored, by rule: "),
        (
            "behind",
            "On its way: it waits for its verdict, which the next tick gives.",
        ),
    ] {
        let said = desk.said(&["explain", query]);
        assert!(first_line(&said).starts_with(answer), "{said}");
    }
}

#[test]
fn what_came_under_a_new_name_is_what_it_was() {
    let desk = Desk::new();
    desk.configure(&["/a"], "");
    let titles: Vec<String> = (0..6).map(|n| format!("Advisory {n} of Sable")).collect();
    let named = |prefix: &str| {
        let guids: Vec<String> = (0..6).map(|n| format!("{prefix}{n}")).collect();
        let entries: Vec<(&str, &str)> = guids
            .iter()
            .zip(&titles)
            .map(|(guid, title)| (guid.as_str(), title.as_str()))
            .collect();
        rss("/a", &entries)
    };
    for prefix in ["old", "new"] {
        desk.server.set("/a", Reply::feed(named(prefix)));
        desk.tick();
    }
    let said = desk.said(&["explain", "new3"]);
    assert!(
        first_line(&said).contains("when that was read for the first time"),
        "{said}"
    );
}

#[test]
fn a_story_of_two_feeds_names_the_alert_that_tells_it() {
    let desk = desk(&[FLAW]);
    desk.configure(&["/a", "/b"], "");
    desk.show("/b", &[("b-old", "Old")]);
    desk.tick();
    desk.show(
        "/b",
        &[
            ("b-flaw", "Sable: CVE-2026-91001 exploited"),
            ("b-old", "Old"),
        ],
    );
    desk.tick();
    let said = desk.said(&["explain", "b-flaw"]);
    assert!(
        said.contains("told by News of /a before: \"CVE-2026-91001: Sable is actively exploited\""),
        "{said}"
    );
    let said = desk.said(&["explain", "https://example.org/flaw"]);
    assert!(said.contains("also in News of /b"), "{said}");
    let said = desk.said(&["explain", "cve-2026-91001", "exploited"]);
    assert!(
        said.contains("2 match: ask for one by its number"),
        "{said}"
    );
}

#[test]
fn what_no_feed_brought_is_told_with_what_is_near_and_the_trouble_of_its_site() {
    let desk = desk(&[FLAW]);
    let said = desk.said(&["explain", "Sable exploited in Antarctica"]);
    assert_eq!(first_line(&said), "Not seen: no feed brought it.");
    assert!(
        said.contains("nearest:") && said.contains("actively exploited"),
        "{said}"
    );
    desk.server.set("/a", Reply::status(503));
    desk.tick();
    let said = desk.said(&["explain", &desk.server.url("/articles/9")]);
    assert!(
        said.contains("feed of that site: News of /a: failed 1 times in a row: "),
        "{said}"
    );
    let json = desk.said(&["explain", "nothing of that kind", "--json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["seen"], false);
}

#[test]
fn a_row_of_somebody_else_is_explained_too_and_json_holds_every_stage() {
    let desk = desk(&[FLAW]);
    let insert = "INSERT INTO outbox(chat_id,payload,next_attempt,created_at) \
                  VALUES('42','{\"chat_id\":42,\"text\":\"disk full\"}',0,1796025600)";
    desk.world.stranger().execute(insert, []).expect("inserted");
    let said = desk.said(&["explain", "3"]);
    assert!(said.contains("row       3  disk full"), "{said}");
    let json = desk.said(&["explain", "flaw", "--json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let one = &json["matches"][0];
    assert_eq!(one["verdict"]["severity"], "critical");
    assert_eq!(one["item"]["known_by"], "its guid");
    assert_eq!(one["deliveries"][0]["channel"], "screen");
    assert_eq!(one["deliveries"][0]["state"], "ready");
}
