//! From the command line to what it asks for, and back to an exit code.

use crate::args::{Args, Command, Queue, Run};
use crate::channel::console::Output;
use crate::drain::Until;
use crate::operate;
use crate::operate::shift::Move;
use crate::run::{self, Scene};
use clap::CommandFactory;
use shared::Failure;
use shared::config::{Config, Program};
use shared::platform::clock::Clock;
use shared::platform::environment::Environment;
use shared::platform::exit::{self, Exit};
use shared::platform::term::Style;
use shared::store::Store;
use std::future::Future;
use std::io::{self, Write};

/// What comes from outside.
pub struct World {
    pub environment: Environment,
    pub clock: Clock,
    pub chance: fastrand::Rng,
    /// Alerts of the console channel go here.
    pub output: Output,
    /// Somebody can be asked.
    pub terminal: bool,
}

/// Does what was asked. Results go to `out`.
///
/// # Errors
/// One sentence and its exit code.
pub async fn execute(
    args: Args,
    world: World,
    stop: impl Future<Output = ()>,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let path = world.environment.config_path(args.config);
    let credentials = world.environment.credentials.as_deref();
    let load = |program| Config::load(&path, credentials, program);
    let now = world.clock.now();
    let printed = match args.command.unwrap_or(Command::Run(Run::default())) {
        Command::Run(options) => {
            let config = load(Program::Sender)?;
            return drain(config, options, world, stop).await;
        }
        Command::Status { json } => {
            let (sound, printed) = operate::status::run(&load(Program::Neither)?, json, now, out)?;
            if !sound {
                return Ok(Exit::Unexpected);
            }
            printed
        }
        Command::Queue(command) => queue(command, &load(Program::Neither)?, &world, out).await?,
        Command::Silence(silence) => {
            operate::silence::run(silence, &load(Program::Neither)?, now, out).await?
        }
        Command::Verify { json } => {
            let (sound, printed) = operate::verify::run(&load(Program::Neither)?, json, now, out)?;
            if !sound {
                return Ok(Exit::Unexpected);
            }
            printed
        }
        Command::Test { channel, anyway } => {
            let config = load(Program::Sender)?;
            operate::test::run(&config, &channel, anyway, &world, out).await?
        }
        Command::Backup { file } => {
            let (sound, printed) = operate::backup::run(&load(Program::Neither)?, &file, now, out)?;
            if !sound {
                return Ok(Exit::Unexpected);
            }
            printed
        }
        Command::Migrate => {
            let config = load(Program::Neither)?;
            drop(Store::open(&config.state_path)?);
            writeln!(out, "{} is ready", config.state_path.display())
        }
        Command::Check { live } => {
            let (sound, printed) =
                operate::check::run(&load(Program::Both)?, live, &world, out).await;
            if !sound {
                return Ok(Exit::Unexpected);
            }
            printed
        }
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Args::command(), "watchalert-sender", out);
            Ok(())
        }
        Command::Man => clap_mangen::Man::new(Args::command()).render(out),
    };
    exit::after_printing(printed)
        .map_err(|error| Failure::Unexpected(format!("cannot write to standard output: {error}")))
}

async fn queue(
    command: Queue,
    config: &Config,
    world: &World,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    match command {
        look @ (Queue::List { .. } | Queue::Show { .. }) => {
            operate::queue::look(&look, config, world.clock.now(), out)
        }
        Queue::Add(add) => operate::add::run(add, config, world, out).await,
        Queue::Retry(options) => {
            operate::shift::run(options, Move::Retry, config, world, out).await
        }
        Queue::Discard(options) => {
            operate::shift::run(options, Move::Discard, config, world, out).await
        }
    }
}

async fn drain(
    config: Config,
    options: Run,
    world: World,
    stop: impl Future<Output = ()>,
) -> Result<Exit, Failure> {
    let until = if options.until_empty {
        Until::Empty
    } else {
        Until::Stopped
    };
    let scene = Scene {
        style: Style::of_stdout(&world.environment),
        config,
        clock: world.clock,
        chance: world.chance,
        output: world.output,
    };
    let drained = run::run(scene, until, stop).await?;
    tracing::info!(
        sent = drained.sent,
        dead = drained.dead,
        postponed = drained.postponed,
        abandoned = drained.abandoned,
        "the sender ends"
    );
    Ok(Exit::Success)
}
