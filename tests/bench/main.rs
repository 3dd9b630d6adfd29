//! The benchmark: what this machine makes of the outbox protocol, beside what its disk does, of
//! ticks, and of the feeds in them; run it by `scripts/bench`.

mod figures;
mod history;
mod ingest;
mod machine;
mod protocol;
mod running;
mod sender;
mod telegram;

use figures::Table;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Builder;

const USAGE: &str = "\
usage: protocol [--dir DIR] [--sender PROGRAM] [--ingest PROGRAM] [--feeds DIR]... [--only PART]
                [--quick | --long]";

/// What the command line asks for.
struct Options {
    /// A folder on the disk that is measured.
    dir: PathBuf,
    /// `watchalert-sender`; without it the idle cost and the latency are left out.
    sender: Option<PathBuf>,
    /// `watchalert-ingest`; without it there are no ticks.
    ingest: Option<PathBuf>,
    /// Folders of feeds to parse.
    feeds: Vec<PathBuf>,
    only: Option<Part>,
    scale: Scale,
}

/// What a benchmark can be confined to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Ingest,
    Sender,
}

/// How long and how much is measured.
#[derive(Clone, Copy)]
struct Scale {
    /// For each rate.
    rate: Duration,
    idle: Duration,
    history: u32,
    waiting: u32,
    claims: usize,
    alerts: usize,
    urgent: usize,
    /// At once, to one chat.
    burst: usize,
    /// Each over feeds with nothing new.
    ticks: u32,
    /// In one tick.
    feeds: usize,
    /// Of which the fastest parse counts.
    turns: usize,
    /// Deliveries to the receiver.
    posts: usize,
    pace: Pace,
}

/// How time passes while a burst goes through the limits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// On a clock that is moved to each next moment: policy alone.
    Set,
    /// As it does.
    Real,
}

const FULL: Scale = Scale {
    rate: Duration::from_secs(3),
    idle: Duration::from_secs(20),
    history: 1_000_000,
    waiting: 100_000,
    claims: 1_000,
    alerts: 300,
    urgent: 20,
    burst: 200,
    ticks: 20,
    feeds: 2_000,
    turns: 25,
    posts: 1_000,
    pace: Pace::Set,
};

const QUICK: Scale = Scale {
    rate: Duration::from_millis(500),
    idle: Duration::from_secs(2),
    history: 50_000,
    waiting: 5_000,
    claims: 100,
    alerts: 30,
    urgent: 5,
    burst: 20,
    ticks: 3,
    feeds: 200,
    turns: 3,
    posts: 100,
    pace: Pace::Set,
};

const LONG: Scale = Scale {
    pace: Pace::Real,
    ..FULL
};

fn main() -> ExitCode {
    match options(std::env::args().skip(1)) {
        Ok(options) => {
            // Like the programs: one thread, and the writer's beside it.
            let runtime = Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(measure(&options));
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        dir: target_folder(),
        sender: None,
        ingest: None,
        feeds: Vec::new(),
        only: None,
        scale: FULL,
    };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--dir" => options.dir = value()?.into(),
            "--sender" => options.sender = Some(value()?.into()),
            "--ingest" => options.ingest = Some(value()?.into()),
            "--feeds" => options.feeds.push(value()?.into()),
            "--only" => options.only = Some(part(&value()?)?),
            "--quick" => options.scale = QUICK,
            "--long" => options.scale = LONG,
            // Cargo's own.
            "--bench" => {}
            _ => return Err(format!("{argument} is unknown")),
        }
    }
    Ok(options)
}

fn part(name: &str) -> Result<Part, String> {
    match name {
        "ingest" => Ok(Part::Ingest),
        "sender" => Ok(Part::Sender),
        _ => Err(format!("--only {name}: it is ingest or sender")),
    }
}

/// `target/measure/deps/protocol-…` → `target`.
fn target_folder() -> PathBuf {
    let me = std::env::current_exe().expect("a path of our own");
    me.ancestors().nth(3).expect("a target folder").to_owned()
}

async fn measure(options: &Options) {
    let folder: TempDir = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(&options.dir)
        .expect("a folder to measure in");
    let dir = folder.path();
    machine::describe(dir);
    let mut table = Table::start(dir);
    if options.only != Some(Part::Ingest) {
        of_sender(&mut table, dir, options).await;
    }
    if options.only != Some(Part::Sender) {
        of_ingest(&mut table, dir, options).await;
    }
    table.end();
}

async fn of_sender(table: &mut Table, dir: &Path, options: &Options) {
    let scale = options.scale;
    protocol::enqueue_alone(table, dir, scale).await;
    protocol::claim_and_settle(table, dir, scale).await;
    protocol::whole_path(table, dir, scale).await;
    protocol::the_senders_loop(table, dir, scale).await;
    history::claims(table, dir, scale).await;
    telegram::rate::measure(table, dir, scale).await;
    let program = options.sender.as_deref();
    match program {
        Some(program) => {
            sender::latency_and_idle(table, dir, program, scale).await;
            telegram::urgent::when_idle(table, dir, program, scale).await;
            telegram::urgent::behind_a_flood(table, dir, program, scale).await;
        }
        None => println!("(no --sender: latency and idle cost are left out)"),
    }
    telegram::burst::folded(table, dir, scale).await;
    telegram::burst::measure(table, dir, program, scale).await;
}

async fn of_ingest(table: &mut Table, dir: &Path, options: &Options) {
    let scale = options.scale;
    match options.ingest.as_deref() {
        Some(program) => {
            ingest::tick::nothing_new(table, dir, program, scale).await;
            ingest::tick::very_many(table, dir, program, scale).await;
        }
        None => println!("(no --ingest: ticks are left out)"),
    }
    ingest::receive::measure(table, dir, scale);
    for folder in &options.feeds {
        ingest::parse::measure(table, folder, scale);
    }
}
