//! Figures as lines of a table, each beside what one fdatasync took at that moment.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// A frame of the write-ahead log: a page and its header.
const FRAME: usize = 4096 + 24;
const SYNCS: usize = 100;
/// On a slow disk fewer syncs have to do.
const SYNCS_TAKE: Duration = Duration::from_secs(1);

/// Durations of the same thing, sorted.
pub struct Sample(Vec<Duration>);

impl Sample {
    pub fn new(mut durations: Vec<Duration>) -> Self {
        durations.sort();
        Self(durations)
    }

    /// The duration that `percent` of all do not exceed.
    pub fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied().unwrap_or_default()
    }

    pub fn median(&self) -> Duration {
        self.percentile(50)
    }

    pub fn middle_and_worst(&self) -> String {
        format!(
            "p50 {}, p99 {}",
            short(self.median()),
            short(self.percentile(99))
        )
    }
}

/// `0.42 ms`, `17 µs`.
pub fn short(duration: Duration) -> String {
    let micros = duration.as_secs_f64() * 1e6;
    if micros < 100.0 {
        format!("{micros:.1} µs")
    } else {
        format!("{:.2} ms", micros / 1e3)
    }
}

/// What must be reached, and whether it was.
pub struct Bar {
    pub text: &'static str,
    pub reached: bool,
}

/// The table, printed line by line as it grows.
pub struct Table {
    dir: PathBuf,
    syncs: Vec<Duration>,
    missed: usize,
    started: Instant,
}

impl Table {
    pub fn start(dir: &Path) -> Self {
        println!(
            "\n{:<58} {:>26} {:>14}  bar",
            "what", "figure", "per fdatasync"
        );
        Self {
            dir: dir.to_owned(),
            syncs: Vec::new(),
            missed: 0,
            started: Instant::now(),
        }
    }

    /// What a small append and its fdatasync take now, beside the database.
    pub fn sync_latency(&mut self) -> Duration {
        let path = self.dir.join("syncs");
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .expect("a file to sync");
        let began = Instant::now();
        let mut took = Vec::new();
        while took.len() < SYNCS && began.elapsed() < SYNCS_TAKE {
            took.push(append_and_sync(&mut file));
        }
        self.syncs.extend(&took);
        Sample::new(took).median()
    }

    /// A rate, and how many of them one fdatasync of that moment bought.
    pub fn rate(
        &mut self,
        what: &str,
        done: usize,
        took: Duration,
        sync: Duration,
        bar: Option<f64>,
    ) {
        let rate = count(done) / took.as_secs_f64();
        let bar = bar.map(|least| Bar {
            text: "1,000/s",
            reached: rate >= least,
        });
        let ratio = format!("{:.2}", rate * sync.as_secs_f64());
        self.line(what, &format!("{rate:.0}/s"), &ratio, bar);
    }

    pub fn line(&mut self, what: &str, figure: &str, ratio: &str, bar: Option<Bar>) {
        self.missed += usize::from(bar.as_ref().is_some_and(|bar| !bar.reached));
        let bar = bar.map_or(String::new(), |bar| {
            format!("{}: {}", bar.text, if bar.reached { "yes" } else { "NO" })
        });
        println!("{what:<58} {figure:>26} {ratio:>14}  {bar}");
    }

    pub fn end(self) {
        println!();
        let syncs = Sample::new(self.syncs);
        if !syncs.0.is_empty() {
            println!(
                "append of {FRAME} bytes and fdatasync, {} times in between: {}",
                syncs.0.len(),
                syncs.middle_and_worst()
            );
        }
        println!("bars missed: {}", self.missed);
        println!("measured in {:.0} s", self.started.elapsed().as_secs_f64());
    }
}

fn append_and_sync(file: &mut File) -> Duration {
    let began = Instant::now();
    file.write_all(&[7; FRAME]).expect("written");
    file.sync_data().expect("synced");
    began.elapsed()
}

#[expect(clippy::cast_precision_loss, reason = "counts here are small")]
fn count(number: usize) -> f64 {
    number as f64
}
