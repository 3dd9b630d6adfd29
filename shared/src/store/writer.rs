//! The one writer thread: it runs jobs in order, commits what waits together, and answers each
//! job only after its COMMIT.
//!
//! A job may be run twice (when a shared commit failed, each is tried alone), so it is `FnMut`
//! and writes nothing but the database.

use super::error::{Remedy, StoreError};
use super::open::{self, BUSY_TRIES};
use super::{Db, migrate};
use crate::platform::crash;
use crate::platform::lock::{LockFile, Turn};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Jobs that wait for the thread; who sends more waits too.
const WAITING: usize = 256;
/// Jobs of one commit. Each touches a few rows; more would keep other processes out too long.
const TOGETHER: usize = 32;
/// One asking: for the turn, or for the database.
const BUSY: Duration = Duration::from_millis(BUSY_TRIES as u64);
/// How long a batch asks for a held database before its jobs are answered "locked". The asking
/// counts one millisecond a try, so this is a lower bound.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// What the thread may still take for the jobs that wait when its handle is dropped.
const LAST_JOBS: Duration = Duration::from_secs(5);

/// What the thread can be asked.
trait Job: Send {
    /// Nobody waits for the answer any more, so it must not be run.
    fn abandoned(&self) -> bool;
    fn run(&mut self, db: &Db) -> Result<(), StoreError>;
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

enum Order {
    /// Inside the shared transaction.
    Write(Box<dyn Job>),
    /// Outside any transaction, on the writer's own connection.
    Look(Box<dyn Job>),
}

struct Work<T, F> {
    job: F,
    done: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T: Send, F: FnMut(&Db) -> Result<T, StoreError> + Send> Job for Work<T, F> {
    fn abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn run(&mut self, db: &Db) -> Result<(), StoreError> {
        let result = catch_unwind(AssertUnwindSafe(|| (self.job)(db)))
            .unwrap_or_else(|panic| Err(StoreError::Bug(panic_text(&*panic))));
        let outline = result.as_ref().map(|_| ()).map_err(Clone::clone);
        self.done = Some(result);
        outline
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let result = match (committed, self.done) {
            (Ok(()), Some(done)) => done,
            (Ok(()), None) => Err(StoreError::Bug("a job was never run".to_owned())),
            (Err(error), _) => Err(error),
        };
        // The caller may have stopped waiting; then nobody needs the answer.
        drop(self.reply.send(result));
    }
}

/// A handle on the thread; dropping it ends the thread after the jobs that wait, or after
/// [`LAST_JOBS`].
#[derive(Debug)]
pub(super) struct Writer {
    orders: Option<mpsc::Sender<Order>>,
    /// Closed when the thread has ended.
    ended: Mutex<std::sync::mpsc::Receiver<()>>,
}

impl Writer {
    pub(super) fn start(path: &Path) -> Result<Self, StoreError> {
        let db = open::read_write(path)?;
        migrate::require_current(&db, path)?;
        let turnstile = LockFile::open(&open::beside(path, ".turn"))
            .map_err(|error| StoreError::cannot_open(path, &error))?;
        let (orders, inbox) = mpsc::channel(WAITING);
        let desk = Desk {
            db,
            path: path.to_owned(),
            turnstile,
        };
        let (ending, ended) = std::sync::mpsc::channel();
        let serve = move || {
            desk.serve(inbox);
            drop(ending);
        };
        thread::Builder::new()
            .name("writer".to_owned())
            .spawn(serve)
            .map_err(|error| StoreError::cannot_open(path, &error))?;
        Ok(Self {
            orders: Some(orders),
            ended: Mutex::new(ended),
        })
    }

    /// Runs `work` in a transaction and returns after its COMMIT. An error rolls back this work
    /// alone. Dropping the future before the thread reached the job cancels it.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Db) -> Result<T, StoreError> + Send + 'static,
    {
        self.ask(work, Order::Write).await
    }

    /// Runs `work` on the writer's own connection, outside a transaction: for
    /// `PRAGMA data_version`, which tells other processes' commits from ours only here.
    pub(super) async fn look<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Db) -> Result<T, StoreError> + Send + 'static,
    {
        self.ask(work, Order::Look).await
    }

    async fn ask<T, F>(&self, work: F, order: fn(Box<dyn Job>) -> Order) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Db) -> Result<T, StoreError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Work {
            job: work,
            done: None,
            reply,
        });
        let orders = self.orders.as_ref().ok_or(StoreError::WriterGone)?;
        if orders.send(order(job)).await.is_err() {
            return Err(StoreError::WriterGone);
        }
        answer.await.unwrap_or(Err(StoreError::WriterGone))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.orders.take());
        // Nothing is ever sent: this waits for the end of the thread, and not for ever, because a
        // disk that hangs must not keep the process.
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        if ended.recv_timeout(LAST_JOBS) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("the writer thread hangs in the database; it is not waited for");
        }
    }
}

/// The thread's side.
struct Desk {
    db: Db,
    path: PathBuf,
    turnstile: LockFile,
}

impl Desk {
    fn serve(self, mut inbox: mpsc::Receiver<Order>) {
        while let Some(first) = inbox.blocking_recv() {
            let mut batch = Vec::new();
            let mut next = Some(first);
            while let Some(order) = next {
                match order {
                    Order::Write(job) => batch.push(job),
                    Order::Look(job) => self.look(job),
                }
                next = (batch.len() < TOGETHER)
                    .then(|| inbox.try_recv().ok())
                    .flatten();
            }
            self.commit_together(batch);
        }
    }

    fn look(&self, mut job: Box<dyn Job>) {
        let result = job.run(&self.db).map_err(|error| error.at(&self.path));
        job.answer(result);
    }

    /// One transaction for all; when the file failed under it, one for each, so that the job
    /// that does not fit does not take the others with it.
    fn commit_together(&self, mut batch: Vec<Box<dyn Job>>) {
        batch.retain(|job| !job.abandoned());
        if batch.is_empty() {
            return;
        }
        let committed = self.transaction(&mut batch);
        let split = batch.len() > 1
            && matches!(
                committed,
                Err(StoreError::Full(_) | StoreError::Disk { .. })
            );
        if let (true, Err(error @ StoreError::Disk { .. })) = (split, &committed) {
            tracing::warn!("what was to be written together is tried one by one: {error}");
        }
        for job in batch {
            if split {
                let mut alone = vec![job];
                let committed = self.transaction(&mut alone);
                for job in alone {
                    job.answer(committed.clone());
                }
            } else {
                job.answer(committed.clone());
            }
        }
    }

    fn transaction(&self, batch: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
        let _turn = self.begin(batch)?;
        let result = self.run_and_commit(batch);
        if result.is_err() && !self.db.is_autocommit() {
            // On FULL and IOERR SQLite has often rolled back already; the first error counts.
            drop(self.db.execute_batch("ROLLBACK"));
        }
        result.map_err(|error| error.at(&self.path))
    }

    /// Takes our turn among our own processes, then the database's write lock. While somebody holds
    /// that, the turn is given back now and then, so that nobody queues behind us, and the asking
    /// ends when nobody waits for an answer any more: a tick that gave up must end. The turn is
    /// fairness only: when it is not to be had, as from a process that was stopped, we go without.
    fn begin(&self, batch: &[Box<dyn Job>]) -> Result<Option<Turn<'_>>, StoreError> {
        let mut waited = Duration::ZERO;
        loop {
            let turn = self
                .turnstile
                .wait(BUSY_TRIES)
                .map_err(|error| StoreError::cannot_open(&self.path, &error))?;
            if turn.is_none() {
                waited += BUSY;
            }
            match self
                .db
                .execute_batch("BEGIN IMMEDIATE")
                .map_err(StoreError::from)
            {
                Ok(()) => return Ok(turn),
                Err(StoreError::Locked { .. }) => waited += BUSY,
                Err(error) => return Err(error.at(&self.path)),
            }
            if waited >= PATIENCE || batch.iter().all(|job| job.abandoned()) {
                let path = self.path.clone();
                return Err(StoreError::Locked { path, waited });
            }
        }
    }

    fn run_and_commit(&self, batch: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
        migrate::require_current(&self.db, &self.path)?;
        for job in batch {
            self.db.execute_batch("SAVEPOINT job")?;
            match job.run(&self.db) {
                Ok(()) => self.db.execute_batch("RELEASE job")?,
                Err(error) if error.remedy() == Remedy::Wait || self.db.is_autocommit() => {
                    return Err(error);
                }
                Err(_) => self.db.execute_batch("ROLLBACK TO job; RELEASE job")?,
            }
        }
        crash::point("commit.before");
        self.db.execute_batch("COMMIT")?;
        crash::point("commit.after");
        Ok(())
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic".to_owned())
}
