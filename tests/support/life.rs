//! A sender that lives on a time which the test alone moves: its timers and the wall clock go
//! together, and both stand still for as long as anything is being done. So a minute takes a
//! moment, and what is measured is what the sender waits for, not how fast the machine is.

use crate::programs::now as machine_now;
use crate::telegram::Telegram;
use crate::world::{World, owed};
use shared::Failure;
use shared::model::{Destination, Priority, Timestamp};
use shared::platform::doorbell;
use shared::store::outbox::{self, Claim, Epoch};
use shared::store::{Db, StoreError, beside};
use std::cell::{Cell, OnceCell};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::task::{JoinHandle, spawn_blocking, yield_now};
use watchalert_sender::channel::Channels;
use watchalert_sender::drain::{Drained, Until};
use watchalert_sender::run::{Scene, run};

/// While a request waits in silence the sender's deadlines run, and nobody knows when they end.
const STEP: Duration = Duration::from_millis(100);
/// A step when nothing waits for anything.
const NOTHING: Duration = Duration::from_secs(3_600);
/// A sender that could do something and does not is given this long of the machine's time, and
/// then sees the time pass: what it missed costs it.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same for a delivery that is under way and at no stand-in.
const FLYING: Duration = Duration::from_secs(20);
const MISSED: Duration = Duration::from_millis(10);
/// Turns of the runtime between two looks.
const TURNS: usize = 10;

/// Where a sender can live.
pub trait Home {
    fn world(&self) -> &World;
    /// What the next sender is started with.
    fn scene(&self) -> Scene;
    /// Of a sender before all others.
    fn past(&self) -> &OnceCell<Epoch>;
    /// The requests for which somebody waits now.
    fn open(&self) -> Vec<Open>;

    /// How finely the time passes while a request waits in silence.
    fn step(&self) -> Duration {
        STEP
    }

    /// A sender lives while `play` runs. Then it is gone from one moment to the next, wherever it
    /// was, as after `kill -9`.
    fn live<T>(&self, play: impl AsyncFnOnce(&Life<'_, Self>) -> T) -> T
    where
        Self: Sized,
    {
        let past = *self.past().get_or_init(|| self.world().take_over());
        let runtime = Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            // While a thread of its own is at work tokio does not move the time by itself.
            let (_hold, held) = mpsc::channel::<()>();
            drop(spawn_blocking(move || held.recv().is_ok()));
            let scene = self.scene();
            let Scene {
                config,
                output,
                style,
                ..
            } = &scene;
            let channels = Channels::open(&config.channels, output, *style);
            let life = Life {
                home: self,
                past,
                channels: Arc::new(channels.with_digests(config.digests)),
                sender: tokio::spawn(run(scene, Until::Stopped, std::future::pending())),
                idles_since: Cell::new(None),
            };
            play(&life).await
        })
    }
}

/// A request under way at a stand-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// Whose delivery it is; `None`: it may be anybody's.
    pub chat: Option<String>,
    /// When it came, where that is known.
    pub at: Option<Timestamp>,
    /// When its answer goes out; `None`: it waits in silence.
    pub over_at: Option<Timestamp>,
}

impl Open {
    pub fn at(telegram: &Telegram) -> Vec<Self> {
        let open = telegram.open_requests().into_iter();
        open.map(|asked| Self {
            chat: asked.chat().map(str::to_owned),
            at: Some(asked.at),
            over_at: asked.over_at,
        })
        .collect()
    }

    fn holds(&self, chat: &str, since: Timestamp) -> bool {
        self.at.is_none_or(|at| at >= since) && self.chat.as_deref().is_none_or(|of| of == chat)
    }
}

/// One sender, and the hand on its clock.
pub struct Life<'r, H: Home> {
    home: &'r H,
    /// Of a sender that is long gone, to ask with what could be claimed.
    past: Epoch,
    channels: Arc<Channels>,
    sender: JoinHandle<Result<Drained, Failure>>,
    /// When the sender was last seen to have something to do and to do nothing.
    idles_since: Cell<Option<std::time::Instant>>,
}

/// What the file says at one moment.
enum Seen {
    /// Something may start now.
    Claimable,
    /// In flight, by chat and since when; and when the next may start.
    Waits(Vec<(String, Timestamp)>, Option<Timestamp>),
}

impl<H: Home> Life<'_, H> {
    pub fn now(&self) -> Timestamp {
        self.home.world().clock.now()
    }

    /// Commits an alert and rings, as a tick does.
    pub async fn enqueue(&self, key: &str, to: &Destination, priority: Priority) {
        let (owed, now) = (owed(key, to, priority), self.now());
        let store = &self.home.world().store;
        let enqueue = move |db: &Db| outbox::enqueue(db, &owed, now);
        store.write(enqueue).await.expect("enqueued");
        doorbell::ring(&beside(store.path(), ".bell"));
    }

    /// One job of the writer thread, and a ring.
    pub async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Db) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        let store = &self.home.world().store;
        let written = store.write(work).await.expect("written");
        doorbell::ring(&beside(store.path(), ".bell"));
        written
    }

    pub async fn pass(&self, time: Duration) {
        self.pass_until(self.now() + time, || false).await;
    }

    /// Lets the time pass until nothing waits, at most so long.
    pub async fn drain(&self, bound: Duration) {
        let end = self.now() + bound;
        let waits = "SELECT count(*) FROM outbox WHERE state IN('ready','leased')";
        let is_over = || self.home.world().ask(waits) == "0";
        while !is_over() && self.now() < end {
            self.turns(TURNS).await;
            self.step(end).await;
        }
    }

    /// Lets the time pass until `end`, or until `is_over`, which is asked at every turn.
    pub async fn pass_until(&self, end: Timestamp, is_over: impl Fn() -> bool) {
        while self.now() < end || !self.is_quiet().await {
            for _ in 0..TURNS {
                if is_over() {
                    return;
                }
                self.turns(1).await;
            }
            self.step(end).await;
        }
    }

    /// A step of the time, when all is quiet.
    async fn step(&self, end: Timestamp) {
        if let Some(next) = self.next_moment().await {
            let step = next.min(end).since(self.now());
            self.home.world().clock.advance(step);
            tokio::time::advance(step).await;
        }
    }

    /// So many turns of the runtime, in which everything may go on but the time.
    pub async fn turns(&self, count: usize) {
        for _ in 0..count {
            yield_now().await;
        }
        assert!(!self.sender.is_finished(), "the sender ended by itself");
    }

    async fn is_quiet(&self) -> bool {
        self.turns(TURNS).await;
        self.next_moment().await.is_some()
    }

    /// When something may happen next, if nothing is happening now.
    async fn next_moment(&self) -> Option<Timestamp> {
        let now = self.now();
        let Seen::Waits(flights, next) = self.look().await else {
            return self.missed(PATIENCE);
        };
        let open = self.home.open();
        let is_held = |(chat, since): &(String, Timestamp)| {
            open.iter().any(|asked| asked.holds(chat, *since))
        };
        if !flights.iter().all(is_held) {
            return self.missed(FLYING);
        }
        self.idles_since.set(None);
        let answers = open.iter().map(|asked| match asked.over_at {
            Some(answered) => answered,
            None => now + self.home.step(),
        });
        let next = answers.chain(next).min().unwrap_or(now + NOTHING);
        Some(next.max(now + Duration::from_millis(1)))
    }

    /// Not quiet; unless the sender has let too much of the machine's time go by.
    fn missed(&self, patience: Duration) -> Option<Timestamp> {
        let since = self.idles_since.get().unwrap_or_else(machine_now);
        self.idles_since.set(Some(since));
        (since.elapsed() > patience).then(|| self.now() + MISSED)
    }

    async fn look(&self) -> Seen {
        let (past, now) = (self.past, self.now());
        let channels = Arc::clone(&self.channels);
        let look = move |db: &Db| {
            let moment = db.unchecked_transaction()?;
            let mut next = None;
            for to in waiting(&moment)? {
                let claim = outbox::claim(&moment, past, &to, &*channels, now)?;
                if let Claim::NotBefore(at, _) | Claim::Held(at, _) = claim {
                    next = next.into_iter().chain([at]).min();
                }
            }
            Ok((flights(&moment)?, next))
        };
        match self.home.world().store.read(look).await {
            Ok((flights, next)) => Seen::Waits(flights, next),
            // It would have been ours, were we allowed to write.
            Err(StoreError::ReadOnly(_)) => Seen::Claimable,
            Err(error) => panic!("{error}"),
        }
    }
}

/// A chat has one delivery in flight; what else it has waits for that one.
fn waiting(db: &Db) -> Result<Vec<Destination>, StoreError> {
    let waiting = "SELECT DISTINCT channel,chat_id FROM outbox AS waiting WHERE state='ready' AND NOT EXISTS
        (SELECT 1 FROM outbox WHERE state='leased' AND channel=waiting.channel AND chat_id=waiting.chat_id)";
    let mut waiting = db.prepare_cached(waiting)?;
    let found = waiting.query_map([], |row| {
        Ok(Destination {
            channel: row.get(0)?,
            chat_id: row.get(1)?,
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn flights(db: &Db) -> Result<Vec<(String, Timestamp)>, StoreError> {
    let flights =
        "SELECT chat_id,started_at FROM outbox JOIN attempt ON outbox_id=id AND n=attempts
        WHERE state='leased'";
    let mut flights = db.prepare_cached(flights)?;
    let found = flights.query_map([], |row| {
        Ok((row.get(0)?, Timestamp::from_unix_seconds(row.get(1)?)))
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}
