//! The program: arguments, environment, clock and runtime enter here.

use clap::Parser;
use shared::Failure;
use shared::config::{Config, Program};
use shared::platform::clock::Clock;
use shared::platform::crash;
use shared::platform::environment::Environment;
use shared::platform::exit::Exit;
use shared::platform::telemetry;
use std::future::Future;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use watchalert_ingest::allocator;
use watchalert_ingest::args::{Args, Command};
use watchalert_ingest::command::{self, World};

fn main() -> ExitCode {
    let args = Args::parse();
    let environment = Environment::from_vars(std::env::vars_os());
    crash::arm(environment.crash_at.as_deref());
    let terminal = io::stderr().is_terminal();
    // Before a terminal the bars speak; in the journal the log does.
    let otherwise = if terminal { "warn" } else { "info" };
    telemetry::start(&environment, telemetry::filter(args.verbose, otherwise));
    if cfg!(target_env = "gnu")
        && !environment.malloc_threshold
        && let Ok(program) = std::env::current_exe()
    {
        allocator::settle(program, std::env::args_os());
    }
    let world = World {
        environment,
        clock: Clock::system(),
        chance: fastrand::Rng::new(),
        terminal,
    };
    let ended = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Unexpected(format!("no runtime: {error}")))
        .and_then(|runtime| {
            let mut out = io::stdout();
            let stopped = {
                let _inside = runtime.enter();
                let path = world.environment.config_path(args.config.clone());
                let credentials = world.environment.credentials.clone();
                let is_good =
                    move || match Config::load(&path, credentials.as_deref(), Program::Ingest) {
                        Ok(_) => true,
                        Err(failure) => {
                            tracing::error!("nothing is reloaded: {failure}");
                            false
                        }
                    };
                stopped(matches!(args.command, Some(Command::Listen)), is_good)?
            };
            let ended = runtime.block_on(command::execute(args, world, stopped, &mut out));
            // A name that is being resolved, or a file on a dead disk, is not waited for.
            runtime.shutdown_background();
            ended
        });
    let exit = ended.unwrap_or_else(|failure| {
        telemetry::last_words("watchalert-ingest", &failure);
        failure.exit()
    });
    ExitCode::from(Exit::code(exit))
}

/// Resolves at SIGTERM, SIGINT or SIGHUP when the receiver runs; a tick is simply ended by them: what it
/// has not committed it does again. A receiver ends at SIGHUP to be started with another configuration, when
/// that `is_good`.
fn stopped(
    receives: bool,
    is_good: impl Fn() -> bool,
) -> Result<impl Future<Output = ()>, Failure> {
    let listen = |kind| {
        signal(kind).map_err(|error| Failure::Unexpected(format!("cannot hear signals: {error}")))
    };
    let signals = if receives {
        let terminate = listen(SignalKind::terminate())?;
        Some((
            terminate,
            listen(SignalKind::interrupt())?,
            listen(SignalKind::hangup())?,
        ))
    } else {
        None
    };
    Ok(async move {
        let Some((mut terminate, mut interrupt, mut hangup)) = signals else {
            return std::future::pending().await;
        };
        loop {
            tokio::select! {
                _ = terminate.recv() => return,
                _ = interrupt.recv() => return,
                _ = hangup.recv() => if is_good() { return },
            }
        }
    })
}
