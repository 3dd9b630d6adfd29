//! From the command line to what it asks for, and back to an exit code.

use crate::args::{Args, Command, Feeds, Run};
use crate::dry_run;
use crate::listen;
use crate::live;
use crate::operate::{beats, explain, feeds};
use crate::progress::Progress;
use crate::run::{self, Options, Scene};
use crate::warm;
use clap::CommandFactory;
use shared::Failure;
use shared::config::{Config, Program};
use shared::platform::clock::Clock;
use shared::platform::environment::Environment;
use shared::platform::exit::{self, Exit};
use std::io::{self, Write};

/// What comes from outside.
pub struct World {
    pub environment: Environment,
    pub clock: Clock,
    pub chance: fastrand::Rng,
    /// Standard error is a terminal, and somebody is looking.
    pub terminal: bool,
}

/// Does what was asked. Results go to `out`. `stop` ends what would go on for ever.
///
/// # Errors
/// One sentence and its exit code.
pub async fn execute(
    args: Args,
    world: World,
    stop: impl Future<Output = ()>,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let path = world.environment.config_path(args.config.clone());
    let credentials = world.environment.credentials.as_deref();
    let load = |program| Config::load(&path, credentials, program);
    let printed = match args.asked()? {
        Command::Run(asked) => {
            let config = load(Program::Ingest)?;
            tick(config, asked, world, out).await?
        }
        Command::Check { live } => {
            let config = load(Program::Both)?;
            let (all_work, printed) = live::check(&config, live, out).await;
            if !all_work {
                exit::after_printing(printed).map_err(cannot_print)?;
                return Ok(Exit::Unexpected);
            }
            printed
        }
        Command::Warm { limit } => {
            let said = warm::run(&load(Program::Ingest)?, limit).await?;
            writeln!(out, "{said}")
        }
        Command::Listen => {
            let scene = listen::Scene {
                config: load(Program::Ingest)?,
                clock: world.clock,
                socket: None,
            };
            listen::run(scene, stop).await?;
            Ok(())
        }
        Command::Explain { what, json } => {
            let config = load(Program::Neither)?;
            explain::run(&what.join(" "), json, &config, world.clock.now(), out)?
        }
        Command::Feeds { command, json } => {
            let config = load(Program::Ingest)?;
            let command = command.unwrap_or(Feeds::List { json });
            feeds::run(command, &config, &world.clock, out).await?
        }
        Command::Beats { json } => {
            beats::run(&load(Program::Neither)?, json, world.clock.now(), out)?
        }
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Args::command(), "watchalert-ingest", out);
            Ok(())
        }
        Command::Man => clap_mangen::Man::new(Args::command()).render(out),
    };
    exit::after_printing(printed).map_err(cannot_print)
}

#[expect(clippy::needless_pass_by_value, reason = "map_err gives the value")]
fn cannot_print(error: io::Error) -> Failure {
    Failure::Unexpected(format!("cannot write to standard output: {error}"))
}

async fn tick(
    config: Config,
    asked: Run,
    world: World,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    let scene = Scene {
        config,
        clock: world.clock,
        chance: world.chance,
        progress: Progress {
            shown: world.terminal && !asked.json,
        },
    };
    let options = Options {
        feed: asked.feed,
        now: asked.now,
        alert_existing: asked.alert_existing,
    };
    let report = if asked.dry_run {
        dry_run::run(scene, options).await?
    } else {
        run::run(scene, options).await?
    };
    if !asked.json {
        return Ok(report.print(out));
    }
    let json = serde_json::to_string(&report)
        .map_err(|error| Failure::Unexpected(format!("the report is no JSON: {error}")))?;
    Ok(writeln!(out, "{json}"))
}
