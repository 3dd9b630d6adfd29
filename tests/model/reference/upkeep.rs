//! Upkeep: a new sender, a clock that is set, what is late, what has expired, what is healed and what
//! leaves.

use super::super::picture::{Picture, Row};
use shared::model::{Destination, Gatekeeper, LONGEST_BACKOFF, Priority, Timestamp};
use std::collections::BTreeSet;
use std::time::Duration;

/// Who writes takes his time first.
const AHEAD: Duration = Duration::from_secs(60);

impl Picture {
    /// A new epoch. Returns where something was under way.
    pub fn take_over(&mut self, now: Timestamp) -> BTreeSet<Destination> {
        self.epoch += 1;
        self.stepped = 0;
        let mut places = BTreeSet::new();
        for attempt in self.tries.values_mut().filter(|it| it.ended_at.is_none()) {
            attempt.ended_at = Some(now);
            attempt.outcome = Some("interrupted".to_owned());
            attempt.detail = Some("the sender ended before the outcome was known".to_owned());
            places.insert(self.rows[&attempt.outbox_id].to());
        }
        for id in self.ids(|row| row.is("leased")) {
            let row = self.row(id);
            row.enter("ready", now);
            row.single = 1;
        }
        places
    }

    /// Every wait moves along with a clock that was set by so many milliseconds and shows `now`.
    pub fn follow(&mut self, by: i64, now: Timestamp) {
        let later = |at: Timestamp| Timestamp::from_unix_millis(at.unix_millis() + by);
        let before = Timestamp::from_unix_millis(now.unix_millis() - by);
        self.stepped += by;
        for gate in self.gates.values_mut() {
            let wait = |at: &mut Timestamp| {
                if *at != Timestamp::EPOCH {
                    *at = later(*at);
                }
            };
            let past = |at: &mut Timestamp| {
                if *at != Timestamp::EPOCH && *at <= before {
                    *at = later(*at);
                }
            };
            wait(&mut gate.next_at);
            wait(&mut gate.blocked_until);
            past(&mut gate.folded_at);
            gate.ring.iter_mut().for_each(past);
            let begun = [
                &mut gate.clean_since,
                &mut gate.failing_since,
                &mut gate.refused_since,
            ];
            begun.into_iter().flatten().for_each(past);
        }
        // Backoff, and what had come due: that stays due.
        let from = before.min(now);
        for row in self.rows.values_mut().filter(|row| row.is("ready")) {
            let is_ours = row.attempts > 0 || row.next_attempt <= before;
            if row.due_at() > from && row.next_attempt > from && is_ours {
                row.next_attempt = later(row.next_attempt);
            }
        }
    }

    pub fn heal(&mut self, now: Timestamp) {
        for gate in self.gates.values_mut() {
            gate.blocked_until = gate.blocked_until.min(now + gate.blocked_for);
            for begun in [
                &mut gate.clean_since,
                &mut gate.failing_since,
                &mut gate.refused_since,
            ] {
                *begun = begun.map(|at| at.min(now));
            }
        }
        for row in self.rows.values_mut().filter(|row| row.is("ready")) {
            if row.attempts > 0
                && row.next_attempt > now
                && row.updated_at.is_some_and(|at| at > now + AHEAD)
            {
                row.next_attempt = now;
                row.updated_at = Some(now);
            }
            if row.next_attempt > now + LONGEST_BACKOFF {
                row.next_attempt = now + LONGEST_BACKOFF;
            }
        }
    }

    /// What is late goes to its fallback: what was tried, and everything when nothing passes to its place.
    pub fn fail_over(
        &mut self,
        keeper: &dyn Gatekeeper,
        is_configured: impl Fn(&str) -> bool,
        places: &[Destination],
        now: Timestamp,
    ) {
        let is_late = |row: &Row| {
            row.is("ready") && row.fallback_at.is_some_and(|at| at <= now) && row.not_before <= now
        };
        let missed = self.ids(|row| is_late(row) && !places.contains(&row.to()));
        assert!(
            missed.is_empty(),
            "late, and their places are not among {places:?}: {missed:?}"
        );
        for place in places {
            let gates = self.gates(&keeper.keys(place));
            let all = [&gates.channel, &gates.bot, &gates.method, &gates.chat];
            let is_shut = all.iter().any(|gate| {
                gate.closed_until(now) > now || gate.breaker != shared::model::Breaker::Closed
            });
            let is_silent = gates.chat.failing_since.is_some();
            let is_closed = is_shut || is_silent || !is_configured(&place.channel);
            loop {
                let goes = |row: &Row| {
                    is_late(row)
                        && row.waits_for(place)
                        && (is_closed || row.attempts > 0 || row.released_from.is_some())
                };
                let mut late = self.ids(goes);
                late.sort_by_key(|id| (self.rows[id].fallback_at, *id));
                if late.is_empty() {
                    break;
                }
                for id in late {
                    if self.rows[&id].kind == "digest" {
                        self.dissolve(id, false, now);
                    } else if !self.hand_over(id, now) {
                        self.stay(id);
                    }
                }
            }
        }
    }

    pub fn expire(&mut self, told: Option<&Destination>, now: Timestamp) {
        let late = self.ids(|row| row.is("ready") && row.expires_at.is_some_and(|at| at <= now));
        for id in &late {
            let row = self.row(*id);
            row.enter("expired", now);
            row.last_error = Some("expired: its own time was over".to_owned());
        }
        if let Some(to) = told.filter(|_| !late.is_empty()) {
            let hour = now.unix_millis().div_euclid(3_600_000);
            self.notify("expired", &hour.to_string(), to, Priority::Normal, now);
        }
    }

    /// What finished before then leaves, unless something still points to it.
    pub fn prune(&mut self, before: Timestamp) {
        loop {
            let is_old =
                |row: &Row| row.is_finished() && row.updated_at.is_some_and(|at| at < before);
            let tells =
                |picture: &Self, id: i64| picture.rows.values().any(|row| row.told_by == Some(id));
            let is_old_digest = |id: i64| is_old(&self.rows[&id]);
            let folded =
                self.ids(|row| row.parent_id.is_some_and(is_old_digest) && !tells(self, row.id));
            let led = |id: &i64| self.rows.values().any(|row| row.moved_to == Some(*id));
            let folded: Vec<i64> = folded.into_iter().filter(|id| !led(id)).collect();
            let mut gone = folded.len();
            for id in folded {
                self.leave(id);
            }
            let is_meant = |id: i64| {
                let points = |row: &Row| {
                    row.parent_id == Some(id) || row.moved_to == Some(id) || row.told_by == Some(id)
                };
                self.rows.values().any(points)
            };
            let finished = self.ids(|row| is_old(row) && !is_meant(row.id));
            gone += finished.len();
            for id in finished {
                self.leave(id);
            }
            let owed = |id: i64| self.rows.values().any(|row| row.alert_id == Some(id));
            let never = |id: &i64| {
                self.stories[id].not_owed.is_some() && self.stories[id].created_at < before
            };
            let silent: Vec<i64> = self
                .stories
                .keys()
                .copied()
                .filter(|id| never(id) && !owed(*id))
                .collect();
            gone += silent.len();
            for id in silent {
                self.stories.remove(&id);
                self.count("alert_pruned", 1);
            }
            if gone == 0 {
                return;
            }
        }
    }

    /// With its attempts, and with its alert when it was the last of it.
    fn leave(&mut self, id: i64) {
        let row = self.rows.remove(&id).expect("a row");
        self.tries.retain(|(of, _), _| *of != id);
        self.count("outbox_pruned", 1);
        let Some(alert) = row.alert_id else {
            return;
        };
        if !self.rows.values().any(|row| row.alert_id == Some(alert)) {
            self.stories.remove(&alert);
            self.count("alert_pruned", 1);
        }
    }
}
