//! The command line of the sender.

use clap::{Args as Group, Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

/// Delivers what waits in the outbox, and answers for it.
#[derive(Debug, Parser)]
#[command(
    name = "watchalert-sender",
    version,
    propagate_version = true,
    after_help = "\
Examples:
  watchalert-sender                      deliver until stopped (what the systemd unit runs)
  watchalert-sender run --until-empty    deliver what may be sent now, then end
  watchalert-sender status               what waits, since when, what is dead
  watchalert-sender queue list --dead    dead letters
  watchalert-sender queue retry 17 18    send them again
  watchalert-sender verify               is every alert accounted for?
  watchalert-sender check --live         would every channel work? (nothing is sent)
  watchalert-sender test ops             does [channel.ops] work? (one message)

Exit codes: 0 done, 1 unexpected, 2 usage, 3 configuration, 4 database, 5 already running."
)]
pub struct Args {
    /// The configuration file [default: `$WATCHALERT_CONFIG`, else /etc/watchalert/config.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Log more: once for each delivery, twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,

    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Deliver what waits, until stopped (the default)
    Run(Run),
    /// Show what waits for whom, since when, and what is dead
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Look into the outbox, retry or discard
    #[command(subcommand)]
    Queue(Queue),
    /// Audit: is everything that came in delivered, waiting or told?
    #[command(
        after_help = "Ends with 1 when something is unaccounted for or an invariant is broken."
    )]
    Verify {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Send one test message to a channel, past the queue
    #[command(
        after_help = "Ends with 1 when the channel did not take it, or asks for a pause, and says why."
    )]
    Test {
        /// The NAME of a [channel.NAME]
        channel: String,
        /// Also while the channel is closed: a pause that was asked for, a refused bot or chat
        #[arg(long)]
        anyway: bool,
    },
    /// Create the database or bring it to this version's schema
    Migrate,
    /// Check the configuration and list every problem in it
    #[command(
        after_help = "Ends with 3 when the configuration is wrong; with --live also with 1 when a channel does not work."
    )]
    Check {
        /// Ask each Telegram bot who it is, and whether its chats are there and take messages. Nothing
        /// is sent; a server that does not answer is waited for 10 s
        #[arg(long)]
        live: bool,
    },
    /// Print completions for a shell
    #[command(hide = true)]
    Completions { shell: Shell },
    /// Print the manual page
    #[command(hide = true)]
    Man,
}

#[derive(Clone, Copy, Debug, Default, Group)]
pub struct Run {
    /// End when nothing may be sent for now; what waits for a limit or a retry stays in the queue
    #[arg(long)]
    pub until_empty: bool,
}

#[derive(Debug, Subcommand)]
pub enum Queue {
    /// List rows: those that wait, unless you say otherwise
    List {
        /// Dead letters
        #[arg(long, conflicts_with = "finished")]
        dead: bool,
        /// Sent, moved, cancelled and expired rows, the last first
        #[arg(long)]
        finished: bool,
        /// At most so many
        #[arg(long, default_value_t = 50, value_name = "N")]
        limit: u32,
        /// Print JSON, one object a line
        #[arg(long)]
        json: bool,
    },
    /// Show one row with all its attempts
    Show { id: i64 },
    /// Send dead or expired rows again, at once
    Retry {
        #[arg(required = true, value_name = "ID")]
        ids: Vec<i64>,
    },
    /// Give rows up for good: waiting, dead or expired ones
    Discard {
        #[arg(required = true, value_name = "ID")]
        ids: Vec<i64>,
    },
}
