//! Time runs out: feeds that hang, feeds that were not begun, and what is judged all the same.

use super::{Newsroom, read, rss};
use std::time::Duration;
use watchalert_ingest::report::{FeedResult, Report};
use watchalert_ingest::run::{self, Options};
use watchalert_tests::feeds::Reply;
use watchalert_tests::world::runtime;

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
    let one_at_a_time = || tick(&room, &["/slow", "/good"], 1, Duration::from_secs(1));
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
