//! Edits of known entries: told where a feed wants it, once for each change, and never a flood.

use std::time::Duration;
use watchalert_tests::desk::Desk;
use watchalert_tests::feeds::Reply;

const DAY: Duration = Duration::from_hours(24);

/// A feed that was read once with these `(guid, title, text)`, under `edits = POLICY`.
fn desk(policy: &str, entries: &[(&str, &str, &str)], more: &str) -> Desk {
    let desk = Desk::new();
    let url = desk.server.url("/a");
    let feed =
        format!("[[feed]]\nurl = \"{url}\"\nname = \"Releases\"\nedits = \"{policy}\"\n{more}");
    desk.configure(&[], &feed);
    shows(&desk, entries);
    desk.tick();
    desk
}

fn shows(desk: &Desk, entries: &[(&str, &str, &str)]) {
    let mut items = String::new();
    for (guid, title, text) in entries {
        items += &format!(
            "<item><guid isPermaLink=\"false\">{guid}</guid><link>https://example.org/{guid}</link><title>{title}</title><description>{text}</description></item>"
        );
    }
    let rss = format!(
        "<rss version=\"2.0\"><channel><title>News</title><link>https://example.org/</link><description>d</description>{items}</channel></rss>"
    );
    desk.server.set("/a", Reply::feed(rss));
}

/// Severity and title of each alert, in order.
fn alerts(desk: &Desk) -> Vec<String> {
    let all = desk
        .world
        .ask("SELECT coalesce(group_concat(severity||' '||title,'|'),'') FROM alert");
    let filled = all.split('|').filter(|alert| !alert.is_empty());
    filled.map(str::to_owned).collect()
}

fn summary(desk: &Desk) -> String {
    desk.world
        .ask("SELECT json_extract(payload,'$.summary') FROM alert ORDER BY id DESC LIMIT 1")
}

const OLD: (&str, &str, &str) = ("h1", "Heron 1.0", "Mends the archive reader.");
const EDITED: (&str, &str, &str) = ("h1", "Heron 1.0", "Mends the archive reader and the index.");

#[test]
fn an_edit_is_told_once_where_the_feed_wants_it_and_not_elsewhere() {
    for (policy, told) in [("ignore", vec![]), ("tell", vec!["low Edited: Heron 1.0"])] {
        let desk = desk(policy, &[OLD], "");
        shows(&desk, &[EDITED]);
        for _ in 0..3 {
            desk.tick();
            desk.world.advance(2 * DAY);
        }
        assert_eq!(alerts(&desk), told, "{policy}");
    }
}

#[test]
fn an_edit_carries_the_id_of_its_entry_and_says_what_changed() {
    let desk = desk("tell", &[OLD], "");
    shows(&desk, &[EDITED]);
    desk.tick();
    assert_eq!(summary(&desk), "Mends the archive reader and the index.");
    let same =
        "SELECT substr(item.dedup_key,1,6)=json_extract(payload,'$.short_id') FROM item,alert";
    assert_eq!(desk.world.ask(same), "1");
    desk.world.advance(2 * DAY);
    shows(&desk, &[("h1", "Heron 1.0.0", EDITED.2)]);
    desk.tick();
    assert_eq!(alerts(&desk)[1], "low Edited: Heron 1.0.0");
    assert_eq!(summary(&desk), "The title was: Heron 1.0");
}

#[test]
fn an_edit_that_makes_an_entry_graver_is_told_at_once_and_so_grave() {
    let desk = desk("tell", &[OLD], "");
    shows(&desk, &[EDITED]);
    desk.tick();
    let exploited = (
        "h1",
        "Heron 1.0",
        "Mends a flaw that is actively exploited.",
    );
    shows(&desk, &[exploited]);
    desk.tick();
    assert_eq!(
        alerts(&desk),
        ["low Edited: Heron 1.0", "critical Edited: Heron 1.0"]
    );
    shows(
        &desk,
        &[(
            "h1",
            "Heron 1.0",
            "Mends a flaw that is actively exploited, says the vendor.",
        )],
    );
    desk.world.advance(DAY);
    desk.tick();
    assert_eq!(
        alerts(&desk)[2..],
        ["low Edited: Heron 1.0"],
        "it is no graver than before"
    );
}

#[test]
fn an_entry_that_changes_all_the_time_is_told_once_a_day() {
    let desk = desk("tell", &[OLD], "");
    let mut told = Vec::new();
    for hour in 0..72 {
        let text = format!("Read by {hour} people.");
        shows(&desk, &[("h1", "Heron 1.0", &text)]);
        desk.tick();
        desk.world.advance(Duration::from_mins(58));
        told.push(alerts(&desk).len());
    }
    assert_eq!((told[0], told[23], told[24], told[71]), (1, 1, 2, 3));
    assert_eq!(summary(&desk), "Read by 48 people.");
}

#[test]
fn what_is_changed_back_before_it_was_told_is_no_edit() {
    let desk = desk("tell", &[OLD], "");
    shows(&desk, &[EDITED]);
    desk.tick();
    shows(&desk, &[OLD]);
    desk.tick();
    shows(&desk, &[EDITED]);
    desk.world.advance(2 * DAY);
    desk.tick();
    assert_eq!(alerts(&desk).len(), 1);
}

#[test]
fn many_edits_at_once_are_one_alert_but_the_grave_ones_among_them() {
    let names: Vec<String> = (0..12).map(|n| format!("n{n}")).collect();
    let with = |text: &'static str| -> Vec<(&str, &str, &str)> {
        names
            .iter()
            .map(|name| (name.as_str(), name.as_str(), text))
            .collect()
    };
    let desk = desk("tell", &with("Old words."), "");
    let mut edited = with("New words.");
    edited[3].2 = "Actively exploited.";
    shows(&desk, &edited);
    desk.tick();
    assert_eq!(
        alerts(&desk),
        [
            "critical Edited: n3",
            "low 11 entries of Releases were edited"
        ]
    );
    assert!(
        summary(&desk).ends_with("n10\nand 1 more"),
        "{}",
        summary(&desk)
    );
}

#[test]
fn an_edit_of_what_nobody_wants_is_not_told() {
    let drops = "[[rule]]\nmatch = { title = \"Webinar\" }\ndrop = true\n";
    let desk = desk("tell", &[OLD, ("w", "Webinar", "About naps.")], drops);
    shows(&desk, &[OLD, ("w", "Webinar", "About long naps.")]);
    desk.tick();
    assert_eq!(alerts(&desk), Vec::<String>::new());
    assert!(
        desk.said(&["explain", "Webinar"])
            .contains("edits     none was worth telling")
    );
}

#[test]
fn explain_tells_of_the_edits_of_an_entry() {
    let desk = desk("tell", &[OLD], "");
    shows(&desk, &[EDITED]);
    desk.tick();
    shows(&desk, &[("h1", "Heron 1.0", "Mends all.")]);
    desk.tick();
    let said = desk.said(&["explain", "h1"]);
    for part in [
        "edits     one was told, 2026-11-30 08:02:00; it was changed 2026-11-30 08:04:00 and that is not told yet",
        "delivery  row 2 to screen/-: low, ready",
    ] {
        assert!(said.contains(part), "{part:?} is not in\n{said}");
    }
    let of_row = desk.said(&["explain", "2"]);
    assert!(of_row.contains("item      1  Heron 1.0"), "{of_row}");
}

#[test]
fn a_policy_that_is_taken_back_leaves_nothing_to_be_told_later() {
    let desk = desk("tell", &[OLD], "");
    shows(&desk, &[EDITED]);
    desk.tick();
    shows(&desk, &[("h1", "Heron 1.0", "Mends all.")]);
    desk.tick();
    let url = desk.server.url("/a");
    for policy in ["ignore", "tell"] {
        let feed = format!("[[feed]]\nurl = \"{url}\"\nedits = \"{policy}\"\n");
        desk.configure(&[], &feed);
        desk.world.advance(2 * DAY);
        desk.tick();
    }
    assert_eq!(alerts(&desk).len(), 1);
}
