//! The bodies: each within its time and its size, and all within the memory that they have together.

use super::hook::{Answer, answer};
use super::seats::{Seat, Seats};
use axum::body::Body;
use axum::http::StatusCode;
use http_body_util::BodyExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// A body may take so long to come; GitHub waits for ten seconds in all (docs.github.com, "Handling
/// failed webhook deliveries").
const BODY_TIME: Duration = Duration::from_secs(8);
/// So much of a body takes no room: most are smaller, and wait for nobody. The connections bound them.
const BEGINNING: usize = 32 * 1024;
/// What is longer is large, and has a room of its own: nobody else waits for it.
const LARGE: usize = 1024 * 1024;
/// Of all bodies, beyond the beginning of each and up to where they are large; as they come.
const ROOM_KIB: u32 = 16 * 1024;
/// Beyond that, each for the whole of it at once: two that each had a part would wait for each other.
const LARGE_ROOM_KIB: u32 = 32 * 1024;
/// A body that is not whole after so long gives its room to one that waits: 1 MiB takes that at
/// 10 Mbit/s, 25 MiB at 100.
const PATIENCE: Duration = Duration::from_secs(1);
const LARGE_PATIENCE: Duration = Duration::from_secs(2);

pub(super) struct Room {
    all: Arc<Seats>,
    large: Arc<Seats>,
}

/// What one body has of the room, until it is kept or refused.
#[derive(Default)]
pub(super) struct Held {
    seat: Option<Seat>,
    kib: u32,
    large: Option<Seat>,
}

impl Room {
    pub(super) fn new() -> Self {
        Self {
            all: Seats::new(ROOM_KIB as usize, PATIENCE),
            large: Seats::new(LARGE_ROOM_KIB as usize, LARGE_PATIENCE),
        }
    }

    /// The body, of at most `most` bytes; `length` is what it says of itself.
    pub(super) async fn read(
        &self,
        mut body: Body,
        length: Option<u64>,
        most: u64,
    ) -> Result<(Vec<u8>, Held), Answer> {
        let end = Instant::now() + BODY_TIME;
        let whole = length.unwrap_or(most);
        let (mut read, mut held) = (Vec::new(), Held::default());
        loop {
            let frame = tokio::select! {
                frame = timeout_at(end, body.frame()) => frame,
                () = held.ousted() => return Err(in_the_way()),
            };
            let Some(frame) = frame.map_err(|_elapsed| slow())? else {
                break;
            };
            let broken = |error| {
                tracing::debug!("a body broke off: {error}");
                answer(StatusCode::BAD_REQUEST, "the body broke off")
            };
            let Ok(data) = frame.map_err(broken)?.into_data() else {
                continue;
            };
            if read.len() as u64 + data.len() as u64 > most {
                return Err(too_large());
            }
            read.extend_from_slice(&data);
            let grown = timeout_at(end, self.grow(&mut held, read.len(), whole)).await;
            grown.map_err(|_elapsed| slow())??;
        }
        held.is_whole();
        Ok((read, held))
    }

    /// As much as `read` bytes need of a body that has `whole`.
    async fn grow(&self, held: &mut Held, read: usize, whole: u64) -> Result<(), Answer> {
        let kib = kib(read.min(LARGE).saturating_sub(BEGINNING) as u64);
        let more = kib.saturating_sub(held.kib);
        if more > 0 {
            let grown = match &mut held.seat {
                Some(seat) => seat.grow(more).await,
                None => self.all.take(more).await.map(|seat| held.seat = Some(seat)),
            };
            grown.map_err(|_ousted| in_the_way())?;
            held.kib = kib;
        }
        if read > LARGE && held.large.is_none() {
            let rest = self::kib(whole.saturating_sub(LARGE as u64)).clamp(1, LARGE_ROOM_KIB);
            let taken = tokio::select! {
                taken = self.large.take(rest) => taken,
                () = held.ousted() => return Err(in_the_way()),
            };
            held.large = taken.ok();
        }
        Ok(())
    }
}

impl Held {
    /// Nobody else needs it before it is kept.
    fn is_whole(&self) {
        for seat in [&self.seat, &self.large].into_iter().flatten() {
            seat.is_served();
        }
    }

    async fn ousted(&self) {
        let of = async |seat: &Option<Seat>| match seat {
            Some(seat) => seat.ousted().await,
            None => std::future::pending().await,
        };
        tokio::select! {
            () = of(&self.seat) => {}
            () = of(&self.large) => {}
        }
    }
}

/// Whether reading it would keep others waiting.
pub(super) fn is_large(body: &[u8]) -> bool {
    body.len() > BEGINNING
}

pub(super) fn too_large() -> Answer {
    answer(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large")
}

fn slow() -> Answer {
    answer(StatusCode::REQUEST_TIMEOUT, "the body came too slowly")
}

fn in_the_way() -> Answer {
    let why = "the body came too slowly while others waited; try again";
    answer(StatusCode::REQUEST_TIMEOUT, why)
}

fn kib(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX)
}
