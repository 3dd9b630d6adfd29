//! Feeds that move: which permanent redirects are believed, when, and what becomes of the feed then.

use super::{Newsroom, read, rss};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use watchalert_ingest::run::{self, Options};
use watchalert_tests::feeds::Reply;
use watchalert_tests::world::{START, World, runtime};

const OURS: [(&str, &str, &str); 2] = [("1", "1", "Old"), ("2", "2", "Older")];
const HOUR: Duration = Duration::from_secs(3_600);

/// What the feed's own address answers.
#[derive(Clone, Copy, Debug)]
enum Shows {
    /// A redirect to the same feed elsewhere.
    Moved(u16),
    /// To the same feed at another address.
    Astray,
    /// To another's feed.
    Stranger,
    /// To a page for people.
    Portal,
    Itself,
    Fault,
}

use Shows::{Astray, Fault, Itself, Moved, Portal, Stranger};

impl Shows {
    fn reply(self) -> Reply {
        match self {
            Moved(status) => Reply::redirect(status, "/new"),
            Astray => Reply::redirect(301, "/astray"),
            Stranger => Reply::redirect(301, "/strange"),
            Portal => Reply::redirect(301, "/portal"),
            Itself => Reply::body(rss(&OURS)),
            Fault => Reply::status(503),
        }
    }
}

impl Newsroom {
    /// Nothing here has a validator, so that every answer is a full document.
    fn with_elsewhere() -> Self {
        let room = Self {
            world: World::in_memory(),
            ..Self::new()
        };
        room.server.set("/news", Itself.reply());
        room.server.set("/new", Reply::body(rss(&OURS)));
        room.server.set("/astray", Reply::body(rss(&OURS)));
        let strange = rss(&[("9", "9", "A stranger's"), ("8", "8", "Another's")]);
        room.server.set("/strange", Reply::body(strange));
        room.server.set(
            "/portal",
            Reply::body("<!DOCTYPE html><html><body>Welcome! Please accept our terms."),
        );
        room.tick(&["/news"]);
        room
    }

    fn tick_at_hour(&self, hour: u32) {
        self.world.clock.set_to(START + HOUR * hour);
        self.tick(&["/news"]);
    }

    /// The path at which the feed is believed to live; `NULL`: where the configuration says.
    fn lives_at(&self) -> String {
        let location = self.world.ask("SELECT location FROM feed");
        location.replace(&self.server.url(""), "")
    }

    fn asked(&self, path: &str) -> usize {
        self.server.requests_for(path).len()
    }
}

/// After which of these hours the feed is believed to live elsewhere.
fn believed_after(schedule: &[(u32, Shows)]) -> Option<u32> {
    let room = Newsroom::with_elsewhere();
    for (hour, shows) in schedule {
        room.server.set("/news", shows.reply());
        room.tick_at_hour(*hour);
        match room.lives_at().as_str() {
            "NULL" => {}
            "/new" => return Some(*hour),
            other => panic!("it lives at {other}: {schedule:?}"),
        }
    }
    None
}

/// At each hour a redirect to the same feed elsewhere, or what stands behind the hour.
fn schedule(text: &str) -> Vec<(u32, Shows)> {
    let entry = |word: &str| {
        let hour = word.trim_end_matches(|sign: char| !sign.is_ascii_digit());
        let shows = match &word[hour.len()..] {
            "" => Moved(301),
            "!" => Fault,
            "P" => Portal,
            "=" => Itself,
            "A" => Astray,
            "S" => Stranger,
            other => panic!("{other} says nothing"),
        };
        (hour.parse().expect("an hour"), shows)
    };
    text.split(' ').map(entry).collect()
}

#[test]
fn a_permanent_redirect_is_believed_after_three_sights_of_known_items_over_a_day() {
    for (what, hours, after) in [
        ("a day", "1 13 25", Some(25)),
        ("23 hours", "1 2 3 24", None),
        ("twice", "1 48", None),
        ("a day and a third sight", "1 48 49", Some(49)),
        ("a fault says nothing", "1 2! 9P 24 30", Some(30)),
        ("back in between", "1 24= 30 31 53 54", Some(54)),
        ("elsewhere in between", "1 24A 30 31 53", None),
        ("a stranger in between", "1 24S 30 31 53", None),
    ] {
        assert_eq!(believed_after(&schedule(hours)), after, "{what}");
    }
    let by_308 = [1, 2, 25].map(|hour| (hour, Moved(308)));
    assert_eq!(believed_after(&by_308), Some(25));
}

#[test]
fn nothing_but_a_lasting_permanent_redirect_to_known_items_moves_a_feed() {
    for shows in [
        Moved(302),
        Moved(303),
        Moved(307),
        Stranger,
        Portal,
        Itself,
        Fault,
    ] {
        let hours = [1, 2, 13, 25, 26, 49, 50].map(|hour| (hour, shows));
        assert_eq!(believed_after(&hours), None, "{shows:?}");
    }
}

#[test]
fn a_feed_that_was_behind_a_redirect_from_the_first_moves_too() {
    let room = Newsroom::new();
    room.server.set("/new", Reply::body(rss(&OURS)));
    room.server.set("/news", Moved(301).reply());
    for (hour, lives_at) in [(0, "NULL"), (13, "NULL"), (25, "/new")] {
        room.tick_at_hour(hour);
        assert_eq!(room.lives_at(), lives_at);
    }
}

/// With its host the publisher has changed every id and address.
#[test]
fn a_feed_that_moves_under_new_names_is_known_by_its_items() {
    let room = Newsroom::new();
    let show = |path: &str, names: &str| {
        let items = (10..16).map(|n| {
            format!(
                "<item><guid>{names}-{n}</guid><link>https://{names}.example/{n}</link><title>Flaw {n} is actively exploited</title><pubDate>Mon, 30 Nov 2026 06:{n}:07 +0000</pubDate></item>"
            )
        });
        let items: String = items.collect();
        let feed = format!("<rss version=\"2.0\"><channel><title>t</title>{items}</channel></rss>");
        room.server.set(path, Reply::body(feed));
    };
    show("/news", "old");
    room.tick_at_hour(0);
    show("/new", "young");
    room.server.set("/news", Moved(301).reply());
    for hour in [1, 13, 25] {
        room.tick_at_hour(hour);
    }
    assert_eq!(
        (room.lives_at(), room.alerted()),
        ("/new".into(), String::new())
    );
}

/// One that moved: its own address redirects still.
fn moved() -> Newsroom {
    let room = Newsroom::with_elsewhere();
    room.server.set("/news", Moved(301).reply());
    for hour in [1, 13, 25] {
        room.tick_at_hour(hour);
    }
    assert_eq!(room.lives_at(), "/new");
    room
}

#[test]
fn a_feed_that_moved_is_asked_where_it_lives_and_tells_what_is_new_there_once() {
    let room = moved();
    let before = room.asked("/news");
    let more = [("3", "3", "News at the new address"), OURS[0], OURS[1]];
    room.server.set("/new", Reply::body(rss(&more)));
    room.tick_at_hour(26);
    room.tick_at_hour(27);
    assert_eq!(room.asked("/news"), before, "the old address is left alone");
    assert_eq!(room.alerted(), "News at the new address");
    let url = room.world.ask("SELECT url FROM feed");
    assert_eq!(url, room.server.url("/news"), "the configuration's");
}

#[test]
fn a_feed_that_moved_and_fails_there_is_looked_for_at_home_and_may_come_back() {
    let room = moved();
    room.server.set("/new", Reply::status(404));
    room.server.set("/news", Fault.reply());
    let before = room.asked("/news");
    for hour in [26, 27, 28, 29] {
        room.tick_at_hour(hour);
    }
    assert_eq!(room.asked("/news") - before, 2, "every other time");
    assert_eq!(room.lives_at(), "/new");
    room.server.set("/news", Itself.reply());
    room.tick_at_hour(40);
    room.tick_at_hour(50);
    assert_eq!(room.lives_at(), "NULL");
    assert_eq!(room.alerted(), "");
}

#[test]
fn a_new_address_may_move_on() {
    let room = moved();
    room.server.set("/new", Reply::redirect(308, "/astray"));
    for hour in [26, 38] {
        room.tick_at_hour(hour);
        assert_eq!(room.lives_at(), "/new");
    }
    room.tick_at_hour(51);
    assert_eq!(room.lives_at(), "/astray");
}

/// Its secret is the old host's.
#[test]
fn a_feed_with_a_secret_does_not_move_by_itself() {
    for key in [
        "authorization_file = \"token\"",
        "headers = { X-Key_file = \"token\" }",
    ] {
        let mut room = Newsroom::with_elsewhere();
        let token = room.world.dir.path().join("token");
        std::fs::write(&token, "Bearer sesame\n").expect("written");
        std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).expect("locked up");
        room.extra = format!("[[feed]]\nurl = \"{}\"\n{key}\n", room.server.url("/news"));
        room.server.set("/news", Moved(301).reply());
        for hour in [1, 13, 25, 37, 49] {
            room.world.clock.set_to(START + HOUR * hour);
            let ticked = runtime().block_on(run::run(room.scene(&[]), Options::default()));
            let result = &ticked.expect("a tick").feeds[0].result;
            assert_eq!(*result, read(0, 2, 0), "{key}");
        }
        assert_eq!(room.lives_at(), "NULL", "{key}");
    }
}
