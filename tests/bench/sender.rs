//! The real program: how soon an alert is on its standard output, and what it costs while nothing
//! happens.

use super::Scale;
use super::figures::{Bar, Sample, Table, short};
use super::protocol::{alert, chat, store};
use shared::platform::clock::Clock;
use shared::platform::doorbell;
use shared::store::{Store, beside, outbox};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tokio::time::{Instant, sleep};

const PATIENCE: Duration = Duration::from_secs(10);

/// Ends the program when it goes out of scope.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Nothing is left to learn from it.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

pub async fn latency_and_idle(table: &mut Table, dir: &Path, program: &Path, scale: Scale) {
    let store = store(dir, "real.db");
    let config = dir.join("config.toml");
    let text = "state.path = \"real.db\"\nchannel.screen.kind = \"console\"\n";
    fs::write(&config, text).expect("a configuration");
    let mut running = start(program, &config);
    let printed = listen(&mut running);
    until_it_listens(&store, &mut running).await;

    let sync = table.sync_latency();
    let mut took = Vec::new();
    for number in 0..scale.alerts {
        // So that it is idle again, with its last result written.
        sleep(Duration::from_millis(15)).await;
        took.push(tell(&store, number, &printed).await);
    }
    report_latency(table, &Sample::new(took), sync);

    sleep(Duration::from_secs(1)).await;
    let process = Path::new("/proc").join(running.0.id().to_string());
    let (before, began) = (cpu_times(&process), Instant::now());
    sleep(scale.idle).await;
    let (after, passed) = (cpu_times(&process), began.elapsed());
    let used = after
        .iter()
        .map(|(thread, time)| time.saturating_sub(before.get(thread).copied().unwrap_or_default()))
        .sum();
    report_idle(table, used, passed, resident(&process));
}

fn start(program: &Path, config: &Path) -> Running {
    let child = Command::new(program)
        .arg("--config")
        .arg(config)
        .env("RUST_LOG", "warn")
        .stdout(Stdio::piped())
        .spawn();
    Running(child.unwrap_or_else(|error| panic!("{}: {error}", program.display())))
}

/// What the program prints, with the moment at which it arrived.
fn listen(running: &mut Running) -> Receiver<(Instant, String)> {
    let (heard, printed) = channel();
    let mut output = running.0.stdout.take().expect("a pipe");
    std::thread::spawn(move || {
        let mut buffer = [0; 16_384];
        while let Ok(length @ 1..) = output.read(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            if heard.send((Instant::now(), text)).is_err() {
                break;
            }
        }
    });
    printed
}

async fn until_it_listens(store: &Store, running: &mut Running) {
    let (bell, began) = (beside(store.path(), ".bell"), Instant::now());
    while !bell.exists() {
        let ended = running.0.try_wait().expect("its state");
        assert_eq!(ended, None, "the sender ended");
        assert!(began.elapsed() < PATIENCE, "the sender has no doorbell");
        sleep(Duration::from_millis(10)).await;
    }
}

/// From the alert's COMMIT to its arrival in the sender's pipe.
async fn tell(store: &Store, number: usize, printed: &Receiver<(Instant, String)>) -> Duration {
    let title = format!("benchmark-{number}.");
    let (owed, now) = (alert(&title, &chat(number % 64)), Clock::system().now());
    let enqueued = store.write(move |db| outbox::enqueue(db, &owed, now));
    enqueued.await.expect("enqueued");
    let began = Instant::now();
    doorbell::ring(&beside(store.path(), ".bell"));
    loop {
        let (arrived, text) = printed.recv_timeout(PATIENCE).expect("the alert");
        if text.contains(&title) {
            return arrived - began;
        }
    }
}

fn report_latency(table: &mut Table, took: &Sample, sync: Duration) {
    let ratio = took.median().as_secs_f64() / sync.as_secs_f64();
    let bar = Bar {
        text: "p50 5 ms, p99 50 ms",
        reached: took.median() < Duration::from_millis(5)
            && took.percentile(99) < Duration::from_millis(50),
    };
    table.line(
        "an alert's commit to the console of an idle sender",
        &took.middle_and_worst(),
        &format!("takes {ratio:.2}"),
        Some(bar),
    );
}

fn report_idle(table: &mut Table, used: Duration, passed: Duration, resident_kib: u32) {
    let percent = used.as_secs_f64() / passed.as_secs_f64() * 100.0;
    let bar = Bar {
        text: "0.1 %",
        reached: percent < 0.1,
    };
    let figure = format!(
        "{percent:.3} % ({} in {:.0} s)",
        short(used),
        passed.as_secs_f64()
    );
    table.line("the idle sender: CPU", &figure, "", Some(bar));
    let mib = f64::from(resident_kib) / 1024.0;
    let bar = Bar {
        text: "15 MiB",
        reached: mib < 15.0,
    };
    table.line(
        "the idle sender: resident",
        &format!("{mib:.1} MiB"),
        "",
        Some(bar),
    );
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
