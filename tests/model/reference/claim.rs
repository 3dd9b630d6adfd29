//! Claim: which row is next, whether it may go, what is folded before it, and whether it is marked.

use super::super::picture::{Picture, Row, Try};
use shared::model::{Alert, Destination, Gatekeeper, Pass, Priority, Timestamp};
use std::time::Duration;

/// What a claim must find.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    Leased(Box<Held>),
    NotBefore(Timestamp, Priority),
    Held(Timestamp, Priority),
    Nothing,
}

/// What its lease must say.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    pub id: i64,
    pub attempt: i64,
    pub possible_repeat: bool,
    pub unknown_outcomes: u32,
    pub unrecognised: u32,
    pub owed_since: Timestamp,
    pub failed_for: Duration,
    pub refused_since: Option<Timestamp>,
    pub rest: usize,
}

/// What waits this long is no longer last.
const AGES: Duration = Duration::from_secs(15 * 60);

#[derive(PartialEq)]
enum Crowd {
    No,
    Now,
    At(Timestamp),
}

impl Row {
    fn is_foldable(&self) -> bool {
        self.kind == "alert" && self.priority > 0 && self.single == 0
    }
}

impl Picture {
    pub fn claim(&mut self, keeper: &dyn Gatekeeper, to: &Destination, now: Timestamp) -> Found {
        let keys = keeper.keys(to);
        let gates = keeper.believable(to, &self.gates(&keys), now);
        self.keep(&keys, gates.clone());
        let crowd = self.crowd(keeper, to, gates.chat.folded_at, now);
        let only_singles = matches!(crowd, Crowd::At(_));
        let Some((mut id, priority)) = self.next(to, only_singles, now) else {
            let due = self.next_time(to, only_singles);
            return match (crowd, due) {
                (Crowd::At(at), due) if due.is_none_or(|due| due >= at) => {
                    Found::NotBefore(at, Priority::High)
                }
                (_, Some(due)) => Found::NotBefore(due, Priority::Low),
                (_, None) => Found::Nothing,
            };
        };
        match keeper.pass(to, &gates, priority, now) {
            Pass::At(at) => Found::NotBefore(at, priority),
            Pass::Held(at) => Found::Held(at, priority),
            Pass::Now(mut spent) => {
                if crowd == Crowd::Now && self.fold(keeper, to, now) > 0 {
                    spent.chat.folded_at = now;
                    id = self.next(to, false, now).expect("the digest").0;
                }
                self.keep(&keys, *spent);
                Found::Leased(Box::new(self.lease(id, gates.chat.refused_since, now)))
            }
        }
    }

    fn crowd(
        &self,
        keeper: &dyn Gatekeeper,
        to: &Destination,
        folded_at: Timestamp,
        now: Timestamp,
    ) -> Crowd {
        let Some(folding) = keeper.folding(to) else {
            return Crowd::No;
        };
        let next = folded_at + folding.window;
        match self.foldable(to, now).len() > folding.singles {
            false => Crowd::No,
            true if next > now && folded_at <= now => Crowd::At(next),
            true => Crowd::Now,
        }
    }

    /// The gravest, then the oldest, of those that are due.
    fn next(
        &self,
        to: &Destination,
        only_singles: bool,
        now: Timestamp,
    ) -> Option<(i64, Priority)> {
        let may = |row: &&Row| {
            row.waits_for(to) && row.due_at() <= now && !(only_singles && row.is_foldable())
        };
        let next = self
            .rows
            .values()
            .filter(may)
            .min_by_key(|row| (row.priority, row.id))?;
        let priority = Priority::from_rank(next.priority).expect("a priority");
        let waits = now.since(next.created_at.max(next.not_before));
        let priority = if waits >= AGES {
            priority.min(Priority::Normal)
        } else {
            priority
        };
        Some((next.id, priority))
    }

    fn next_time(&self, to: &Destination, only_singles: bool) -> Option<Timestamp> {
        let waits = |row: &&Row| row.waits_for(to) && !(only_singles && row.is_foldable());
        self.rows.values().filter(waits).map(Row::due_at).min()
    }

    fn foldable(&self, to: &Destination, now: Timestamp) -> Vec<i64> {
        let mut found =
            self.ids(|row| row.waits_for(to) && row.is_foldable() && row.due_at() <= now);
        found.sort_by_key(|id| (self.rows[id].priority, *id));
        found
    }

    fn fold(&mut self, keeper: &dyn Gatekeeper, to: &Destination, now: Timestamp) -> usize {
        let members = self.foldable(to, now);
        let read = |id: &i64| serde_json::from_str(&self.rows[id].payload).expect("an alert");
        let alerts: Vec<Alert> = members.iter().map(read).collect();
        let (mut rest, mut folded) = (members.as_slice(), 0);
        for size in keeper.pack(to, &alerts) {
            let (of_this, others) = rest.split_at(size);
            if size > 1 {
                self.digest(to, of_this, now);
                folded += size;
            }
            rest = others;
        }
        folded
    }

    fn digest(&mut self, to: &Destination, members: &[i64], now: Timestamp) {
        let count = members.len();
        let (first, last) = (members[0], members[count - 1]);
        let of = |id: &i64| &self.rows[id];
        let mut digest = Row::fresh("digest", to, Priority::Normal, now);
        digest.priority = of(&first).priority;
        digest.created_at = members
            .iter()
            .map(|id| of(id).created_at)
            .min()
            .expect("members");
        let name = format!("d:{first}:{last}:{count}:");
        let is_older = |row: &&Row| {
            row.idempotency_key
                .as_ref()
                .is_some_and(|key| key.starts_with(&name))
        };
        let older = self.rows.values().filter(is_older).count();
        digest.idempotency_key = Some(format!("{name}{older}"));
        let ids: Vec<String> = members.iter().map(i64::to_string).collect();
        digest.payload = format!(r#"{{"title":"{count} alerts","rows":[{}]}}"#, ids.join(","));
        digest.fallback_at = members.iter().filter_map(|id| of(id).fallback_at).min();
        let nowhere = digest.fallback_at.map(|_| String::new());
        (digest.fallback_channel, digest.fallback_chat_id) = (nowhere.clone(), nowhere);
        let digest = self.add(digest);
        for id in members {
            let member = self.row(*id);
            member.enter("folded", now);
            member.parent_id = Some(digest);
            member.next_attempt = Timestamp::EPOCH;
        }
    }

    fn lease(&mut self, id: i64, refused_since: Option<Timestamp>, now: Timestamp) -> Held {
        let possible_repeat = self.may_repeat(id);
        let of_this = |outcome: &str| {
            let row = &self.rows[&id];
            let ok = self.last_ok(id);
            let counts = |it: &&Try| {
                it.n > ok && it.n > row.tries_from && it.outcome.as_deref() == Some(outcome)
            };
            u32::try_from(self.tries_of(id).filter(counts).count()).expect("a few")
        };
        let (unknown_outcomes, unrecognised) = (of_this("unknown"), of_this("rejected"));
        let epoch = self.epoch;
        let row = self.row(id);
        row.enter("leased", now);
        row.lease_epoch = Some(epoch);
        row.attempts += 1;
        row.single |= 2;
        row.next_attempt = Timestamp::EPOCH;
        let held = Held {
            id,
            attempt: row.attempts,
            possible_repeat,
            unknown_outcomes,
            unrecognised,
            owed_since: row.owed_since(),
            failed_for: row.failed_for,
            refused_since,
            rest: row.parts_left(),
        };
        let begun = Try {
            outbox_id: id,
            n: held.attempt,
            epoch,
            started_at: now,
            ..Try::default()
        };
        self.tries.insert((id, begun.n), begun);
        if possible_repeat {
            self.count("repeat_marked", 1);
        }
        held
    }

    /// Whether a copy of it may have arrived: its own, that of a digest it was in, or that of a row which
    /// moved to it.
    fn may_repeat(&self, id: i64) -> bool {
        let unsure = |of: i64, after: i64| self.any(of, after, &["unknown", "interrupted"]);
        let row = &self.rows[&id];
        let ok = self.last_ok(id);
        unsure(id, ok)
            || row.released_from.is_some_and(|digest| unsure(digest, 0))
            || (ok > 0 && row.parts_left() == 0)
            || self.moved_to(id).into_iter().any(|from| {
                let digest = self.rows[&from].released_from;
                unsure(from, 0)
                    || self.any(from, 0, &["ok"])
                    || digest.is_some_and(|digest| unsure(digest, 0))
            })
    }

    /// What moved to it, or to what is in it, from row to row.
    fn moved_to(&self, id: i64) -> Vec<i64> {
        let mut told = self.ids(|row| row.parent_id == Some(id));
        told.push(id);
        let mut moved = self.ids(|row| row.moved_to.is_some_and(|to| told.contains(&to)));
        let mut seen = 0;
        while seen < moved.len() {
            let to = moved[seen];
            moved.extend(self.ids(|row| row.moved_to == Some(to)));
            seen += 1;
        }
        moved
    }

    fn any(&self, id: i64, after: i64, outcomes: &[&str]) -> bool {
        self.tries_of(id).any(|it| {
            let outcome = it.outcome.as_deref().unwrap_or_default();
            it.n > after && outcomes.contains(&outcome)
        })
    }

    fn last_ok(&self, id: i64) -> i64 {
        let ok = self
            .tries_of(id)
            .filter(|it| it.outcome.as_deref() == Some("ok"));
        ok.map(|it| it.n).max().unwrap_or(0)
    }

    pub fn tries_of(&self, id: i64) -> impl Iterator<Item = &Try> {
        self.tries.range((id, 0)..=(id, i64::MAX)).map(|(_, it)| it)
    }
}

impl Row {
    fn parts_left(&self) -> usize {
        let rest = self
            .rest
            .as_deref()
            .map(serde_json::from_str::<Vec<String>>);
        rest.map_or(0, |rest| rest.expect("a list").len())
    }
}
