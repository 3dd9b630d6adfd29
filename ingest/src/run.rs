//! The tick, a straight line: heartbeat, schedule, judge what was left, gather and judge what each
//! feed brings, let models judge what rules leave open, tell, heartbeat.

use crate::absence;
use crate::asking::{Judged, Waiting};
use crate::beats;
use crate::classify;
use crate::classify::facts::Facts;
use crate::edits;
use crate::enqueue::{self, Decision};
use crate::fetch::{ClientOptions, FetchClient};
use crate::gather::Gathering;
use crate::heartbeat;
use crate::judging::Judging;
use crate::listen::{self, spool::Spool};
use crate::parsing::Parsing;
use crate::ping::Pings;
use crate::plan::{self, Planned};
use crate::progress::Progress;
use crate::reader::Reader;
use crate::report::{AlertReport, Report};
use crate::seed;
use crate::silence;
use crate::tell;
use crate::telling;
use crate::watch;
use shared::Failure;
use shared::config::{Config, Feed};
use shared::platform::clock::Clock;
use shared::platform::doorbell;
use shared::platform::lock::{Held, LockFile};
use shared::store::feeds::{self, FeedState};
use shared::store::items::{self, Pending};
use shared::store::{Db, Remedy, Store, StoreError, beside};
use shared::store::{models, posts, room};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;
use url::Url;

/// Items that are judged before the doorbell rings and the deadline is looked at.
const BATCH: u32 = 32;

/// Of the tick's time, what is kept for recording and judging what the feeds brought: a quarter,
/// but not more than this.
const MOST_RESERVED: Duration = Duration::from_secs(10);

/// What a tick needs from outside.
pub struct Scene {
    pub config: Config,
    pub clock: Clock,
    pub chance: fastrand::Rng,
    pub progress: Progress,
}

/// What was asked for by hand.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// This feed alone, now, whatever its schedule.
    pub feed: Option<Url>,
    /// Every feed, whatever its schedule.
    pub now: bool,
    /// Entries of a feed's first fetch are news too.
    pub alert_existing: bool,
}

/// One tick. Feeds that fail are part of its report, not a failure of its own.
///
/// # Errors
/// `AlreadyRunning` when another tick holds the lock; what makes the database unusable.
pub async fn run(scene: Scene, options: Options) -> Result<Report, Failure> {
    let held = lock(&scene.config.state_path)?;
    // One feed by hand is no tick.
    let pings = options
        .feed
        .is_none()
        .then(|| Pings::begin(&scene.config.ping));
    let ended = tick(scene, options).await;
    drop(held);
    if let Some(pings) = pings {
        pings.end(&ended).await;
    }
    ended
}

async fn tick(scene: Scene, options: Options) -> Result<Report, Failure> {
    let start = Instant::now();
    let path = scene.config.state_path.clone();
    let store = Arc::new(Store::open(&path)?);
    heartbeat::started(&store, scene.clock.now()).await;
    // Without room only feeds are left alone: they are read again. What came once is seen to.
    let scarce = room::require(&path, scene.config.min_free).err();
    let deadline = start + scene.config.ingest.deadline;
    let mut tick = Tick {
        deadline,
        judging: Judging::of(&scene.config, &store, &scene.clock, deadline).await?,
        store,
        facts: Facts::of(&scene.config),
        scene,
        judged_to: 0,
        warned: false,
        report: Report::default(),
    };
    let passed = tick.pass(&options, scarce.is_none()).await;
    match scarce {
        Some(scarce) => return Err(scarce.into()),
        None => passed?,
    }
    tick.report.pending = tick.pending().await;
    tick.report.took_seconds = start.elapsed().as_secs_f64();
    heartbeat::finished(&tick.store, &tick.report, tick.scene.clock.now()).await;
    Ok(tick.report)
}

struct Tick {
    scene: Scene,
    store: Arc<Store>,
    deadline: Instant,
    facts: Facts,
    judging: Judging,
    /// Up to this item everything had its chance in this tick.
    judged_to: i64,
    /// That the database is held was said.
    warned: bool,
    report: Report,
}

impl Tick {
    async fn pass(&mut self, options: &Options, has_room: bool) -> Result<(), Failure> {
        self.watch().await;
        self.take_in_deliveries().await;
        self.look_at_callers().await;
        let due = self.schedule(options).await?;
        self.judge().await?;
        if has_room {
            self.gather(due, options).await?;
            self.judge().await?;
        }
        self.tell_of_edits().await;
        self.hear_models().await?;
        self.give_up().await?;
        self.tell_of_models().await;
        self.tell_what_was_seeded().await;
        self.tell_of_feeds().await;
        self.forget_what_left().await;
        Ok(())
    }

    /// The sender and the clock.
    async fn watch(&mut self) {
        match watch::look(&self.store, &self.scene.config, &self.scene.clock).await {
            Ok(watched) => {
                self.report.deliveries += watched.rows;
                self.report.troubles = watched.troubles;
            }
            Err(error) => tracing::warn!("the sender is looked at by the next tick: {error}"),
        }
    }

    /// Who calls us. Before feeds are read: it takes no time, and a slow feed must not delay it.
    async fn look_at_callers(&mut self) {
        let (store, now) = (&self.store, self.scene.clock.now());
        match beats::look(store, &self.scene.config, now).await {
            Ok(changed) => {
                self.report.deliveries += changed.rows;
                let alerts = changed.alerts.iter().map(AlertReport::of);
                self.report.alerts.extend(alerts);
            }
            Err(error) => tracing::warn!("heartbeats are looked at by the next tick: {error}"),
        }
        match silence::tell(store, &self.scene.config, now).await {
            Ok(rows) => self.report.deliveries += rows,
            Err(error) => tracing::warn!("webhooks are looked at by the next tick: {error}"),
        }
        doorbell::ring(&beside(self.store.path(), ".bell"));
    }

    /// The feeds that are due, those that waited longest first.
    async fn schedule(&mut self, options: &Options) -> Result<Vec<Planned>, Failure> {
        let wanted = plan::wanted(&self.scene.config, options.feed.as_ref())?;
        let states = self.register(&wanted).await?;
        let now = self.scene.clock.now();
        let forced = options.now || options.feed.is_some();
        let chance = &mut self.scene.chance;
        Ok(plan::due(wanted, states, now, chance, forced))
    }

    /// Feeds that are new get their row. While the database is held, only known feeds are read.
    async fn register(&self, wanted: &[Feed]) -> Result<Vec<FeedState>, StoreError> {
        let known = self.store.read(feeds::all).await?;
        let urls: HashSet<&str> = known.iter().map(|state| state.url.as_str()).collect();
        let wanted = wanted.iter().map(|feed| feed.url.as_str());
        let missing: Vec<String> = wanted
            .filter(|url| !urls.contains(url))
            .map(str::to_owned)
            .collect();
        if missing.is_empty() {
            return Ok(known);
        }
        match self
            .store
            .write(move |db| feeds::register(db, &missing))
            .await
        {
            Ok(()) => self.store.read(feeds::all).await,
            Err(error @ StoreError::Locked { .. }) => {
                tracing::warn!("new feeds wait for the next tick: {error}");
                Ok(known)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads the due feeds, a few at a time. What one brings is judged while the others are still
    /// read: nothing grave waits for the slowest feed.
    async fn gather(&mut self, due: Vec<Planned>, options: &Options) -> Result<(), Failure> {
        let reader = Reader {
            client: client(&self.scene.config)?,
            clock: self.scene.clock.clone(),
            parsing: Parsing::default(),
            same_hosts: self.scene.config.same_hosts.clone(),
            store: Some(Arc::clone(&self.store)),
            alert_existing: options.alert_existing,
            deadline: self.deadline - reserve(self.scene.config.ingest.deadline),
            end: self.deadline,
        };
        let concurrency = self.scene.config.ingest.concurrency;
        let mut gathering = Gathering::new(reader, due, concurrency, self.scene.progress);
        let mut reports = BTreeMap::new();
        loop {
            tokio::select! {
                gathered = gathering.next() => {
                    let Some(gathered) = gathered? else { break };
                    let report = gathered.read.report;
                    let brought_news = report.result.brought_news();
                    reports.insert(gathered.place, report);
                    if brought_news {
                        self.judge().await?;
                    }
                }
                Some(judged) = self.judging.next(), if self.judging.is_busy() => {
                    self.enqueue_judged(vec![judged]).await?;
                }
            }
        }
        self.report.feeds = reports.into_values().collect();
        Ok(())
    }

    /// Judges by rules what waits, and enqueues what matters: one batch always, more until the
    /// deadline. What the rules leave open waits for a model.
    async fn judge(&mut self) -> Result<(), Failure> {
        loop {
            let after = self.judged_to;
            let batch = self.store.read(move |db| batch(db, after)).await?;
            let Some((last, _)) = batch.last() else {
                return Ok(());
            };
            self.judged_to = last.id;
            let decided = batch
                .into_iter()
                .filter_map(|(pending, unusable)| self.decide(pending, unusable));
            let decisions = decided.collect();
            let held = self.enqueue(decisions).await?;
            if held || Instant::now() >= self.deadline {
                return Ok(());
            }
        }
    }

    /// `None`: a model is asked.
    fn decide(&mut self, pending: Pending, unusable: u32) -> Option<Decision> {
        let facts = self.facts.about(&pending);
        let ruling = classify::rule(&pending.entry, &facts, &self.scene.config.rules);
        if ruling.open.is_some() && self.judging.is_for(&facts) {
            self.judging.add(Waiting {
                pending,
                facts,
                ruling,
                unusable,
            });
            return None;
        }
        let config = &self.scene.config;
        let now = self.scene.clock.now();
        Some(enqueue::decide(
            &pending,
            &facts,
            ruling.verdict,
            config,
            now,
        ))
    }

    /// Feeds are read: until the deadline only models are waited for.
    async fn hear_models(&mut self) -> Result<(), Failure> {
        while let Some(judged) = self.judging.next().await {
            self.enqueue_judged(vec![judged]).await?;
        }
        Ok(())
    }

    /// What has waited for a model for too long.
    async fn give_up(&mut self) -> Result<(), Failure> {
        let given_up = self.judging.give_up();
        self.enqueue_judged(given_up).await
    }

    async fn enqueue_judged(&mut self, judged: Vec<Judged>) -> Result<(), Failure> {
        let (config, now) = (&self.scene.config, self.scene.clock.now());
        let decided = judged.into_iter().map(|judged| Decision {
            remembered: judged.remembered,
            ..enqueue::decide(&judged.pending, &judged.facts, judged.verdict, config, now)
        });
        let decisions = decided.collect();
        // Held: the item has no verdict yet, and the next tick asks again, or remembers.
        self.enqueue(decisions).await.map(drop)
    }

    /// Each decision is a job of its own, committed together: one that is refused costs no other.
    /// `true`: somebody holds the database, and what is left has its chance later.
    async fn enqueue(&mut self, decisions: Vec<Decision>) -> Result<bool, Failure> {
        let mut held = false;
        let mut jobs = JoinSet::new();
        for decision in decisions {
            let (store, now) = (Arc::clone(&self.store), self.scene.clock.now());
            let decision = Arc::new(decision);
            jobs.spawn(async move {
                let stored = Arc::clone(&decision);
                let rows = store
                    .write(move |db| enqueue::store(db, &stored, now))
                    .await;
                (decision, rows)
            });
        }
        while let Some(done) = jobs.join_next().await {
            let (decision, rows) = done.map_err(|panic| Failure::Unexpected(panic.to_string()))?;
            let item = decision.item_id;
            match rows {
                Ok(Some(rows)) => self.count(&decision, rows),
                Ok(None) => {}
                Err(StoreError::Locked { .. }) => {
                    held = true;
                    self.judged_to = self.judged_to.min(item - 1);
                }
                Err(error) if error.remedy() == Remedy::Skip => {
                    tracing::error!(
                        item,
                        "the verdict could not be stored, the next tick tries again: {error}"
                    );
                }
                Err(error) => return Err(error.into()),
            }
        }
        if held && !self.warned {
            self.warned = true;
            tracing::warn!(
                "somebody holds the database: what is left is judged later, or by the next tick"
            );
        }
        doorbell::ring(&beside(self.store.path(), ".bell"));
        Ok(held)
    }

    fn count(&mut self, decision: &Decision, rows: usize) {
        self.report.judged.count(decision.verdict.severity);
        let by = &mut self.report.judged_by;
        by.count(decision.verdict.judge, decision.remembered);
        self.report.deliveries += rows;
        if let Some(owed) = decision.owed.as_ref().filter(|_| rows > 0) {
            self.report.alerts.push(AlertReport::of(owed));
        }
    }

    /// What the receiver had to spool; and what it need not remember any more is forgotten.
    async fn take_in_deliveries(&self) {
        let now = self.scene.clock.now();
        let spool = Spool::beside(self.store.path());
        let taken = listen::take_in(&self.scene.config, &self.store, &spool, now).await;
        let forgotten = self.store.write(move |db| posts::prune(db, now)).await;
        if let Err(error) = taken.and(forgotten) {
            tracing::warn!("spooled deliveries wait for the next tick: {error}");
        }
    }

    async fn tell_of_edits(&mut self) {
        let (store, now) = (&self.store, self.scene.clock.now());
        match edits::tell(store, &self.scene.config, &self.facts, now).await {
            Ok((told, rows)) => {
                self.report.alerts.extend(told.iter().map(AlertReport::of));
                self.report.deliveries += rows;
            }
            Err(error) => tracing::warn!("edits are told by the next tick: {error}"),
        }
        doorbell::ring(&beside(self.store.path(), ".bell"));
    }

    async fn tell_of_models(&mut self) {
        let now = self.scene.clock.now();
        for fared in self.judging.settle(now) {
            match telling::tell(&self.store, &self.scene.config, fared, now).await {
                Ok(rows) => self.report.deliveries += rows,
                Err(error) => tracing::warn!("how a model fares is not recorded: {error}"),
            }
        }
    }

    async fn tell_what_was_seeded(&mut self) {
        let (store, now) = (&self.store, self.scene.clock.now());
        match seed::tell(store, &self.scene.config, now).await {
            Ok(rows) => self.report.deliveries += rows,
            Err(error) => tracing::warn!("first fetches are told by the next tick: {error}"),
        }
        doorbell::ring(&beside(self.store.path(), ".bell"));
    }

    async fn tell_of_feeds(&mut self) {
        let (store, now) = (&self.store, self.scene.clock.now());
        match tell::tell(store, &self.scene.config, now).await {
            Ok(0) => {}
            Ok(rows) => {
                self.report.deliveries += rows;
                doorbell::ring(&beside(self.store.path(), ".bell"));
            }
            Err(error) => {
                tracing::warn!("what happened to feeds is told by the next tick: {error}");
            }
        }
    }

    async fn forget_what_left(&self) {
        let (store, now) = (&self.store, self.scene.clock.now());
        if let Err(error) = absence::keep(store, &self.scene.config, now).await {
            tracing::warn!(
                "feeds that left the configuration are seen to by the next tick: {error}"
            );
        }
    }

    async fn pending(&self) -> usize {
        let counted = self.store.read(items::count_pending).await;
        counted.unwrap_or_default()
    }
}

/// The oldest items without a verdict, each with how many answers to it were no use.
fn batch(db: &Db, after: i64) -> Result<Vec<(Pending, u32)>, StoreError> {
    let pending = items::pending(db, after, BATCH)?.into_iter();
    pending
        .map(|pending| {
            let unusable = models::unusable(db, pending.id)?;
            Ok((pending, unusable))
        })
        .collect()
}

/// One tick for each database.
fn lock(database: &Path) -> Result<Held, Failure> {
    let path = beside(database, ".tick");
    match LockFile::open(&path).and_then(LockFile::take) {
        Ok(Some(held)) => Ok(held),
        Ok(None) => Err(Failure::AlreadyRunning(format!(
            "a tick is already running on {}",
            database.display()
        ))),
        Err(error) => Err(StoreError::cannot_open(database, &error).into()),
    }
}

fn reserve(whole: Duration) -> Duration {
    MOST_RESERVED.min(whole / 4)
}

pub fn client(config: &Config) -> Result<FetchClient, Failure> {
    let options = ClientOptions {
        contact: config.ingest.contact.clone(),
        allow_private: config.ingest.allow_private,
        allow_file: config.ingest.allow_file,
        at_once: config.ingest.concurrency,
        ..ClientOptions::default()
    };
    FetchClient::new(&options)
        .map_err(|error| Failure::Unexpected(format!("no HTTP client: {}", error.without_url())))
}
