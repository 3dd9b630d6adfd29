//! The truth: what the other side knows and no file says, and the promises that are judged by it.

use super::picture::{Picture, Row};
use shared::model::Destination;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
/// Of a group, in any minute.
const A_MINUTE: usize = 20;
const SECOND: Duration = Duration::from_secs(1);

/// One request, by the steady clock.
#[derive(Clone, Copy, Debug)]
struct Request {
    written: Duration,
    /// By then the other side has surely counted it.
    counted: Option<Duration>,
}

#[derive(Debug, Default)]
pub struct Truth {
    /// Rows of which a copy has arrived that no committed receipt tells of.
    arrived: BTreeSet<i64>,
    /// Rows of which some message has arrived.
    begun: BTreeSet<i64>,
    /// Rows whose receipt was committed.
    delivered: BTreeSet<i64>,
    /// What is owed: the rows that alerts and strangers brought.
    owed: BTreeSet<i64>,
    /// What somebody gave up by an explicit word.
    given_up: BTreeSet<i64>,
    requests: BTreeMap<Destination, Vec<Request>>,
}

impl Truth {
    pub fn owe(&mut self, before: i64, after: i64) {
        self.owed.extend(before + 1..=after);
    }

    pub fn given_up(&mut self, row: i64) {
        self.given_up.insert(row);
    }

    /// A request for a row goes out. What breaks a promise by that, in words.
    pub fn written(
        &mut self,
        picture: &Picture,
        id: i64,
        is_marked: bool,
        at: Duration,
        is_limited: bool,
    ) -> Vec<String> {
        let row = &picture.rows[&id];
        let mut broken = Vec::new();
        for part in parts(picture, id) {
            if self.has_arrived(picture, part, 0) && !is_marked {
                broken.push(format!("row {part} has arrived before, and goes out in row {id} without the mark of a repeat"));
            }
            if self.delivered.contains(&part) {
                broken.push(format!("row {part} was delivered and goes out again"));
            }
        }
        let requests = self.requests.entry(row.to()).or_default();
        if is_limited {
            broken.extend(too_early(requests, &row.to(), at));
        }
        requests.push(Request {
            written: at,
            counted: None,
        });
        broken
    }

    pub fn counted(&mut self, to: &Destination, at: Duration) {
        if let Some(request) = self.requests.get_mut(to).and_then(|them| them.last_mut()) {
            request.counted.get_or_insert(at);
        }
    }

    /// It was handed back before anything was written.
    pub fn unsent(&mut self, to: &Destination) {
        if let Some(requests) = self.requests.get_mut(to) {
            requests.pop();
        }
    }

    /// After its retention a digest is forgotten, and with it that what was in it may have arrived.
    pub fn forget_released(&mut self, picture: &Picture) {
        let is_forgotten = |digest: i64| !picture.rows.contains_key(&digest);
        for row in picture
            .rows
            .values()
            .filter(|row| row.released_from.is_some_and(is_forgotten))
        {
            self.arrived.remove(&row.id);
        }
    }

    /// Nobody noticed that the clock was set: what limits were kept before, nobody knows.
    pub fn forget_requests(&mut self) {
        self.requests.clear();
    }

    pub fn arrived(&mut self, picture: &Picture, id: i64) {
        self.arrived.extend(parts(picture, id));
        self.begun.extend(parts(picture, id));
    }

    /// The file knows that a message has arrived; it was all of it, or there is more.
    pub fn committed(&mut self, picture: &Picture, id: i64, is_whole: bool) {
        for part in parts(picture, id) {
            self.arrived.remove(&part);
            if is_whole {
                self.delivered.insert(part);
            }
        }
    }

    /// Itself, or what moved to it: its reader may have both before him.
    fn has_arrived(&self, picture: &Picture, id: i64, depth: usize) -> bool {
        let is_begun = depth > 0 && self.begun.contains(&id);
        let mut moved = picture.rows.values().filter(|row| row.moved_to == Some(id));
        self.arrived.contains(&id)
            || is_begun
            || moved.any(|from| self.has_arrived(picture, from.id, depth + 1))
    }

    /// What is not in exactly one place, or has ended without a word.
    pub fn broken(&self, picture: &Picture) -> Vec<String> {
        let mut broken = Vec::new();
        for id in self.owed.iter().filter(|id| picture.rows.contains_key(id)) {
            if let Err(why) = self.place(picture, *id) {
                broken.push(format!("row {id} is lost: {why}"));
            }
        }
        let mut flying = BTreeMap::new();
        for row in picture.rows.values() {
            if row.is("leased") && flying.insert(row.to(), row.id).is_some() {
                broken.push(format!(
                    "two flights for {} at once, row {} is one",
                    row.to(),
                    row.id
                ));
            }
            if row.priority == 0 && (row.is("expired") || row.is("folded")) {
                broken.push(format!("row {} is critical and {}", row.id, row.state));
            }
            if row.is("dead") && row.kind != "notice" && row.told_at.is_none() {
                broken.push(format!("row {} is dead, and nobody was told", row.id));
            }
            if row.is("sent") && !self.delivered.contains(&row.id) {
                broken.push(format!("row {} is sent, and no receipt ever came", row.id));
            }
        }
        broken
    }

    /// Follows a row to where it is owed or ended.
    fn place(&self, picture: &Picture, id: i64) -> Result<(), String> {
        let (mut at, mut seen) = (id, BTreeSet::new());
        loop {
            if !seen.insert(at) {
                return Err(format!("it moves in a circle of {seen:?}"));
            }
            let Some(row) = picture.rows.get(&at) else {
                return Err(format!("row {at}, to which it leads, is not there"));
            };
            let next = match row.state.as_str() {
                "ready" | "leased" | "dead" => return Ok(()),
                "sent" if self.delivered.contains(&at) => return Ok(()),
                "expired" if row.expires_at.is_some() => return Ok(()),
                "cancelled" if self.given_up.contains(&at) => return Ok(()),
                "moved" => row.moved_to,
                "folded" => row.parent_id,
                _ => None,
            };
            at = next.ok_or_else(|| format!("row {at} is {}", row.state))?;
        }
    }

    /// With all faults over, everything that was owed has ended as it should.
    pub fn undelivered(picture: &Picture) -> Vec<String> {
        let waits = |row: &&Row| !row.is_finished() && !row.is("dead") && row.channel != "gone";
        let is_folded = |row: &&Row| {
            row.is("folded") && picture.rows[&row.parent_id.expect("a digest")].is_finished()
        };
        let waiting = picture
            .rows
            .values()
            .filter(waits)
            .filter(|row| !is_folded(row));
        waiting
            .map(|row| format!("row {} of {} is still {}", row.id, row.to(), row.state))
            .collect()
    }
}

/// What its message tells: itself, or what is in it.
fn parts(picture: &Picture, id: i64) -> Vec<i64> {
    if picture.rows[&id].kind != "digest" {
        return vec![id];
    }
    let members = picture
        .rows
        .values()
        .filter(|row| row.parent_id == Some(id));
    members.map(|row| row.id).chain([id]).collect()
}

/// Which limit a request breaks, whenever within its time the other side counts each.
fn too_early(before: &[Request], to: &Destination, at: Duration) -> Option<String> {
    let since = |back: usize| {
        let request = before.len().checked_sub(back).map(|place| before[place])?;
        Some(at.saturating_sub(request.counted.unwrap_or(request.written)))
    };
    if since(1).is_some_and(|gap| gap < SECOND) {
        return Some(format!("{to} gets two within a second"));
    }
    let is_group = to.chat_id.starts_with('-');
    (is_group && since(A_MINUTE).is_some_and(|gap| gap < MINUTE))
        .then(|| format!("{to} gets 21 within a minute"))
}
