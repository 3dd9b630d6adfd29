//! One flight: one leased delivery is sent within its deadline, and its result is written by the
//! holder of the lease, however long the database takes to accept it.

use crate::channel::{Channels, Sent};
use crate::gatekeeper::chat_key;
use crate::notice;
use crate::policy;
use crate::policy::hold::{self, Evidence};
use crate::policy::settle::Terms;
use crate::policy::share::Shares;
use crate::steady::{Moment, Steady};
use crate::upkeep;
use shared::model::{
    Blame, Delivery, Destination, Fault, Gatekeeper, Hold, Lease, Outcome, Priority, Receipt,
    Settlement, Timestamp,
};
use shared::platform::crash;
use shared::policy::text::span;
use shared::store::journal::Completion;
use shared::store::outbox::{self, Settled, failover};
use shared::store::{Db, Remedy, Store, StoreError, gate};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The pause before a result is offered again to a database that did not take it.
const AGAIN: Duration = Duration::from_secs(1);

/// What every flight needs.
#[derive(Clone, Debug)]
pub struct Runway {
    pub store: Arc<Store>,
    pub channels: Arc<Channels>,
    pub give_up_after: Duration,
    /// How often a tick should come.
    pub ticks_each: Duration,
    /// Bytes of the disk that nothing new takes.
    pub min_free: u64,
    pub unsettled: Unsettled,
    pub steady: Steady,
    /// The 429s of the last seconds, of all chats.
    pub evidence: Arc<Mutex<Evidence>>,
    /// How many of the last minutes' answers were 429s.
    pub shares: Arc<Mutex<Shares>>,
}

/// Deliveries that were acknowledged and whose completion is not in the file yet. What is left
/// when the sender ends goes into the journal.
#[derive(Clone, Debug, Default)]
pub struct Unsettled(Arc<Mutex<BTreeMap<i64, Completion>>>);

impl Unsettled {
    pub fn all(&self) -> Vec<Completion> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.values().cloned().collect()
    }

    fn hold(&self, lease: &Lease<Delivery>, receipt: &Receipt, rest: &[String]) {
        let completion = Completion {
            outbox_id: lease.held().id,
            attempt: lease.attempt(),
            epoch: lease.epoch(),
            message_id: receipt.message_id.clone(),
            rest: rest.to_vec(),
        };
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.insert(completion.outbox_id, completion);
    }

    fn settled(&self, id: i64) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(&id);
    }
}

/// A flight that is over.
#[derive(Debug)]
pub struct Landed {
    pub destination: Destination,
    /// Of what was sent: what comes next is seldom graver.
    pub priority: Priority,
    /// Its chat was found to have another id.
    pub renamed: bool,
    pub result: Result<Settled, StoreError>,
}

impl Runway {
    /// Sends and settles. `chance` is uniform in `[0, 1)`.
    pub async fn fly(self, lease: Arc<Lease<Delivery>>, chance: f64) -> Landed {
        let channel = &lease.held().destination.channel;
        crash::point_of("call.before", channel);
        let written = self.steady.moment();
        let Sent { outcome, renamed } = self.send(&lease).await;
        crash::point_of("call.after", channel);
        let trace = Trace {
            written,
            answered: self.steady.moment(),
            renamed,
            chance,
        };
        self.land(lease, outcome, trace).await
    }

    /// For a flight that a bug of ours ended: it may have arrived.
    pub async fn crash(self, lease: Arc<Lease<Delivery>>, why: String) -> Landed {
        let now = self.steady.moment();
        let trace = Trace {
            written: now,
            answered: now,
            renamed: None,
            chance: 0.5,
        };
        self.land(lease, bug(&why), trace).await
    }

    async fn land(self, lease: Arc<Lease<Delivery>>, outcome: Outcome, trace: Trace) -> Landed {
        let (destination, priority) = {
            let held = lease.held();
            (held.destination.clone(), held.priority)
        };
        let renamed = trace.renamed.is_some();
        let result = match self.settle(&lease, outcome, trace).await {
            Ok((settled, Some(death))) => {
                let buried = self.bury_behind(&destination, death).await;
                buried.map(|()| settled)
            }
            settled => settled.map(|(settled, _)| settled),
        };
        Landed {
            destination,
            priority,
            renamed,
            result,
        }
    }

    /// In a task of its own, so that a panic in a channel costs this attempt and nothing else.
    async fn send(&self, lease: &Arc<Lease<Delivery>>) -> Sent {
        let (channels, held) = (Arc::clone(&self.channels), Arc::clone(lease));
        let now = self.steady.now();
        let sending = tokio::spawn(async move { channels.send(held.held(), now).await });
        let sent = sending.await;
        sent.unwrap_or_else(|panic| Sent::from(bug(&panic.to_string())))
    }

    /// Offers the result until the database takes it: no new work is claimed for this destination
    /// before, so a full disk stops the sending instead of multiplying it. What follows for the row is
    /// decided within the transaction, by the time that holds there.
    async fn settle(
        &self,
        lease: &Arc<Lease<Delivery>>,
        outcome: Outcome,
        trace: Trace,
    ) -> Result<(Settled, Option<Death>), StoreError> {
        let id = lease.held().id;
        match &outcome {
            Outcome::Delivered(receipt) => self.unsettled.hold(lease, receipt, &[]),
            Outcome::Begun(receipt, rest) => self.unsettled.hold(lease, receipt, rest),
            Outcome::Deferred(_) | Outcome::Rejected(_) => {}
        }
        let come = Arc::new((outcome, trace));
        let mut told = false;
        loop {
            let (runway, lease, come) = (self.clone(), Arc::clone(lease), Arc::clone(&come));
            let write = move |db: &Db| runway.write(db, &lease, &come.0, &come.1);
            match self.store.write(write).await {
                Err(error) if error.remedy() == Remedy::Wait => {
                    upkeep::relieve(&self.store, &error);
                    if !told {
                        tracing::warn!(row = id, "a result waits in memory: {error}");
                        told = true;
                    }
                    tokio::time::sleep(AGAIN).await;
                }
                settled => {
                    // Fenced: the next sender has decided about the row. After any other error the
                    // journal must keep what was sent.
                    if matches!(settled, Ok(_) | Err(StoreError::Fenced(_))) {
                        self.unsettled.settled(id);
                    }
                    return settled;
                }
            }
        }
    }

    fn write(
        &self,
        db: &Db,
        lease: &Lease<Delivery>,
        outcome: &Outcome,
        trace: &Trace,
    ) -> Result<(Settled, Option<Death>), StoreError> {
        let answered = self.steady.in_file(db, trace.answered)?;
        let terms = Terms {
            give_up_after: self.give_up_after,
            ages_are_sure: self.steady.is_sure(),
        };
        let settlement = policy::settle::decide(
            outcome.clone(),
            lease.held(),
            &terms,
            answered,
            trace.chance,
        );
        let notices = self.notices(&lease.held().destination);
        let settled = outbox::settle(db, lease, &settlement, notices.as_ref(), answered)?;
        self.adjust_gates(db, lease.held(), outcome, trace)?;
        log(lease, &settlement, settled, answered);
        let death = match settlement {
            Settlement::Bury(reason, fault) if settled != Settled::Moved => {
                let before = policy::settle::dies_with(&fault, &terms, answered);
                before.map(|before| Death { reason, before })
            }
            _ => None,
        };
        let settled = match settled {
            Settled::Waits => self.move_what_is_late(db, &lease.held().destination, answered)?,
            settled => settled,
        };
        Ok((settled, death))
    }

    /// After a failure, what is late need not wait for the look of the next minute, in which some row of
    /// this place may be under way again, and could not be moved.
    fn move_what_is_late(
        &self,
        db: &Db,
        place: &Destination,
        now: Timestamp,
    ) -> Result<Settled, StoreError> {
        let is_closed = gate::is_closed(db, &self.channels.keys(place), now)?;
        if failover::fail_over(db, place, is_closed, now)? == 0 {
            return Ok(Settled::Waits);
        }
        // What was in a digest has just become rows of its own.
        failover::fail_over(db, place, is_closed, now)?;
        Ok(Settled::Moved)
    }

    /// The clock was set: when the last 429s were, nobody knows any more.
    pub fn forget_evidence(&self) {
        let mut evidence = self.evidence.lock().unwrap_or_else(PoisonError::into_inner);
        *evidence = Evidence::default();
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        *shares = Shares::default();
    }

    fn notices(&self, of: &Destination) -> Option<Destination> {
        self.channels.notices(&of.channel).cloned()
    }

    /// What waited as long as the row that died of it dies with it, and is told in one notice.
    async fn bury_behind(&self, place: &Destination, death: Death) -> Result<(), StoreError> {
        loop {
            let (runway, place, death) = (self.clone(), place.clone(), death.clone());
            let bury = move |db: &Db| {
                let now = runway.steady.in_file(db, runway.steady.moment())?;
                let notices = runway.notices(&place);
                let Death { reason, before } = &death;
                outbox::bury_behind(db, &place, *before, reason, notices.as_ref(), now)
            };
            if self.store.write(bury).await? == 0 {
                return Ok(());
            }
        }
    }

    /// What the attempt taught about everything that goes the same way.
    fn adjust_gates(
        &self,
        db: &Db,
        held: &Delivery,
        outcome: &Outcome,
        trace: &Trace,
    ) -> Result<(), StoreError> {
        let to = &held.destination;
        if let Some(new) = &trace.renamed {
            self.rename(db, to, new)?;
        }
        let written = self.steady.in_file(db, trace.written)?;
        let answered = self.steady.in_file(db, trace.answered)?;
        let (keys, fault) = (self.channels.keys(to), fault_of(outcome));
        let closed_since = Cell::new(None);
        gate::adjust(db, &keys, &|gates| {
            if let Some(limits) = self.channels.limits(to) {
                limits.answered(gates, written, answered);
            }
            let mut evidence = self.evidence.lock().unwrap_or_else(PoisonError::into_inner);
            match fault {
                None => {
                    hold::passed(gates, answered);
                    evidence.passed(&keys.bot, answered);
                }
                Some(fault) => {
                    let chance = trace.chance;
                    hold::refused(gates, &keys, fault, &mut evidence, answered, chance);
                    closed_since.set(hold::closed_since(gates, fault, answered));
                }
            }
        })?;
        let is_refused = fault.is_some_and(|fault| fault.hold == Some(Hold::RateLimited));
        if let Some(name) = self.channels.sharing(&to.channel).first() {
            let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
            shares.note(name, is_refused, answered);
        }
        // Of a broadcast the deaths are told, together, and not each chat that has left.
        let told = fault.filter(|_| !policy::settle::is_broadcast(held));
        let told = told.zip(closed_since.get());
        if let Some((fault, since)) = told {
            if let Some(told) = notice::closed(to, fault, &self.channels, since) {
                outbox::notify(db, &told, answered)?;
            } else {
                tracing::error!(
                    %to,
                    "nothing gets through, and there is no other channel to tell it on; a person must see \
                     to it, and everything waits until then: {}",
                    fault.detail
                );
            }
        }
        Ok(())
    }
}

/// Of what the row died, and since when something must be owed to die with it.
#[derive(Clone, Debug)]
struct Death {
    reason: String,
    before: Timestamp,
}

fn bug(why: &str) -> Outcome {
    Outcome::Deferred(Fault {
        blame: Blame::Ours,
        hold: None,
        retry_after: None,
        maybe_delivered: true,
        detail: format!("a bug in the channel: {why}"),
    })
}

impl Runway {
    /// The chat's gate goes with it, and so does what will be sent from now on.
    fn rename(&self, db: &Db, to: &Destination, new: &str) -> Result<(), StoreError> {
        let bot = self.channels.bot(&to.channel);
        // In the second try of a transaction this is known already.
        let asked = self.channels.renamed(to).filter(|current| current != new);
        let asked = asked.as_ref().unwrap_or(&to.chat_id);
        self.channels.rename(&bot, asked, new);
        gate::rename(db, &chat_key(&bot, asked), &chat_key(&bot, new), new)
    }
}

/// When a request went out and was answered, and what else came of it.
struct Trace {
    written: Moment,
    answered: Moment,
    /// The chat's new id.
    renamed: Option<String>,
    chance: f64,
}

fn fault_of(outcome: &Outcome) -> Option<&Fault> {
    match outcome {
        Outcome::Delivered(_) | Outcome::Begun(..) => None,
        Outcome::Deferred(fault) | Outcome::Rejected(fault) => Some(fault),
    }
}

fn log(lease: &Lease<Delivery>, settlement: &Settlement, settled: Settled, now: Timestamp) {
    let delivery = lease.held();
    let (row, to, attempt) = (delivery.id, &delivery.destination, lease.attempt());
    match settlement {
        Settlement::Complete(receipt) => {
            tracing::debug!(row, %to, attempt, receipt = %receipt.message_id, "delivered");
        }
        Settlement::Continue(receipt, rest) => {
            let left = rest.len();
            tracing::debug!(row, %to, attempt, receipt = %receipt.message_id, left, "a part of it is delivered");
        }
        Settlement::RetryAt(at, fault) => {
            let wait = span(at.since(now));
            let repeat = fault.maybe_delivered;
            tracing::warn!(row, %to, attempt, repeat, "not delivered, again in {wait}: {}", fault.detail);
        }
        Settlement::Bury(reason, _) if settled == Settled::Moved => {
            tracing::warn!(row, %to, attempt, "given up here, its fallback gets it: {reason}");
        }
        Settlement::Bury(reason, _) => {
            tracing::error!(row, %to, attempt, "given up, a dead letter: {reason}");
        }
        Settlement::Release => tracing::debug!(row, %to, attempt, "released"),
    }
}
