//! Rates of the protocol alone, without a network: the calls that the programs make, on their
//! writer thread, with so many of them under way at once.

use super::Scale;
use super::figures::Table;
use shared::config::{Config, Program, Surroundings};
use shared::model::{Destination, Priority};
use shared::platform::clock::Clock;
use shared::platform::term::Style;
use shared::store::outbox::{self, Claim, Epoch, Owed};
use shared::store::{Store, StoreError};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;
use watchalert_sender::channel::console::Output;
use watchalert_sender::drain::Until;
use watchalert_sender::run::{Scene, run};
use watchalert_tests::world::{Unlimited, owed, receipt, to};

/// Rows that one prefilling transaction writes.
const TOGETHER: usize = 100;

/// A fresh database.
pub fn store(dir: &Path, name: &str) -> Arc<Store> {
    let path = dir.join(name);
    Arc::new(Store::open(&path).expect("a fresh database"))
}

pub async fn take_over(store: &Store) -> Epoch {
    let now = Clock::system().now();
    let taken = store.write(move |db| outbox::take_over(db, "benchmark", now));
    taken.await.expect("taken over").epoch
}

pub fn chat(number: usize) -> Destination {
    to("screen", &format!("chat-{number}"))
}

/// An alert of the usual length.
pub fn alert(key: &str, destination: &Destination) -> Owed {
    let mut owed = owed(key, destination, Priority::High);
    owed.alert.summary =
        "A crafted address runs commands as root. Update, or turn rewriting off. ".repeat(4);
    owed
}

/// Two rates: one commit after the other, and 32 callers whose commits are shared.
pub async fn enqueue_alone(table: &mut Table, dir: &Path, scale: Scale) {
    for (callers, what) in [(1, "1 after the other"), (32, "32 at once")] {
        let store = store(dir, &format!("enqueue-{callers}.db"));
        let sync = table.sync_latency();
        let (done, took) = at_once(callers, scale.rate, move |caller, turn| {
            let store = Arc::clone(&store);
            async move {
                enqueue(&store, caller, turn).await;
                true
            }
        })
        .await;
        let what = format!("enqueue: alert and row, {what}");
        table.rate(&what, done, took, sync, None);
    }
}

/// What the sender does for each delivery, beside the sending.
pub async fn claim_and_settle(table: &mut Table, dir: &Path, scale: Scale) {
    for flights in [1, 16, 64] {
        let store = store(dir, &format!("settle-{flights}.db"));
        let epoch = take_over(&store).await;
        // A fast disk delivers them all before the time is over.
        let rows = 6_000 * usize::try_from(scale.rate.as_millis()).unwrap_or(0) / 1_000;
        prefill(&store, flights, rows).await;
        let sync = table.sync_latency();
        let (done, took) = at_once(flights, scale.rate, move |flight, _| {
            let store = Arc::clone(&store);
            async move { deliver(&store, epoch, flight).await }
        })
        .await;
        let what = format!("deliver: claim and settle, {flights} in flight");
        let bar = (flights == 64).then_some(1_000.0);
        table.rate(&what, done, took, sync, bar);
    }
}

/// An alert's whole way through the file, three commits.
pub async fn whole_path(table: &mut Table, dir: &Path, scale: Scale) {
    for flights in [1, 16, 64] {
        let store = store(dir, &format!("path-{flights}.db"));
        let epoch = take_over(&store).await;
        let sync = table.sync_latency();
        let (done, took) = at_once(flights, scale.rate, move |flight, turn| {
            let store = Arc::clone(&store);
            async move {
                enqueue(&store, flight, turn).await;
                deliver(&store, epoch, flight).await
            }
        })
        .await;
        let what = format!("enqueue, claim and settle, {flights} in flight");
        table.rate(&what, done, took, sync, None);
    }
}

/// The sender as it is, with its schedule and its console, printing to nowhere.
pub async fn the_senders_loop(table: &mut Table, dir: &Path, scale: Scale) {
    let rows = 2_000 * usize::try_from(scale.rate.as_millis()).unwrap_or(0) / 1_000;
    let prefilled = store(dir, "loop.db");
    prefill(&prefilled, 64, rows).await;
    drop(prefilled);
    let sync = table.sync_latency();
    let scene = Scene {
        config: config(dir.join("loop.db")),
        clock: Clock::system(),
        chance: fastrand::Rng::with_seed(7),
        output: Output::new(std::io::sink()),
        style: Style { colour: false },
    };
    let began = Instant::now();
    let drained = run(scene, Until::Empty, std::future::pending()).await;
    let took = began.elapsed();
    let sent = drained.expect("drained").sent;
    assert_eq!(sent, rows, "every row is sent once");
    table.rate(
        "the sender itself, 64 chats, console to nowhere",
        sent,
        took,
        sync,
        Some(1_000.0),
    );
}

fn config(state_path: PathBuf) -> Config {
    let text = "channel.screen.kind = \"console\"";
    let around = Surroundings {
        directory: Path::new("/"),
        credentials: None,
        program: Program::Sender,
    };
    let mut config = Config::parse(text, &around).expect("a good configuration");
    config.state_path = state_path;
    config
}

/// Runs `turn(caller, n)` again and again in so many callers at once, until it answers `false` or
/// the time is over. Returns how many turns were done, and in what time.
async fn at_once<F>(
    callers: usize,
    time: Duration,
    turn: impl Fn(usize, usize) -> F + Clone + Send + Sync + 'static,
) -> (usize, Duration)
where
    F: Future<Output = bool> + Send,
{
    let done = Arc::new(AtomicUsize::new(0));
    let began = Instant::now();
    let mut running = JoinSet::new();
    for caller in 0..callers {
        let (turn, done) = (turn.clone(), Arc::clone(&done));
        running.spawn(async move {
            let mut n = 0;
            while began.elapsed() < time && turn(caller, n).await {
                n += 1;
            }
            done.fetch_add(n, Ordering::SeqCst);
        });
    }
    while let Some(ended) = running.join_next().await {
        ended.expect("no caller panics");
    }
    (done.load(Ordering::SeqCst), began.elapsed())
}

pub async fn enqueue(store: &Store, caller: usize, turn: usize) {
    let (owed, now) = (
        alert(&format!("{caller}.{turn}"), &chat(caller)),
        Clock::system().now(),
    );
    let stored = store.write(move |db| outbox::enqueue(db, &owed, now));
    stored.await.expect("enqueued");
}

/// One delivery, without the sending. `false`: nothing waits for that chat any more.
async fn deliver(store: &Store, epoch: Epoch, flight: usize) -> bool {
    let (destination, now) = (chat(flight), Clock::system().now());
    let claimed = store.write(move |db| outbox::claim(db, epoch, &destination, &Unlimited, now));
    let Claim::Leased(lease) = claimed.await.expect("a claim") else {
        return false;
    };
    let (settlement, now) = (receipt("a-receipt"), Clock::system().now());
    let settled = store.write(move |db| outbox::settle(db, &lease, &settlement, None, now));
    settled.await.expect("settled");
    true
}

/// `rows` alerts for `chats` chats in turn.
pub async fn prefill(store: &Store, chats: usize, rows: usize) {
    let now = Clock::system().now();
    for first in (0..rows).step_by(TOGETHER) {
        let batch = first..rows.min(first + TOGETHER);
        let fill = move |db: &shared::store::Db| {
            for row in batch.clone() {
                outbox::enqueue(db, &alert(&format!("row {row}"), &chat(row % chats)), now)?;
            }
            Ok::<(), StoreError>(())
        };
        store.write(fill).await.expect("filled");
    }
}
