//! A tick of the real program as a process: what it reports, and what it costs.

use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The kernel counts a process's time in hundredths of a second (`USER_HZ`, proc(5)).
const COUNT: Duration = Duration::from_millis(10);
/// Between two looks at a tick that runs.
const LOOK: Duration = Duration::from_millis(2);

/// Where ticks run: a configuration and its database.
pub struct Place {
    program: PathBuf,
    folder: PathBuf,
}

/// One tick.
pub struct Tick {
    pub report: Value,
    pub wall: Duration,
    pub peak_mib: f64,
}

impl Place {
    /// Feeds by their addresses, and a console for what they bring.
    pub fn new(
        dir: &Path,
        name: &str,
        program: &Path,
        feeds: impl Iterator<Item = String>,
    ) -> Self {
        let folder = dir.join(name);
        fs::create_dir(&folder).expect("a folder");
        let mut text = "state.path = \"state.db\"\ningest.allow_private = true\n\
             channel.screen.kind = \"console\"\n"
            .to_owned();
        for url in feeds {
            text += &format!("[[feed]]\nurl = \"{url}\"\n");
        }
        fs::write(folder.join("config.toml"), text).expect("a configuration");
        Self {
            program: program.to_owned(),
            folder,
        }
    }

    /// One tick over every feed, from the start of its process to its end.
    pub async fn tick(&self, most: Duration) -> Tick {
        let out = self.folder.join("report.json");
        let began = Instant::now();
        let child = Command::new(&self.program)
            .args(["--json", "--now", "--config"])
            .arg(self.folder.join("config.toml"))
            .env("RUST_LOG", "error")
            .stdout(File::create(&out).expect("a file"))
            .stdin(Stdio::null())
            .spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        let mut peak_kib = 0;
        while child.try_wait().expect("its state").is_none() {
            peak_kib = peak_kib.max(peak(&child));
            if began.elapsed() > most {
                drop(child.kill());
            }
            sleep(LOOK).await;
        }
        let wall = began.elapsed();
        let status = child.wait().expect("its end");
        assert!(status.success(), "the tick ended with {status}");
        let report = fs::read(out).expect("a report");
        Tick {
            report: serde_json::from_slice(&report).expect("JSON"),
            wall,
            peak_mib: f64::from(peak_kib) / 1024.0,
        }
    }
}

impl Tick {
    /// Feeds with that result.
    pub fn count(&self, result: &str) -> usize {
        let feeds = self.report["feeds"].as_array().into_iter().flatten();
        feeds.filter(|feed| feed["result"] == result).count()
    }

    /// A number of each feed, summed up.
    pub fn sum(&self, name: &str) -> u64 {
        let feeds = self.report["feeds"].as_array().into_iter().flatten();
        feeds.filter_map(|feed| feed[name].as_u64()).sum()
    }
}

/// The most memory it had so far, in KiB; 0 when it is gone.
fn peak(child: &Child) -> u32 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kib.unwrap_or_default()
}

/// What all processes that were started from here, and have ended, took of a processor.
pub fn spent_by_children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").expect("our own state");
    // The second field, the name in parentheses, may hold spaces; cutime and cstime are the 16th and 17th.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let counts = fields.split_whitespace().skip(13).take(2);
    let counts: u32 = counts.filter_map(|count| count.parse::<u32>().ok()).sum();
    COUNT * counts
}
