//! How one feed's server is asked, from the configuration to the wire: how often, by which kind of
//! address, trusting what, with which cookies.

use super::{Newsroom, read, rss};
use std::time::Duration;
use watchalert_ingest::report::FeedResult;
use watchalert_ingest::run::{self, Options};
use watchalert_tests::feeds::Reply;
use watchalert_tests::tls::{TlsServer, certificate};
use watchalert_tests::world::{World, runtime};

const OURS: [(&str, &str, &str); 1] = [("1", "1", "Old")];

/// One tick over this feed, configured like this.
fn tick(room: &mut Newsroom, url: &str, keys: &str) -> FeedResult {
    room.extra = format!("[[feed]]\nurl = \"{url}\"\n{keys}\n");
    let ticked = runtime().block_on(run::run(room.scene(&[]), Options::default()));
    room.world.advance(Duration::from_secs(120));
    ticked.expect("a tick").feeds.remove(0).result
}

/// The pauses, in minutes, between the first three requests, with a tick every two.
fn pauses(reply: Reply, keys: &str) -> Vec<usize> {
    let mut room = Newsroom {
        world: World::in_memory(),
        ..Newsroom::new()
    };
    room.server.set("/news", reply);
    room.extra = format!("[[feed]]\nurl = \"{}\"\n{keys}\n", room.server.url("/news"));
    let asked_at = (0..60).step_by(2).filter(|_| {
        let before = room.server.requests().len();
        room.tick(&[]);
        room.world.advance(Duration::from_secs(120));
        room.server.requests().len() > before
    });
    let asked_at: Vec<usize> = asked_at.take(3).collect();
    asked_at.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn a_servers_wish_lengthens_the_pause_up_to_a_quarter_of_an_hour_unless_the_user_has_one() {
    let plain = rss(&OURS);
    let with_ttl = |minutes: u32| plain.replace("<item>", &format!("<ttl>{minutes}</ttl><item>"));
    let fresh = |seconds: &str| Reply::feed(&*plain).header("Cache-Control", seconds);
    for (what, reply, keys, pause) in [
        ("no wish", Reply::feed(&*plain), "", 2..=2),
        ("ttl, then 304", Reply::feed(with_ttl(10)), "", 8..=12),
        ("max-age", fresh("max-age=600"), "", 8..=12),
        ("a day", Reply::body(with_ttl(1_440)), "", 14..=18),
        (
            "the user's",
            Reply::body(with_ttl(10)),
            "interval = \"2m\"",
            2..=2,
        ),
    ] {
        let pauses = pauses(reply, keys);
        assert!(pauses.len() == 2, "{what}: {pauses:?}");
        assert!(
            pauses.iter().all(|it| pause.contains(it)),
            "{what}: {pauses:?}"
        );
    }
}

#[test]
fn a_server_that_wants_to_be_left_alone_is_left_alone_for_so_long() {
    for (status, name, value) in [
        (429, "Retry-After", "600"),
        (503, "Retry-After", "Mon, 30 Nov 2026 08:10:00 GMT"),
        (429, "x-ratelimit-reset", "600"),
    ] {
        let reply = Reply::status(status).header(name, value);
        let pauses = pauses(reply, "");
        assert_eq!(pauses[0], 10, "{status} {name}: {value}");
    }
}

/// Some servers answer only who brings back what they just gave.
#[test]
fn a_cookie_goes_along_a_redirect_and_is_forgotten_by_the_next_tick() {
    let room = Newsroom::new();
    let feed = rss(&OURS);
    room.server
        .answer_by(move |request| match request.header("cookie") {
            Some("pass=42") => Reply::body(&*feed),
            _ => Reply::redirect(302, "/news").header("Set-Cookie", "pass=42; Path=/; HttpOnly"),
        });
    assert_eq!(room.tick(&["/news"]).feeds[0].result, read(0, 0, 1));
    room.world.advance(Duration::from_secs(120));
    assert_eq!(room.tick(&["/news"]).feeds[0].result, read(0, 1, 0));
    let requests = room.server.requests_for("/news");
    let cookies: Vec<_> = requests
        .iter()
        .map(|asked| asked.header("cookie"))
        .collect();
    assert_eq!(cookies, [None, Some("pass=42"), None, Some("pass=42")]);
}

#[test]
fn a_name_is_reached_by_the_one_kind_of_address_that_is_allowed() {
    let mut room = Newsroom::new();
    room.server.set("/news", Reply::feed(rss(&OURS)));
    let url = room.server.url("/news").replace("127.0.0.1", "localhost");
    let only_ipv6 = tick(&mut room, &url, "family = \"ipv6\"");
    assert!(
        matches!(only_ipv6, FeedResult::Failed { .. }),
        "{only_ipv6:?}"
    );
    assert_eq!(
        room.server.requests().len(),
        0,
        "it listens on 127.0.0.1 alone"
    );
    assert_eq!(tick(&mut room, &url, "family = \"ipv4\""), read(0, 0, 1));
}

#[test]
fn a_feed_trusts_the_certificate_that_its_configuration_names() {
    let mut room = Newsroom::new();
    let server = TlsServer::start(&["own.pem"], &rss(&OURS));
    let own = room.world.dir.path().join("own.pem");
    std::fs::copy(certificate("own.pem"), own).expect("copied");
    let url = server.url("/news");
    let FeedResult::Failed { error } = tick(&mut room, &url, "") else {
        panic!("nobody vouches for it");
    };
    assert!(error.contains("UnknownIssuer"), "{error}");
    assert_eq!(
        tick(&mut room, &url, "ca_file = \"own.pem\""),
        read(0, 0, 1)
    );
}
