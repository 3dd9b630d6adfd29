//! A tick's story: two feeds with news, one of them new, and an edit that is told; on a database that is
//! there, or on none.

use super::{Account, Story, ask, copy_state, says_so, start_sender, verified};
use std::process::Command;
use watchalert_tests::feeds::{FeedServer, Reply};
use watchalert_tests::programs::{BOUND, Ended, Place, Program};

const NEWS: usize = 9;

pub struct Reads {
    server: FeedServer,
    config: String,
    /// With what was known before.
    stock: Option<Place>,
    arguments: &'static [&'static str],
}

fn feed(entries: std::ops::Range<usize>, old: &str) -> Reply {
    let mut items = format!(
        "<item><guid>old</guid><link>https://example.org/old.</link><title>{old}</title></item>"
    );
    for entry in entries {
        items += &format!(
            "<item><guid>{entry}</guid><link>https://example.org/{entry}.</link><title>CVE-2026-{}</title></item>",
            20_000 + entry
        );
    }
    Reply::feed(format!(
        "<rss version=\"2.0\"><channel><title>News</title>{items}</channel></rss>"
    ))
}

impl Reads {
    /// What a tick brings that is not the first.
    pub fn news() -> Self {
        let mut news = Self::first();
        let stock = Place::new(&news.config);
        news.server.set("/a", feed(0..0, "An old story"));
        news.server.set("/b", feed(0..0, "Another"));
        stock.run(Program::Ingest, &[]).well();
        news.server.set("/a", feed(0..6, "An old story, edited"));
        news.server.set("/b", feed(6..NEWS, "Another"));
        news.stock = Some(stock);
        news.arguments = &["--now"];
        news
    }

    /// The first tick of all.
    pub fn first() -> Self {
        let server = FeedServer::start();
        server.set("/a", feed(0..6, "An old story"));
        server.set("/b", feed(6..NEWS, "Another"));
        let config = format!(
            "[ingest]\nallow_private = true\n[[feed]]\nurl = \"{}\"\nedits = \"tell\"\n[[feed]]\nurl = \"{}\"\n\
             [channel.screen]\nkind = \"console\"\n",
            server.url("/a"),
            server.url("/b")
        );
        Self {
            server,
            config,
            stock: None,
            arguments: &["--now", "--alert-existing"],
        }
    }
}

impl Story for Reads {
    type Scene = Place;

    fn scene(&self) -> Place {
        let place = Place::new(&self.config);
        if let Some(stock) = &self.stock {
            copy_state(stock, &place);
        }
        place
    }

    fn place(place: &Place) -> &Place {
        place
    }

    fn play(&self, place: &Place, load: &dyn Fn(&mut Command)) -> Ended {
        let mut command = place.command(Program::Ingest, self.arguments);
        load(&mut command);
        let ended = place.run_command(command);
        // What was written in another place is said.
        let beside = place.path("state/state.db.heartbeat").exists();
        assert!(!beside || says_so(&ended), "{ended:#?}");
        ended
    }

    fn end(&self, place: &Place) -> Account {
        place.run(Program::Ingest, self.arguments).well();
        start_sender(place, &|_| ()).ended(BOUND).well();
        let printed = place.printed();
        for entry in 0..NEWS {
            let link = format!("\n    https://example.org/{entry}.\n");
            assert_eq!(printed.matches(&link).count(), 1, "{entry}: {printed}");
        }
        let edits = usize::from(self.stock.is_some());
        assert_eq!(printed.matches("Edited: ").count(), edits, "{printed}");
        let open = "SELECT count(*) FROM outbox WHERE state<>'sent'";
        assert_eq!(ask(place, open), "0");
        assert_eq!(verified(place)["audit"]["repeats_marked"], 0);
        Account {
            accepted: NEWS + edits,
            ..Account::default()
        }
    }
}
