//! The circle: look what waits, claim it, let it fly, settle, look again. It ends on SIGTERM, when
//! it was told to stop at an empty queue, or when another sender has taken over.

use crate::flight::{Landed, Runway};
use crate::notice;
use crate::policy::schedule::Schedule;
use crate::upkeep;
use shared::model::{Destination, Timestamp};
use shared::platform::doorbell::Doorbell;
use shared::platform::systemd;
use shared::store::outbox::waiting::{self, Waiting};
use shared::store::outbox::{self, Claim, Epoch, Settled};
use shared::store::{Remedy, StoreError};
use std::collections::BTreeSet;
use std::future::{Future, pending};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

/// Deliveries under way at once. A server may hold a request for seconds, so a small cap would
/// let a few slow chats stop all others; rates pace, not this (DELIVERY C4).
pub const FLIGHTS: usize = 64;
/// Destinations that one claim transaction may touch.
const CLAIMS: usize = 16;
/// The truth behind the doorbell: how often other processes' commits are noticed anyway.
const POLL: Duration = Duration::from_secs(1);
/// How often everything is looked through, in case something was missed.
const RESCAN: Duration = Duration::from_secs(60);
/// What is in flight at the end gets this long; less than `TimeoutStopSec=` of the unit.
pub const LANDING: Duration = Duration::from_secs(15);
/// Wall and monotonic clock further apart than this within a poll: the wall clock was set.
const CLOCK_STEP: Duration = Duration::from_secs(2);

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
    default_channel: String,
    retention: Duration,
    schedule: Schedule,
    flights: JoinSet<Landed>,
    /// Channels that rows name and the configuration does not.
    unknown: BTreeSet<String>,
    high_water: i64,
    looked_at: Timestamp,
    data_version: i64,
    clocks: (Instant, Timestamp),
    trouble: bool,
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
        let now = runway.clock.now();
        Self {
            runway,
            epoch,
            default_channel,
            retention,
            schedule: Schedule::default(),
            flights: JoinSet::new(),
            unknown: BTreeSet::new(),
            high_water: 0,
            looked_at: now,
            data_version: 0,
            clocks: (Instant::now(), now),
            trouble: false,
            drained: Drained::default(),
            chance,
        }
    }

    /// Drains until `stop` resolves, or until `until` says so.
    ///
    /// # Errors
    /// What a restart may cure and waiting does not: fenced by another sender, a newer schema, a
    /// damaged file.
    pub async fn run(
        mut self,
        mut bell: Option<&Doorbell>,
        until: Until,
        stop: impl Future<Output = ()>,
    ) -> Result<Drained, StoreError> {
        tokio::pin!(stop);
        let mut poll = interval(POLL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut rescan = interval(RESCAN);
        rescan.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.look_everywhere().await?;
        systemd::ready();
        loop {
            self.launch().await?;
            if until == Until::Empty && self.is_empty().await? {
                break;
            }
            let wait = self.until_next_due();
            tokio::select! {
                () = &mut stop => break,
                Some(landed) = self.flights.join_next() => self.land(landed)?,
                heard = rung(bell) => {
                    if !heard {
                        bell = None;
                    }
                    self.look_for_fresh().await?;
                }
                () = sleep(wait.unwrap_or(RESCAN)) => {}
                _ = poll.tick() => self.poll().await?,
                _ = rescan.tick() => self.rescan().await?,
            }
        }
        systemd::stopping();
        self.land_all().await
    }

    /// Claims what is eligible and lets it fly.
    async fn launch(&mut self) -> Result<(), StoreError> {
        while !self.trouble {
            let now = self.runway.clock.now();
            let room = FLIGHTS.saturating_sub(self.schedule.in_flight());
            let eligible = self.schedule.take(now, room.min(CLAIMS));
            if eligible.is_empty() {
                break;
            }
            match self.claim(eligible.clone(), now).await {
                Ok(claims) => {
                    for (destination, claim) in claims {
                        self.start(destination, claim);
                    }
                }
                Err(error) => {
                    for destination in eligible {
                        self.schedule.landed(destination, now);
                    }
                    self.bear(error)?;
                }
            }
        }
        Ok(())
    }

    async fn claim(
        &self,
        destinations: Vec<Destination>,
        now: Timestamp,
    ) -> Result<Vec<(Destination, Claim)>, StoreError> {
        let epoch = self.epoch;
        let claim = move |db: &shared::store::Db| {
            let claimed = destinations.iter().map(|destination| {
                let claim = outbox::claim(db, epoch, destination, now)?;
                Ok((destination.clone(), claim))
            });
            claimed.collect::<Result<Vec<_>, StoreError>>()
        };
        self.runway.store.write(claim).await
    }

    fn start(&mut self, destination: Destination, claim: Claim) {
        match claim {
            Claim::Leased(lease) => {
                let flight = self.runway.clone().fly(*lease, self.chance.f64());
                self.flights.spawn(flight);
            }
            Claim::NotBefore(at) => self.schedule.landed(destination, at),
            Claim::Nothing => self.schedule.empty(&destination),
        }
    }

    /// Every flight that is over by now frees its destination.
    fn land(&mut self, first: Result<Landed, tokio::task::JoinError>) -> Result<(), StoreError> {
        let mut next = Some(first);
        while let Some(landed) = next {
            let landed = landed.map_err(|panic| StoreError::Bug(format!("a flight: {panic}")))?;
            match landed.result? {
                Settled::Sent => self.drained.sent += 1,
                Settled::Waits => self.drained.postponed += 1,
                Settled::Dead => self.drained.dead += 1,
            }
            let now = self.runway.clock.now();
            self.schedule.landed(landed.destination, now);
            next = self.flights.try_join_next();
        }
        Ok(())
    }

    /// What is in flight may finish, within a bound. What does not is taken back at the next start.
    async fn land_all(mut self) -> Result<Drained, StoreError> {
        let landing = async {
            while let Some(landed) = self.flights.join_next().await {
                self.land(landed)?;
            }
            Ok::<(), StoreError>(())
        };
        match timeout(LANDING, landing).await {
            Ok(landed) => landed?,
            Err(_elapsed) => self.drained.abandoned = self.flights.len(),
        }
        Ok(self.drained)
    }

    async fn is_empty(&mut self) -> Result<bool, StoreError> {
        if self.trouble || self.schedule.in_flight() > 0 {
            return Ok(false);
        }
        // What was enqueued or became due a moment ago counts too.
        self.look_everywhere().await?;
        let now = self.runway.clock.now();
        Ok(!self.trouble && self.schedule.next_time().is_none_or(|due_at| due_at > now))
    }

    /// `None` while nothing can be launched anyway. Timers are monotonic; a wall clock that is set
    /// is noticed by the poll.
    fn until_next_due(&self) -> Option<Duration> {
        let due_at = self.schedule.next_time()?;
        let room = !self.trouble && self.schedule.in_flight() < FLIGHTS;
        room.then(|| due_at.since(self.runway.clock.now()).min(RESCAN))
    }

    /// Each second: the writer thread answers, so we are alive; others' commits are noticed; a
    /// wall clock that was set is noticed; after trouble, work is tried again.
    async fn poll(&mut self) -> Result<(), StoreError> {
        let version = self.runway.store.data_version().await;
        systemd::alive();
        self.trouble = false;
        match version {
            Ok(version) if version == self.data_version => {}
            Ok(version) => {
                self.data_version = version;
                self.look_for_fresh().await?;
            }
            Err(error) => self.bear(error)?,
        }
        let (instant, wall) = self.clocks;
        let now = self.runway.clock.now();
        let expected = wall + instant.elapsed();
        self.clocks = (Instant::now(), now);
        if now.since(expected).max(expected.since(now)) > CLOCK_STEP {
            tracing::warn!("the wall clock was set; waits are looked through again");
            self.rescan().await?;
        }
        Ok(())
    }

    async fn rescan(&mut self) -> Result<(), StoreError> {
        let now = self.runway.clock.now();
        let kept = upkeep::each_minute(&self.runway.store, self.retention, now).await;
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

    async fn look_everywhere(&mut self) -> Result<(), StoreError> {
        let now = self.runway.clock.now();
        let read = |db: &shared::store::Db| Ok((waiting::high_water(db)?, waiting::all(db)?));
        match self.runway.store.read(read).await {
            Ok((high_water, waiting)) => {
                (self.high_water, self.looked_at) = (high_water, now);
                self.note(waiting).await
            }
            Err(error) => self.bear(error),
        }
    }

    async fn look_for_fresh(&mut self) -> Result<(), StoreError> {
        let (after, since, now) = (self.high_water, self.looked_at, self.runway.clock.now());
        let read = move |db: &shared::store::Db| {
            let high_water = waiting::high_water(db)?;
            Ok((high_water, waiting::fresh(db, after, since, now)?))
        };
        match self.runway.store.read(read).await {
            Ok((high_water, waiting)) => {
                (self.high_water, self.looked_at) = (high_water, now);
                self.note(waiting).await
            }
            Err(error) => self.bear(error),
        }
    }

    async fn note(&mut self, found: Vec<Waiting>) -> Result<(), StoreError> {
        let now = self.runway.clock.now();
        for Waiting {
            mut destination,
            due_at,
        } in found
        {
            if destination.channel.is_empty() {
                if let Err(error) = self.address(now).await {
                    self.bear(error)?;
                    // The minute's look finds them again.
                    continue;
                }
                destination.channel.clone_from(&self.default_channel);
            }
            if self.runway.channels.is_configured(&destination.channel) {
                self.schedule.note(destination, due_at);
            } else if self.unknown.insert(destination.channel.clone()) {
                self.tell_unknown(&destination.channel, now).await?;
            }
        }
        Ok(())
    }

    /// Rows for a channel that is not configured wait, and that is told once.
    async fn tell_unknown(&mut self, channel: &str, now: Timestamp) -> Result<(), StoreError> {
        tracing::error!(
            channel,
            "alerts wait for a channel that the configuration does not know"
        );
        let Some(notice) = notice::unknown_channel(channel, &self.runway.channels, now) else {
            return Ok(());
        };
        let to = notice.to.clone();
        let notify = move |db: &shared::store::Db| outbox::notify(db, &notice, now);
        match self.runway.store.write(notify).await {
            Ok(_) => self.schedule.note(to, now),
            Err(error) => self.bear(error)?,
        }
        Ok(())
    }

    /// Gives rows without a channel the default one.
    async fn address(&self, now: Timestamp) -> Result<(), StoreError> {
        loop {
            let channel = self.default_channel.clone();
            let address = move |db: &shared::store::Db| waiting::address(db, &channel, now);
            if !self.runway.store.write(address).await? {
                return Ok(());
            }
        }
    }

    /// Trouble of the file or its disk passes: work rests until the next poll. Anything else ends us.
    fn bear(&mut self, error: StoreError) -> Result<(), StoreError> {
        if error.remedy() == Remedy::Stop {
            return Err(error);
        }
        if !self.trouble {
            tracing::warn!("sending rests: {error}");
        }
        self.trouble = true;
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
