//! The machine: the file, the clock, a sender without a network, and beside them the reference; every step is
//! taken by both, and they must agree.

use super::picture::Picture;
use super::step::Step;
use super::truth::Truth;
use rusqlite::Connection;
use shared::config::{Config, Program, Surroundings};
use shared::model::{Delivery, Destination, Lease, Timestamp};
use shared::platform::term::Style;
use shared::store::outbox::Epoch;
use shared::store::{Db, StoreError, invariants};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use watchalert_sender::channel::Channels;
use watchalert_sender::channel::console::Output;
use watchalert_sender::policy::hold::Evidence;
use watchalert_sender::policy::schedule::Schedule;
use watchalert_tests::programs::schema_mutant;
use watchalert_tests::world::{World, to};

/// What is wrong, in words.
pub type Held<T = ()> = Result<T, String>;

/// A chat, another one, a group, a topic of ntfy, a screen, and a channel that nobody configured.
const PLACES: [(&str, &str); 6] = [
    ("ops", "7"),
    ("ops", "8"),
    ("ops", "-1001"),
    ("phone", "news"),
    ("screen", "-"),
    ("gone", "1"),
];

pub fn place(number: u8) -> Destination {
    let (channel, chat) = PLACES[usize::from(number) % PLACES.len()];
    to(channel, chat)
}

/// Longer than finished rows are kept.
const FORGOTTEN: Duration = Duration::from_secs(91 * 86_400);
/// Age decides nothing before that.
const UNSURE: Duration = Duration::from_secs(600);

const CONFIG: &str = "\
default_channel = 'ops'
[state]
path = 'state.db'
[channel.ops]
kind = 'telegram'
token_file = 'token'
chat_id = 7
[channel.phone]
kind = 'ntfy'
topic = 'news'
[channel.screen]
kind = 'console'
";

/// The sender's own gatekeepers, with Telegram's and ntfy's limits and without.
static CHANNELS: LazyLock<[Arc<Channels>; 2]> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let token = folder.path().join("token");
    std::fs::write(&token, "1234567:abcdefghijklmnopqrstuvwxyzabcdefghi").expect("written");
    std::fs::set_permissions(&token, Permissions::from_mode(0o600)).expect("locked up");
    let around = Surroundings {
        directory: folder.path(),
        credentials: None,
        program: Program::Sender,
    };
    let config = Config::parse(CONFIG, &around).expect("a good configuration");
    let open = || {
        let output = Output::new(std::io::sink());
        Channels::open(&config.channels, &output, Style::default()).with_digests(config.digests)
    };
    [Arc::new(open()), Arc::new(open().without_limits())]
});

/// `scripts/mutants` takes a guard out of the schema, which needs no other build.
static MUTANT: LazyLock<Option<(String, String)>> = LazyLock::new(schema_mutant);

fn break_schema(db: &Connection, text: &str, instead: &str) {
    let breaks = |sql: &str| db.execute(sql, [text, instead]).expect("broken");
    db.execute_batch("PRAGMA writable_schema=ON")
        .expect("as one may");
    let broken = breaks("UPDATE sqlite_master SET sql=replace(sql,?1,?2) WHERE instr(sql,?1)>0");
    assert_eq!(broken, 1, "the text stands in the schema once");
    db.execute_batch("PRAGMA schema_version=7007; PRAGMA writable_schema=OFF")
        .expect("every connection reads it again");
}

/// One request that is under way.
pub struct Flight {
    pub lease: Arc<Lease<Delivery>>,
    pub written: Timestamp,
}

pub struct Sender {
    pub epoch: Epoch,
    pub schedule: Schedule,
    pub flights: Vec<Flight>,
    pub evidence: Evidence,
    /// When it began, or its clock was last set by much.
    pub since: Duration,
}

pub struct Machine {
    pub world: World,
    /// The stranger's connection.
    pub db: Connection,
    pub channels: Arc<Channels>,
    pub has_limits: bool,
    pub must: Picture,
    pub truth: Truth,
    pub sender: Sender,
    /// What senders before held when they were fenced.
    pub late: Vec<Flight>,
    pub late_epochs: Vec<Epoch>,
    pub posts: super::posts::Posts,
    pub messages: u64,
}

impl Machine {
    pub fn new(has_limits: bool) -> Self {
        let world = World::in_memory();
        let db = world.stranger();
        // The folder is in memory: what is not flushed cannot get lost here.
        db.execute_batch("PRAGMA synchronous=OFF").expect("set");
        if let Some((text, instead)) = &*MUTANT {
            break_schema(&db, text, instead);
        }
        let mut must = Picture::taken(&db);
        let epoch = world.take_over();
        must.take_over(world.clock.now());
        Self {
            channels: Arc::clone(&CHANNELS[usize::from(!has_limits)]),
            has_limits,
            must,
            truth: Truth::default(),
            sender: Sender::new(epoch, world.clock.steady()),
            late: Vec::new(),
            late_epochs: Vec::new(),
            posts: super::posts::Posts::default(),
            messages: 0,
            db,
            world,
        }
    }

    pub fn now(&self) -> Timestamp {
        self.world.clock.now()
    }

    pub fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Db) -> Result<T, StoreError> + Send + 'static,
    ) -> Held<T> {
        self.world
            .write(work)
            .map_err(|error| format!("a job failed: {error}"))
    }

    /// What goes a hundred rows at a time goes on until there is none.
    pub fn write_until_none(
        &self,
        work: impl FnMut(&Db) -> Result<usize, StoreError> + Clone + Send + 'static,
    ) -> Held {
        for _ in 0..100 {
            if self.write(work.clone())? == 0 {
                return Ok(());
            }
        }
        Err("what is done a hundred rows at a time never ends".to_owned())
    }

    pub fn is_sure(&self) -> bool {
        self.world.clock.steady().saturating_sub(self.sender.since) >= UNSURE
    }

    /// Takes the step, and looks at everything.
    pub fn take(&mut self, step: &Step) -> Held {
        match step {
            Step::Enqueue(story) => self.enqueue(story)?,
            Step::Post {
                thread,
                is_end,
                severity,
                number,
                judge,
            } => {
                self.post((*thread, *is_end, *number), *severity)?;
                if *judge {
                    self.judge()?;
                }
            }
            Step::Insert(insert) => self.insert(insert)?,
            Step::Breach { which, row } => self.breach(*which, *row),
            Step::Send { most } => self.send(usize::from(*most))?,
            Step::Land { flight, answer } => self.land(*flight, answer)?,
            Step::Crash { arrived, is_kept } => self.crash(*arrived, *is_kept, 0)?,
            Step::Late { what, answer } => self.come_late(*what, answer)?,
            Step::Pass { millis } => self
                .world
                .advance(Duration::from_millis(millis.unsigned_abs())),
            Step::Turn {
                millis,
                is_away: false,
            } => self.turn(*millis)?,
            Step::Turn {
                millis,
                is_away: true,
            } => self.crash(0, false, *millis)?,
            Step::Minute => self.minute()?,
            Step::Retry(row) => self.retry(*row)?,
            Step::Discard(row) => self.discard(*row)?,
            Step::Silence { pattern, secs } => self.silence(*pattern, *secs)?,
            Step::EndSilence(number) => self.end_silence(*number)?,
            Step::Pause { place, secs } => self.pause(*place, *secs)?,
        }
        self.check()
    }

    /// The file is what the reference says, the invariants hold, and so do the promises.
    pub fn check(&self) -> Held {
        let is = Picture::taken(&self.db);
        let mut wrong = is.differences(&self.must);
        wrong.extend(self.truth.broken(&is));
        wrong.extend(super::counted::contradictions(&self.db));
        let violations =
            invariants::check(&self.db, self.now()).map_err(|error| error.to_string())?;
        wrong.extend(
            violations
                .iter()
                .map(|violation| format!("invariant: {violation:?}")),
        );
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(wrong.join("\n"))
        }
    }

    /// All faults are over: what waits is delivered within the time that its waits take.
    pub fn drain(&mut self) -> Held {
        use super::step::Answer;
        for _ in 0..150 {
            self.world.advance(Duration::from_secs(61));
            self.minute()?;
            if !self
                .must
                .rows
                .values()
                .any(|row| row.is("leased") || (row.is("ready") && row.channel != "gone"))
            {
                break;
            }
            self.send(usize::MAX)?;
            while !self.sender.flights.is_empty() {
                self.land(0, &Answer::Delivered)?;
            }
            self.skip_waits();
        }
        self.check()?;
        let left = Truth::undelivered(&self.must);
        if !left.is_empty() {
            return Err(left.join("\n"));
        }
        // And after the retention it is forgotten, with its alerts, and the books balance.
        self.world.advance(FORGOTTEN);
        self.minute()?;
        self.check()
    }

    /// Lets the time pass until something may go.
    fn skip_waits(&self) {
        let now = self.now();
        let rows = self
            .must
            .rows
            .values()
            .filter(|row| row.is("ready") && row.channel != "gone");
        let mut places: BTreeMap<Destination, BTreeSet<Timestamp>> = BTreeMap::new();
        for row in rows {
            places.entry(row.to()).or_default().insert(row.due_at());
        }
        let gates = self
            .must
            .gates
            .values()
            .map(|gate| gate.closed_until(now))
            .max();
        let due = places.values().filter_map(BTreeSet::first).min().copied();
        if let Some(due) = due {
            let wait = due.since(now);
            self.world.advance(wait);
        }
        if let Some(open) = gates.filter(|open| *open > self.now()) {
            self.world.advance(open.since(self.now()));
        }
    }

    /// A row of those that are there, counted around.
    pub fn some_row(&self, number: u8) -> Option<i64> {
        let count = self.must.rows.len().max(1);
        self.must
            .rows
            .keys()
            .nth(usize::from(number) % count)
            .copied()
    }
}

impl Sender {
    pub fn new(epoch: Epoch, since: Duration) -> Self {
        Self {
            epoch,
            schedule: Schedule::default(),
            flights: Vec::new(),
            evidence: Evidence::default(),
            since,
        }
    }
}
