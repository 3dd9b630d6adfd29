//! What was received while the database could not take it: a file each, on the disk before it is
//! answered, and taken in later exactly as if it came then.

use serde::{Deserialize, Serialize};
use shared::model::{Heard, Timestamp};
use shared::platform::crash;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Files, and bytes, that wait at most: a day of a busy installation.
const MOST_FILES: usize = 10_000;
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// Calls of heartbeats among them: whoever knows a name can call, and must not fill it.
const MOST_BEATS: usize = 2_000;
/// Set aside: it cannot be taken in, and a person should look.
const BAD: &str = "bad";
/// It is being written, or was when its writer ended.
const UNFINISHED: &str = "tmp";

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    Post(Spooled),
    Beat(Heard),
}

impl Kept {
    /// By which the name of its file ends.
    const fn kind(&self) -> &'static str {
        match self {
            Self::Post(_) => "post",
            Self::Beat(_) => "beat",
        }
    }

    fn at(&self) -> i64 {
        match self {
            Self::Post(spooled) => spooled.at,
            Self::Beat(heard) => heard.at.unix_millis(),
        }
    }

    /// One line, and what stands behind it.
    fn parts(&self) -> io::Result<(String, &[u8])> {
        let (head, body) = match self {
            Self::Post(spooled) => (serde_json::to_string(spooled), spooled.body.as_slice()),
            Self::Beat(heard) => (serde_json::to_string(heard), &[][..]),
        };
        Ok((head.map_err(io::Error::other)?, body))
    }
}

/// A verified delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spooled {
    /// Of the webhook.
    pub hook: String,
    pub event: Option<String>,
    pub delivery: Option<String>,
    pub content_type: Option<String>,
    /// When it came, in Unix milliseconds.
    pub at: i64,
    /// Stands behind the first line of its file, as it came.
    #[serde(skip)]
    pub body: Vec<u8>,
}

impl Spooled {
    pub fn received(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.at)
    }
}

/// The folder beside the database.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    /// Within one process no two files have the same name.
    next: AtomicU64,
    waits: Mutex<Waits>,
    /// Whether anything waits, for who cannot wait for a disk.
    has_waiting: AtomicBool,
    /// On their way into the folder.
    coming: AtomicUsize,
    /// What could not be read or put away, and whether it is in the database: it is tried again, and nothing
    /// waits behind it.
    stuck: Mutex<BTreeMap<PathBuf, bool>>,
}

/// What waits in the folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Waits {
    files: usize,
    beats: usize,
    bytes: u64,
}

impl Spool {
    pub fn beside(database: &Path) -> Self {
        Self {
            folder: shared::store::beside(database, ".spool"),
            next: AtomicU64::new(0),
            waits: Mutex::default(),
            has_waiting: AtomicBool::new(false),
            coming: AtomicUsize::new(0),
            stuck: Mutex::default(),
        }
    }

    /// Whether what comes now would overtake what waits, or is on its way here. As of the last
    /// [count](Self::count), and what was kept since.
    pub fn has_waiting(&self) -> bool {
        self.coming.load(Ordering::Acquire) > 0 || self.has_waiting.load(Ordering::Acquire)
    }

    /// From now on something is on its way here, until this is dropped.
    #[must_use]
    pub fn expect(self: &Arc<Self>) -> Coming {
        self.coming.fetch_add(1, Ordering::AcqRel);
        Coming(Arc::clone(self))
    }

    /// Said once in the log.
    pub fn is_stuck(&self, path: &Path, is_taken: bool, why: &str) {
        let known = self.stuck().insert(path.to_owned(), is_taken);
        if known.is_none() {
            tracing::error!(file = %path.display(), "what was spooled stays there: {why}");
        }
    }

    /// Whether it is in the database, and could not be put away.
    pub fn is_taken(&self, path: &Path) -> bool {
        self.stuck().get(path).is_some_and(|is_taken| *is_taken)
    }

    fn stuck(&self) -> MutexGuard<'_, BTreeMap<PathBuf, bool>> {
        self.stuck.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what waits, and is not stuck; others take it in, too.
    ///
    /// # Errors
    /// The folder's.
    pub fn count(&self) -> io::Result<usize> {
        let mut waits = self.lock();
        let mut found = Waits::default();
        for path in self.waiting()? {
            if self.stuck().contains_key(&path) {
                continue;
            }
            found.files += 1;
            found.beats += usize::from(is_beat(&path));
            // One that is gone by now waits no more.
            found.bytes += path.metadata().map_or(0, |file| file.len());
        }
        *waits = found;
        self.has_waiting.store(found.files > 0, Ordering::Release);
        Ok(found.files)
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Once this returns, it is on the disk.
    ///
    /// # Errors
    /// The disk's, or that there is no room in the folder.
    pub fn keep(&self, kept: &Kept) -> io::Result<()> {
        self.make_folder()?;
        let (head, body) = kept.parts()?;
        let mut waits = self.lock();
        let after = waits.with(kept, head.len() + 1 + body.len());
        after.require_room()?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("{:015}-{}-{number:06}", kept.at(), std::process::id());
        let unfinished = self.folder.join(format!("{name}.{UNFINISHED}"));
        let whole = self.folder.join(format!("{name}.{}", kept.kind()));
        let written = write(&unfinished, &head, body)
            .inspect(|()| crash::point("spool.written"))
            .and_then(|()| fs::rename(&unfinished, whole))
            .and_then(|()| File::open(&self.folder)?.sync_all())
            .inspect(|()| crash::point("spool.kept"));
        if written.is_err() {
            drop(fs::remove_file(&unfinished));
        } else {
            *waits = after;
            self.has_waiting.store(true, Ordering::Release);
        }
        written
    }

    /// A folder that is new must last as well as what is in it.
    fn make_folder(&self) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
            made => made?,
        }
        let above = self.folder.parent();
        let above = above.filter(|folder| !folder.as_os_str().is_empty());
        let kept = File::open(above.unwrap_or(Path::new("."))).and_then(|above| above.sync_all());
        if kept.is_err() {
            drop(fs::remove_dir(&self.folder));
        }
        kept
    }

    /// What an earlier receiver was writing when it was killed: it was never answered.
    pub fn clear(&self) -> io::Result<()> {
        for path in self.files()? {
            if path.extension().is_some_and(|end| end == UNFINISHED) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        entries.map(|entry| Ok(entry?.path())).collect()
    }

    /// The files that wait, the oldest first.
    pub fn waiting(&self) -> io::Result<Vec<PathBuf>> {
        let mut paths = self.files()?;
        paths.retain(|path| is_beat(path) || path.extension().is_some_and(|end| end == "post"));
        paths.sort_unstable();
        Ok(paths)
    }

    pub fn read(path: &Path) -> io::Result<Kept> {
        let mut bytes = Vec::new();
        File::open(path)?.read_to_end(&mut bytes)?;
        let broken = || io::Error::new(ErrorKind::InvalidData, "it is no spooled delivery");
        let end = memchr::memchr(b'\n', &bytes).ok_or_else(broken)?;
        let (head, body) = bytes.split_at_checked(end + 1).ok_or_else(broken)?;
        let kept = if is_beat(path) {
            serde_json::from_slice(head).map(Kept::Beat)
        } else {
            serde_json::from_slice(head).map(|spooled| {
                Kept::Post(Spooled {
                    body: body.to_vec(),
                    ..spooled
                })
            })
        };
        kept.map_err(|_error| broken())
    }

    /// It is in the database.
    pub fn taken(path: &Path) -> io::Result<()> {
        crash::point("spool.taken");
        match fs::remove_file(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// It can never be taken in: it stays for a person, and in nobody's way.
    pub fn set_aside(path: &Path) -> io::Result<()> {
        crash::point("spool.aside");
        fs::rename(path, path.with_extension(BAD))
    }
}

/// Something on its way into the spool.
#[derive(Debug)]
pub struct Coming(Arc<Spool>);

impl Drop for Coming {
    fn drop(&mut self) {
        self.0.coming.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Waits {
    fn with(self, kept: &Kept, bytes: usize) -> Self {
        Self {
            files: self.files + 1,
            beats: self.beats + usize::from(matches!(kept, Kept::Beat(_))),
            bytes: self.bytes + bytes as u64,
        }
    }

    fn require_room(self) -> io::Result<()> {
        if self.files > MOST_FILES || self.beats > MOST_BEATS || self.bytes > MOST_BYTES {
            let full = "the spool is full: the database has taken nothing for too long";
            return Err(io::Error::new(ErrorKind::StorageFull, full));
        }
        Ok(())
    }
}

fn is_beat(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "beat")
}

fn write(path: &Path, head: &str, body: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    writeln!(file, "{head}")?;
    file.write_all(body)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spooled(at: i64, body: &[u8]) -> Kept {
        Kept::Post(Spooled {
            hook: "infra".to_owned(),
            event: Some("push".to_owned()),
            delivery: None,
            content_type: Some("application/json".to_owned()),
            at,
            body: body.to_vec(),
        })
    }

    #[test]
    fn what_is_kept_comes_back_as_it_was_and_in_its_order() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::beside(&folder.path().join("state.db"));
        assert_eq!(spool.waiting().unwrap(), Vec::<PathBuf>::new());
        let bodies = [&b"two\nlines\n"[..], b"", b"\0\xff{}"];
        for (at, body) in [3, 1, 2].into_iter().zip(bodies) {
            spool.keep(&spooled(at, body)).unwrap();
        }
        let waiting = spool.waiting().unwrap();
        let read: Vec<Kept> = waiting
            .iter()
            .map(|path| Spool::read(path).unwrap())
            .collect();
        let expected = [
            spooled(1, b""),
            spooled(2, b"\0\xff{}"),
            spooled(3, bodies[0]),
        ];
        assert_eq!(read, expected);
        assert!(spool.has_waiting());
        Spool::taken(&waiting[0]).unwrap();
        Spool::set_aside(&waiting[1]).unwrap();
        assert_eq!(spool.waiting().unwrap(), waiting[2..]);
        assert_eq!(spool.count().unwrap(), 1);
        Spool::taken(&waiting[2]).unwrap();
        assert!(spool.has_waiting(), "as of the last count");
        assert_eq!(spool.count().unwrap(), 0);
        assert!(!spool.has_waiting());
    }

    #[test]
    fn what_is_stuck_is_tried_again_and_nothing_waits_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Arc::new(Spool::beside(&folder.path().join("state.db")));
        spool.keep(&spooled(1, b"{}")).unwrap();
        let path = spool.waiting().unwrap().remove(0);
        spool.is_stuck(&path, false, "nobody may read it");
        assert_eq!(spool.count().unwrap(), 0);
        assert!(!spool.has_waiting());
        assert_eq!(spool.waiting().unwrap(), [path]);
        let coming = spool.expect();
        assert!(spool.has_waiting(), "one is on its way");
        drop(coming);
        assert!(!spool.has_waiting());
    }

    #[test]
    fn calls_that_anybody_can_make_leave_room_for_deliveries() {
        let beat = Kept::Beat(Heard {
            name: "backup".to_owned(),
            signal: shared::model::Signal::Success,
            note: None,
            at: Timestamp::from_unix_millis(1),
        });
        let mut waits = Waits::default();
        while waits.with(&beat, 100).require_room().is_ok() {
            waits = waits.with(&beat, 100);
        }
        assert_eq!((waits.files, waits.beats), (2_000, 2_000));
        let post = spooled(1, b"");
        assert!(waits.with(&post, 1_000).require_room().is_ok());
        let all = Waits {
            files: 10_000,
            ..waits
        };
        assert!(all.with(&post, 1_000).require_room().is_err());
        let large = usize::try_from(MOST_BYTES).unwrap();
        assert!(waits.with(&post, large).require_room().is_err());
    }

    #[test]
    fn what_a_crash_left_half_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::beside(&folder.path().join("state.db"));
        spool.keep(&spooled(1, b"{}")).unwrap();
        let whole = spool.waiting().unwrap().remove(0);
        let half = whole.with_extension("tmp");
        fs::copy(&whole, &half).unwrap();
        assert_eq!(spool.waiting().unwrap(), std::slice::from_ref(&whole));
        spool.clear().unwrap();
        assert!(whole.exists() && !half.exists());
        for broken in ["", "{}", "{\"hook\":1}\n", "\n"] {
            fs::write(&whole, broken).unwrap();
            assert!(Spool::read(&whole).is_err(), "{broken:?}");
        }
    }
}
