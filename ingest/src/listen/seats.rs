//! What is scarce and shared: connections, and room for bodies. When none is left, the one that has gone longest without
//! saying all of what it wants gives up its own: clients that are slow on purpose keep nobody out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

/// Who must go is gone by then, or another must.
const GOING: Duration = Duration::from_millis(50);
/// Nobody may be sent away: it is looked again then.
const AGAIN: Duration = Duration::from_secs(1);

pub(super) struct Seats {
    free: Arc<Semaphore>,
    /// Nobody is sent away who has not had so long.
    patience: Duration,
    waiting: Mutex<Waiting>,
    /// One more waits for its request.
    changed: Notify,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    /// Those whose request is not complete, by when they began to wait.
    since: BTreeMap<u64, (Instant, Arc<Notify>)>,
}

/// One holder's, until it is dropped.
pub(super) struct Seat {
    seats: Arc<Seats>,
    /// Its place among those that wait; `None` while it is served.
    place: Mutex<Option<u64>>,
    ousted: Arc<Notify>,
    permit: OwnedSemaphorePermit,
}

impl Seats {
    pub(super) fn new(count: usize, patience: Duration) -> Arc<Self> {
        Arc::new(Self {
            free: Arc::new(Semaphore::new(count)),
            patience,
            waiting: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// So many seats for one, whose request is not complete.
    pub(super) async fn take(self: &Arc<Self>, count: u32) -> std::io::Result<Seat> {
        let seat = Seat {
            permit: self.permit(count).await?,
            seats: Arc::clone(self),
            place: Mutex::new(None),
            ousted: Arc::new(Notify::new()),
        };
        seat.waits();
        Ok(seat)
    }

    /// In its turn: who asked before is served before.
    async fn permit(&self, count: u32) -> std::io::Result<OwnedSemaphorePermit> {
        let permit = Arc::clone(&self.free).acquire_many_owned(count);
        tokio::pin!(permit);
        let mut wait = Duration::ZERO;
        loop {
            tokio::select! {
                biased;
                permit = &mut permit => return permit.map_err(std::io::Error::other),
                // One at a time is sent away: only where nobody was, whoever waits next is looked at.
                () = self.changed.notified(), if wait == AGAIN => {}
                () = sleep(wait) => {}
            }
            wait = self.oust(self.patience);
        }
    }

    /// Sends away the one that has waited longest, when that is longer than `patience`. When to look again.
    pub(super) fn oust(&self, patience: Duration) -> Duration {
        let mut waiting = self.waiting();
        let Some(first) = waiting.since.first_entry() else {
            return AGAIN;
        };
        let left = patience.saturating_sub(first.get().0.elapsed());
        if left > Duration::ZERO {
            return left;
        }
        let (_, ousted) = first.remove();
        tracing::debug!("nothing is left: what was waited for longest is given up");
        ousted.notify_one();
        GOING
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
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
        let since = (Instant::now(), Arc::clone(&self.ousted));
        waiting.since.insert(number, since);
        *place = Some(number);
        drop(waiting);
        self.seats.changed.notify_one();
    }

    /// Its request is complete and right: it is not sent away before its answer.
    pub(super) fn is_served(&self) {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = place.take() {
            self.seats.waiting().since.remove(&number);
        }
    }

    /// So many more for the same.
    ///
    /// # Errors
    /// It is sent away itself while it waits for them.
    pub(super) async fn grow(&mut self, count: u32) -> std::io::Result<()> {
        let more = tokio::select! {
            more = self.seats.permit(count) => more?,
            () = self.ousted.notified() => return Err(std::io::ErrorKind::Interrupted.into()),
        };
        self.permit.merge(more);
        Ok(())
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

    const MOMENT: Duration = Duration::from_millis(1);

    async fn is_ousted(seat: &Seat) -> bool {
        timeout(MOMENT, seat.ousted()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn the_one_that_waits_longest_gives_up_its_seat() {
        let seats = Seats::new(2, Duration::ZERO);
        let first = seats.take(1).await.expect("a seat");
        let second = seats.take(1).await.expect("a seat");
        // A second request of the first: the other one waits longer now.
        first.is_served();
        first.waits();
        let third = seats.take(1);
        tokio::pin!(third);
        assert!(timeout(MOMENT, &mut third).await.is_err());
        assert!(is_ousted(&second).await && !is_ousted(&first).await);
        drop(second);
        drop(third.await.expect("the seat that was given up"));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_sent_away_before_its_time_and_then_as_many_as_it_takes() {
        let seats = Seats::new(10, Duration::from_secs(2));
        let small = seats.take(4).await.expect("seats");
        let large = seats.take(6).await.expect("seats");
        let next = seats.take(9);
        tokio::pin!(next);
        assert!(timeout(Duration::from_secs(1), &mut next).await.is_err());
        assert!(!is_ousted(&small).await && !is_ousted(&large).await);
        assert!(timeout(Duration::from_secs(2), &mut next).await.is_err());
        assert!(is_ousted(&small).await && is_ousted(&large).await);
        drop((small, large));
        drop(next.await.expect("the seats that were given up"));
    }

    #[tokio::test(start_paused = true)]
    async fn who_asked_first_is_served_first_however_much_it_wants() {
        let seats = Seats::new(10, Duration::from_secs(3_600));
        let holder = seats.take(8).await.expect("seats");
        let mut asked = Vec::new();
        for (number, count) in [(1, 5), (2, 1), (3, 1)] {
            let seats = std::sync::Arc::clone(&seats);
            asked.push(tokio::spawn(async move {
                let seat = seats.take(count).await.expect("seats");
                (number, tokio::time::Instant::now(), seat)
            }));
            tokio::time::sleep(MOMENT).await;
        }
        // Longer than any of them waits before it looks again.
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(asked.iter().all(|asked| !asked.is_finished()));
        drop(holder);
        for (asked, number) in asked.into_iter().zip(1..) {
            assert_eq!(asked.await.expect("no panic").0, number);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_wants_more_waits_for_it_and_may_be_sent_away_meanwhile() {
        let seats = Seats::new(4, Duration::from_secs(1));
        let mut first = seats.take(2).await.expect("seats");
        let mut second = seats.take(2).await.expect("seats");
        second.is_served();
        let refused = first.grow(1).await.expect_err("it was here first");
        assert_eq!(refused.kind(), std::io::ErrorKind::Interrupted);
        drop(first);
        second.grow(2).await.expect("all of them");
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_served_is_not_ousted_but_may_be_afterwards() {
        let seats = Seats::new(1, Duration::ZERO);
        let only = seats.take(1).await.expect("a seat");
        only.is_served();
        let next = seats.take(1);
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
