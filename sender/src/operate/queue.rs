//! `queue`: the outbox and its dead letters, looked at and moved by a person.

use crate::args::Queue;
use serde_json::json;
use shared::Failure;
use shared::config::Config;
use shared::model::{Attempt, Content, Timestamp};
use shared::platform::{doorbell, term};
use shared::policy::text::{one_line, shorten, span};
use shared::store::outbox::operator::{self, Entry, Listed, Moved};
use shared::store::{Store, Viewer, beside};
use std::io::{self, Write};

/// Characters of a title in a list.
const TITLE: usize = 60;

/// Lists or shows. `retry` and `discard` write: see [`shift`].
pub fn look(
    command: &Queue,
    config: &Config,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    let viewer = Viewer::open(&config.state_path)?;
    match command {
        Queue::List {
            dead,
            finished,
            limit,
            json,
        } => {
            let listed = match (dead, finished) {
                (true, _) => Listed::Dead,
                (_, true) => Listed::Finished,
                _ => Listed::Waiting,
            };
            let entries = viewer.read(|db| operator::list(db, listed, *limit))?;
            Ok(if *json {
                entries
                    .iter()
                    .try_for_each(|entry| writeln!(out, "{}", to_json(entry)))
            } else {
                list(&entries, *limit, now, out)
            })
        }
        Queue::Show { id } => match viewer.read(|db| operator::show(db, *id))? {
            Some((entry, attempts)) => Ok(show(&entry, &attempts, config, out)),
            None => Err(Failure::Usage(format!(
                "there is no row {id} in the outbox"
            ))),
        },
        Queue::Retry { .. } | Queue::Discard { .. } | Queue::Add(_) => Ok(Ok(())),
    }
}

/// Retries or discards each row, and says for each what became of it.
pub async fn shift(
    command: &Queue,
    config: &Config,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    type Move = fn(&shared::store::Db, i64, Timestamp) -> Result<Moved, shared::store::StoreError>;
    let (ids, shift, done): (_, Move, _) = match command {
        Queue::Retry { ids } => (ids.clone(), operator::requeue, "will be sent again"),
        Queue::Discard { ids } => (ids.clone(), operator::discard, "discarded"),
        Queue::List { .. } | Queue::Show { .. } | Queue::Add(_) => return Ok(Ok(())),
    };
    let store = Store::open_existing(&config.state_path)?;
    let mut refused = Vec::new();
    for id in ids {
        match store.write(move |db| shift(db, id, now)).await? {
            Moved::Done => {
                if let Err(error) = writeln!(out, "row {id}: {done}") {
                    return Ok(Err(error));
                }
            }
            Moved::Unknown => refused.push(format!("row {id}: there is none")),
            Moved::Not(state) => refused.push(format!("row {id}: it is {state}")),
        }
    }
    doorbell::ring(&beside(&config.state_path, ".bell"));
    match refused.as_slice() {
        [] => Ok(Ok(())),
        some => Err(Failure::Usage(format!("not done for {}", some.join("; ")))),
    }
}

fn list(entries: &[Entry], limit: u32, now: Timestamp, out: &mut dyn Write) -> io::Result<()> {
    if entries.is_empty() {
        return writeln!(out, "no such rows");
    }
    let mut rows = term::table(&[
        "id",
        "state",
        "priority",
        "to",
        "text",
        "tries",
        "age",
        "last error",
    ]);
    for entry in entries {
        rows.add_row([
            entry.id.to_string(),
            entry.state.to_string(),
            entry.priority.to_string(),
            one_line(&entry.destination.to_string()),
            shorten(&title(&entry.content), TITLE),
            entry.attempts.to_string(),
            span(now.since(entry.created_at)),
            shorten(&one_line(entry.last_error.as_deref().unwrap_or("")), TITLE),
        ]);
    }
    writeln!(out, "{}", rows.trim_fmt())?;
    if u32::try_from(entries.len()).is_ok_and(|shown| shown == limit) {
        writeln!(out, "(the first {limit}; more with --limit)")?;
    }
    Ok(())
}

fn show(
    entry: &Entry,
    attempts: &[Attempt],
    config: &Config,
    out: &mut dyn Write,
) -> io::Result<()> {
    let local = |time| term::local(time, &config.timezone);
    writeln!(
        out,
        "row {}: {} {}, {}",
        entry.id, entry.priority, entry.kind, entry.state
    )?;
    writeln!(out, "to       {}", one_line(&entry.destination.to_string()))?;
    writeln!(out, "text     {}", title(&entry.content))?;
    if let Content::Alert(alert) = &entry.content {
        writeln!(out, "from     {}", one_line(&alert.source))?;
        writeln!(
            out,
            "link     {}",
            one_line(alert.link.as_deref().unwrap_or("none"))
        )?;
        writeln!(out, "why      {}", one_line(&alert.reason))?;
    }
    writeln!(out, "created  {}", local(entry.created_at))?;
    writeln!(out, "due      {}", local(entry.due_at))?;
    if let Some(error) = &entry.last_error {
        writeln!(out, "error    {}", one_line(error))?;
    }
    if let Some(receipt) = &entry.message_id {
        writeln!(out, "receipt  {}", one_line(receipt))?;
    }
    for attempt in attempts {
        let outcome = attempt.outcome.as_deref().unwrap_or("under way");
        let detail = attempt
            .detail
            .as_deref()
            .map(|detail| format!(": {}", one_line(detail)));
        writeln!(
            out,
            "try {:<4} {} {outcome}{}",
            attempt.n,
            local(attempt.started_at),
            detail.unwrap_or_default()
        )?;
    }
    Ok(())
}

fn title(content: &Content) -> String {
    match content {
        Content::Alert(alert) => one_line(&alert.title),
        Content::Raw { text, body } => one_line(text.as_deref().unwrap_or(body)),
        Content::Digest(alerts) => format!("{} alerts", alerts.len()),
        Content::Unreadable(why) => one_line(why),
    }
}

fn to_json(entry: &Entry) -> serde_json::Value {
    json!({
        "id": entry.id, "state": entry.state.name(), "kind": entry.kind,
        "priority": entry.priority.name(), "channel": entry.destination.channel,
        "chat_id": entry.destination.chat_id, "text": title(&entry.content),
        "attempts": entry.attempts, "created_at": entry.created_at.unix_seconds(),
        "due_at": entry.due_at.unix_seconds(), "last_error": entry.last_error,
        "message_id": entry.message_id,
    })
}
