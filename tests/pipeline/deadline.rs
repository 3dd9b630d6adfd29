//! Time runs out: feeds that hang, feeds that were not begun, and what is judged all the same.

use super::{Newsroom, leave_behind, read, rss};
use std::pin::pin;
use std::time::Duration;
use tokio::time::sleep;
use watchalert_ingest::report::{FeedResult, Report};
use watchalert_ingest::run::{self, Options};
use watchalert_tests::feeds::Reply;
use watchalert_tests::world::runtime;

/// Of a tick that waits for it in vain; a slow machine reads a good feed in a part of it.
const DEADLINE: Duration = Duration::from_secs(6);

/// A tick that reads so many feeds at a time, for so long.
fn tick(room: &Newsroom, paths: &[&str], concurrency: usize, deadline: Duration) -> Report {
    let mut scene = room.scene(paths);
    scene.config.ingest.concurrency = concurrency;
    scene.config.ingest.deadline = deadline;
    let report = runtime()
        .block_on(run::run(scene, Options::default()))
        .expect("a tick");
    room.world.all_invariants_hold();
    room.world.advance(Duration::from_secs(120));
    report
}

fn cut_off() -> FeedResult {
    FeedResult::Failed {
        error: "no answer before the tick's deadline".to_owned(),
    }
}

#[test]
fn a_feed_that_hangs_has_failed_and_the_ones_it_kept_waiting_come_first_next_time() {
    let room = Newsroom::new();
    room.server.set("/slow", Reply::hang());
    room.server
        .set("/good", Reply::feed(rss(&[("1", "1", "Old")])));
    let one_at_a_time = || tick(&room, &["/slow", "/good"], 1, DEADLINE);
    let first = one_at_a_time();
    assert_eq!(first.feeds[0].result, cut_off());
    assert_eq!(first.feeds[1].result, FeedResult::CarriedOver);
    assert_eq!(room.server.requests_for("/good").len(), 0, "never begun");
    let remembered = "SELECT group_concat(failures||' '||coalesce(last_error,'-')||' '||(attempted_at IS NOT NULL),', ') FROM feed";
    assert_eq!(
        room.world.ask(remembered),
        "1 no answer before the tick's deadline 1, 0 - 0"
    );
    let second = one_at_a_time();
    assert_eq!(second.feeds[0].result, read(0, 0, 1));
    assert_eq!(second.feeds[1].result, cut_off());
}

#[test]
fn a_feed_that_hangs_each_tick_does_not_stop_the_judging_for_ever() {
    let room = Newsroom::seeded(&[("1", "1", "Old")]);
    room.server.set("/news", Reply::feed(rss(&exploited())));
    room.server.set("/hang", Reply::hang());
    let mut report = Report::default();
    for _ in 0..2 {
        report = tick(&room, &["/news", "/hang"], 16, DEADLINE);
    }
    assert_eq!(room.alerted(), "Server actively exploited");
    assert_eq!(report.pending, 0);
}

#[test]
fn the_alert_of_a_fast_feed_is_in_the_outbox_while_a_slow_feed_still_hangs() {
    let room = Newsroom::seeded(&[("1", "1", "Old")]);
    room.server.set("/news", Reply::feed(rss(&exploited())));
    room.server.set("/hang", Reply::hang());
    let scene = room.scene(&["/hang", "/news"]);
    let Newsroom { world, server, .. } = room;
    let alerts = "SELECT count(*) FROM outbox WHERE kind='alert'";
    let alerted = async {
        while world.ask(alerts) == "0" {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let report = runtime().block_on(async {
        let mut tick = pin!(run::run(scene, Options::default()));
        tokio::select! {
            () = alerted => {}
            ended = &mut tick => panic!("the tick ended without an alert: {ended:?}"),
            () = sleep(Duration::from_secs(20)) => panic!("no alert while the other feed hangs"),
        }
        // Its connections end with it.
        drop(server);
        tick.await.expect("a tick")
    });
    assert!(matches!(report.feeds[0].result, FeedResult::Failed { .. }));
    assert_eq!(report.feeds[1].result, read(1, 1, 0));
    assert_eq!((report.judged.critical, report.deliveries), (1, 1));
    world.all_invariants_hold();
}

#[test]
fn a_tick_without_time_judges_what_an_earlier_one_left() {
    let room = Newsroom::seeded(&[("1", "1", "Old")]);
    leave_behind(&room, "Left behind");
    let report = tick(&room, &["/news"], 16, Duration::ZERO);
    assert_eq!(report.feeds[0].result, FeedResult::CarriedOver);
    assert_eq!((report.judged.total(), report.pending), (1, 0));
    assert_eq!(room.alerted(), "Left behind");
}

fn exploited() -> [(&'static str, &'static str, &'static str); 2] {
    [("2", "2", "Server actively exploited"), ("1", "1", "Old")]
}
