//! `beats`: how each heartbeat is.

use serde_json::json;
use shared::Failure;
use shared::config::{Account, Config};
use shared::model::Timestamp;
use shared::platform::term::{self, local};
use shared::policy::text::{shorten, span};
use shared::store::{Viewer, beats};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Characters of a note in the table.
const NOTE: usize = 40;

/// Prints a line for each configured heartbeat, in the order of the configuration.
///
/// # Errors
/// What makes the database unreadable.
pub fn run(
    config: &Config,
    as_json: bool,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    let viewer = Viewer::open(&config.state_path)?;
    let known: BTreeMap<_, _> = viewer.read(beats::all)?.into_iter().collect();
    let beats = config.beats.iter();
    let accounts: Vec<Account> = beats
        .map(|beat| Account::of(beat, known.get(&beat.name), now))
        .collect();
    if as_json {
        let json = json!({"now": now.unix_seconds(), "heartbeats": accounts});
        return Ok(writeln!(out, "{json}"));
    }
    if accounts.is_empty() {
        return Ok(writeln!(
            out,
            "no heartbeat is configured; see [[heartbeat]]"
        ));
    }
    let mut table = term::table(&["heartbeat", "state", "schedule", "last came", "due", "note"]);
    for account in accounts {
        let last = account.last_seen.map_or_else(
            || "never".to_owned(),
            |at| format!("{} ago", span(now.since(at))),
        );
        table.add_row(vec![
            account.name,
            account.state.to_owned(),
            account.schedule,
            last,
            local(account.due, &config.timezone),
            shorten(&account.note.unwrap_or_default(), NOTE),
        ]);
    }
    Ok(writeln!(out, "{}", table.trim_fmt()))
}
