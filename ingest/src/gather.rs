//! Gather: the due feeds are read, a few at a time, and each is handed out as soon as it is done.

use crate::plan::Planned;
use crate::progress::{self, Progress};
use crate::reader::{Read, Reader};
use shared::store::StoreError;
use std::iter::Enumerate;
use std::vec;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The feeds of one tick while they are read.
#[derive(Debug)]
pub struct Gathering {
    reader: Reader,
    waiting: Enumerate<vec::IntoIter<Planned>>,
    reading: JoinSet<Result<Gathered, StoreError>>,
    /// The most feeds that are read at the same time.
    concurrency: usize,
    bar: progress::Feeds,
}

/// One feed that is done.
#[derive(Debug)]
pub struct Gathered {
    /// Its place in the plan.
    pub place: usize,
    pub planned: Planned,
    pub read: Read,
}

impl Gathering {
    pub fn new(reader: Reader, due: Vec<Planned>, concurrency: usize, progress: Progress) -> Self {
        Self {
            reader,
            bar: progress.feeds(due.len()),
            waiting: due.into_iter().enumerate(),
            reading: JoinSet::new(),
            concurrency,
        }
    }

    /// The next feed that is done, whatever its place; `None` when all are.
    ///
    /// # Errors
    /// The database's, which are not the feed's fault. The feeds that are still read are given up
    /// when the gathering is dropped.
    pub async fn next(&mut self) -> Result<Option<Gathered>, StoreError> {
        loop {
            self.start();
            let gathered = match self.reading.join_next().await {
                Some(Ok(gathered)) => gathered?,
                Some(Err(panic)) => {
                    tracing::error!("a bug while recording a feed: {panic}");
                    continue;
                }
                None => match self.waiting.next() {
                    Some((place, planned)) => Gathered {
                        place,
                        read: Read::carried_over(&planned),
                        planned,
                    },
                    None => break,
                },
            };
            self.bar.finished(gathered.place);
            return Ok(Some(gathered));
        }
        self.bar.end();
        Ok(None)
    }

    /// After the deadline no feed is begun.
    fn start(&mut self) {
        while self.reading.len() < self.concurrency && Instant::now() < self.reader.deadline {
            let Some((place, planned)) = self.waiting.next() else {
                break;
            };
            let reader = self.reader.clone();
            self.bar.started(place, &planned.name());
            self.reading.spawn(async move {
                let read = reader.read(&planned).await?;
                Ok(Gathered {
                    place,
                    planned,
                    read,
                })
            });
        }
    }
}
