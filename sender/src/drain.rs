//! The circle: look what waits, claim it, let it fly, settle, look again. It ends on SIGTERM, when
//! it was told to stop at an empty queue, or when another sender has taken over.

use crate::flight::{Landed, Runway};
use crate::lookout::Lookout;
use crate::notice;
use crate::policy::schedule::Schedule;
use crate::upkeep;
use shared::model::{Delivery, Destination, Lease, Priority, Timestamp};
use shared::platform::doorbell::Doorbell;
use shared::platform::systemd;
use shared::store::outbox::waiting::Waiting;
use shared::store::outbox::{self, Claim, Epoch, Settled};
use shared::store::{Db, Remedy, StoreError, timeline};
use std::collections::HashMap;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

/// Deliveries under way at once. A server may hold a request for seconds, so a small cap would
/// let a few slow chats stop all others; rates pace, not this (DELIVERY C4).
pub const FLIGHTS: usize = 64;
/// Destinations that one claim transaction may touch.
const CLAIMS: usize = 16;
/// The truth behind the doorbell: how often other processes' commits are noticed anyway.
const POLL: Duration = Duration::from_secs(1);
/// How often everything is looked through, in case something was missed.
const RESCAN: Duration = Duration::from_secs(60);
/// No timer sleeps longer: they are monotonic, and the wall clock may be set.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// What is in flight at the end gets this long.
const LANDING: Duration = Duration::from_secs(15);
/// After this long the end is not waited for any more, whatever hangs; less than
/// `TimeoutStopSec=` of the unit.
pub const HARD_STOP: Duration = Duration::from_secs(22);

/// When to end without being told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    Stopped,
    /// Nothing is due any more.
    Empty,
}

/// What was done between start and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    pub sent: usize,
    pub dead: usize,
    /// Attempts that will be repeated.
    pub postponed: usize,
    /// Still in flight when the time to land was over.
    pub abandoned: usize,
}

/// The sender at work.
pub struct Drain {
    runway: Runway,
    epoch: Epoch,
    retention: Duration,
    lookout: Lookout,
    schedule: Schedule,
    flights: JoinSet<Landed>,
    /// What each of them holds.
    leases: HashMap<Id, Arc<Lease<Delivery>>>,
    /// The day on which each unknown channel was last told of.
    unknown: notice::UnknownChannels,
    /// The file or its disk is in the way: work rests until the next poll.
    rests: bool,
    /// Rows have another address now.
    look_again: bool,
    trouble_told: bool,
    drained: Drained,
    chance: fastrand::Rng,
}

impl Drain {
    pub fn new(
        runway: Runway,
        epoch: Epoch,
        default_channel: String,
        retention: Duration,
        chance: fastrand::Rng,
    ) -> Self {
        let now = runway.steady.now();
        let (store, channels) = (Arc::clone(&runway.store), Arc::clone(&runway.channels));
        let lookout = Lookout::new(store, channels, default_channel, now);
        Self {
            runway,
            epoch,
            retention,
            lookout,
            schedule: Schedule::default(),
            flights: JoinSet::new(),
            leases: HashMap::new(),
            look_again: false,
            unknown: notice::UnknownChannels::default(),
            rests: false,
            trouble_told: false,
            drained: Drained::default(),
            chance,
        }
    }

    /// Drains until `stop` resolves, or until `until` says so. A disk that hangs cannot keep it
    /// longer than [`HARD_STOP`] after that.
    ///
    /// # Errors
    /// What a restart may cure and waiting does not: fenced by another sender, a newer schema, a
    /// damaged file.
    pub async fn run(
        self,
        bell: Option<&Doorbell>,
        until: Until,
        stop: impl Future<Output = ()>,
    ) -> Result<Drained, StoreError> {
        let (stopping, stopped) = watch::channel(false);
        let hard_stop = async {
            stop.await;
            stopping.send_replace(true);
            sleep(HARD_STOP).await;
        };
        tokio::select! {
            drained = self.drain(bell, until, stopped) => drained,
            () = hard_stop => {
                tracing::error!("the end is not waited for any longer: the database hangs");
                Ok(Drained::default())
            }
        }
    }

    async fn drain(
        mut self,
        bell: Option<&Doorbell>,
        until: Until,
        stopped: watch::Receiver<bool>,
    ) -> Result<Drained, StoreError> {
        let ended = self.circle(bell, until, stopped).await;
        systemd::stopping();
        // Also after an error: what was sent must not be forgotten.
        let landed = self.land_all().await;
        ended.and(landed).map(|()| self.drained)
    }

    async fn circle(
        &mut self,
        mut bell: Option<&Doorbell>,
        until: Until,
        mut stopped: watch::Receiver<bool>,
    ) -> Result<(), StoreError> {
        let mut poll = interval(POLL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut rescan = interval(RESCAN);
        rescan.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.move_on().await?;
        self.look_everywhere().await?;
        systemd::ready();
        loop {
            if std::mem::take(&mut self.look_again) {
                self.look_everywhere().await?;
            }
            self.launch().await?;
            if *stopped.borrow() || (until == Until::Empty && self.is_empty().await?) {
                return Ok(());
            }
            let wait = self.until_next_due();
            tokio::select! {
                _ = stopped.changed() => {}
                Some(landed) = self.flights.join_next_with_id() => self.land(landed)?,
                heard = rung(bell) => {
                    if !heard {
                        bell = None;
                    }
                    self.look_for_fresh().await?;
                }
                () = sleep(wait) => {}
                _ = poll.tick() => self.poll().await?,
                _ = rescan.tick() => self.rescan().await?,
            }
        }
    }

    /// Claims what is eligible and lets it fly.
    async fn launch(&mut self) -> Result<(), StoreError> {
        while !self.rests {
            self.notice_a_set_clock().await?;
            if self.rests {
                break;
            }
            let now = self.runway.steady.now();
            let free = FLIGHTS.saturating_sub(self.flights.len());
            let eligible = self.schedule.take(now, free, CLAIMS);
            if eligible.is_empty() {
                break;
            }
            let (epoch, asked) = (self.epoch, eligible.clone());
            let gatekeeper = Arc::clone(&self.runway.channels);
            let claim =
                move |db: &Db| outbox::claim_each(db, epoch, &asked, gatekeeper.as_ref(), now);
            match self.runway.store.write(claim).await {
                Ok(claims) => {
                    self.trouble_told = false;
                    for (destination, claim) in claims {
                        self.start(destination, claim);
                    }
                }
                Err(error) => {
                    for destination in eligible {
                        self.schedule.landed(destination, now, Priority::High);
                    }
                    self.bear(error)?;
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, destination: Destination, claim: Result<Claim, StoreError>) {
        match claim {
            Ok(Claim::Leased(lease)) => {
                let lease = Arc::new(*lease);
                let flight = self
                    .runway
                    .clone()
                    .fly(Arc::clone(&lease), self.chance.f64());
                self.leases.insert(self.flights.spawn(flight).id(), lease);
            }
            Ok(Claim::NotBefore(at, priority)) => {
                self.schedule.landed(destination, at, priority);
            }
            Ok(Claim::Held(until, priority)) => {
                for channel in self.runway.channels.sharing(&destination.channel) {
                    self.schedule.hold(channel, priority, until);
                }
                self.schedule.held(destination, priority);
            }
            Ok(Claim::Nothing) => self.schedule.empty(&destination),
            Err(error) => {
                tracing::error!(to = %destination, "left until the next look in a minute: {error}");
                self.schedule.empty(&destination);
            }
        }
    }

    /// Every flight that is over by now frees its destination.
    fn land(&mut self, first: Result<(Id, Landed), JoinError>) -> Result<(), StoreError> {
        let mut next = Some(first);
        let mut stop = Ok(());
        while let Some(landed) = next {
            stop = stop.and(match landed {
                Ok((id, landed)) => {
                    self.leases.remove(&id);
                    self.count(landed)
                }
                Err(panic) => self.crashed(&panic),
            });
            next = self.flights.try_join_next_with_id();
        }
        stop
    }

    /// A bug in one flight is that row's matter, and counts as an outcome that nobody knows. Should
    /// even that fail, the next sender takes the row back.
    fn crashed(&mut self, panic: &JoinError) -> Result<(), StoreError> {
        let why = format!("in a flight: {panic}");
        let Some(lease) = self.leases.remove(&panic.id()) else {
            return Err(StoreError::Bug(why));
        };
        tracing::error!(row = lease.held().id, "a bug {why}");
        self.flights.spawn(self.runway.clone().crash(lease, why));
        Ok(())
    }

    fn count(&mut self, landed: Landed) -> Result<(), StoreError> {
        match &landed.result {
            Ok(Settled::Sent) => self.drained.sent += 1,
            Ok(Settled::Begun) => {}
            Ok(Settled::Waits | Settled::Moved) => self.drained.postponed += 1,
            Ok(Settled::Dead) => self.drained.dead += 1,
            Err(error) if error.remedy() == Remedy::Stop => return Err(error.clone()),
            Err(error) => {
                tracing::error!(to = %landed.destination, "a result could not be written: {error}");
            }
        }
        self.look_again |= landed.renamed || landed.result == Ok(Settled::Moved);
        // Whatever came of it, the gates may be other ones now.
        for channel in self.runway.channels.sharing(&landed.destination.channel) {
            self.schedule.release(channel);
        }
        let now = self.runway.steady.now();
        if matches!(landed.result, Ok(Settled::Waits | Settled::Dead)) {
            // A death or a closed gate may have left a notice, and our own commits ring no bell.
            let notices = self.runway.channels.notices(&landed.destination.channel);
            if let Some(notices) = notices.cloned() {
                self.schedule.note(notices, now, Priority::High);
            }
        }
        self.schedule
            .landed(landed.destination, now, landed.priority);
        Ok(())
    }

    /// What is in flight may finish, within a bound. What does not is taken back at the next start.
    async fn land_all(&mut self) -> Result<(), StoreError> {
        let landing = async {
            let mut stop = Ok(());
            while let Some(landed) = self.flights.join_next_with_id().await {
                stop = stop.and(self.land(landed));
            }
            stop
        };
        if let Ok(landed) = timeout(LANDING, landing).await {
            return landed;
        }
        self.drained.abandoned = self.flights.len();
        Ok(())
    }

    async fn is_empty(&mut self) -> Result<bool, StoreError> {
        if self.rests || !self.schedule.is_idle(self.runway.steady.now()) {
            return Ok(false);
        }
        // What was enqueued or became due a moment ago counts too; what waits behind a gate does
        // not, and only asking tells the one from the other.
        self.look_everywhere().await?;
        self.launch().await?;
        Ok(!self.rests && self.schedule.is_idle(self.runway.steady.now()))
    }

    /// Until the next waiting destination becomes eligible.
    fn until_next_due(&self) -> Duration {
        let next = self.schedule.next_time().filter(|_| !self.rests);
        let now = self.runway.steady.now();
        next.map_or(LONGEST_SLEEP, |due_at| due_at.since(now).min(LONGEST_SLEEP))
    }

    /// Each second: the writer thread answers, so we are alive; others' commits are noticed; a
    /// wall clock that was set is noticed; after trouble, work is tried again.
    async fn poll(&mut self) -> Result<(), StoreError> {
        let now = self.runway.steady.now();
        let committed = self.lookout.committed(now).await;
        systemd::alive();
        if self.rests {
            // On a disk that is nearly full a log that cannot grow must be emptied instead.
            if let Err(error) = self.runway.store.checkpoint().await {
                tracing::debug!("no checkpoint while resting: {error}");
            }
            self.rests = false;
        }
        self.note(committed, now).await?;
        self.notice_a_set_clock().await
    }

    /// Before anything is claimed: what waits by the wall clock waits as long as it was told.
    async fn notice_a_set_clock(&mut self) -> Result<(), StoreError> {
        let Some(step) = self.runway.steady.step() else {
            return Ok(());
        };
        let epoch = self.epoch;
        let follow = move |db: &Db| timeline::follow(db, epoch, step.to, step.now);
        if let Err(error) = self.runway.store.write(follow).await {
            // Nothing is claimed before it has succeeded.
            self.rests = true;
            return self.bear(error);
        }
        self.runway.steady.followed(step);
        self.runway.forget_evidence();
        self.schedule.release_all();
        let by = Timestamp::from_unix_millis(step.by).unix_seconds();
        if !step.is_large() {
            tracing::info!("the wall clock was set by {by:.3} s; all waits are moved along");
            return Ok(());
        }
        tracing::warn!("the wall clock was set by {by:.1} s; all waits are moved along");
        self.rescan().await
    }

    async fn rescan(&mut self) -> Result<(), StoreError> {
        let now = self.runway.steady.now();
        // A clock that runs ahead would forget what is remembered so that it is not told again.
        let retention = self.runway.steady.is_sure().then_some(self.retention);
        self.move_on().await?;
        let kept = upkeep::each_minute(&self.runway.store, retention, now).await;
        if let Err(error) = kept {
            self.bear(error)?;
        }
        self.look_everywhere().await?;
        let Drained { sent, dead, .. } = self.drained;
        systemd::status(&format!(
            "{sent} delivered and {dead} given up since the start, {} destinations wait",
            self.schedule.waiting()
        ));
        Ok(())
    }

    async fn move_on(&mut self) -> Result<(), StoreError> {
        let moved = upkeep::move_on(&self.runway, self.runway.steady.now()).await;
        moved.or_else(|error| self.bear(error))
    }

    async fn look_everywhere(&mut self) -> Result<(), StoreError> {
        let now = self.runway.steady.now();
        let found = self.lookout.everywhere(now).await;
        self.note(found, now).await
    }

    async fn look_for_fresh(&mut self) -> Result<(), StoreError> {
        let now = self.runway.steady.now();
        let found = self.lookout.fresh(now).await;
        self.note(found, now).await
    }

    /// Notes what was found, and tells of what waits for a channel that is not configured.
    async fn note(
        &mut self,
        found: Result<Vec<Waiting>, StoreError>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let found = match found {
            Ok(found) => found,
            Err(error) => return self.bear(error),
        };
        let mut unknown = None;
        for waiting in found {
            if self
                .runway
                .channels
                .is_configured(&waiting.destination.channel)
            {
                self.schedule
                    .note(waiting.destination, waiting.due_at, waiting.priority);
            } else if self.unknown.is_news(&waiting.destination.channel, now) {
                unknown = Some(waiting.destination.channel);
            }
        }
        match unknown {
            Some(channel) => self.tell_unknown(channel, now).await,
            None => Ok(()),
        }
    }

    /// Rows for a channel that is not configured wait, and that is told once a day.
    async fn tell_unknown(&mut self, channel: String, now: Timestamp) -> Result<(), StoreError> {
        let Some(notice) = notice::unknown_channel(&channel, &self.runway.channels, now) else {
            return Ok(());
        };
        let to = notice.to.clone();
        let notify = move |db: &Db| outbox::notify(db, &notice, now).map(|_| ());
        match self.runway.store.write(notify).await {
            Ok(()) => {
                tracing::error!(
                    channel,
                    "alerts wait for a channel that the configuration does not know"
                );
                self.unknown.told(channel, now);
                self.schedule.note(to, now, Priority::High);
                Ok(())
            }
            Err(error) => self.bear(error),
        }
    }

    /// What passes makes work rest until the next poll; what only a restart can cure ends us.
    fn bear(&mut self, error: StoreError) -> Result<(), StoreError> {
        match error.remedy() {
            Remedy::Stop => return Err(error),
            Remedy::Wait => {
                upkeep::relieve(&self.runway.store, &error);
                self.rests = true;
            }
            Remedy::Skip => {}
        }
        if !self.trouble_told {
            tracing::warn!("sending rests: {error}");
            self.trouble_told = true;
        }
        Ok(())
    }
}

/// `false` when the doorbell is broken.
async fn rung(bell: Option<&Doorbell>) -> bool {
    let Some(bell) = bell else {
        return pending().await;
    };
    match bell.rung().await {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(%error, "the doorbell is broken; new alerts are found each second");
            false
        }
    }
}
