//! `queue`: the outbox and its dead letters, looked at and moved by a person.

use super::shift;
use crate::args::Queue;
use serde_json::json;
use shared::Failure;
use shared::config::Config;
use shared::model::{Attempt, Content, Timestamp};
use shared::platform::term;
use shared::policy::text::{one_line, shorten, span};
use shared::store::Viewer;
use shared::store::outbox::operator::{self, Entry, Listed};
use std::io::{self, Write};

/// Characters of a title in a list.
pub(super) const TITLE: usize = 60;

/// Lists or shows. What writes is elsewhere.
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
            which,
            limit,
            json,
        } => {
            let listed = match (dead, finished) {
                (true, _) => Listed::Dead,
                (_, true) => Listed::Finished,
                _ => Listed::Waiting,
            };
            let entries =
                viewer.read(|db| operator::list(db, listed, &shift::filter(which, now), *limit))?;
            Ok(if *json {
                entries
                    .iter()
                    .try_for_each(|entry| writeln!(out, "{}", to_json(entry)))
            } else {
                list(&entries, *limit, now, out)
            })
        }
        Queue::Show { id, json } => match viewer.read(|db| operator::show(db, *id))? {
            Some((entry, attempts)) => {
                let members = viewer.read(|db| operator::members(db, *id))?;
                Ok(if *json {
                    let tries: Vec<_> = attempts.iter().map(try_json).collect();
                    let inside: Vec<_> = members.iter().map(to_json).collect();
                    let mut whole = to_json(&entry);
                    if let Some(object) = whole.as_object_mut() {
                        object.insert("tries".to_owned(), tries.into());
                        object.insert("members".to_owned(), inside.into());
                    }
                    writeln!(out, "{whole}")
                } else {
                    show(&entry, &attempts, config, out).and_then(|()| show_members(&members, out))
                })
            }
            None => Err(Failure::Usage(format!(
                "there is no row {id} in the outbox"
            ))),
        },
        Queue::Retry(_) | Queue::Discard(_) | Queue::Add(_) => Ok(Ok(())),
    }
}

pub(super) fn list(
    entries: &[Entry],
    limit: u32,
    now: Timestamp,
    out: &mut dyn Write,
) -> io::Result<()> {
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

pub(super) fn title(content: &Content) -> String {
    match content {
        Content::Alert(alert) => one_line(&alert.title),
        Content::Raw { text, body } => one_line(text.as_deref().unwrap_or(body)),
        Content::Digest(alerts) => format!("{} alerts", alerts.len()),
        Content::Unreadable(why) => one_line(why),
    }
}

fn show_members(members: &[Entry], out: &mut dyn Write) -> io::Result<()> {
    members.iter().try_for_each(|member| {
        let text = shorten(&title(&member.content), TITLE);
        writeln!(out, "holds    row {}: {text}", member.id)
    })
}

fn try_json(attempt: &Attempt) -> serde_json::Value {
    json!({
        "n": attempt.n, "started_at": attempt.started_at.unix_seconds(),
        "ended_at": attempt.ended_at.map(Timestamp::unix_seconds),
        "outcome": attempt.outcome, "detail": attempt.detail,
    })
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
