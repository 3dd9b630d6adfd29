//! All channels of one sender together, on a set clock: two Telegram bots, one of them in two chats, an
//! ntfy server and a mail server, with what befalls one of them and what the others see of it.

#[path = "channels/alike.rs"]
mod alike;
#[path = "channels/apart.rs"]
mod apart;
#[path = "channels/digests.rs"]
mod digests;

#[path = "channels/night.rs"]
mod night;
#[path = "channels/revoked.rs"]
mod revoked;

use shared::config::{Config, Program, Surroundings};
use shared::model::{Alert, Destination, Priority, Timestamp};
use shared::platform::term::Style;
use shared::store::Db;
use shared::store::outbox::{self, Addressee, Epoch, Owed};
use std::cell::{Cell, OnceCell};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use watchalert_sender::channel::console::Output;
use watchalert_sender::drain::Until;
use watchalert_sender::run::{Scene, run};
use watchalert_tests::life::{Home, Open};
use watchalert_tests::ntfy::Ntfy;
use watchalert_tests::smtp::{PASSWORD, Smtp, Tls};
use watchalert_tests::telegram::{Options, Telegram};
use watchalert_tests::world::{World, owed, runtime, to};

const CHAT: &str = "7001";
const GROUP: &str = "-100200300";
const TOPIC: &str = "alerts-of-nobody";
const READER: &str = "me@example.org";
/// Of the second bot.
const OTHER_TOKEN: &str = "654321:another-token-of-nobody";

/// A sender with everything that it can be configured with, and who stands on the other side.
struct House {
    world: World,
    ops: Telegram,
    team: Telegram,
    ntfy: Ntfy,
    mail: Smtp,
    /// More of the configuration.
    more: &'static str,
    digests: bool,
    /// The first bot is all there is.
    alone: bool,
    past: OnceCell<Epoch>,
    /// Where requests are held that no stand-in tells of.
    silent: Cell<Option<&'static str>>,
}

impl House {
    fn new() -> Self {
        let world = World::in_memory();
        let ops = Telegram::start(Options::strict(&world.clock));
        let team = Telegram::start(Options {
            token: OTHER_TOKEN.to_owned(),
            ..Options::strict(&world.clock)
        });
        let ntfy = Ntfy::start(watchalert_tests::ntfy::Options::strict(&world.clock));
        let house = Self {
            ops,
            team,
            ntfy,
            mail: Smtp::start(Tls::Never),
            world,
            more: "",
            digests: false,
            alone: false,
            past: OnceCell::new(),
            silent: Cell::new(None),
        };
        house.keep("ops-token", house.ops.token());
        house.keep("team-token", OTHER_TOKEN);
        house.keep("password", PASSWORD);
        house
    }

    /// A secret in a file.
    fn keep(&self, file: &str, secret: &str) {
        let path = self.world.dir.path().join(file);
        fs::write(&path, secret).expect("written");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("locked up");
    }

    fn config(&self) -> String {
        let mut text = format!(
            "default_channel = \"ops\"\n{}[digest]\nenabled = {}\n[state]\npath = \"state.db\"\nmin_free = \"0 KiB\"\n\
             [channel.ops]\nkind = \"telegram\"\napi_url = \"{}\"\ntoken_file = \"ops-token\"\nchat_id = {CHAT}\n",
            self.more,
            self.digests,
            self.ops.url()
        );
        if !self.alone {
            text += &format!(
                "[channel.screen]\nkind = \"console\"\n\
                 [channel.team]\nkind = \"telegram\"\napi_url = \"{}\"\ntoken_file = \"team-token\"\nchat_id = {GROUP}\n\
                 [channel.phone]\nkind = \"ntfy\"\nurl = \"{}\"\ntopic = \"{TOPIC}\"\n\
                 [channel.mail]\nkind = \"email\"\nsmtp = \"smtp://watch@{}\"\npassword_file = \"password\"\n\
                 from = \"watch@sender.test\"\nto = [\"{READER}\"]\n",
                self.team.url(),
                self.ntfy.url(),
                self.mail.address()
            );
        }
        text
    }

    /// One sender, from start until nothing is due.
    fn send(&self) {
        let ended =
            runtime().block_on(run(Home::scene(self), Until::Empty, std::future::pending()));
        ended.expect("a clean end");
    }

    /// The next moment at which anything may happen, at most ten minutes from now.
    fn next_moment(&self) -> Timestamp {
        let now = self.world.clock.now();
        let next = self.world.ask(&format!(
            "SELECT min(at) FROM (SELECT next_at AS at FROM gate UNION ALL SELECT blocked_until FROM gate
              UNION ALL SELECT due_at FROM outbox WHERE state='ready') WHERE at>{}",
            now.unix_seconds()
        ));
        let next = next.parse().map(Timestamp::from_unix_seconds);
        next.unwrap_or(now + SECOND).min(now + 10 * MINUTE)
    }

    /// Sends, and moves the clock to whatever comes next, until nothing waits or the time is over.
    fn drain_within(&self, bound: Duration) {
        let end = self.world.clock.now() + bound;
        loop {
            self.send();
            let next = self.next_moment();
            if self.count("state='ready'") == 0 || next > end {
                break;
            }
            self.world.clock.set_to(next);
        }
        self.world.all_invariants_hold();
    }

    fn count(&self, rows: &str) -> usize {
        let count = format!("SELECT count(*) FROM outbox WHERE {rows}");
        self.world.ask(&count).parse().expect("a number")
    }

    fn owe(&self, alert: Alert, to: Vec<Addressee>) {
        let owed = Owed {
            dedup_key: alert.short_id.clone(),
            priority: alert.severity.priority().expect("a severity that matters"),
            alert,
            to,
            ..owed("", &screen(), Priority::High)
        };
        let now = self.world.clock.now();
        let enqueue = move |db: &Db| outbox::enqueue(db, &owed, now).map(|_| ());
        self.world.write(enqueue).expect("enqueued");
    }
}

impl Home for House {
    fn world(&self) -> &World {
        &self.world
    }

    fn scene(&self) -> Scene {
        let around = Surroundings {
            directory: self.world.dir.path(),
            credentials: None,
            program: Program::Sender,
        };
        Scene {
            config: Config::parse(&self.config(), &around).expect("a good configuration"),
            clock: self.world.clock.clone(),
            chance: fastrand::Rng::with_seed(7),
            output: Output::new(io::sink()),
            style: Style::default(),
        }
    }

    fn past(&self) -> &OnceCell<Epoch> {
        &self.past
    }

    fn open(&self) -> Vec<Open> {
        let silent = self.silent.get().map(|chat| Open {
            chat: Some(chat.to_owned()),
            at: None,
            over_at: None,
        });
        let both = [&self.ops, &self.team].map(Open::at);
        both.into_iter().flatten().chain(silent).collect()
    }

    fn step(&self) -> Duration {
        SECOND
    }
}

fn screen() -> Destination {
    to("screen", "-")
}

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
