//! What every channel owes whoever relies on it, whatever comes back: a delivery is sent, or waits, or is dead
//! for a reason that no wait can cure; no second copy without a mark; no secret anywhere. Through the whole
//! sender, against another side at the socket. A kind of channel is one file below `contract/`.

#[path = "contract/console.rs"]
mod console;
#[path = "contract/email.rs"]
mod email;
#[path = "contract/front.rs"]
mod front;
#[path = "contract/ntfy.rs"]
mod ntfy;
#[path = "contract/secrets.rs"]
mod secrets;
#[path = "contract/telegram.rs"]
mod telegram;

use shared::config::{Config, Program, Surroundings};
use shared::model::Priority;
use shared::platform::term::Style;
use shared::store::outbox;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use watchalert_sender::channel::console::Output;
use watchalert_sender::drain::Until;
use watchalert_sender::run::{Scene, run};
use watchalert_tests::world::{START, World, owed, runtime, skip_waits_once, to};

/// What an answer really means, by the documents of whoever gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Truth {
    Accepted,
    /// Surely not taken.
    Refused,
    /// Nobody can tell.
    Unclear,
}

/// One way to answer. Each case is a channel of its own, so that none stands behind another's gate.
#[derive(Clone, Debug)]
struct Case {
    /// The channel's name.
    name: String,
    truth: Truth,
}

/// A kind of channel, with whoever is at its other end.
trait OtherSide {
    fn cases(&self) -> Vec<Case>;

    /// What `[channel.NAME]` holds.
    fn section(&self, case: &Case) -> String;

    /// The inside address of its channels.
    fn address(&self) -> &'static str;

    /// Files with secrets, by name.
    fn secret_files(&self) -> &[(&'static str, &'static str)];

    /// What nobody may ever read.
    fn secrets(&self) -> &[&'static str];

    /// From now on everything is accepted.
    fn recover(&mut self);

    /// The texts of the copies that came in whole, in their order, by the name of the case.
    fn received(&self) -> BTreeMap<String, Vec<String>>;

    /// How much its library says at most.
    fn talkative(&self) -> &'static str {
        " TRACE "
    }

    /// Nobody answers, and everybody has been asked.
    fn hangs(&self) -> bool {
        false
    }
}

/// The configuration of every case; what the sender says of itself goes to a console.
fn configuration(side: &dyn OtherSide, folder: &Path) -> String {
    for (name, secret) in side.secret_files() {
        let file = folder.join(name);
        fs::write(&file, secret).expect("written");
        fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("locked up");
    }
    let mut text = "default_channel = \"a-screen\"\n".to_owned();
    text += "[channel.a-screen]\nkind = \"console\"\n";
    for case in side.cases() {
        text += &format!("[channel.{}]\n{}\n", case.name, side.section(&case));
    }
    text
}

/// A row for each case, and senders that come and go over them.
struct Room<'s> {
    side: &'s mut dyn OtherSide,
    world: World,
    config: Config,
}

impl<'s> Room<'s> {
    fn new(side: &'s mut dyn OtherSide) -> Self {
        let world = World::new();
        let mut text = configuration(side, world.dir.path());
        text += "[state]\npath = \"state.db\"\nmin_free = \"0 KiB\"\n";
        let around = Surroundings {
            directory: world.dir.path(),
            credentials: None,
            program: Program::Sender,
        };
        let config = Config::parse(&text, &around).expect("a good configuration");
        let address = side.address();
        let owed: Vec<_> = side
            .cases()
            .iter()
            .map(|case| owed(&case.name, &to(&case.name, address), Priority::High))
            .collect();
        world
            .write(move |db| {
                let enqueue = |owed| outbox::enqueue(db, owed, START).map(|_| ());
                owed.iter().try_for_each(enqueue)
            })
            .expect("enqueued");
        Self {
            side,
            world,
            config,
        }
    }

    /// One sender, so long after the start, until nothing may be sent.
    fn send_at(&self, after: Duration) {
        self.world.clock.set_to(START + after);
        let scene = Scene {
            config: self.config.clone(),
            clock: self.world.clock.clone(),
            chance: fastrand::Rng::with_seed(7),
            output: Output::new(io::sink()),
            style: Style::default(),
        };
        let sending = run(scene, Until::Empty, std::future::pending());
        let impatience = async {
            skip_waits_once(|| self.side.hangs()).await;
            std::future::pending::<()>().await;
        };
        let ended = runtime().block_on(async {
            tokio::select! {
                ended = sending => ended,
                () = impatience => unreachable!("it waits for ever"),
            }
        });
        ended.expect("a clean end");
    }

    /// State and last error of each case's row.
    fn rows(&self) -> BTreeMap<String, (String, String)> {
        let db = self.world.stranger();
        let sql = "SELECT channel,state,coalesce(last_error,'') FROM outbox WHERE kind='alert'";
        let mut statement = db.prepare(sql).expect("prepared");
        let rows = statement.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))));
        let rows = rows.expect("asked").collect::<rusqlite::Result<_>>();
        rows.expect("rows")
    }

    /// While the other side is as bad as it is.
    fn each_is_where_it_belongs(&self) {
        let rows = self.rows();
        for case in self.side.cases() {
            let (state, why) = &rows[&case.name];
            let belongs = match (case.truth, state.as_str()) {
                (Truth::Accepted, state) => state == "sent",
                (_, "ready") => true,
                (Truth::Refused, "dead") => why.starts_with("refused"),
                (Truth::Unclear, "dead") => why.starts_with("outcome unknown after 3 copies"),
                _ => false,
            };
            assert!(belongs, "{case:?} is {state}: {why}");
        }
        let bugs = "SELECT count(*) FROM attempt WHERE detail LIKE 'a bug%'";
        assert_eq!(self.world.ask(bugs), "0");
        self.no_copy_is_without_its_mark();
        self.world.all_invariants_hold();
    }

    fn no_copy_is_without_its_mark(&self) {
        let received = self.side.received();
        for case in self.side.cases() {
            let copies = received.get(&case.name).map_or(&[][..], Vec::as_slice);
            let is_marked = |text: &&String| text.contains("possible repeat");
            let unmarked = copies.iter().filter(|text| !is_marked(text)).count();
            match case.truth {
                Truth::Accepted => assert_eq!(copies.len(), 1, "{case:?}: {copies:?}"),
                Truth::Unclear => assert!(unmarked <= 1, "{case:?}: {copies:?}"),
                Truth::Refused => {}
            }
        }
    }

    /// What waited while the other side was bad goes when it is good, and what is dead stays dead.
    fn recovers(&mut self, mut after: Duration) {
        let dead = "SELECT count(*) FROM outbox WHERE state='dead'";
        let before = self.world.ask(dead);
        self.side.recover();
        let waits = "SELECT count(*) FROM outbox WHERE state IN ('ready','leased')";
        for _ in 0..16 {
            after += Duration::from_secs(1_800);
            self.send_at(after);
            if self.world.ask(waits) == "0" {
                break;
            }
        }
        assert_eq!(self.world.ask(waits), "0");
        assert_eq!(self.world.ask(dead), before);
        self.no_copy_is_without_its_mark();
        self.world.all_invariants_hold();
    }
}

/// These answers for a while, then good ones. Long enough for what is tried at once, again, and for a third
/// and last time, and for the first probes of what is closed.
fn keeps_the_contract(side: &mut dyn OtherSide) {
    let mut room = Room::new(side);
    let moments = [0, 5, 30, 90, 700].map(Duration::from_secs);
    for after in moments {
        room.send_at(after);
        room.each_is_where_it_belongs();
    }
    room.recovers(moments[moments.len() - 1]);
}

/// These answers once, then good ones.
fn keeps_the_contract_once(side: &mut dyn OtherSide) {
    let mut room = Room::new(side);
    room.send_at(Duration::ZERO);
    for (name, (state, _)) in room.rows() {
        assert_eq!(state, "ready", "{name}");
    }
    room.each_is_where_it_belongs();
    room.recovers(Duration::ZERO);
}
