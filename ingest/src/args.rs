//! The command line of the ingest.

use clap::{Args as Group, Parser, Subcommand};
use clap_complete::Shell;
use shared::Failure;
use std::path::PathBuf;
use std::time::Duration;
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
  watchalert-ingest check --live                 is the configuration right, and do the models answer?

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

impl Args {
    /// What was asked for: a tick unless a command says otherwise.
    ///
    /// # Errors
    /// Flags of the tick before a command, which would be lost there. (`args_conflicts_with_subcommands`
    /// would refuse `--config` and `-v` in that place too.)
    pub fn asked(self) -> Result<Command, Failure> {
        match self.command {
            None => Ok(Command::Run(self.run)),
            Some(command) if self.run == Run::default() => Ok(command),
            Some(_) => Err(Failure::Usage(
                "the flags of `run` stand behind it, and no other command has them; see --help"
                    .to_owned(),
            )),
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// One tick (the default)
    Run(Run),
    /// Check the configuration and list every problem in it
    #[command(
        after_help = "`watchalert-sender check --live` tries the channels, `watchalert-ingest --dry-run` the feeds."
    )]
    Check {
        /// Also ask each model one question, in which no word of a feed stands
        #[arg(long)]
        live: bool,
    },
    /// Why did I, or did I not, get this: every stage of an item with its time and reason
    #[command(after_help = "\
Asks for a number (of an item, or of a row of the outbox), for the #short id of an alert, for a
link, for a feed's own id, or for words of the title. Nothing is written; both programs may run.

Examples:
  watchalert-ingest explain '#a1b2c3'
  watchalert-ingest explain https://example.org/advisories/17
  watchalert-ingest explain sable buffer overflow
  watchalert-ingest explain 4711 --json")]
    Explain {
        /// Number, #short id, link, guid or words of the title
        #[arg(required = true, value_name = "ID-or-URL-or-text")]
        what: Vec<String>,
        /// Print everything as JSON
        #[arg(long)]
        json: bool,
    },
    /// The feeds: their health, pauses, and the list of them in OPML
    #[command(after_help = "\
Examples:
  watchalert-ingest feeds                        health, last success, next fetch, last error
  watchalert-ingest feeds pause example.org --for 2h
  watchalert-ingest feeds resume example.org
  watchalert-ingest feeds add https://example.org/blog --tag security
  watchalert-ingest feeds import subscriptions.opml
  watchalert-ingest feeds export > feeds.opml

A feed is added to the OPML file that [feeds] opml names, never to the TOML file; without one the
block to paste is printed.")]
    Feeds {
        #[command(subcommand)]
        command: Option<Feeds>,
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Receive webhooks until stopped (what watchalert-listen.service runs)
    #[command(
        after_help = "Posts go to /hook/NAME of [listen] address, or of the socket that systemd passes.\nWhat is answered with 2xx is kept. SIGTERM and SIGHUP end it when what is being received has been."
    )]
    Listen,
    /// The heartbeats: how each is, when it came last, when it is due
    Beats {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Have Ollama load the model, and wait until it is there
    Warm {
        /// How long to wait
        #[arg(long, value_name = "TIME", default_value = "15m", value_parser = humantime::parse_duration)]
        limit: Duration,
    },
    /// Print completions for a shell
    #[command(hide = true)]
    Completions { shell: Shell },
    /// Print the manual page
    #[command(hide = true)]
    Man,
}

/// A feed is named by its URL, its name, or a part of either that no other feed has.
#[derive(Debug, Subcommand)]
pub enum Feeds {
    /// The health of each feed (the default)
    List {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Try a feed, or find that of a web page, show what it holds, and add it
    Add {
        #[arg(value_name = "URL-or-page")]
        address: String,
        /// How alerts call it, in place of its own title
        #[arg(long)]
        name: Option<String>,
        /// A tag for routes and rules; may be repeated
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
    },
    /// Add what another reader's list holds
    Import {
        #[arg(value_name = "F.opml")]
        file: PathBuf,
    },
    /// Print every configured feed as OPML
    Export,
    /// Take a feed out of the OPML file
    Remove {
        #[arg(value_name = "URL-or-name")]
        feed: String,
    },
    /// Read a feed no more, for a while or until it is resumed; --now and --feed read it all the same
    Pause {
        #[arg(value_name = "URL-or-name")]
        feed: String,
        /// For how long, as "2h" or "3d"; without it until it is resumed
        #[arg(long = "for", value_name = "DURATION", value_parser = humantime::parse_duration)]
        how_long: Option<Duration>,
    },
    /// Read a feed again, with the next tick, also one that its server called gone
    Resume {
        #[arg(value_name = "URL-or-name")]
        feed: String,
    },
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

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Result<Command, Failure> {
        let words = line.split(' ');
        Args::try_parse_from(words).expect("it parses").asked()
    }

    #[test]
    fn what_both_know_may_stand_before_and_behind_the_command() {
        for line in [
            "watchalert-ingest --config a.toml -v check",
            "watchalert-ingest check --config a.toml -v",
        ] {
            assert!(matches!(asked(line), Ok(Command::Check { .. })), "{line}");
        }
        for line in [
            "watchalert-ingest --config a.toml --now",
            "watchalert-ingest --config a.toml run --now",
            "watchalert-ingest run --now --config a.toml",
        ] {
            let now = matches!(asked(line), Ok(Command::Run(Run { now: true, .. })));
            assert!(now, "{line}");
        }
    }

    #[test]
    fn a_flag_of_the_tick_before_a_command_is_refused() {
        for line in [
            "watchalert-ingest --now run",
            "watchalert-ingest --dry-run check",
        ] {
            assert!(matches!(asked(line), Err(Failure::Usage(_))), "{line}");
        }
    }
}
