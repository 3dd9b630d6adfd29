//! The command line of the sender.

use clap::{Args as Group, Parser, Subcommand};
use clap_complete::Shell;
use shared::model::Priority;
use std::path::PathBuf;
use std::time::Duration;

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
  watchalert-sender queue add \"disk full\" --priority high
  watchalert-sender queue add - --chats chats.txt --key news-7 < news.txt
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
    /// Show what waits for whom, since when, and what is dead; ends with 1 when a person must do something first
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Look into the outbox, retry or discard
    #[command(subcommand)]
    Queue(Queue),
    /// Hold alerts back for a while; without arguments, list the silences
    Silence(Silence),
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
    /// Write a checked snapshot of the database, while both programs run
    #[command(
        after_help = "To restore: stop both programs, put the file in the database's place, remove its -wal and -shm, start them.\nWhat was delivered since then is delivered again. Ends with 1 when the snapshot is not sound."
    )]
    Backup {
        /// Where to; there must be nothing yet
        file: PathBuf,
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
        #[command(flatten)]
        which: Which,
        /// At most so many
        #[arg(long, default_value_t = 50, value_name = "N")]
        limit: u32,
        /// Print JSON, one object a line
        #[arg(long)]
        json: bool,
    },
    /// Show one row with all its attempts
    Show {
        id: i64,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a message for a chat, or for every chat of a file
    Add(Add),
    /// Send dead or expired rows again, at once
    #[command(
        after_help = "Examples:\n  queue retry 17 18                      these two\n  queue retry --dead --channel ops       all dead letters of a channel\n  queue retry --all --older-than 2d --dry-run"
    )]
    Retry(Shift),
    /// Give rows up for good: waiting, dead or expired ones
    #[command(
        after_help = "Examples:\n  queue discard 17                       this one\n  queue discard --dead --older-than 30d  old dead letters\n  queue discard --waiting --chat 7001 --dry-run"
    )]
    Discard(Shift),
}

/// Rows by what they are.
#[derive(Clone, Debug, Default, Group)]
pub struct Which {
    /// Only what is for that channel
    #[arg(long, value_name = "NAME")]
    pub channel: Option<String>,
    /// Only what is for that chat
    #[arg(long, allow_hyphen_values = true)]
    pub chat: Option<String>,
    /// Only critical, high, normal or low ones
    #[arg(long)]
    pub priority: Option<Priority>,
    /// Only what is older than that
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub older_than: Option<Duration>,
}

/// Rows that a person moves, by number or by what they are.
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags of a command line are flags"
)]
#[derive(Clone, Debug, Default, Group)]
pub struct Shift {
    #[arg(value_name = "ID", conflicts_with_all = ["dead", "expired", "waiting", "all", "channel", "chat", "priority", "older_than"])]
    pub ids: Vec<i64>,
    /// All dead letters
    #[arg(long)]
    pub dead: bool,
    /// All expired rows
    #[arg(long)]
    pub expired: bool,
    /// All that wait (discard only)
    #[arg(long)]
    pub waiting: bool,
    /// All from which this move can start, but for those that wait
    #[arg(long, conflicts_with_all = ["dead", "expired", "waiting"])]
    pub all: bool,
    #[command(flatten)]
    pub which: Which,
    /// Say what would be moved, and move nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Ask no question
    #[arg(long)]
    pub yes: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Debug, Group)]
#[command(
    after_help = "A key makes it harmless to say the same again: one message for each chat under one key.\nMessages for a file of chats are of low priority unless you say otherwise, and give way to all others."
)]
pub struct Add {
    /// The text; - reads it from standard input
    pub text: String,
    /// The NAME of a [channel.NAME] [default: the default channel]
    #[arg(long, value_name = "NAME")]
    pub channel: Option<String>,
    /// A chat of that channel [default: the channel's own]
    #[arg(long, allow_hyphen_values = true)]
    pub chat: Option<String>,
    /// A file with a chat in each line; what stands behind # is for people
    #[arg(long, value_name = "FILE", conflicts_with = "chat")]
    pub chats: Option<PathBuf>,
    /// The name under which this message is known
    #[arg(long)]
    pub key: Option<String>,
    /// critical, high, normal or low
    #[arg(long)]
    pub priority: Option<Priority>,
    /// Not before then: 2026-12-02T08:00, or 2h
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
    /// Not after so long, counted from when it may first be sent
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub expires: Option<Duration>,
    /// Say what would be added, and add nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Ask no question when it goes to many
    #[arg(long)]
    pub yes: bool,
}

#[derive(Clone, Debug, Group)]
#[command(
    after_help = "What a silence holds, critical alerts too, is not lost: it is sent when the silence ends, folded."
)]
pub struct Silence {
    /// A regular expression, searched for in title, summary and source
    #[arg(value_name = "MATCH", conflicts_with = "end")]
    pub pattern: Option<String>,
    /// How long
    #[arg(long = "for", value_name = "DURATION", default_value = "2h", value_parser = humantime::parse_duration)]
    pub lasting: Duration,
    /// End the silence of that number now
    #[arg(long, value_name = "ID")]
    pub end: Option<i64>,
}
