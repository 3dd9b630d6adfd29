//! A sender's life: it ends at any moment, another takes over, the clock is set under it, and what was fenced
//! comes late.

use super::machine::{Held, Machine, Sender};
use super::step::Answer;
use shared::model::{Delivery, Gatekeeper, Lease, Settlement, Timestamp};
use shared::store::journal::{self, Completion};
use shared::store::outbox::{self, Claim, failover, prune};
use shared::store::{Db, StoreError, gate, timeline};
use std::sync::Arc;
use std::time::Duration;
use watchalert_sender::policy::hold::Evidence;

const RETENTION: Duration = Duration::from_secs(90 * 86_400);
/// A step of the clock that makes ages wrong, in milliseconds.
const LARGE: i64 = 2_000;

impl Machine {
    /// The sender is gone; perhaps the clock is set meanwhile; another one comes.
    pub fn crash(&mut self, arrived: u8, is_kept: bool, turned: i64) -> Held {
        let flights = std::mem::take(&mut self.sender.flights);
        let mut kept = Vec::new();
        for (place, flight) in flights.iter().enumerate() {
            if arrived >> (place % 8) & 1 == 0 {
                continue;
            }
            let id = flight.lease.held().id;
            self.truth.arrived(&self.must, id);
            if is_kept {
                kept.push(completion(&flight.lease, &format!("kept {id}")));
                self.truth.committed(&self.must, id, true);
            }
        }
        let mut stale: Vec<Completion> = self
            .late
            .iter()
            .map(|flight| completion(&flight.lease, "stale"))
            .collect();
        stale.extend(kept.iter().cloned());
        let path = self.world.database();
        journal::write(&path, &stale).map_err(|error| error.to_string())?;
        if turned != 0 {
            let to = self.now().unix_millis() + turned;
            self.world.clock.turn_to(Timestamp::from_unix_millis(to));
            self.truth.forget_requests();
        }
        self.late.extend(flights);
        self.late_epochs.push(self.sender.epoch);
        self.take_over(&kept)?;
        if turned == 0 { Ok(()) } else { self.minute() }
    }

    fn take_over(&mut self, kept: &[Completion]) -> Held {
        let (path, now) = (self.world.database(), self.now());
        let completions = journal::read(&path).map_err(|error| error.to_string())?;
        let channels = Arc::clone(&self.channels);
        let taken = self.write(move |db| {
            journal::replay(db, &completions, now)?;
            let taken = outbox::take_over(db, "the model", now)?;
            for to in &taken.places {
                if let Some(limits) = channels.limits(to) {
                    gate::adjust(db, &channels.keys(to), &|gates| {
                        limits.answered(gates, now, now);
                    })?;
                }
            }
            Ok(taken)
        })?;
        journal::remove(&path).map_err(|error| error.to_string())?;
        for completion in kept {
            let attempt = (completion.outbox_id, completion.attempt);
            self.must.arrived(attempt, &completion.message_id, &[], now);
        }
        let places = self.must.take_over(now);
        for to in &places {
            if let Some(limits) = self.channels.limits(to) {
                let keys = self.channels.keys(to);
                self.must
                    .adjust(&keys, |gates| limits.answered(gates, now, now));
            }
            self.truth.counted(to, self.world.clock.steady());
        }
        self.sender = Sender::new(taken.epoch, self.world.clock.steady());
        Ok(())
    }

    /// A fenced sender settles, claims, or follows the clock: nothing of it may count.
    pub fn come_late(&mut self, what: u8, answer: &Answer) -> Held {
        let Some(epoch) = self.late_epochs.last().copied() else {
            return Ok(());
        };
        let now = self.now();
        let is_fenced = |result: Result<(), StoreError>| match result {
            Err(StoreError::Fenced(_)) => Ok(()),
            other => Err(format!("a sender that was fenced is answered {other:?}")),
        };
        if what.is_multiple_of(4) {
            let stepped = self.must.stepped + 5_000;
            return is_fenced(
                self.world
                    .write(move |db| timeline::follow(db, epoch, stepped, now)),
            );
        }
        if what % 4 == 1 {
            let due = self
                .must
                .rows
                .values()
                .find(|row| row.is("ready") && row.due_at() <= now);
            let Some(to) = due.map(super::picture::Row::to) else {
                return Ok(());
            };
            let claim = move |db: &Db| {
                outbox::claim(db, epoch, &to, &watchalert_tests::world::Unlimited, now)
            };
            return match self.world.write(claim) {
                Ok(Claim::Leased(_)) => Err("a sender that was fenced may claim".to_owned()),
                _ => Ok(()),
            };
        }
        let count = self.late.len();
        let Some(flight) = self.late.get(usize::from(what) % count.max(1)) else {
            return Ok(());
        };
        let lease = Arc::clone(&flight.lease);
        let outcome = self.outcome(answer);
        let settlement = match answer {
            Answer::Released => Settlement::Release,
            _ => self.decide(&outcome, lease.held()),
        };
        let attempt = self.must.tries.get(&(lease.held().id, lease.attempt()));
        let is_known = attempt.is_some_and(|it| it.outcome.as_deref() == Some("ok"))
            && matches!(
                settlement,
                Settlement::Complete(_) | Settlement::Continue(..)
            );
        let notices = self.notices(&lease.held().destination);
        let settled = self
            .world
            .write(move |db| outbox::settle(db, &lease, &settlement, notices.as_ref(), now));
        if is_known && settled.is_ok() {
            return Ok(());
        }
        is_fenced(settled.map(|_| ()))
    }

    /// The clock is set under a sender at work.
    pub fn turn(&mut self, millis: i64) -> Held {
        let now = Timestamp::from_unix_millis(self.now().unix_millis() + millis);
        self.world.clock.turn_to(now);
        let (epoch, to) = (self.sender.epoch, self.must.stepped + millis);
        self.write(move |db| timeline::follow(db, epoch, to, now))?;
        self.must.follow(millis, now);
        for flight in &mut self.sender.flights {
            flight.written = Timestamp::from_unix_millis(flight.written.unix_millis() + millis);
        }
        self.sender.evidence = Evidence::default();
        self.sender.schedule.release_all();
        if millis.abs() > LARGE {
            self.sender.since = self.world.clock.steady();
            self.minute()?;
        }
        Ok(())
    }

    /// What a sender does each minute.
    pub fn minute(&mut self) -> Held {
        let now = self.now();
        // Of two places that are late together either may go first.
        let places = self.write(move |db| failover::overdue(db, now))?;
        for place in places.clone() {
            let channels = Arc::clone(&self.channels);
            self.write_until_none(move |db: &Db| {
                let is_closed = !channels.is_configured(&place.channel)
                    || gate::is_closed(db, &channels.keys(&place), now)?;
                failover::fail_over(db, &place, is_closed, now)
            })?;
        }
        let channels = Arc::clone(&self.channels);
        self.must.fail_over(
            channels.as_ref(),
            |channel| channels.is_configured(channel),
            &places,
            now,
        );
        if self.is_sure() {
            let told = self.channels.notices("").cloned();
            let to = told.clone();
            self.write_until_none(move |db| failover::expire(db, told.as_ref(), now))?;
            self.must.expire(to.as_ref(), now);
        }
        self.write(move |db| gate::heal(db, now))?;
        self.write_until_none(move |db| outbox::heal(db, now))?;
        self.must.heal(now);
        if self.is_sure() {
            let before = now.minus(RETENTION);
            self.write_until_none(move |db| prune::prune(db, before))?;
            self.must.prune(before);
            self.truth.forget_released(&self.must);
        }
        Ok(())
    }
}

fn completion(lease: &Lease<Delivery>, message_id: &str) -> Completion {
    Completion {
        outbox_id: lease.held().id,
        attempt: lease.attempt(),
        epoch: lease.epoch(),
        message_id: message_id.to_owned(),
        rest: Vec::new(),
    }
}
