//! The program: arguments, environment, clock, runtime and signals enter here.

use clap::Parser;
use shared::Failure;
use shared::platform::clock::Clock;
use shared::platform::crash;
use shared::platform::environment::Environment;
use shared::platform::exit::Exit;
use shared::platform::telemetry;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use watchalert_sender::args::Args;
use watchalert_sender::channel::console::Output;
use watchalert_sender::command::{self, World};

fn main() -> ExitCode {
    let args = Args::parse();
    let environment = Environment::from_vars(std::env::vars_os());
    crash::arm(environment.crash_at.as_deref());
    telemetry::start(&environment, telemetry::filter(args.verbose, "info"));
    let world = World {
        environment,
        clock: Clock::system(),
        chance: fastrand::Rng::new(),
        output: Output::new(io::stdout()),
        terminal: io::stdin().is_terminal() && io::stdout().is_terminal(),
    };
    let ended = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Unexpected(format!("no runtime: {error}")))
        .and_then(|runtime| {
            let mut out = io::stdout();
            let stopped = {
                let _inside = runtime.enter();
                stopped()?
            };
            let execute = command::execute(args, world, stopped, &mut out);
            let ended = runtime.block_on(execute);
            // A write to a pipe that nobody reads may hang for ever: it is not waited for.
            runtime.shutdown_background();
            ended
        });
    let exit = ended.unwrap_or_else(|failure| {
        telemetry::last_words("watchalert-sender", &failure);
        failure.exit()
    });
    ExitCode::from(Exit::code(exit))
}

/// Resolves at SIGTERM, SIGINT, or SIGHUP (a terminal that was closed). They are listened for from
/// now on, not from the first poll: until then they would end the process in the middle of a delivery.
fn stopped() -> Result<impl Future<Output = ()>, Failure> {
    let listen = |kind| {
        signal(kind).map_err(|error| Failure::Unexpected(format!("cannot hear signals: {error}")))
    };
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut hangup = listen(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}
