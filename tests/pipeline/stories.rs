//! One story from several feeds is one alert; what grows worse is another.

use super::{Newsroom, rss};
use std::time::Duration;
use watchalert_tests::feeds::Reply;

/// Two feeds that are known already.
fn two() -> Newsroom {
    let room = Newsroom::new();
    for path in ["/a", "/b"] {
        room.server
            .set(path, Reply::feed(rss(&[("0", path, "Old")])));
    }
    room.tick(&["/a", "/b"]);
    room.world.advance(Duration::from_secs(120));
    room
}

/// One entry after the other, each in its own tick.
fn bring(room: &Newsroom, entries: &[(&str, &str, &str)]) {
    for (at, (path, link, title)) in entries.iter().enumerate() {
        let guid = format!("{at}");
        room.server.set(
            path,
            Reply::feed(rss(&[(&guid, link, title), ("0", path, "Old")])),
        );
        room.tick(&["/a", "/b"]);
        room.world.advance(Duration::from_secs(120));
    }
}

const ALSO: &str = "SELECT coalesce(group_concat(alert_id||' '||source),'') FROM also";

/// With the words by which a title alone may tell.
const TELLING: &str = "Sable 2.8.1 fixes an exploited flaw in its archive reader";

#[test]
fn one_story_by_address_by_cve_ids_or_by_a_telling_title_is_one_alert() {
    for (one, other) in [
        (
            ("2026/sable-flaw-17", "Exploited flaw in Sable"),
            ("2026/sable-flaw-17?utm_source=b", "Sable is exploited"),
        ),
        (
            ("1", "CVE-2026-91001: Sable exploited"),
            ("2", "Exploited: cve-2026-91001"),
        ),
        (
            ("1", TELLING),
            (
                "2",
                "Exploited flaw in its archive reader: Sable 2.8.1 fixes an",
            ),
        ),
    ] {
        let room = two();
        bring(&room, &[("/a", one.0, one.1), ("/b", other.0, other.1)]);
        assert_eq!(room.alerted(), one.1);
        assert_eq!(room.world.ask(ALSO), "1 Example news", "{}", one.1);
    }
}

#[test]
fn an_address_that_several_items_have_tells_no_story() {
    for link in ["", "security", "2026/status-17"] {
        let room = two();
        let titles = [
            "Increased error rates, actively exploited",
            "Archives of the eastern region lost, actively exploited",
            "Increased error rates elsewhere, actively exploited",
        ];
        bring(
            &room,
            &[
                ("/a", link, titles[0]),
                ("/a", link, titles[1]),
                ("/b", link, titles[2]),
            ],
        );
        assert_eq!(room.alerted(), titles.join(" | "), "{link:?}");
    }
}

#[test]
fn what_was_told_to_nobody_and_what_is_dated_ahead_tells_no_story() {
    let room = two();
    let title = "CVE-2026-91001: Sable exploited";
    bring(&room, &[("/a", "1", title)]);
    room.world
        .stranger()
        .execute("UPDATE outbox SET state='cancelled'", [])
        .expect("somebody discards it");
    bring(&room, &[("/b", "2", title)]);
    assert_eq!(room.alerted(), format!("{title} | {title}"));
    room.world
        .stranger()
        .execute_batch(
            "DROP TRIGGER alerts_are_immutable; UPDATE alert SET created_at=created_at+31536000",
        )
        .expect("dated by a clock ahead");
    bring(&room, &[("/a", "3", title)]);
    assert_eq!(
        room.world.ask("SELECT count(*) FROM alert"),
        "3",
        "nor does what is dated next year"
    );
}

/// One feed was read under a clock three hours ahead, the other after somebody had set it right.
#[test]
fn a_clock_that_was_hours_ahead_makes_no_story_told_twice() {
    let room = two();
    let (clock, ahead) = (&room.world.clock, Duration::from_secs(3 * 3_600));
    clock.turn_to(clock.now() + ahead);
    bring(&room, &[("/a", "1", TELLING)]);
    clock.turn_to(clock.now().minus(ahead));
    bring(&room, &[("/b", "2", TELLING)]);
    assert_eq!(room.alerted(), TELLING);
    assert_eq!(room.world.ask(ALSO), "1 Example news");
}

#[test]
fn another_id_another_version_or_the_same_few_words_are_another_story() {
    for (one, other) in [
        (
            "CVE-2026-91001: Sable exploited",
            "CVE-2026-91002: Sable exploited",
        ),
        (
            "Sable 2.8.1 fixes an exploited flaw",
            "Sable 2.8.2 fixes an exploited flaw",
        ),
        ("Major outage", "Major outage"),
        (
            "CVE-2026-91001: Sable 2.8 exploited",
            "CVE-2026-91001: Heron 3.1 exploited",
        ),
        (
            "Fortress warns of a critical flaw in FortOne exploited in attacks",
            "Fortress warns of a critical flaw in FortTwo exploited in attacks",
        ),
        (
            "Elevated 5xx error rates, exploited",
            "Elevated 5xx error rates, exploited",
        ),
    ] {
        let room = two();
        bring(&room, &[("/a", "1", one), ("/b", "2", other)]);
        assert_eq!(room.alerted(), format!("{one} | {other}"));
    }
}

#[test]
fn two_entries_of_one_feed_are_two_stories() {
    let room = two();
    let titles = [
        "CVE-2026-91001 in Sable",
        "CVE-2026-91001 in Sable for Heron 3",
    ];
    bring(&room, &[("/a", "1", titles[0]), ("/a", "2", titles[1])]);
    assert_eq!(room.alerted(), titles.join(" | "));
}

#[test]
fn a_title_tells_the_same_story_for_a_day_and_ids_for_a_week() {
    for (title, days, alerts) in [
        (TELLING, 1, "2"),
        ("CVE-2026-91001: Sable exploited", 6, "1"),
        ("CVE-2026-91001: Sable exploited", 8, "2"),
    ] {
        let room = two();
        bring(&room, &[("/a", "1", title)]);
        room.world.advance(Duration::from_secs(86_400 * days));
        bring(&room, &[("/b", "2", title)]);
        assert_eq!(
            room.world.ask("SELECT count(*) FROM alert"),
            alerts,
            "{title} after {days} d"
        );
    }
}

#[test]
fn a_story_that_grows_worse_is_told_again_and_says_from_what_it_was_raised() {
    let room = two();
    let worse = "CVE-2026-91001 in Sable is actively exploited";
    bring(
        &room,
        &[
            ("/a", "1", "CVE-2026-91001: flaw in Sable"),
            ("/b", "2", worse),
            ("/a", "3", worse),
        ],
    );
    let raised = room
        .world
        .ask("SELECT raised_from||' '||severity FROM alert WHERE id=2");
    assert_eq!(raised, "1 critical");
    let reason = room
        .world
        .ask("SELECT json_extract(payload,'$.reason') FROM alert WHERE id=2");
    assert!(reason.starts_with("raised from #"), "{reason}");
    assert_eq!(
        room.world.ask("SELECT count(*) FROM alert"),
        "2",
        "and not a third time"
    );
}

#[test]
fn who_is_reached_by_the_second_feeds_route_alone_is_owed_the_alert_too() {
    let mut room = two();
    room.extra = "[[route]]\ntag = [\"/b\"]\nto = [\"other\"]\n".to_owned();
    let title = "CVE-2026-91001: Sable exploited";
    bring(&room, &[("/a", "1", title), ("/b", "2", title)]);
    let rows = "SELECT group_concat(channel) FROM outbox WHERE kind='alert'";
    assert_eq!(room.world.ask(rows), "screen,other");
    assert_eq!(room.world.ask("SELECT count(*) FROM alert"), "1");
}
