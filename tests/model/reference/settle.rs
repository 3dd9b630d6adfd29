//! Settle: what came of an attempt, and the ends: dead and told, moved to a fallback, a digest given up.

use super::super::picture::{Picture, Row};
use shared::model::{
    Blame, Delivery, DeliveryKind, Destination, Fault, LONGEST_BACKOFF, Lease, Priority,
    Settlement, Timestamp,
};
use shared::store::outbox::Settled;
use std::time::Duration;

/// What many deaths have in common is told in one notice, which waits for them.
const TOGETHER: Duration = Duration::from_secs(60);

impl Picture {
    pub fn settle(
        &mut self,
        lease: &Lease<Delivery>,
        settlement: &Settlement,
        notices: Option<&Destination>,
        now: Timestamp,
    ) -> Settled {
        let (id, n) = (lease.held().id, lease.attempt());
        match settlement {
            Settlement::Complete(receipt) => self.arrived((id, n), &receipt.message_id, &[], now),
            Settlement::Continue(receipt, rest) => {
                self.arrived((id, n), &receipt.message_id, rest, now)
            }
            Settlement::RetryAt(at, fault) => {
                self.wait(id, *at, Some(&fault.detail), fault.maybe_delivered, now);
                self.count_failure(id, fault, now);
                self.end(lease, outcome_of(fault), Some(fault), now);
                Settled::Waits
            }
            Settlement::Release => {
                self.wait(id, Timestamp::EPOCH, None, false, now);
                self.end(lease, "released", None, now);
                Settled::Waits
            }
            Settlement::Bury(reason, fault) => {
                let row = self.row(id);
                let has_fallback = row
                    .fallback_channel
                    .as_ref()
                    .is_some_and(|channel| !channel.is_empty());
                if row.kind == "digest" || has_fallback {
                    self.wait(
                        id,
                        Timestamp::EPOCH,
                        Some(reason),
                        fault.maybe_delivered,
                        now,
                    );
                    self.end(lease, outcome_of(fault), Some(fault), now);
                    if self.row(id).kind == "digest" {
                        self.dissolve(id, true, now);
                        return Settled::Waits;
                    }
                    return if self.hand_over(id, now) {
                        Settled::Moved
                    } else {
                        self.stay(id);
                        Settled::Waits
                    };
                }
                self.bury(lease, reason, notices, now);
                self.end(lease, outcome_of(fault), Some(fault), now);
                Settled::Dead
            }
        }
    }

    /// A whole delivery, or one message of several.
    pub fn arrived(
        &mut self,
        (id, n): (i64, i64),
        message: &str,
        rest: &[String],
        now: Timestamp,
    ) -> Settled {
        let row = self.row(id);
        let before = row
            .message_id
            .take()
            .map(|ids| ids + ",")
            .unwrap_or_default();
        row.message_id = Some(before + message);
        row.last_error = None;
        let settled = if rest.is_empty() {
            row.enter("sent", now);
            row.rest = None;
            Settled::Sent
        } else {
            row.enter("ready", now);
            row.rest = Some(serde_json::to_string(rest).expect("a list"));
            row.next_attempt = Timestamp::EPOCH;
            row.single = 1;
            (row.failures, row.failing_at, row.failed_for) = (0, None, Duration::ZERO);
            Settled::Begun
        };
        self.end_attempt((id, n), "ok", None, now);
        settled
    }

    fn wait(&mut self, id: i64, at: Timestamp, error: Option<&str>, maybe: bool, now: Timestamp) {
        let row = self.row(id);
        row.enter("ready", now);
        row.next_attempt = at;
        row.single = i64::from(maybe || row.single & 1 == 1);
        if let Some(error) = error {
            row.last_error = Some(error.to_owned());
        }
    }

    fn count_failure(&mut self, id: i64, fault: &Fault, now: Timestamp) {
        let row = self.row(id);
        if fault.counts() {
            let since = row.failing_at.map_or(Duration::ZERO, |at| now.since(at));
            row.failed_for += since.min(LONGEST_BACKOFF);
            row.failures += 1;
            row.failing_at = Some(now);
        } else if !fault.maybe_delivered {
            row.failing_at = None;
        }
    }

    /// A marked copy that surely did not go out is not counted.
    fn end(
        &mut self,
        lease: &Lease<Delivery>,
        outcome: &str,
        fault: Option<&Fault>,
        now: Timestamp,
    ) {
        self.end_attempt((lease.held().id, lease.attempt()), outcome, fault, now);
        if lease.held().possible_repeat && !fault.is_some_and(|fault| fault.maybe_delivered) {
            self.count("repeat_marked", -1);
        }
    }

    fn end_attempt(
        &mut self,
        key: (i64, i64),
        outcome: &str,
        fault: Option<&Fault>,
        now: Timestamp,
    ) {
        let attempt = self.tries.get_mut(&key).expect("an attempt");
        attempt.ended_at = Some(now);
        attempt.outcome = Some(outcome.to_owned());
        attempt.retry_after = fault.and_then(|fault| fault.retry_after);
        attempt.detail = fault.map(|fault| fault.detail.clone());
    }

    fn bury(
        &mut self,
        lease: &Lease<Delivery>,
        reason: &str,
        notices: Option<&Destination>,
        now: Timestamp,
    ) {
        let held = lease.held();
        let notices = notices.filter(|_| held.kind != DeliveryKind::Notice);
        let notice = notices.map(|to| {
            let about = format!("{}.{}", held.id, lease.attempt());
            let notice = self.death_notice(&about, to, now);
            let is_first = !self.rows.values().any(|row| row.told_by == Some(notice));
            let is_broadcast = held.kind == DeliveryKind::Raw && held.priority == Priority::Low;
            let row = self.row(notice);
            if is_broadcast && is_first && row.not_before == Timestamp::EPOCH {
                row.not_before = now + TOGETHER;
            }
            notice
        });
        self.row(held.id).single = 1;
        self.die(held.id, reason, notice, now);
    }

    fn die(&mut self, id: i64, reason: &str, notice: Option<i64>, now: Timestamp) {
        let row = self.row(id);
        row.enter("dead", now);
        row.last_error = Some(reason.to_owned());
        row.told_at = Some(now);
        row.told_by = notice;
    }

    /// A notice of deaths that has not been claimed takes one more.
    fn death_notice(&mut self, about: &str, to: &Destination, now: Timestamp) -> i64 {
        let is_open = |row: &Row| {
            let key = row.idempotency_key.as_deref().unwrap_or_default();
            row.waits_for(to)
                && row.attempts == 0
                && row.kind == "notice"
                && key.starts_with("n:dead:")
        };
        let open = self.ids(is_open);
        match open.first() {
            Some(id) => *id,
            None => self.notify("dead", about, to, Priority::High, now),
        }
    }

    /// What waited as long for a destination that refuses us dies with the one that died of it.
    pub fn bury_behind(
        &mut self,
        place: &Destination,
        before: Timestamp,
        reason: &str,
        notices: Option<&Destination>,
        now: Timestamp,
    ) {
        for digest in self.ids(|row| row.waits_for(place) && row.kind == "digest") {
            self.dissolve(digest, true, now);
        }
        let is_old = |row: &Row| {
            row.waits_for(place)
                && row.kind != "notice"
                && row.fallback_channel.is_none()
                && row.owed_since() <= before
        };
        let mut old = self.ids(is_old);
        old.sort_by_key(|id| (self.rows[id].priority, *id));
        let notice = match (notices, old.first()) {
            (Some(to), Some(id)) => {
                let about = format!("{id}.at.{}", now.unix_millis());
                Some(self.death_notice(&about, to, now))
            }
            _ => None,
        };
        for id in old {
            self.die(id, reason, notice, now);
        }
    }

    /// A digest that is given up is cancelled. What was in it goes out by itself, when it was refused or may
    /// have arrived.
    pub fn dissolve(&mut self, digest: i64, was_refused: bool, now: Timestamp) {
        let single = self.rows[&digest].single.max(i64::from(was_refused));
        for id in self.ids(|row| row.parent_id == Some(digest) && row.is("folded")) {
            let row = self.row(id);
            row.enter("ready", now);
            row.parent_id = None;
            row.released_from = Some(digest);
            row.single = row.single.max(single);
        }
        self.row(digest).enter("cancelled", now);
    }

    /// `false`: it has no fallback that takes it.
    pub fn hand_over(&mut self, id: i64, now: Timestamp) -> bool {
        let late = self.rows[&id].clone();
        let to = late.fallback();
        let takes = |row: &Row| {
            row.id != id
                && row.alert_id.is_some()
                && row.alert_id == late.alert_id
                && row.to() == to
                && !["dead", "cancelled", "expired"].contains(&row.state.as_str())
        };
        let served = self.ids(takes).first().copied();
        let target = match served {
            // Both places were tried: it stays at the second.
            Some(served) if self.leads(served, id) => return false,
            Some(served) => served,
            None if to.channel.is_empty() => return false,
            None => {
                let key = format!("f:{id}:{}", to.channel);
                if self
                    .rows
                    .values()
                    .any(|row| row.idempotency_key.as_ref() == Some(&key))
                {
                    return false;
                }
                let since = late.owed_since();
                let copy = Row {
                    idempotency_key: Some(key),
                    alert_id: late.alert_id,
                    payload: late.payload,
                    priority: late.priority,
                    single: late.single & 1,
                    ..Row::fresh(&late.kind, &to, Priority::Normal, since)
                };
                self.add(copy)
            }
        };
        let row = self.row(id);
        row.enter("moved", now);
        row.moved_to = Some(target);
        row.last_error
            .get_or_insert_with(|| "not delivered in time".to_owned());
        true
    }

    fn leads(&self, from: i64, to: i64) -> bool {
        let mut way = std::iter::successors(Some(from), |id| self.rows[id].moved_to);
        way.any(|id| id == to)
    }

    pub fn stay(&mut self, id: i64) {
        let row = self.row(id);
        (row.fallback_at, row.fallback_channel, row.fallback_chat_id) = (None, None, None);
    }
}

impl Row {
    fn fallback(&self) -> Destination {
        Destination {
            channel: self.fallback_channel.clone().unwrap_or_default(),
            chat_id: self.fallback_chat_id.clone().unwrap_or_default(),
        }
    }
}

fn outcome_of(fault: &Fault) -> &'static str {
    match (fault.maybe_delivered, fault.blame) {
        (true, _) => "unknown",
        (false, Blame::Message | Blame::Ours) => "rejected",
        (false, Blame::Destination | Blame::Channel) => "deferred",
    }
}
