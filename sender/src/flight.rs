//! One flight: one leased delivery is sent within its deadline, and its result is written by the
//! holder of the lease, however long the database takes to accept it.

use crate::channel::{Channels, Sent};
use crate::gatekeeper::chat_key;
use crate::notice;
use crate::policy;
use crate::policy::hold::{self, Evidence};
use crate::policy::settle::Terms;
use crate::steady::Steady;
use shared::model::{
    Blame, Delivery, Destination, Fault, Gatekeeper, Lease, Outcome, Priority, Receipt, Settlement,
    Timestamp,
};
use shared::platform::clock::Clock;
use shared::policy::text::span;
use shared::store::journal::Completion;
use shared::store::outbox::{self, Settled};
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
    pub clock: Clock,
    pub give_up_after: Duration,
    pub unsettled: Unsettled,
    pub(crate) steady: Steady,
    /// The 429s of the last seconds, of all chats.
    pub evidence: Arc<Mutex<Evidence>>,
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
    pub result: Result<Settled, StoreError>,
}

impl Runway {
    /// Sends and settles. `chance` is uniform in `[0, 1)`.
    pub async fn fly(self, lease: Lease<Delivery>, chance: f64) -> Landed {
        let lease = Arc::new(lease);
        let written = self.clock.now();
        let Sent { outcome, renamed } = self.send(&lease).await;
        let now = self.clock.now();
        let trace = Arc::new(Trace {
            written,
            answered: now,
            fault: fault_of(&outcome).cloned(),
            renamed,
            chance,
        });
        let terms = Terms {
            give_up_after: self.give_up_after,
            ages_are_sure: self.steady.is_sure(),
        };
        let settlement = policy::settle::decide(outcome, lease.held(), &terms, now, chance);
        let settlement = Arc::new(settlement);
        log(&lease, &settlement, now);
        let mut result = self.settle(&lease, &settlement, trace).await;
        if let Settlement::Bury(reason, fault) = &*settlement
            && result.is_ok()
            && let Some(before) = policy::settle::dies_with(fault, &terms, now)
            && let Err(error) = self.bury_behind(&lease, before, reason).await
        {
            result = Err(error);
        }
        Landed {
            destination: lease.held().destination.clone(),
            priority: lease.held().priority,
            result,
        }
    }

    /// In a task of its own, so that a panic in a channel costs this attempt and nothing else.
    async fn send(&self, lease: &Arc<Lease<Delivery>>) -> Sent {
        let (channels, held) = (Arc::clone(&self.channels), Arc::clone(lease));
        let sending = tokio::spawn(async move { channels.send(held.held()).await });
        sending.await.unwrap_or_else(|panic| {
            Sent::from(Outcome::Deferred(Fault {
                blame: Blame::Ours,
                hold: None,
                retry_after: None,
                maybe_delivered: true,
                detail: format!("a bug in the channel: {panic}"),
            }))
        })
    }

    /// Offers the result until the database takes it: no new work is claimed for this destination
    /// before, so a full disk stops the sending instead of multiplying it.
    async fn settle(
        &self,
        lease: &Arc<Lease<Delivery>>,
        settlement: &Arc<Settlement>,
        trace: Arc<Trace>,
    ) -> Result<Settled, StoreError> {
        let id = lease.held().id;
        match &**settlement {
            Settlement::Complete(receipt) => self.unsettled.hold(lease, receipt, &[]),
            Settlement::Continue(receipt, rest) => self.unsettled.hold(lease, receipt, rest),
            Settlement::RetryAt(..) | Settlement::Bury(..) | Settlement::Release => {}
        }
        let notices = self.notices(lease);
        let mut told = false;
        loop {
            let now = self.clock.now();
            let (lease, settlement) = (Arc::clone(lease), Arc::clone(settlement));
            let (runway, trace, notices) = (self.clone(), Arc::clone(&trace), notices.clone());
            let write = move |db: &Db| {
                let settled = outbox::settle(db, &lease, &settlement, notices.as_ref(), now)?;
                runway.adjust_gates(db, &lease.held().destination, &trace)?;
                Ok(settled)
            };
            let written = self.store.write(write).await;
            match written {
                Err(error) if error.remedy() == Remedy::Wait => {
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
}

impl Runway {
    fn notices(&self, lease: &Lease<Delivery>) -> Option<Destination> {
        let notices = self.channels.notices(&lease.held().destination.channel);
        notices.cloned()
    }

    /// What waited as long as the row that died of it dies with it, and is told in one notice.
    async fn bury_behind(
        &self,
        lease: &Lease<Delivery>,
        before: Timestamp,
        reason: &str,
    ) -> Result<(), StoreError> {
        let now = self.clock.now();
        loop {
            let (to, notices) = (lease.held().destination.clone(), self.notices(lease));
            let reason = reason.to_owned();
            let bury =
                move |db: &Db| outbox::bury_behind(db, &to, before, &reason, notices.as_ref(), now);
            if self.store.write(bury).await? == 0 {
                return Ok(());
            }
        }
    }

    /// What the attempt taught about everything that goes the same way.
    fn adjust_gates(&self, db: &Db, to: &Destination, trace: &Trace) -> Result<(), StoreError> {
        if let Some(new) = &trace.renamed {
            self.rename(db, to, new)?;
        }
        let keys = self.channels.keys(to);
        let was_opened = Cell::new(false);
        gate::adjust(db, &keys, &|gates| {
            if let Some(limits) = self.channels.limits(to) {
                limits.answered(gates, trace.written, trace.answered);
            }
            match &trace.fault {
                None => hold::passed(gates, trace.answered),
                Some(fault) => {
                    let mut evidence = self.evidence.lock().unwrap_or_else(PoisonError::into_inner);
                    hold::refused(
                        gates,
                        to,
                        fault,
                        &mut evidence,
                        trace.answered,
                        trace.chance,
                    );
                    was_opened.set(hold::is_first(gates, fault));
                }
            }
        })?;
        let told = trace.fault.as_ref().filter(|_| was_opened.get());
        let told = told.and_then(|fault| notice::closed(to, fault, &self.channels, trace.answered));
        if let Some(told) = told {
            outbox::notify(db, &told, trace.answered)?;
        }
        Ok(())
    }
}

impl Runway {
    /// The chat's gate goes with it, and so does what will be sent from now on.
    fn rename(&self, db: &Db, to: &Destination, new: &str) -> Result<(), StoreError> {
        let bot = self.channels.bot(&to.channel);
        self.channels.rename(&bot, &to.chat_id, new);
        gate::rename(db, &chat_key(&bot, &to.chat_id), &chat_key(&bot, new), new)
    }
}

/// When a request went out and was answered, and what was wrong with it.
struct Trace {
    written: Timestamp,
    answered: Timestamp,
    fault: Option<Fault>,
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

fn log(lease: &Lease<Delivery>, settlement: &Settlement, now: Timestamp) {
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
        Settlement::Bury(reason, _) => {
            tracing::error!(row, %to, attempt, "given up, a dead letter: {reason}");
        }
        Settlement::Release => tracing::debug!(row, %to, attempt, "released"),
    }
}
