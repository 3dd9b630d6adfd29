//! Which destination may be tried next, and when: fair between them, one flight for each.

use shared::model::{Destination, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// The destinations with something waiting, in the order of their next eligible moment. Only
/// names and times are held, never the backlog.
#[derive(Debug, Default)]
pub struct Schedule {
    order: BTreeSet<(Timestamp, u64, Destination)>,
    places: BTreeMap<Destination, (Timestamp, u64)>,
    in_flight: BTreeSet<Destination>,
    /// Breaks ties by who came first, so that a destination with 500 rows takes one turn at a time.
    turn: u64,
}

impl Schedule {
    /// Something waits for `destination` from `due_at` on. The earlier of two moments counts.
    pub fn note(&mut self, destination: Destination, due_at: Timestamp) {
        if self.in_flight.contains(&destination) {
            // It is asked again when it lands.
            return;
        }
        match self.places.get(&destination) {
            Some((known, _)) if *known <= due_at => return,
            Some((known, turn)) => {
                self.order.remove(&(*known, *turn, destination.clone()));
            }
            None => {}
        }
        self.turn += 1;
        self.places.insert(destination.clone(), (due_at, self.turn));
        self.order.insert((due_at, self.turn, destination));
    }

    /// Takes up to `room` destinations that are eligible at `now`; each is in flight until
    /// [`landed`](Self::landed) or [`empty`](Self::empty).
    pub fn take(&mut self, now: Timestamp, room: usize) -> Vec<Destination> {
        let mut taken = Vec::new();
        while taken.len() < room {
            match self.order.pop_first() {
                Some((due_at, _, destination)) if due_at <= now => {
                    self.places.remove(&destination);
                    self.in_flight.insert(destination.clone());
                    taken.push(destination);
                }
                Some(later) => {
                    self.order.insert(later);
                    break;
                }
                None => break,
            }
        }
        taken
    }

    /// The destination is free again and may have more from `next` on.
    pub fn landed(&mut self, destination: Destination, next: Timestamp) {
        self.in_flight.remove(&destination);
        self.note(destination, next);
    }

    /// The destination is free again and has nothing.
    pub fn empty(&mut self, destination: &Destination) {
        self.in_flight.remove(destination);
    }

    /// When the first waiting destination becomes eligible; `None` when none waits.
    pub fn next_time(&self) -> Option<Timestamp> {
        self.order.first().map(|(due_at, _, _)| *due_at)
    }

    /// Destinations that wait for their moment.
    pub fn waiting(&self) -> usize {
        self.order.len()
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

    const NOW: Timestamp = Timestamp::from_unix_millis(1_000_000);

    #[test]
    fn who_is_eligible_first_goes_first() {
        let mut schedule = Schedule::default();
        schedule.note(chat("late"), NOW + Duration::from_secs(2));
        schedule.note(chat("early"), NOW);
        assert_eq!(names(&schedule.take(NOW, 9)), ["early"]);
        assert_eq!(schedule.next_time(), Some(NOW + Duration::from_secs(2)));
    }

    #[test]
    fn a_destination_is_never_in_flight_twice() {
        let mut schedule = Schedule::default();
        schedule.note(chat("a"), NOW);
        assert_eq!(schedule.take(NOW, 9).len(), 1);
        schedule.note(chat("a"), NOW);
        assert_eq!(schedule.take(NOW, 9), []);
        schedule.landed(chat("a"), NOW);
        assert_eq!(names(&schedule.take(NOW, 9)), ["a"]);
        schedule.empty(&chat("a"));
        assert_eq!((schedule.next_time(), schedule.in_flight()), (None, 0));
    }

    #[test]
    fn turns_go_round() {
        let mut schedule = Schedule::default();
        for name in ["a", "b", "c"] {
            schedule.note(chat(name), NOW);
        }
        let mut order = Vec::new();
        for _ in 0..6 {
            for taken in schedule.take(NOW, 1) {
                order.push(taken.chat_id.clone());
                schedule.landed(taken, NOW);
            }
        }
        assert_eq!(order, ["a", "b", "c", "a", "b", "c"]);
    }

    #[test]
    fn the_earlier_of_two_moments_counts() {
        let mut schedule = Schedule::default();
        schedule.note(chat("a"), NOW + Duration::from_secs(60));
        schedule.note(chat("a"), NOW);
        schedule.note(chat("a"), NOW + Duration::from_secs(30));
        assert_eq!(schedule.next_time(), Some(NOW));
        assert_eq!(schedule.take(NOW, 9).len(), 1);
        assert_eq!(schedule.next_time(), None);
    }
}
