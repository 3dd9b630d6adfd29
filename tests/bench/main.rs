//! The benchmark: what this machine makes of the outbox protocol, beside what its disk does. Each
//! figure stands with the fdatasync latency of its own moment; run it by `scripts/bench`.

mod figures;
mod history;
mod machine;
mod protocol;
mod running;
mod sender;
mod telegram;

use figures::Table;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Builder;

const USAGE: &str = "usage: protocol [--dir DIR] [--sender PROGRAM] [--quick | --long]";

/// What the command line asks for.
struct Options {
    /// A folder on the disk that is measured.
    dir: PathBuf,
    /// `watchalert-sender`; without it the idle cost and the latency are left out.
    sender: Option<PathBuf>,
    scale: Scale,
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
        scale: FULL,
    };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--dir" => options.dir = value()?.into(),
            "--sender" => options.sender = Some(value()?.into()),
            "--quick" => options.scale = QUICK,
            "--long" => options.scale = LONG,
            // Cargo's own.
            "--bench" => {}
            _ => return Err(format!("{argument} is unknown")),
        }
    }
    Ok(options)
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
    let scale = options.scale;
    machine::describe(dir);
    let mut table = Table::start(dir);

    protocol::enqueue_alone(&mut table, dir, scale).await;
    protocol::claim_and_settle(&mut table, dir, scale).await;
    protocol::whole_path(&mut table, dir, scale).await;
    protocol::the_senders_loop(&mut table, dir, scale).await;
    history::claims(&mut table, dir, scale).await;
    telegram::rate::measure(&mut table, dir, scale).await;
    let program = options.sender.as_deref();
    match program {
        Some(program) => {
            sender::latency_and_idle(&mut table, dir, program, scale).await;
            telegram::urgent::when_idle(&mut table, dir, program, scale).await;
            telegram::urgent::behind_a_flood(&mut table, dir, program, scale).await;
        }
        None => println!("(no --sender: latency and idle cost are left out)"),
    }
    telegram::burst::measure(&mut table, dir, program, scale).await;
    table.end();
}
