//! The seats: so many connections at a time. When all are taken, the one that has gone longest without
//! saying all of what it wants gives up its own: clients that are slow on purpose keep nobody out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

pub(super) struct Seats {
    free: Arc<Semaphore>,
    waiting: Mutex<Waiting>,
    /// One more waits for its request.
    changed: Notify,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    /// Those whose request is not complete, by when they began to wait.
    since: BTreeMap<u64, Arc<Notify>>,
}

/// One connection's, until it is dropped.
pub(super) struct Seat {
    seats: Arc<Seats>,
    /// Its place among those that wait; `None` while it is served.
    place: Mutex<Option<u64>>,
    ousted: Arc<Notify>,
    _permit: OwnedSemaphorePermit,
}

impl Seats {
    pub(super) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self {
            free: Arc::new(Semaphore::new(count)),
            waiting: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// A seat, its holder's request not complete.
    pub(super) async fn take(self: &Arc<Self>) -> std::io::Result<Seat> {
        let permit = loop {
            if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
                break permit;
            }
            let ousted = self.oust();
            tokio::select! {
                permit = Arc::clone(&self.free).acquire_owned() => break permit.map_err(std::io::Error::other)?,
                () = self.changed.notified(), if !ousted => {}
            }
        };
        let seat = Seat {
            seats: Arc::clone(self),
            place: Mutex::new(None),
            ousted: Arc::new(Notify::new()),
            _permit: permit,
        };
        seat.waits();
        Ok(seat)
    }

    /// Whether there was anybody to give up a seat.
    fn oust(&self) -> bool {
        let first = self.waiting().since.pop_first();
        let Some((_, ousted)) = first else {
            return false;
        };
        tracing::debug!("all seats are taken: one whose request did not come is given to another");
        ousted.notify_one();
        true
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// Its request is not complete, or the next one is not.
    pub(super) fn waits(&self) {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        if place.is_some() {
            return;
        }
        let mut waiting = self.seats.waiting();
        let number = waiting.next;
        waiting.next += 1;
        waiting.since.insert(number, Arc::clone(&self.ousted));
        *place = Some(number);
        drop(waiting);
        self.seats.changed.notify_one();
    }

    /// Its request is complete and right: it is not ousted before its answer.
    pub(super) fn is_served(&self) {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = place.take() {
            self.seats.waiting().since.remove(&number);
        }
    }

    /// Returns when another needs the seat.
    pub(super) async fn ousted(&self) {
        self.ousted.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.is_served();
    }
}

#[cfg(test)]
mod tests {
    use super::{Seat, Seats};
    use std::time::Duration;
    use tokio::time::timeout;

    const MOMENT: Duration = Duration::from_secs(1);

    async fn is_ousted(seat: &Seat) -> bool {
        timeout(MOMENT, seat.ousted()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn the_one_that_waits_longest_gives_up_its_seat() {
        let seats = Seats::new(2);
        let first = seats.take().await.expect("a seat");
        let second = seats.take().await.expect("a seat");
        // A second request of the first: the other one waits longer now.
        first.is_served();
        first.waits();
        let third = seats.take();
        tokio::pin!(third);
        assert!(timeout(MOMENT, &mut third).await.is_err());
        assert!(is_ousted(&second).await && !is_ousted(&first).await);
        drop(second);
        drop(third.await.expect("the seat that was given up"));
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_served_is_not_ousted_but_may_be_afterwards() {
        let seats = Seats::new(1);
        let only = seats.take().await.expect("a seat");
        only.is_served();
        let next = seats.take();
        tokio::pin!(next);
        assert!(timeout(MOMENT, &mut next).await.is_err());
        assert!(!is_ousted(&only).await);
        only.waits();
        assert!(timeout(MOMENT, &mut next).await.is_err());
        assert!(is_ousted(&only).await);
        drop(only);
        drop(next.await.expect("the seat that was given up"));
    }
}
