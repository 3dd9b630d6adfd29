//! One sender from start to end: lock, recover, drain, leave nothing unsaid.

use crate::channel::Channels;
use crate::channel::console::Output;
use crate::drain::{Drain, Drained, Until};
use crate::flight::{Runway, Unsettled};
use crate::serve;
use crate::steady::Steady;
use shared::Failure;
use shared::config::Config;
use shared::model::{Destination, Gatekeeper, Timestamp};
use shared::platform::clock::Clock;
use shared::platform::doorbell::Doorbell;
use shared::platform::lock::{Held, LockFile};
use shared::platform::term::Style;
use shared::store::outbox::{self, Epoch};
use shared::store::{Db, Store, StoreError, beside, gate, invariants, journal};
use std::future::Future;
use std::path::Path;
use std::sync::Arc;

/// What a run needs from outside.
pub struct Scene {
    pub config: Config,
    pub clock: Clock,
    pub chance: fastrand::Rng,
    pub output: Output,
    pub style: Style,
}

/// Drains the outbox until `stop` resolves, or, with [`Until::Empty`], until nothing is due.
pub async fn run(
    scene: Scene,
    until: Until,
    stop: impl Future<Output = ()>,
) -> Result<Drained, Failure> {
    let channels = Channels::open(&scene.config.channels, &scene.output, scene.style)
        .with_digests(scene.config.digests);
    run_through(channels, scene, until, stop).await
}

/// The same with channels that are open already.
pub async fn run_through(
    channels: Channels,
    scene: Scene,
    until: Until,
    stop: impl Future<Output = ()>,
) -> Result<Drained, Failure> {
    let path = scene.config.state_path.clone();
    // The lock first: opening may migrate, and not under a sender that runs.
    let _lock = lock(&path)?;
    let store = Arc::new(Store::open(&path)?);
    channels.recall(store.read(gate::renamed).await?);
    let channels = Arc::new(channels);
    let steady = Steady::new(scene.clock.clone());
    let epoch = take_over(&store, &channels, steady.now()).await?;
    audit_behind(Arc::clone(&store), steady.now());
    let bell = doorbell(&path);
    let runway = Runway {
        store: Arc::clone(&store),
        channels,
        give_up_after: scene.config.outbox.give_up_after,
        ticks_each: scene.config.ingest.interval,
        min_free: scene.config.min_free,
        unsettled: Unsettled::default(),
        steady,
        evidence: Arc::default(),
        shares: Arc::default(),
    };
    let unsettled = runway.unsettled.clone();
    let served = scene.config.status.map(|address| {
        let clock = scene.clock.clone();
        tokio::spawn(serve::serve(
            address,
            Arc::clone(&store),
            &scene.config,
            clock,
        ))
    });
    let drain = Drain::new(
        runway,
        epoch,
        scene.config.default_channel.clone(),
        scene.config.outbox.retention,
        scene.chance,
    );
    let drained = drain.run(bell.as_ref(), until, stop).await;
    keep_unsettled(&path, &unsettled);
    if let Some(served) = served {
        served.abort();
    }
    Ok(drained?)
}

/// One sender for each database.
fn lock(database: &Path) -> Result<Held, Failure> {
    let path = beside(database, ".sender");
    let taken = LockFile::open(&path).and_then(LockFile::take);
    match taken {
        Ok(Some(held)) => Ok(held),
        Ok(None) => Err(Failure::AlreadyRunning(format!(
            "a sender is already running on {}",
            database.display()
        ))),
        Err(error) => Err(StoreError::cannot_open(database, &error).into()),
    }
}

/// Replays the journal, which carries the last epoch, and only then starts a new one.
async fn take_over(
    store: &Store,
    channels: &Arc<Channels>,
    now: Timestamp,
) -> Result<Epoch, Failure> {
    let unreadable =
        |error| Failure::Unexpected(format!("cannot read the journal of completions: {error}"));
    let completions = journal::read(store.path()).map_err(unreadable)?;
    let holder = format!("process {}", std::process::id());
    let channels = Arc::clone(channels);
    let (replayed, taken) = store
        .write(move |db| {
            let replayed = journal::replay(db, &completions, now)?;
            let taken = outbox::take_over(db, &holder, now)?;
            rest(db, &taken.places, &channels, now)?;
            Ok((replayed, taken))
        })
        .await?;
    if let Err(error) = journal::remove(store.path()) {
        // Replaying it again changes nothing.
        tracing::warn!("cannot remove the journal of completions: {error}");
    }
    if let Err(error) = journal::reserve(store.path()) {
        tracing::warn!("no room could be reserved for the journal of completions: {error}");
    }
    tracing::info!(
        epoch = taken.epoch.number(),
        interrupted = taken.interrupted,
        replayed,
        "sending"
    );
    Ok(taken.epoch)
}

/// What was under way at the end of the last sender may have arrived as late as this: the limits count
/// from now.
fn rest(
    db: &Db,
    places: &[Destination],
    channels: &Channels,
    now: Timestamp,
) -> Result<(), StoreError> {
    for to in places {
        if let Some(limits) = channels.limits(to) {
            let keys = channels.keys(to);
            gate::adjust(db, &keys, &|gates| limits.answered(gates, now, now))?;
        }
    }
    Ok(())
}

/// Says in the log if the books do not balance; the alerts do not wait for the answer.
fn audit_behind(store: Arc<Store>, now: Timestamp) {
    drop(tokio::spawn(async move {
        match store.read(move |db| invariants::check(db, now)).await {
            Ok(violations) => {
                for violation in violations {
                    tracing::error!(
                        invariant = violation.number,
                        "{} does not hold: {}",
                        violation.name,
                        violation.offences.join("; ")
                    );
                }
            }
            Err(error) => tracing::warn!("the invariants could not be checked: {error}"),
        }
    }));
}

/// Without a doorbell alerts are found by the poll, up to a second later.
fn doorbell(database: &Path) -> Option<Doorbell> {
    let path = beside(database, ".bell");
    match Doorbell::bind(&path) {
        Ok(bell) => Some(bell),
        Err(error) => {
            tracing::warn!(%error, "no doorbell; new alerts are found each second");
            None
        }
    }
}

/// What was sent and could not be committed must not be sent again for that.
fn keep_unsettled(database: &Path, unsettled: &Unsettled) {
    let completions = unsettled.all();
    if completions.is_empty() {
        return;
    }
    match journal::write(database, &completions) {
        Ok(()) => tracing::warn!(rows = completions.len(), "completions kept in the journal"),
        Err(error) => tracing::error!(
            rows = completions.len(),
            "completions could be kept nowhere, these alerts will be repeated and marked: {error}"
        ),
    }
}
