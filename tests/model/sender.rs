//! The sender of the model: it looks, claims and settles by the real rules, and its network is a script.

use super::machine::{Flight, Held, Machine};
use super::reference::Found;
use super::step::Answer;
use shared::model::{
    Blame, Delivery, DeliveryKind, Destination, Fault, Gatekeeper, Gates, Outcome, Priority,
    Receipt, Settlement, Timestamp,
};
use shared::store::outbox::{self, Claim, Settled, waiting};
use shared::store::{Db, gate};
use std::sync::Arc;
use std::time::Duration;
use watchalert_sender::policy::hold::{self, Evidence};
use watchalert_sender::policy::settle::{self, Terms};

const DEFAULT_CHANNEL: &str = "ops";
const GIVE_UP_AFTER: Duration = Duration::from_secs(72 * 3_600);
const CHANCE: f64 = 0.5;

impl Machine {
    /// Looks what waits, and sends what may go.
    pub fn send(&mut self, most: usize) -> Held {
        self.look()?;
        let now = self.now();
        for place in self.sender.schedule.take(now, 64, most.min(16)) {
            let (epoch, channels, asked) =
                (self.sender.epoch, Arc::clone(&self.channels), vec![place]);
            let claim =
                move |db: &Db| outbox::claim_each(db, epoch, &asked, channels.as_ref(), now);
            let (place, claim) = self.write(claim)?.remove(0);
            let claim = claim.map_err(|error| format!("a claim failed: {error}"))?;
            let wanted = self.must.claim(self.channels.as_ref(), &place, now);
            let found = found(&claim);
            if found != wanted {
                return Err(format!(
                    "a claim for {place} gives {found:?}, must give {wanted:?}"
                ));
            }
            self.launch(place, claim)?;
        }
        Ok(())
    }

    fn look(&mut self) -> Held {
        let now = self.now();
        let all = self.write(move |db| waiting::all(db, now))?;
        for mut found in all {
            if found.destination.channel.is_empty() {
                let from = found.destination.clone();
                DEFAULT_CHANNEL.clone_into(&mut found.destination.channel);
                let to = found.destination.clone();
                self.must.address(&from, &to, now);
                while self.write({
                    let (from, to) = (from.clone(), to.clone());
                    move |db| waiting::address(db, &from, &to, now)
                })? {}
            }
            if self.channels.is_configured(&found.destination.channel) {
                self.sender
                    .schedule
                    .note(found.destination, found.due_at, found.priority);
            }
        }
        Ok(())
    }

    fn launch(&mut self, place: Destination, claim: Claim) -> Held {
        let schedule = &mut self.sender.schedule;
        match claim {
            Claim::Leased(lease) => {
                let (id, is_marked) = (lease.held().id, lease.held().possible_repeat);
                let is_limited = self.has_limits && place.channel == "ops";
                let at = self.world.clock.steady();
                let broken = self
                    .truth
                    .written(&self.must, id, is_marked, at, is_limited);
                let written = self.now();
                self.sender.flights.push(Flight {
                    lease: Arc::new(*lease),
                    written,
                });
                if !broken.is_empty() {
                    return Err(broken.join("\n"));
                }
            }
            Claim::NotBefore(at, priority) => schedule.landed(place, at, priority),
            Claim::Held(until, priority) => {
                for channel in self.channels.sharing(&place.channel) {
                    schedule.hold(channel, priority, until);
                }
                schedule.held(place, priority);
            }
            Claim::Nothing => schedule.empty(&place),
        }
        Ok(())
    }

    /// A flight is answered, and the answer settled.
    pub fn land(&mut self, number: u8, answer: &Answer) -> Held {
        let count = self.sender.flights.len();
        if count == 0 {
            return Ok(());
        }
        let flight = self.sender.flights.remove(usize::from(number) % count);
        let (lease, now) = (Arc::clone(&flight.lease), self.now());
        let (id, to) = (lease.held().id, lease.held().destination.clone());
        // A digest is one message.
        let is_digest = lease.held().kind == DeliveryKind::Digest;
        let answer = if is_digest && matches!(answer, Answer::Begun(_)) {
            &Answer::Delivered
        } else {
            answer
        };
        let outcome = self.outcome(answer);
        let settlement = match answer {
            Answer::Released => Settlement::Release,
            _ => self.decide(&outcome, lease.held()),
        };
        if matches!(
            answer,
            Answer::Delivered | Answer::Begun(_) | Answer::Lost { arrived: true }
        ) {
            self.truth.arrived(&self.must, id);
        }
        let at = self.world.clock.steady();
        if settlement == Settlement::Release {
            self.truth.unsent(&to);
        } else {
            self.truth.counted(&to, at);
        }
        let is_whole = match settlement {
            Settlement::Complete(_) => Some(true),
            Settlement::Continue(..) => Some(false),
            _ => None,
        };
        if let Some(is_whole) = is_whole {
            self.truth.committed(&self.must, id, is_whole);
        }
        let (settled, evidence) = self.settle(&flight, &outcome, &settlement)?;
        self.sender.evidence = evidence;
        let notices = self.notices(&to);
        if let Settlement::Bury(reason, fault) = &settlement
            && settled != Settled::Moved
            && let Some(before) = settle::dies_with(fault, &self.terms(), now)
        {
            self.bury_behind(&to, before, reason, notices.as_ref())?;
        }
        let schedule = &mut self.sender.schedule;
        for channel in self.channels.sharing(&to.channel) {
            schedule.release(channel);
        }
        if let Some(notices) = notices.filter(|_| matches!(settled, Settled::Waits | Settled::Dead))
        {
            schedule.note(notices, now, Priority::High);
        }
        schedule.landed(to, now, lease.held().priority);
        Ok(())
    }

    fn settle(
        &mut self,
        flight: &Flight,
        outcome: &Outcome,
        settlement: &Settlement,
    ) -> Held<(Settled, Evidence)> {
        let (lease, now) = (Arc::clone(&flight.lease), self.now());
        let to = lease.held().destination.clone();
        let notices = self.notices(&to);
        let is_released = *settlement == Settlement::Release;
        let teach = Teach {
            channels: Arc::clone(&self.channels),
            to: to.clone(),
            outcome: outcome.clone(),
            written: flight.written,
            answered: now,
            evidence: self.sender.evidence.clone(),
        };
        let job = {
            let (lease, settlement, notices, teach) = (
                Arc::clone(&lease),
                settlement.clone(),
                notices.clone(),
                teach.clone(),
            );
            move |db: &Db| {
                let settled = outbox::settle(db, &lease, &settlement, notices.as_ref(), now)?;
                if !is_released {
                    let evidence = std::sync::Mutex::new(teach.evidence.clone());
                    let keys = teach.channels.keys(&teach.to);
                    gate::adjust(db, &keys, &|gates| {
                        teach.change(gates, &mut evidence.lock().expect("whole"));
                    })?;
                }
                Ok(settled)
            }
        };
        let settled = self.write(job)?;
        let must = self.must.settle(&lease, settlement, notices.as_ref(), now);
        let evidence = std::sync::Mutex::new(teach.evidence.clone());
        if !is_released {
            let keys = self.channels.keys(&to);
            self.must.adjust(&keys, |gates| {
                teach.change(gates, &mut evidence.lock().expect("whole"));
            });
        }
        if settled != must {
            return Err(format!(
                "{settlement:?} of row {} is {settled:?}, must be {must:?}",
                lease.held().id
            ));
        }
        Ok((settled, evidence.into_inner().expect("whole")))
    }

    fn bury_behind(
        &mut self,
        place: &Destination,
        before: Timestamp,
        reason: &str,
        notices: Option<&Destination>,
    ) -> Held {
        let now = self.now();
        let (to, why, told) = (place.clone(), reason.to_owned(), notices.cloned());
        self.write_until_none(move |db| {
            outbox::bury_behind(db, &to, before, &why, told.as_ref(), now)
        })?;
        self.must.bury_behind(place, before, reason, notices, now);
        Ok(())
    }

    fn terms(&self) -> Terms {
        Terms {
            give_up_after: GIVE_UP_AFTER,
            ages_are_sure: self.is_sure(),
        }
    }

    pub fn notices(&self, of: &Destination) -> Option<Destination> {
        self.channels.notices(&of.channel).cloned()
    }

    pub fn outcome(&mut self, answer: &Answer) -> Outcome {
        self.messages += 1;
        let receipt = Receipt {
            message_id: format!("m{}", self.messages),
        };
        let fault = |blame, maybe_delivered| Fault {
            blame,
            hold: None,
            retry_after: None,
            maybe_delivered,
            detail: format!("fault {}", self.messages),
        };
        match answer {
            Answer::Delivered | Answer::Released => Outcome::Delivered(receipt),
            Answer::Begun(left) => Outcome::Begun(
                receipt,
                (0..*left).map(|part| format!("part {part}")).collect(),
            ),
            Answer::Lost { .. } => Outcome::Deferred(fault(Blame::Channel, true)),
            Answer::Rejected { blame } => Outcome::Rejected(fault(*blame, false)),
            Answer::Deferred {
                blame,
                hold,
                retry_after,
            } => Outcome::Deferred(Fault {
                hold: *hold,
                retry_after: retry_after.map(|secs| Duration::from_secs(u64::from(secs))),
                ..fault(*blame, false)
            }),
        }
    }

    pub fn decide(&self, outcome: &Outcome, held: &Delivery) -> Settlement {
        settle::decide(outcome.clone(), held, &self.terms(), self.now(), CHANCE)
    }
}

/// What an answer teaches about everything that goes the same way.
#[derive(Clone)]
struct Teach {
    channels: Arc<watchalert_sender::channel::Channels>,
    to: Destination,
    outcome: Outcome,
    written: Timestamp,
    answered: Timestamp,
    evidence: Evidence,
}

impl Teach {
    fn change(&self, gates: &mut Gates, evidence: &mut Evidence) {
        if let Some(limits) = self.channels.limits(&self.to) {
            limits.answered(gates, self.written, self.answered);
        }
        let keys = self.channels.keys(&self.to);
        match &self.outcome {
            Outcome::Delivered(_) | Outcome::Begun(..) => {
                hold::passed(gates, self.answered);
                evidence.passed(&keys.bot, self.answered);
            }
            Outcome::Deferred(fault) | Outcome::Rejected(fault) => {
                hold::refused(gates, &keys, fault, evidence, self.answered, CHANCE);
            }
        }
    }
}

fn found(claim: &Claim) -> Found {
    match claim {
        Claim::NotBefore(at, priority) => Found::NotBefore(*at, *priority),
        Claim::Held(at, priority) => Found::Held(*at, *priority),
        Claim::Nothing => Found::Nothing,
        Claim::Leased(lease) => {
            let held = lease.held();
            Found::Leased(Box::new(super::reference::Held {
                id: held.id,
                attempt: lease.attempt(),
                possible_repeat: held.possible_repeat,
                unknown_outcomes: held.unknown_outcomes,
                unrecognised: held.unrecognised,
                owed_since: held.owed_since,
                failed_for: held.failed_for,
                refused_since: held.refused_since,
                rest: held.rest.len(),
            }))
        }
    }
}
