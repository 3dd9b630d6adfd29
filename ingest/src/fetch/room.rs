//! Room for bodies: how many bytes of them may be in memory at the same time.
//!
//! Each body has a small share of its own and never waits for it. One that outgrows it asks, once
//! and for all that it may still become, for a part of what the large ones share: who waits holds
//! nothing that another waits for, so nobody waits for ever.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

const KIB: usize = 1024;

/// The most by which a body grows ahead of what came.
const STEP: usize = 512 * KIB;

/// All bodies of a process together, in bytes.
pub(super) const TOGETHER: usize = 24 * KIB * KIB;

/// A document's bytes, and their part of the room until they are dropped.
#[derive(Default)]
pub struct Body {
    bytes: Vec<u8>,
    part: Option<OwnedSemaphorePermit>,
}

#[derive(Clone, Debug)]
pub(super) struct Room {
    own: usize,
    /// In KiB.
    shared: Arc<Semaphore>,
    shared_kib: usize,
}

impl Room {
    /// For so many bodies at the same time: a quarter is their own, the rest is for large ones.
    pub(super) fn for_bodies(count: usize) -> Self {
        let own = TOGETHER / 4 / count.max(1);
        let shared_kib = (TOGETHER - TOGETHER / 4) / KIB;
        Self {
            own,
            shared: Arc::new(Semaphore::new(shared_kib)),
            shared_kib,
        }
    }

    /// Waits until `body` may have `length` bytes, and grow to `most` if it must.
    pub(super) async fn admit(&self, body: &mut Body, length: usize, most: usize) {
        if length <= self.own || body.part.is_some() {
            return;
        }
        let wanted = most.saturating_sub(self.own).div_ceil(KIB);
        let wanted = u32::try_from(wanted.min(self.shared_kib)).unwrap_or(u32::MAX);
        // It is never closed.
        body.part = Arc::clone(&self.shared)
            .acquire_many_owned(wanted)
            .await
            .ok();
    }

    /// Gives back what the whole `body` did not need.
    pub(super) fn settle(&self, body: &mut Body) {
        let needed = body.bytes.len().saturating_sub(self.own).div_ceil(KIB);
        if let Some(part) = &mut body.part {
            let surplus = part.num_permits().saturating_sub(needed);
            drop(part.split(surplus));
        }
    }
}

impl Body {
    pub(super) fn extend(&mut self, chunk: &[u8]) {
        if self.bytes.capacity() - self.bytes.len() < chunk.len() {
            // Not twice what it has, as a list grows by itself: that is not what it was admitted for.
            let more = self.bytes.len().min(STEP);
            self.bytes.reserve_exact(chunk.len().max(more));
        }
        self.bytes.extend_from_slice(chunk);
    }

    pub(super) fn fill(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
    }

    /// The bytes alone, for another thread. What is left keeps the part of the room.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, part: None }
    }
}

impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Body {}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({:?})", String::from_utf8_lossy(&self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    const CAP: usize = 8 * KIB * KIB;

    async fn is_admitted(room: &Room, body: &mut Body, length: usize, most: usize) -> bool {
        let admitted = timeout(Duration::from_millis(20), room.admit(body, length, most));
        admitted.await.is_ok()
    }

    #[tokio::test]
    async fn small_bodies_never_wait_and_large_ones_share_the_rest() {
        let room = Room::for_bodies(16);
        let mut large: [Body; 3] = std::array::from_fn(|_| Body::default());
        let mut admitted = 0;
        for body in &mut large {
            admitted += usize::from(is_admitted(&room, body, 600 * KIB, CAP).await);
        }
        assert_eq!(admitted, 2, "of unknown size, at the same time");
        let mut small = Body::default();
        assert!(is_admitted(&room, &mut small, 384 * KIB, CAP).await);
        let [first, .., last] = &mut large;
        assert!(is_admitted(&room, first, CAP, CAP).await, "it has its part");
        *first = Body::default();
        assert!(is_admitted(&room, last, 600 * KIB, CAP).await);
    }

    #[tokio::test]
    async fn a_whole_body_keeps_only_what_it_needs() {
        let room = Room::for_bodies(16);
        let mut held: Vec<Body> = Vec::new();
        // Each is 1 MiB beyond its own share; while it is read it asks for all that is left of CAP.
        for _ in 0..11 {
            let mut body = Body::default();
            assert!(is_admitted(&room, &mut body, CAP, CAP).await);
            body.fill(vec![b'x'; 1408 * KIB]);
            room.settle(&mut body);
            held.push(body);
        }
        assert!(!is_admitted(&room, &mut Body::default(), CAP, CAP).await);
        assert_eq!(room.shared.available_permits(), 7 * KIB);
        // Its bytes go to another thread; what is left keeps the part.
        let taken: Vec<Vec<u8>> = held.iter_mut().map(Body::take).collect();
        assert_eq!(
            (taken.len(), room.shared.available_permits()),
            (11, 7 * KIB)
        );
        drop(held);
        assert_eq!(room.shared.available_permits(), 18 * KIB);
    }

    #[tokio::test]
    async fn a_cap_beyond_the_whole_room_waits_for_all_of_it_not_for_ever() {
        let room = Room::for_bodies(1);
        let mut huge = Body::default();
        assert!(is_admitted(&room, &mut huge, 9 * KIB * KIB, 100 * CAP).await);
        assert_eq!(room.shared.available_permits(), 0);
    }
}
