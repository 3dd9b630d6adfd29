//! A world of its own for each test: a folder, a set clock, a store, and the sqlite3 prompt.

use rusqlite::Connection;
use shared::model::{
    Alert, Category, Delivery, Destination, Fault, Folding, GateKeys, Gatekeeper, Gates, Judge,
    Lease, Pass, Priority, Receipt, Settlement, Severity, Timestamp,
};
use shared::platform::clock::Clock;
use shared::store::outbox::{self, Claim, Epoch, Owed};
use shared::store::{Db, Store, StoreError, invariants};
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// 2026-11-30T08:00:00Z, when the clock of every world starts.
pub const START: Timestamp = Timestamp::from_unix_millis(1_796_025_600_000);

pub struct World {
    pub dir: TempDir,
    pub clock: Clock,
    pub store: Store,
    runtime: Runtime,
}

impl World {
    pub fn new() -> Self {
        Self::within(tempfile::tempdir().expect("a temporary folder"))
    }

    /// One alert of high priority, "one", waits for the screen, and a sender has taken over.
    pub fn with_one() -> (Self, Destination, Epoch) {
        let world = Self::new();
        let screen = to("screen", "-");
        world.enqueue("one", &screen, Priority::High);
        let epoch = world.take_over();
        (world, screen, epoch)
    }

    /// In memory, where the machine has a folder for that: for hours of deliveries, which shall not
    /// wait for a disk.
    pub fn in_memory() -> Self {
        match tempfile::tempdir_in("/dev/shm") {
            Ok(dir) => Self::within(dir),
            Err(_) => Self::new(),
        }
    }

    fn within(dir: TempDir) -> Self {
        let store = Store::open(&dir.path().join("state.db")).expect("a fresh database");
        Self {
            dir,
            clock: Clock::set(START),
            store,
            runtime: runtime(),
        }
    }

    pub fn database(&self) -> PathBuf {
        self.store.path().to_owned()
    }

    /// One job of the writer thread.
    pub fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Db) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.runtime.block_on(self.store.write(work))
    }

    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    pub fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Db) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        self.runtime
            .block_on(self.store.read(work))
            .expect("a read of a good file")
    }

    /// A stranger's connection, as the sqlite3 CLI has one: no pragmas of ours.
    pub fn stranger(&self) -> Connection {
        stranger(&self.database())
    }

    pub fn enqueue(&self, key: &str, to: &Destination, priority: Priority) -> i64 {
        let (owed, now) = (owed(key, to, priority), self.clock.now());
        self.write(move |db| outbox::enqueue(db, &owed, now))
            .expect("enqueued")
            .alert_id()
    }

    /// A new sender: its epoch.
    pub fn take_over(&self) -> Epoch {
        let now = self.clock.now();
        self.write(move |db| outbox::take_over(db, "test", now))
            .expect("taken over")
            .epoch
    }

    pub fn claim(&self, epoch: Epoch, to: &Destination) -> Claim {
        self.try_claim(epoch, to).expect("a claim")
    }

    pub fn try_claim(&self, epoch: Epoch, to: &Destination) -> Result<Claim, StoreError> {
        let (to, now) = (to.clone(), self.clock.now());
        self.write(move |db| outbox::claim(db, epoch, &to, &Unlimited, now))
    }

    pub fn lease(&self, epoch: Epoch, to: &Destination) -> Box<Lease<Delivery>> {
        match self.claim(epoch, to) {
            Claim::Leased(lease) => lease,
            other => panic!("a lease was expected, not {other:?}"),
        }
    }

    pub fn settle(
        &self,
        lease: Box<Lease<Delivery>>,
        settlement: Settlement,
        notices: Option<Destination>,
    ) -> Result<outbox::Settled, StoreError> {
        let now = self.clock.now();
        self.write(move |db| outbox::settle(db, &lease, &settlement, notices.as_ref(), now))
    }

    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Every test ends with it.
    pub fn all_invariants_hold(&self) {
        let now = self.clock.now();
        let violations = self.read(move |db| invariants::check(db, now));
        assert_eq!(violations, Vec::new());
    }

    /// One value, read by a stranger.
    pub fn ask(&self, sql: &str) -> String {
        ask(&self.stranger(), sql)
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

pub fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Lets no timer run before `holds`, which the outside world brings about, and none wait after that: what
/// hangs from then on is given up at once.
pub async fn skip_waits_once(holds: impl Fn() -> bool) {
    while !holds() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    tokio::time::pause();
}

pub fn stranger(path: &std::path::Path) -> Connection {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE;
    let db = Connection::open_with_flags(path, flags).expect("the database opens");
    db.pragma_update(None, "foreign_keys", false)
        .expect("as the CLI has it");
    db
}

/// No limits: only a gate that somebody closed keeps a delivery waiting.
pub struct Unlimited;

impl Gatekeeper for Unlimited {
    fn keys(&self, to: &Destination) -> GateKeys {
        GateKeys {
            channel: to.channel.clone(),
            bot: to.channel.clone(),
            method: format!("{}/sendMessage", to.channel),
            chat: to.to_string(),
        }
    }

    fn pass(&self, _: &Destination, gates: &Gates, _: Priority, now: Timestamp) -> Pass {
        watchalert_sender::policy::limiter::pass_unlimited(gates, now)
    }

    fn folding(&self, _: &Destination) -> Option<Folding> {
        None
    }

    fn pack(&self, _: &Destination, _: &[Alert]) -> Vec<usize> {
        Vec::new()
    }
}

/// No limits, and all that waits in digests of at most so many.
pub struct Folds(pub usize);

impl Gatekeeper for Folds {
    fn keys(&self, to: &Destination) -> GateKeys {
        Unlimited.keys(to)
    }

    fn pass(&self, to: &Destination, gates: &Gates, priority: Priority, now: Timestamp) -> Pass {
        Unlimited.pass(to, gates, priority, now)
    }

    fn folding(&self, _: &Destination) -> Option<Folding> {
        Some(Folding {
            singles: 3,
            window: Duration::from_secs(30),
        })
    }

    fn pack(&self, _: &Destination, alerts: &[Alert]) -> Vec<usize> {
        alerts.chunks(self.0).map(<[Alert]>::len).collect()
    }
}

/// The first column of the first row as text; `NULL` when there is none.
pub fn ask(db: &Connection, sql: &str) -> String {
    use rusqlite::types::Value;
    let value = db.query_row(sql, [], |row| row.get::<_, Value>(0));
    match value.unwrap_or(Value::Null) {
        Value::Null => "NULL".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text,
        Value::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}

pub fn to(channel: &str, chat_id: &str) -> Destination {
    Destination {
        channel: channel.to_owned(),
        chat_id: chat_id.to_owned(),
    }
}

pub fn alert(key: &str, severity: Severity) -> Alert {
    Alert {
        v: Alert::VERSION,
        short_id: "a1b2c3".to_owned(),
        severity,
        category: Category::Other,
        title: format!("Title of {key}"),
        summary: String::new(),
        link: Some(format!("https://example.org/{key}")),
        source: "example.org".to_owned(),
        also: Vec::new(),
        reason: "a test says so".to_owned(),
        judge: Judge::Rule,
        published: None,
    }
}

pub fn owed(key: &str, to: &Destination, priority: Priority) -> Owed {
    let severity = Severity::ALL
        .iter()
        .copied()
        .find(|severity| severity.priority() == Some(priority))
        .expect("each priority has its severity");
    Owed {
        dedup_key: key.to_owned(),
        alert: alert(key, severity),
        priority,
        to: vec![to.clone().into()],
        cves: None,
        raised_from: None,
        not_owed: None,
    }
}

pub fn receipt(id: &str) -> Settlement {
    Settlement::Complete(Receipt {
        message_id: id.to_owned(),
    })
}

pub fn fault(blame: shared::model::Blame, maybe_delivered: bool) -> Fault {
    Fault {
        blame,
        hold: None,
        retry_after: None,
        maybe_delivered,
        detail: "a scripted fault".to_owned(),
    }
}
