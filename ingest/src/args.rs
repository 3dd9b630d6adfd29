//! The command line of the ingest.

use clap::{Args as Group, Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;
use url::Url;

/// Reads the feeds once, judges what is new and enqueues what matters.
#[derive(Debug, Parser)]
#[command(
    name = "watchalert-ingest",
    version,
    propagate_version = true,
    after_help = "\
Examples:
  watchalert-ingest                              one tick (what the systemd timer starts)
  watchalert-ingest --now                        one tick over every feed, due or not
  watchalert-ingest --dry-run                    what would be alerted, and why; nothing is written
  watchalert-ingest --dry-run --alert-existing   the same for everything that the feeds hold now
  watchalert-ingest --dry-run --feed https://example.org/news.atom
                                                 try a feed before adding it
  watchalert-ingest check                        is the configuration right?

Exit codes: 0 done (feeds that failed included), 1 unexpected, 2 usage, 3 configuration,
4 database, 5 already running."
)]
pub struct Args {
    /// The configuration file [default: `$WATCHALERT_CONFIG`, else /etc/watchalert/config.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Log more: once for debugging, twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,

    #[command(flatten)]
    pub run: Run,

    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// One tick (the default)
    Run(Run),
    /// Check the configuration and list every problem in it
    Check,
    /// Print completions for a shell
    #[command(hide = true)]
    Completions { shell: Shell },
    /// Print the manual page
    #[command(hide = true)]
    Man,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Group)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub struct Run {
    /// Read and judge everything, write and send nothing, print what would be alerted and why
    #[arg(long)]
    pub dry_run: bool,

    /// Only this feed, now, whatever its schedule; with --dry-run also one that is not configured
    #[arg(long, value_name = "URL")]
    pub feed: Option<Url>,

    /// Every feed now, whatever its schedule
    #[arg(long)]
    pub now: bool,

    /// Alert what a new feed holds already, instead of taking it as known
    #[arg(long)]
    pub alert_existing: bool,

    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}
