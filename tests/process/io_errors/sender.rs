//! A sender's story: rows for a console, a digest and a critical alert for ntfy, one row that goes to
//! its fallback and dies there, with the notice of that.

use super::{Account, Story, arrived, ask, copy_state, start_sender, verified};
use crate::QUIET;
use shared::model::Priority;
use shared::platform::clock::Clock;
use shared::store::outbox;
use shared::store::{Db, Store};
use std::process::Command;
use watchalert_tests::ntfy::{self, Ntfy};
use watchalert_tests::programs::{BOUND, Ended, Place, Program};
use watchalert_tests::world::{owed, runtime, stranger, to};

const TOPIC: &str = "alerts-of-nobody";
const ALERTS: usize = 6;
const ROWS: &str = "SELECT group_concat(state||' '||n) FROM (SELECT state,count(*) AS n FROM outbox WHERE kind<>'notice' GROUP BY state ORDER BY state)";
const NOTICES: &str = "SELECT count(*) FROM outbox WHERE kind='notice' AND state='sent'";

pub struct Delivers {
    ntfy: Ntfy,
    stock: Place,
    config: String,
}

pub struct Scene {
    place: Place,
    /// What the ntfy server had published before.
    before: usize,
}

impl Delivers {
    pub fn new() -> Self {
        let clock = Clock::system();
        let ntfy = Ntfy::start(ntfy::Options {
            requests: None,
            messages: None,
            ..ntfy::Options::strict(&clock)
        });
        let config = format!(
            "default_channel = \"screen\"\n[digest]\nwindow = \"1s\"\n{QUIET}[channel.other]\nkind = \"console\"\n\
             [channel.phone]\nkind = \"ntfy\"\nurl = \"{}\"\ntopic = \"{TOPIC}\"\n",
            ntfy.url()
        );
        let stock = Place::new(&config);
        stock.run(Program::Sender, &["migrate"]).well();
        let made = Self {
            ntfy,
            stock,
            config,
        };
        made.fill();
        made
    }

    fn fill(&self) {
        let store = Store::open(&self.stock.database()).expect("a fresh database");
        let now = Clock::system().now();
        let enqueue = move |db: &Db| {
            for number in 0..=ALERTS {
                let priority = match number {
                    0 => Priority::Critical,
                    _ => Priority::Normal,
                };
                let owed = owed(&title(number), &to("phone", TOPIC), priority);
                outbox::enqueue(db, &owed, now)?;
            }
            Ok(())
        };
        let written = runtime().block_on(store.write(enqueue));
        written.expect("enqueued");
        drop(store);
        let rows = "INSERT INTO outbox(channel,chat_id,payload,fallback_at,fallback_channel,fallback_chat_id,created_at) VALUES
            ('screen','-','{\"text\":\"row a end\"}',NULL,NULL,NULL,unixepoch()),
            ('screen','-','{\"text\":\"row b end\"}',NULL,NULL,NULL,unixepoch()),
            ('screen','-','{\"text\":\"row c end\"}',NULL,NULL,NULL,unixepoch()),
            ('other','-','{\"v\":99,\"title\":\"from the future\"}',unixepoch()+3600,'screen','-',unixepoch())";
        stranger(&self.stock.database())
            .execute_batch(rows)
            .expect("inserted");
    }
}

fn title(number: usize) -> String {
    format!("story {number}.")
}

impl Story for Delivers {
    type Scene = Scene;

    fn scene(&self) -> Scene {
        let place = Place::new(&self.config);
        copy_state(&self.stock, &place);
        let before = self.ntfy.published().len();
        Scene { place, before }
    }

    fn place(scene: &Scene) -> &Place {
        &scene.place
    }

    fn play(&self, scene: &Scene, load: &dyn Fn(&mut Command)) -> Ended {
        start_sender(&scene.place, load).ended(BOUND)
    }

    fn end(&self, scene: &Scene) -> Account {
        let place = &scene.place;
        start_sender(place, &|_| ()).ended(BOUND).well();
        assert_eq!(ask(place, ROWS), "dead 1,folded 6,moved 1,sent 5");
        assert_eq!(ask(place, NOTICES), "1");
        let printed = place.printed();
        let mut repeats = 0;
        for name in ["a", "b", "c"] {
            repeats += arrived(printed.split("\n\n"), &format!(" row {name} end"));
        }
        let published = self.ntfy.published();
        let notes: Vec<String> = published[scene.before..]
            .iter()
            .map(|note| format!("{}\n{}", note.title, note.message))
            .collect();
        for number in 0..=ALERTS {
            repeats += arrived(notes.iter().map(String::as_str), &title(number));
        }
        verified(place);
        Account {
            accepted: 3 + 1 + ALERTS + 1,
            dead: 1,
            repeats,
        }
    }
}
