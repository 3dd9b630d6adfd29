//! The real programs, started as a machine would: in a folder of their own, with an environment of
//! their own, never on a terminal, and never longer than a bound.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The longest that anything here may take on a machine that is busy with other things.
pub const BOUND: Duration = Duration::from_secs(60);
/// Between two looks at something that is awaited.
const LOOK: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Ingest,
    Sender,
}

impl Program {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ingest => "watchalert-ingest",
            Self::Sender => "watchalert-sender",
        }
    }

    /// Where it was built: in the folder that `WATCHALERT_BIN_DIR` names, else in the target folder.
    ///
    /// # Panics
    /// When it was not built.
    pub fn path(self) -> PathBuf {
        let folder = match (variable("WATCHALERT_BIN_DIR"), variable("CARGO_TARGET_DIR")) {
            (Some(folder), _) => PathBuf::from(folder),
            (None, Some(target)) => Path::new(&target).join("debug"),
            (None, None) => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/debug"),
        };
        let path = folder.join(self.name());
        assert!(
            path.is_file(),
            "there is no {}: run cargo build --workspace --bins first",
            path.display()
        );
        path.canonicalize().expect("the path of a program")
    }
}

/// The long forms, asked for by `WATCHALERT_LONG=1`.
pub fn long() -> bool {
    variable("WATCHALERT_LONG").is_some_and(|value| value == "1")
}

/// For how long `scripts/soak` wants everything to go on: `WATCHALERT_SOAK`, in minutes.
pub fn soak() -> Option<Duration> {
    let minutes: f64 = variable("WATCHALERT_SOAK")?.to_str()?.parse().ok()?;
    Duration::try_from_secs_f64(minutes * 60.0).ok()
}

/// `WATCHALERT_SEED`, else a new one; printed, so that a run can be tried again.
pub fn seed(test: &str) -> u64 {
    let given = variable("WATCHALERT_SEED").and_then(|seed| seed.to_str()?.parse().ok());
    let seed = given.unwrap_or_else(|| fastrand::u64(..1_000_000_000));
    tell(&format!("{test}: WATCHALERT_SEED={seed}"));
    seed
}

/// Says aloud that something is not shown on this machine.
///
/// # Panics
/// With `CI=true`: there `scripts/test` has installed what is needed.
pub fn skip(why: &str) {
    let is_ci = variable("CI").is_some_and(|value| value == "true");
    assert!(!is_ci, "not to be skipped with CI=true: {why}");
    tell(&format!("SKIPPED: {why}"));
}

/// Of `scripts/mutants`: a text of the schema, and what stands there instead, with a line `====` between.
pub fn schema_mutant() -> Option<(String, String)> {
    let path = variable("WATCHALERT_SCHEMA_MUTANT")?;
    let both = std::fs::read_to_string(path).expect("the mutant's file");
    let (text, instead) = both.split_once("\n====\n").expect("two parts");
    Some((text.to_owned(), instead.to_owned()))
}

/// A figure or a remark that `scripts/prove` collects.
pub fn tell(line: &str) {
    println!("proof {line}");
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test's own environment enters here"
)]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

#[expect(
    clippy::disallowed_methods,
    reason = "processes run on the machine's clock"
)]
pub fn now() -> Instant {
    Instant::now()
}

/// Lets the processes run for a while.
#[expect(
    clippy::disallowed_methods,
    reason = "a moment in another process's life is a time"
)]
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Waits until `holds`, at most for `bound`; says whether it did.
pub fn within(bound: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let start = now();
    while !holds() {
        if start.elapsed() > bound {
            return false;
        }
        pause(LOOK);
    }
    true
}

/// Waits until `holds`, with a bound.
///
/// # Panics
/// When it does not come to hold.
pub fn until(what: &str, holds: impl FnMut() -> bool) {
    assert!(within(BOUND, holds), "within {BOUND:?}: {what}");
}

/// A folder with a configuration, a folder for the database in it, and what the programs print.
pub struct Place {
    dir: TempDir,
    started: AtomicUsize,
}

impl Place {
    /// `config` is everything but `[state]`, whose database is state/state.db, on a disk where
    /// nothing need be free.
    pub fn new(config: &str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let place = Self {
            dir,
            started: AtomicUsize::new(0),
        };
        fs::create_dir(place.path("state")).expect("a folder for the database");
        fs::create_dir(place.path("errors")).expect("a folder for standard error");
        place.configure(config);
        place
    }

    pub fn configure(&self, config: &str) {
        self.leave_free("0 KiB", config);
    }

    /// The same on a disk of which so much shall stay free.
    pub fn leave_free(&self, free: &str, config: &str) {
        let state = format!("[state]\npath = \"state/state.db\"\nmin_free = {free:?}\n");
        fs::write(self.config(), format!("{config}\n{state}")).expect("a configuration");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn config(&self) -> PathBuf {
        self.path("config.toml")
    }

    pub fn database(&self) -> PathBuf {
        self.path("state/state.db")
    }

    /// What senders have printed to the file that [`start_sender`](Self::start_sender) appends to.
    pub fn printed(&self) -> String {
        fs::read_to_string(self.path("printed")).unwrap_or_default()
    }

    /// The program with this place's configuration and nothing else in its environment.
    pub fn command(&self, program: Program, arguments: &[&str]) -> Command {
        let mut command = Command::new(program.path());
        command.env_clear().arg("--config").arg(self.config());
        command.args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Runs it to its end.
    pub fn run(&self, program: Program, arguments: &[&str]) -> Ended {
        self.run_command(self.command(program, arguments))
    }

    pub fn run_command(&self, mut command: Command) -> Ended {
        let out = self.path(&format!("errors/{}.out", self.number()));
        command.stdout(File::create(&out).expect("a file for standard output"));
        let running = self.start(command);
        let mut ended = running.ended(BOUND);
        ended.out = fs::read_to_string(out).expect("readable output");
        ended.shows_no_escape_sequence();
        ended
    }

    /// A sender whose alerts are appended to one file.
    pub fn start_sender(&self, arguments: &[&str]) -> Running {
        let mut command = self.command(Program::Sender, arguments);
        let mut printed = OpenOptions::new();
        let printed = printed.append(true).create(true).open(self.path("printed"));
        command.stdout(printed.expect("a file for alerts"));
        self.start(command)
    }

    /// Starts a command; where its standard output goes is its own matter.
    pub fn start(&self, mut command: Command) -> Running {
        let err = self.path(&format!("errors/{}.err", self.number()));
        command.stderr(File::create(&err).expect("a file for standard error"));
        let started = now();
        let child = command.spawn().expect("the program starts");
        Running {
            child,
            err,
            started,
        }
    }

    fn number(&self) -> usize {
        self.started.fetch_add(1, Ordering::Relaxed)
    }
}

/// A program that was started; it is killed when dropped.
pub struct Running {
    child: Child,
    err: PathBuf,
    started: Instant,
}

impl Running {
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn runs(&mut self) -> bool {
        self.status().is_none()
    }

    fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("the state of a child")
    }

    /// `kill -9`. `false`: it had ended by itself before, and its last words are in the test's output.
    pub fn kill(mut self) -> bool {
        self.child.kill().expect("a child can be killed");
        let status = self.child.wait().expect("a killed child ends");
        let was_killed = status.signal() == Some(9);
        if !was_killed {
            eprintln!("{status}: {}", self.said());
        }
        was_killed
    }

    /// Asks it to end, as systemd does.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    /// Sends it a signal by name.
    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.id());
        let sent = Command::new("sh").args(["-c", &kill]).status();
        assert!(sent.is_ok_and(|sent| sent.success()), "{kill}");
    }

    /// The other end of its standard output, which was set to a pipe.
    pub fn take_output(&mut self) -> ChildStdout {
        self.child.stdout.take().expect("a pipe")
    }

    /// What it said so far.
    pub fn said(&self) -> String {
        fs::read_to_string(&self.err).unwrap_or_default()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end within `bound`.
    pub fn ended(mut self, bound: Duration) -> Ended {
        let started = self.started;
        let waited = now();
        let status = loop {
            if let Some(status) = self.status() {
                break status;
            }
            assert!(waited.elapsed() < bound, "did not end: {}", self.said());
            pause(LOOK);
        };
        Ended {
            code: status.code(),
            out: String::new(),
            err: self.said(),
            took: started.elapsed(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// How a program ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// `None`: by a signal.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
    pub took: Duration,
}

impl Ended {
    /// Ended with 0, and said nothing but log lines.
    #[expect(
        clippy::return_self_not_must_use,
        reason = "most want no more than the check"
    )]
    pub fn well(self) -> Self {
        assert_eq!((self.code, self.words()), (Some(0), vec![]), "{self:#?}");
        self
    }

    /// What standard error holds beside log lines.
    pub fn words(&self) -> Vec<&str> {
        self.err.lines().filter(|line| !is_log(line)).collect()
    }

    /// The one sentence with which it failed, without the program's name.
    ///
    /// # Panics
    /// When it ended with another code, or said nothing, or more than one line.
    pub fn refused(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "{self:#?}");
        let words = self.words();
        assert_eq!(words.len(), 1, "{self:#?}");
        let (name, sentence) = words[0].split_once(": ").expect("a name and a sentence");
        assert!(name.starts_with("watchalert-"), "{self:#?}");
        sentence
    }

    /// Nothing here runs on a terminal.
    pub fn shows_no_escape_sequence(&self) {
        let escapes = [&self.out, &self.err].map(|text| text.contains('\u{1b}'));
        assert_eq!(escapes, [false, false], "{self:#?}");
    }
}

/// `2026-11-30T21:10:46.618068Z  INFO …`
fn is_log(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let stamped = words
        .next()
        .is_some_and(|word| word.len() == 27 && word.starts_with("20") && word.ends_with('Z'));
    stamped
        && words
            .next()
            .is_some_and(|word| ["ERROR", "WARN", "INFO"].contains(&word))
}
