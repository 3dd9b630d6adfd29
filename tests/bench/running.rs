//! The real program: started, awaited, and what it costs while nothing happens.

use super::figures::{Bar, Table, short};
use shared::store::beside;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// For anything that takes milliseconds when all is well.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Ends the program when it goes out of scope.
pub struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Nothing is left to learn from it.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Running {
    /// Returns when the sender has its doorbell.
    pub async fn start(program: &Path, config: &Path, database: &Path) -> Self {
        let child = Command::new(program)
            .arg("--config")
            .arg(config)
            .env("RUST_LOG", "error")
            .stdout(Stdio::piped())
            .spawn();
        let child = child.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let mut running = Self(child);
        let (bell, began) = (beside(database, ".bell"), Instant::now());
        while !bell.exists() {
            let ended = running.0.try_wait().expect("its state");
            assert_eq!(ended, None, "the sender ended");
            assert!(began.elapsed() < PATIENCE, "the sender has no doorbell");
            sleep(Duration::from_millis(10)).await;
        }
        running
    }

    /// Its standard output, once.
    pub fn output(&mut self) -> ChildStdout {
        self.0.stdout.take().expect("a pipe")
    }

    /// Watches it do nothing for so long.
    pub async fn idle(&self, time: Duration) -> Idle {
        let process = PathBuf::from("/proc").join(self.0.id().to_string());
        let (before, began) = (cpu_times(&process), Instant::now());
        sleep(time).await;
        let (after, passed) = (cpu_times(&process), began.elapsed());
        let earlier = |thread| before.get(thread).copied().unwrap_or_default();
        let used = after
            .iter()
            .map(|(thread, time)| time.saturating_sub(earlier(thread)))
            .sum();
        Idle {
            used,
            passed,
            resident_kib: resident(&process),
        }
    }
}

/// What an idle program has cost.
pub struct Idle {
    used: Duration,
    passed: Duration,
    resident_kib: u32,
}

impl Idle {
    pub fn report(&self, table: &mut Table, who: &str) {
        let percent = self.used.as_secs_f64() / self.passed.as_secs_f64() * 100.0;
        let bar = Bar {
            text: "0.1 %",
            reached: percent < 0.1,
        };
        let passed = self.passed.as_secs_f64();
        let figure = format!("{percent:.3} % ({} in {passed:.0} s)", short(self.used));
        table.line(&format!("{who}: CPU"), &figure, "", Some(bar));
        let mib = f64::from(self.resident_kib) / 1024.0;
        let bar = Bar {
            text: "15 MiB",
            reached: mib < 15.0,
        };
        let figure = format!("{mib:.1} MiB");
        table.line(&format!("{who}: resident"), &figure, "", Some(bar));
    }
}

/// What each thread has spent on a processor so far, to the nanosecond: the clock of /proc/PID/stat
/// counts hundredths of a second, more than an idle program uses. A thread that ends in between
/// takes its last microseconds with it.
fn cpu_times(process: &Path) -> BTreeMap<OsString, Duration> {
    let threads = fs::read_dir(process.join("task")).expect("it runs");
    let times = threads.filter_map(|thread| {
        let thread = thread.ok()?;
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let nanoseconds = text.split(' ').next()?.parse().ok()?;
        Some((thread.file_name(), Duration::from_nanos(nanoseconds)))
    });
    times.collect()
}

fn resident(process: &Path) -> u32 {
    let status = fs::read_to_string(process.join("status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kib.expect("VmRSS")
}
