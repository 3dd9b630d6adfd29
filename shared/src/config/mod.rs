//! The configuration: one TOML file for both programs, read into checked data, every problem
//! told at once.
//!
//! A key is accepted only where something reads it: see [`Config`] for the shape, the fields for
//! meanings and defaults, and `deploy/config.example.toml` for a file to start from.

mod access;
mod address;
mod beat;
mod channel;
mod classify;
mod cron;
mod digest;
mod email;
mod error;
mod feed;
mod generic;
mod github;
mod hosts;
mod ingest;
mod listen;
mod ntfy;
pub mod opml;
mod ping;
mod quiet;
mod reader;
mod route;
mod rule;
mod secret;
mod status;
mod suggest;
mod telegram;
mod value;
mod webhook;

pub use access::{Access, Family, Header, HeaderText};
pub use beat::{Account, Beat, Schedule};
pub use channel::{Channel, ChannelKind};
pub use classify::{Classify, Cloud, CloudApi, Ollama};
pub use digest::Digests;
pub use email::{Email, Encryption, Server, is_address};
pub use error::{ConfigError, Place, Problem};
pub use feed::Feed;
pub use generic::{Fields, Generic, Preset};
pub use github::{Branch, Events};
pub use hosts::SameHosts;
pub use ingest::Ingest;
pub use listen::Listen;
pub use ntfy::{Login, Ntfy, is_ntfy_token};
pub use ping::{Ping, PingUrl};
pub use quiet::Quiet;
pub use route::Route;
pub use rule::{Adjust, Match, Rule};
pub use secret::{Program, Secret, SecretFile};
pub use telegram::{Telegram, is_token};
pub use webhook::{Webhook, WebhookKind};

use jiff::tz::TimeZone;
use reader::{Read, Report, Section};
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::de::{DeTable, DeValue};
use value::{DAY, TEN_YEARS, duration, size, text, timezone};

/// Everything that a user decides, checked. Holds no secret, only where secrets are.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name of one of `channels`: takes the alerts that no route takes.
    pub default_channel: String,
    /// For what people read; UTC by default.
    pub timezone: TimeZone,
    /// The database; `/var/lib/watchalert/state.db` by default.
    pub state_path: PathBuf,
    /// Bytes. Where less is free, nothing new is taken in; 64 MiB by default.
    pub min_free: u64,
    pub ingest: Ingest,
    pub classify: Classify,
    /// Those of `[[feed]]`, then those of the OPML file.
    pub feeds: Vec<Feed>,
    /// Where more feeds are listed; the file may not be there yet.
    pub opml: Option<PathBuf>,
    /// Host names under which the same pages are.
    pub same_hosts: SameHosts,
    /// Who may post, each under its own name.
    pub webhooks: Vec<Webhook>,
    pub listen: Listen,
    /// Where the sender serves `/healthz` and `/metrics`; `None`: nowhere.
    pub status: Option<SocketAddr>,
    /// Which jobs report to us.
    pub beats: Vec<Beat>,
    pub ping: Ping,
    pub rules: Vec<Rule>,
    /// In the order of their names; at least one.
    pub channels: Vec<Channel>,
    pub routes: Vec<Route>,
    pub outbox: Outbox,
    pub quiet: Option<Quiet>,
    /// `None`: each alert goes out by itself.
    pub digests: Option<Digests>,
    /// What is allowed but probably not meant, as sentences.
    pub warnings: Vec<String>,
}

/// `[outbox]`: how long deliveries are tried and remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outbox {
    /// The age at which an undelivered alert is given up, and that told; 72 h by default.
    pub give_up_after: Duration,
    /// How long finished rows are kept; 90 days by default.
    pub retention: Duration,
}

/// What a configuration depends on beside its text.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The directory of the file: relative paths start there.
    pub directory: &'a Path,
    /// `$CREDENTIALS_DIRECTORY`: secret files are looked up there first.
    pub credentials: Option<&'a Path>,
    /// Only secrets that this program needs are read.
    pub program: Program,
}

impl Config {
    /// Reads and checks the file at `path`, and that each secret which `program` needs can be
    /// read; their values are not kept.
    ///
    /// # Errors
    ///
    /// One sentence when the file cannot be read, else every problem in it.
    pub fn load(
        path: &Path,
        credentials_directory: Option<&Path>,
        program: Program,
    ) -> Result<Self, ConfigError> {
        let unreadable = |why| ConfigError::Unreadable {
            path: path.to_owned(),
            why,
        };
        let text = fs::read_to_string(path).map_err(unreadable)?;
        let whole_path = std::path::absolute(path).map_err(unreadable)?;
        let around = Surroundings {
            directory: whole_path.parent().unwrap_or(&whole_path),
            credentials: credentials_directory,
            program,
        };
        Self::parse(&text, &around).map_err(|problems| ConfigError::Refused {
            path: path.to_owned(),
            problems,
        })
    }

    /// For `check`: the warnings, and what there is.
    pub fn print_summary(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for warning in &self.warnings {
            writeln!(out, "warning: {warning}")?;
        }
        let counts = [
            (self.feeds.len(), "feed"),
            (self.rules.len(), "rule"),
            (self.channels.len(), "channel"),
            (self.routes.len(), "route"),
        ];
        let others = [
            (self.webhooks.len(), "webhook"),
            (self.beats.len(), "heartbeat"),
        ];
        let others = others.into_iter().filter(|(count, _)| *count > 0);
        let counted = counts
            .into_iter()
            .chain(others)
            .map(|(count, what)| match count {
                1 => format!("1 {what}"),
                _ => format!("{count} {what}s"),
            });
        let counted: Vec<String> = counted.collect();
        writeln!(out, "the configuration is good: {}", counted.join(", "))
    }

    /// The same for a text; of the file system it sees only `state.path`, secret files and the OPML file.
    ///
    /// # Errors
    ///
    /// Every problem, in the order of the file. Never an empty list.
    pub fn parse(text: &str, around: &Surroundings<'_>) -> Result<Self, Vec<Problem>> {
        let report = Report::new(text);
        let (root, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            report.syntax(text, error);
        }
        // What a broken text was meant to say is not guessed at.
        let config = if errors.is_empty() {
            read(Section::root(root.get_ref(), &report), around)
        } else {
            None
        };
        match (config, report.into_problems()) {
            (Some(config), problems) if problems.is_empty() => Ok(config),
            (_, problems) => Err(problems),
        }
    }
}

/// `None` only when something was refused.
fn read(mut root: Section<'_>, around: &Surroundings<'_>) -> Option<Config> {
    let timezone = root.get("timezone", timezone).unwrap_or(TimeZone::UTC);
    let (state_path, min_free) = read_state(&mut root, around);
    let outbox = read_outbox(&mut root);
    let digests = digest::read(&mut root);
    let ingest = ingest::read(&mut root);
    let classify = classify::read(&mut root, &ingest, around);
    let mut feeds = feed::read_all(&mut root, &ingest, around);
    let (opml, same_hosts) = read_feeds(&mut root, around);
    let webhooks = webhook::read_all(&mut root, around);
    let listen = listen::read(&mut root);
    let status = status::read(&mut root);
    let beats = beat::read_all(&mut root, &timezone, around);
    let ping = ping::read(&mut root, around);
    let rules = rule::read_all(&mut root);
    let channels = channel::read_all(&mut root, around);
    let default_channel = channel::read_default(&mut root, &channels);
    let routes = route::read_all(&mut root, &channels);
    let quiet = quiet::read(&mut root, &channels, &timezone);
    root.finish();
    let mut warnings = match &opml {
        Some(path) => feed::read_opml(path, &mut feeds, &ingest, around),
        None => Vec::new(),
    };
    warnings.extend(listen::warning(&listen));
    warnings.extend(self::warnings(&feeds, &webhooks, &beats, &routes));
    Some(Config {
        default_channel: default_channel?,
        timezone,
        state_path,
        min_free,
        ingest,
        classify,
        feeds,
        opml,
        same_hosts,
        webhooks,
        listen,
        status,
        beats,
        ping,
        rules,
        channels: channels.sound,
        routes,
        outbox,
        quiet,
        digests,
        warnings,
    })
}

/// A day of a burst, and eight rounds of the write-ahead log.
const MIN_FREE: u64 = 64 * 1024 * 1024;

fn read_state(root: &mut Section<'_>, around: &Surroundings<'_>) -> (PathBuf, u64) {
    let default = || PathBuf::from("/var/lib/watchalert/state.db");
    let Some(mut section) = root.section("state", "[state]") else {
        return (default(), MIN_FREE);
    };
    let path = section.get("path", |value| file_path(value, around.directory));
    let min_free = section.get("min_free", size);
    section.finish();
    (path.unwrap_or_else(default), min_free.unwrap_or(MIN_FREE))
}

fn read_feeds(root: &mut Section<'_>, around: &Surroundings<'_>) -> (Option<PathBuf>, SameHosts) {
    let Some(mut section) = root.section("feeds", "[feeds], or [[feed]] for one feed") else {
        return (None, SameHosts::default());
    };
    let opml = section.get("opml", |value| {
        let path = around.directory.join(text(value)?);
        if path.is_dir() {
            let path = path.display();
            return Err(format!("{path} is a directory; name a file in it"));
        }
        Ok(path)
    });
    let same_hosts = hosts::read(&mut section);
    section.finish();
    (opml, same_hosts)
}

fn file_path(value: &DeValue<'_>, directory: &Path) -> Read<PathBuf> {
    let path: PathBuf = directory.join(text(value)?).components().collect();
    if path.is_dir() {
        let path = path.display();
        return Err(format!(
            "{path} is a directory; name a file in it, such as {path}/state.db"
        ));
    }
    Ok(path)
}

fn read_outbox(root: &mut Section<'_>) -> Outbox {
    let default = Outbox {
        give_up_after: 3 * DAY,
        retention: 90 * DAY,
    };
    let Some(mut section) = root.section("outbox", "[outbox]") else {
        return default;
    };
    let mut age = |key, otherwise| {
        let range = Duration::from_secs(1)..=TEN_YEARS;
        section.get(key, duration(range)).unwrap_or(otherwise)
    };
    let outbox = Outbox {
        give_up_after: age("give_up_after", default.give_up_after),
        retention: age("retention", default.retention),
    };
    section.finish();
    outbox
}

fn warnings(feeds: &[Feed], webhooks: &[Webhook], beats: &[Beat], routes: &[Route]) -> Vec<String> {
    let mut warnings = Vec::new();
    let tags = feeds.iter().flat_map(|feed| &feed.tags);
    let tags: Vec<&String> = tags
        .chain(webhooks.iter().flat_map(|hook| &hook.tags))
        .chain(beats.iter().flat_map(|beat| &beat.tags))
        .collect();
    if feeds.is_empty() && webhooks.is_empty() && beats.is_empty() {
        warnings.push("no feed is configured, so nothing is watched; add [[feed]]".to_owned());
        return warnings;
    }
    for (index, route) in routes.iter().enumerate() {
        for tag in route.tag.iter().flatten() {
            if tags.contains(&tag) {
                continue;
            }
            let instead = suggest::nearest(tag, tags.iter().map(|tag| tag.as_str()))
                .map(|near| format!("; did you mean {near:?}?"))
                .unwrap_or_default();
            warnings.push(format!(
                "route[{}].tag: no feed has the tag {tag:?}{instead}",
                index + 1
            ));
        }
    }
    warnings
}
