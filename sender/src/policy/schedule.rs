//! Which destination may be tried next, and when: fair between them, one flight for each.

use shared::model::{Destination, Priority, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// Flights that are kept free for what is high or critical: a flood of broadcasts to a thousand
/// chats must not fill them all.
pub const RESERVED: usize = 8;

/// The destinations with something waiting. Only names, times and priorities are held, never the
/// backlog.
#[derive(Debug, Default)]
pub struct Schedule {
    /// Those whose moment has not come, in its order.
    later: BTreeSet<(Timestamp, u64, Destination)>,
    /// Those that may be tried: the gravest first, then in turn.
    eligible: BTreeSet<(Priority, u64, Destination)>,
    places: BTreeMap<Destination, Place>,
    /// Channels of which nothing of that priority, or less grave, passes before a moment.
    holds: BTreeMap<String, (Priority, Timestamp)>,
    in_flight: BTreeMap<Destination, Flying>,
    /// Breaks ties by who came first, so that a destination with 500 rows takes one turn at a time.
    turn: u64,
}

#[derive(Clone, Copy, Debug)]
struct Flying {
    /// The gravest that was noted meanwhile.
    noted: Priority,
    turn: u64,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    due_at: Timestamp,
    priority: Priority,
    turn: u64,
}

impl Schedule {
    /// Something of `priority` waits for `destination` from `due_at` on. The earlier of two
    /// moments and the graver of two priorities count.
    pub fn note(&mut self, destination: Destination, due_at: Timestamp, priority: Priority) {
        if let Some(flying) = self.in_flight.get_mut(&destination) {
            // It is asked again when it lands.
            flying.noted = priority.min(flying.noted);
            return;
        }
        let mut place = self.remove(&destination).unwrap_or_else(|| {
            self.turn += 1;
            Place {
                due_at,
                priority,
                turn: self.turn,
            }
        });
        place.due_at = place.due_at.min(due_at);
        place.priority = place.priority.min(priority);
        self.later
            .insert((place.due_at, place.turn, destination.clone()));
        self.places.insert(destination, place);
    }

    /// Takes up to `most` destinations that are eligible at `now`, while `free` flights are left;
    /// the last [`RESERVED`] of those are for what is high or critical. Each is in flight until
    /// [`landed`](Self::landed) or [`empty`](Self::empty).
    pub fn take(&mut self, now: Timestamp, free: usize, most: usize) -> Vec<Destination> {
        self.ripen(now);
        self.holds.retain(|_, (_, until)| *until > now);
        let mut taken = Vec::new();
        for (priority, turn, destination) in &self.eligible {
            let left = free.saturating_sub(taken.len());
            if taken.len() == most || left == 0 || (left <= RESERVED && *priority > Priority::High)
            {
                break;
            }
            if !self.is_held(*priority, destination) {
                taken.push((destination.clone(), *turn));
            }
        }
        let taken = taken.into_iter();
        taken
            .map(|(destination, turn)| self.lift(destination, turn))
            .collect()
    }

    fn lift(&mut self, destination: Destination, turn: u64) -> Destination {
        self.remove(&destination);
        // What is noted from now on counts; what it was taken for is being done.
        let noted = Priority::Low;
        self.in_flight
            .insert(destination.clone(), Flying { noted, turn });
        destination
    }

    fn is_held(&self, priority: Priority, destination: &Destination) -> bool {
        let hold = self.holds.get(&destination.channel);
        hold.is_some_and(|(held, _)| priority >= *held)
    }

    /// Nothing of `channel` passes before `until`, but what is graver than `priority`.
    pub fn hold(&mut self, channel: &str, priority: Priority, until: Timestamp) {
        let hold = (priority, until);
        let known = self.holds.entry(channel.to_owned()).or_insert(hold);
        // Of two, the one for the graver: who is less grave asks again then.
        if priority <= known.0 {
            *known = hold;
        }
    }

    /// What was held may ask again.
    pub fn release(&mut self, channel: &str) {
        self.holds.remove(channel);
    }

    /// The clock was set: the moments at which holds end are others now.
    pub fn release_all(&mut self) {
        self.holds.clear();
    }

    /// The destination is free again and keeps its turn until its channel is held no longer.
    pub fn held(&mut self, destination: Destination, priority: Priority) {
        let flying = self.in_flight.remove(&destination);
        let Some(Flying { noted, turn }) = flying else {
            return;
        };
        let priority = noted.min(priority);
        let due_at = Timestamp::EPOCH;
        self.eligible.insert((priority, turn, destination.clone()));
        self.places.insert(
            destination,
            Place {
                due_at,
                priority,
                turn,
            },
        );
    }

    /// Moves those whose moment has come.
    fn ripen(&mut self, now: Timestamp) {
        while let Some((due_at, turn, destination)) = self.later.pop_first() {
            if due_at > now {
                self.later.insert((due_at, turn, destination));
                break;
            }
            if let Some(place) = self.places.get(&destination) {
                self.eligible.insert((place.priority, turn, destination));
            }
        }
    }

    /// The destination is free again and may have more from `next` on, of `priority` unless
    /// something graver was noted meanwhile.
    pub fn landed(&mut self, destination: Destination, next: Timestamp, priority: Priority) {
        let flying = self.in_flight.remove(&destination);
        let priority = flying.map_or(priority, |flying| flying.noted.min(priority));
        self.note(destination, next, priority);
    }

    /// The destination is free again and has nothing.
    pub fn empty(&mut self, destination: &Destination) {
        self.in_flight.remove(destination);
    }

    fn remove(&mut self, destination: &Destination) -> Option<Place> {
        let place = self.places.remove(destination)?;
        self.later
            .remove(&(place.due_at, place.turn, destination.clone()));
        self.eligible
            .remove(&(place.priority, place.turn, destination.clone()));
        Some(place)
    }

    /// The next moment at which another destination becomes eligible, or a hold ends. Others that
    /// are eligible and were not taken wait for a flight to land, not for a moment.
    pub fn next_time(&self) -> Option<Timestamp> {
        let due_at = self.later.first().map(|(due_at, _, _)| *due_at);
        let held = self.holds.values().map(|(_, until)| *until);
        due_at.into_iter().chain(held).min()
    }

    /// Nothing is in flight, and nothing could be.
    pub fn is_idle(&self, now: Timestamp) -> bool {
        let held = |(priority, _, destination): &(Priority, u64, Destination)| {
            self.is_held(*priority, destination)
        };
        self.in_flight.is_empty()
            && self.eligible.iter().all(held)
            && self.next_time().is_none_or(|due_at| due_at > now)
    }

    /// Destinations that wait for their moment or their turn.
    pub fn waiting(&self) -> usize {
        self.places.len()
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn chat(name: &str) -> Destination {
        Destination {
            channel: "ops".to_owned(),
            chat_id: name.to_owned(),
        }
    }

    fn names(taken: &[Destination]) -> Vec<&str> {
        taken.iter().map(|chat| chat.chat_id.as_str()).collect()
    }

    fn noted(chats: &[(&str, Timestamp, Priority)]) -> Schedule {
        let mut schedule = Schedule::default();
        for (name, due_at, priority) in chats {
            schedule.note(chat(name), *due_at, *priority);
        }
        schedule
    }

    const NOW: Timestamp = Timestamp::from_unix_millis(1_000_000);
    const LOW: Priority = Priority::Low;

    #[test]
    fn who_is_eligible_first_goes_first() {
        let later = NOW + Duration::from_secs(2);
        let mut schedule = noted(&[("late", later, LOW), ("early", NOW, LOW)]);
        assert_eq!(names(&schedule.take(NOW, 64, 64)), ["early"]);
        assert_eq!(schedule.next_time(), Some(later));
        assert_eq!(names(&schedule.take(later, 64, 64)), ["late"]);
    }

    #[test]
    fn what_is_grave_passes_every_backlog() {
        let mut schedule = noted(&[("a", NOW, LOW), ("b", NOW, LOW)]);
        schedule.note(chat("urgent"), NOW, Priority::Critical);
        schedule.note(chat("b"), NOW, Priority::High);
        assert_eq!(names(&schedule.take(NOW, 64, 64)), ["urgent", "b", "a"]);
    }

    #[test]
    fn the_last_flights_are_kept_for_what_is_grave() {
        let mut schedule = Schedule::default();
        for number in 0..100 {
            schedule.note(chat(&format!("low{number}")), NOW, LOW);
        }
        assert_eq!(schedule.take(NOW, 64, 100).len(), 64 - RESERVED);
        assert_eq!(schedule.take(NOW, RESERVED, 100), []);
        schedule.note(chat("urgent"), NOW, Priority::High);
        assert_eq!(names(&schedule.take(NOW, RESERVED, 100)), ["urgent"]);
    }

    #[test]
    fn a_destination_is_never_in_flight_twice() {
        let mut schedule = noted(&[("a", NOW, LOW)]);
        assert_eq!(schedule.take(NOW, 64, 64).len(), 1);
        schedule.note(chat("a"), NOW, Priority::Critical);
        assert_eq!(schedule.take(NOW, 64, 64), []);
        schedule.note(chat("b"), NOW, Priority::High);
        schedule.landed(chat("a"), NOW, LOW);
        let taken = schedule.take(NOW, 64, 64);
        assert_eq!(names(&taken), ["a", "b"], "what was noted in flight counts");
        for taken in taken {
            schedule.empty(&taken);
        }
        assert!(schedule.is_idle(NOW));
    }

    #[test]
    fn turns_go_round() {
        let mut schedule = noted(&[("a", NOW, LOW), ("b", NOW, LOW), ("c", NOW, LOW)]);
        let mut order = Vec::new();
        for _ in 0..6 {
            for taken in schedule.take(NOW, 64, 1) {
                order.push(taken.chat_id.clone());
                schedule.landed(taken, NOW, LOW);
            }
        }
        assert_eq!(order, ["a", "b", "c", "a", "b", "c"]);
    }

    #[test]
    fn the_earlier_of_two_moments_counts() {
        let mut schedule = noted(&[("a", NOW + Duration::from_secs(60), LOW)]);
        schedule.note(chat("a"), NOW, LOW);
        schedule.note(chat("a"), NOW + Duration::from_secs(30), LOW);
        assert!(!schedule.is_idle(NOW));
        assert_eq!(schedule.take(NOW, 64, 64).len(), 1);
        assert_eq!(schedule.next_time(), None);
    }

    #[test]
    fn what_its_channel_holds_is_not_asked_again_and_what_is_graver_is() {
        let soon = NOW + Duration::from_millis(40);
        let mut schedule = noted(&[("a", NOW, LOW), ("b", NOW, LOW), ("c", NOW, LOW)]);
        let asked = schedule.take(NOW, 64, 1);
        schedule.hold("ops", LOW, soon);
        schedule.held(asked[0].clone(), LOW);
        assert_eq!(schedule.take(NOW, 64, 64), []);
        assert!(schedule.is_idle(NOW));
        assert_eq!(schedule.next_time(), Some(soon));
        schedule.note(chat("urgent"), NOW, Priority::Critical);
        schedule.note(chat("b"), NOW, Priority::Normal);
        let mut other = chat("x");
        other.channel = "other".to_owned();
        schedule.note(other, NOW, LOW);
        assert_eq!(names(&schedule.take(NOW, 64, 64)), ["urgent", "b", "x"]);
        assert_eq!(
            names(&schedule.take(soon, 64, 64)),
            ["a", "c"],
            "each keeps its turn"
        );
    }

    #[test]
    fn a_hold_that_is_released_is_over() {
        let mut schedule = noted(&[("a", NOW, LOW)]);
        schedule.hold("ops", Priority::Critical, NOW + Duration::from_secs(60));
        assert_eq!(schedule.take(NOW, 64, 64), []);
        schedule.release("ops");
        assert_eq!(names(&schedule.take(NOW, 64, 64)), ["a"]);
    }

    #[test]
    fn of_two_holds_the_one_for_the_graver_counts() {
        let (soon, later) = (
            NOW + Duration::from_millis(40),
            NOW + Duration::from_millis(120),
        );
        for order in [
            [(LOW, later), (Priority::High, soon)],
            [(Priority::High, soon), (LOW, later)],
        ] {
            let mut schedule = noted(&[("a", NOW, Priority::Normal)]);
            for (priority, until) in order {
                schedule.hold("ops", priority, until);
            }
            assert_eq!(schedule.take(NOW, 64, 64), []);
            assert_eq!(schedule.next_time(), Some(soon));
            assert_eq!(names(&schedule.take(soon, 64, 64)), ["a"]);
        }
    }
}
