//! What the database refuses costs one item or one feed, never the tick.

use super::{Newsroom, leave_behind, read, rss};
use watchalert_ingest::report::FeedResult;
use watchalert_tests::feeds::Reply;

/// From now on the database does not take an item of the title "Poison" that is about to be so.
fn refuse(room: &Newsroom, when: &str, how: &str) {
    let trigger = format!(
        "CREATE TRIGGER refusal BEFORE {when} ON item WHEN new.title='Poison' BEGIN SELECT {how}; END"
    );
    room.world
        .stranger()
        .execute_batch(&trigger)
        .expect("a trigger");
}

/// A broken constraint, and an error that no statement of ours should meet.
const REFUSALS: [&str; 2] = ["raise(ABORT,'no poison')", "json('{')"];

#[test]
fn a_verdict_that_the_database_refuses_costs_that_item_alone() {
    for how in REFUSALS {
        let room = Newsroom::seeded(&[("1", "1", "Old")]);
        leave_behind(&room, "Poison");
        refuse(&room, "UPDATE OF state", how);
        let news = rss(&[("2", "2", "News"), ("1", "1", "Old")]);
        room.server.set("/news", Reply::feed(news));
        let report = room.tick(&["/news"]);
        assert_eq!((report.judged.total(), report.pending), (1, 1), "{how}");
        assert_eq!(room.alerted(), "News", "{how}");
        let stranger = room.world.stranger();
        stranger
            .execute_batch("DROP TRIGGER refusal")
            .expect("gone");
        let report = room.tick(&["/news"]);
        assert_eq!((report.judged.total(), report.pending), (1, 0), "{how}");
        assert_eq!(room.alerted(), "News | Poison", "tried again: {how}");
    }
}

#[test]
fn items_that_the_database_refuses_cost_their_feed_alone() {
    for how in REFUSALS {
        let room = Newsroom::seeded(&[("1", "1", "Old")]);
        refuse(&room, "INSERT", how);
        room.server
            .set("/poison", Reply::feed(rss(&[("6", "6", "Poison")])));
        room.server
            .set("/news", Reply::feed(rss(&[("2", "2", "News")])));
        let report = room.tick(&["/poison", "/news"]);
        assert!(
            matches!(report.feeds[0].result, FeedResult::Failed { .. }),
            "{how}"
        );
        assert_eq!(report.feeds[1].result, read(1, 0, 0), "{how}");
        assert_eq!(room.alerted(), "News", "{how}");
        let failures = room
            .world
            .ask("SELECT group_concat(failures,' ') FROM feed ORDER BY id");
        assert_eq!(failures, "0 1", "{how}");
    }
}
