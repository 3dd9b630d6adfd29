//! What a feed is asked with from one tick to the next: its validators, and whole once a day whatever
//! they say.

use super::{Newsroom, rss};
use std::time::Duration;
use watchalert_ingest::report::FeedResult;
use watchalert_tests::feeds::{FeedServer, Reply, Request};
use watchalert_tests::world::START;

const HOUR: Duration = Duration::from_secs(3_600);
const YESTERDAY: &str = "Sun, 29 Nov 2026 11:00:00 GMT";

fn is_conditional(request: &Request) -> bool {
    let names = ["if-none-match", "if-modified-since"];
    names.iter().any(|name| request.header(name).is_some())
}

/// The validators of each request: of the body first, then of the date.
fn sent(server: &FeedServer) -> Vec<(Option<String>, Option<String>)> {
    let requests = server.requests().into_iter();
    let text = |value: Option<&str>| value.map(str::to_owned);
    let both = requests.map(|asked| {
        (
            text(asked.header("if-none-match")),
            text(asked.header("if-modified-since")),
        )
    });
    both.collect()
}

fn ticks(room: &Newsroom, hours: impl IntoIterator<Item = u32>) -> Vec<FeedResult> {
    let results = hours.into_iter().map(|hour| {
        room.world.clock.set_to(START + HOUR * hour);
        room.tick(&["/news"]).feeds.remove(0).result
    });
    results.collect()
}

/// A server that names its feed anew with each answer, also with "not modified".
#[test]
fn the_validators_of_the_last_answer_are_sent_whatever_that_was() {
    let room = Newsroom::new();
    let mut answers = 0;
    room.server.answer_by(move |request| {
        answers += 1;
        let reply = if is_conditional(request) {
            Reply::status(304)
        } else {
            Reply::body(rss(&[("1", "1", "Old")])).header("Last-Modified", YESTERDAY)
        };
        reply.header("ETag", &format!("\"{answers}\""))
    });
    ticks(&room, 0..4);
    let date = || Some(YESTERDAY.to_owned());
    let expected = [
        (None, None),
        (Some("\"1\"".to_owned()), date()),
        (Some("\"2\"".to_owned()), date()),
        (Some("\"3\"".to_owned()), date()),
    ];
    assert_eq!(sent(&room.server), expected);
}

/// A stale cache says "not modified" for weeks to whoever lets it.
#[test]
fn what_a_stale_cache_keeps_back_is_read_a_day_later() {
    let room = Newsroom::new();
    let mut whole = 0;
    room.server.answer_by(move |request| {
        if is_conditional(request) {
            return Reply::status(304);
        }
        whole += 1;
        let guid = whole.to_string();
        let title = format!("News of day {whole}");
        Reply::body(rss(&[(&guid, &guid, &title)])).header("ETag", "\"always\"")
    });
    let results = ticks(&room, (0..=48).step_by(6));
    let read: Vec<bool> = results.iter().map(FeedResult::brought_news).collect();
    assert_eq!(
        read,
        [false, false, false, false, true, false, false, false, true]
    );
    assert_eq!(room.alerted(), "News of day 2 | News of day 3");
}

#[test]
fn a_date_to_come_is_kept_and_not_sent() {
    let room = Newsroom::new();
    let reply = Reply::body(rss(&[("1", "1", "Old")]));
    let reply = reply.header("Last-Modified", "Thu, 31 Jan 2041 00:00:00 GMT");
    room.server.set("/news", reply.header("ETag", "\"1\""));
    ticks(&room, [0, 1]);
    assert_eq!(sent(&room.server)[1], (Some("\"1\"".to_owned()), None));
}

#[test]
fn a_document_that_is_no_feed_is_blamed_with_the_way_that_led_to_it() {
    let room = Newsroom::new();
    room.server
        .set("/news", Reply::redirect(302, "/login?next=secret"));
    room.server.set(
        "/login?next=secret",
        Reply::body("<html><body>Hello</body></html>"),
    );
    let FeedResult::Failed { error } = ticks(&room, [0]).remove(0) else {
        panic!("it is a page");
    };
    let host = room.server.address();
    let way = format!("(redirected: http://{host}/news -302-> http://{host}/login?…)");
    assert!(error.ends_with(&way), "{error}");
}
