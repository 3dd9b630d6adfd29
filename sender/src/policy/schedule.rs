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
    /// With the gravest priority that was noted meanwhile.
    in_flight: BTreeMap<Destination, Priority>,
    /// Breaks ties by who came first, so that a destination with 500 rows takes one turn at a time.
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
        if let Some(noted) = self.in_flight.get_mut(&destination) {
            // It is asked again when it lands.
            *noted = priority.min(*noted);
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
        let mut taken = Vec::new();
        while taken.len() < free.min(most) {
            let Some((priority, turn, destination)) = self.eligible.pop_first() else {
                break;
            };
            if free - taken.len() <= RESERVED && priority > Priority::High {
                self.eligible.insert((priority, turn, destination));
                break;
            }
            self.places.remove(&destination);
            // What is noted from now on counts; what it was taken for is being done.
            self.in_flight.insert(destination.clone(), Priority::Low);
            taken.push(destination);
        }
        taken
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
        let noted = self.in_flight.remove(&destination);
        let priority = noted.map_or(priority, |noted| noted.min(priority));
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

    /// The next moment at which another destination becomes eligible. Those that are eligible and
    /// were not taken wait for a flight to land, not for a moment.
    pub fn next_time(&self) -> Option<Timestamp> {
        self.later.first().map(|(due_at, _, _)| *due_at)
    }

    /// Nothing is in flight, and nothing could be.
    pub fn is_idle(&self, now: Timestamp) -> bool {
        self.in_flight.is_empty()
            && self.eligible.is_empty()
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
}
