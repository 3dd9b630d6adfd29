//! `status`: what waits for whom, since when, what is dead, whether both programs run, and whether a
//! person must do something before what waits can go.

use super::gates::Gates;
use serde_json::{Value, json};
use shared::Failure;
use shared::config::{Account, Config};
use shared::model::{Priority, Timestamp};
use shared::platform::{lock, term};
use shared::policy::text::span;
use shared::store::heartbeats::Heartbeat;
use shared::store::status::Status;
use shared::store::{Viewer, beats, beside, heartbeats, status};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// One moment of the installation.
struct Seen {
    status: Status,
    gates: Gates,
    heartbeat: Heartbeat,
    beats: Vec<Account>,
    /// The process that sends, when one does.
    sender: Option<u32>,
    now: Timestamp,
}

/// Returns whether what waits goes by itself, and what came of printing.
pub fn run(
    config: &Config,
    as_json: bool,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<(bool, io::Result<()>), Failure> {
    let path = &config.state_path;
    let viewer = Viewer::open(path)?;
    let known: BTreeMap<_, _> = viewer.read(beats::all)?.into_iter().collect();
    let accounts = config.beats.iter();
    let seen = Seen {
        beats: accounts
            .map(|beat| Account::of(beat, known.get(&beat.name), now))
            .collect(),
        status: viewer.read(|db| status::status(db, now))?,
        gates: Gates::of(config),
        heartbeat: viewer.read(|db| heartbeats::read(db, path, now))?,
        sender: lock::holder(&beside(path, ".sender")),
        now,
    };
    let goes_by_itself = !seen.needs_a_person();
    let printed = if as_json {
        writeln!(out, "{}", to_json(&seen))
    } else {
        print(&seen, config, out)
    };
    Ok((goes_by_itself, printed))
}

impl Seen {
    fn needs_a_person(&self) -> bool {
        let Status { backlog, gates, .. } = &self.status;
        self.gates.need_a_person(backlog, gates)
    }
}

fn print(seen: &Seen, config: &Config, out: &mut dyn Write) -> io::Result<()> {
    let Seen {
        status,
        gates,
        heartbeat,
        now,
        ..
    } = seen;
    let ago = |time: Option<Timestamp>| match time {
        None => "never".to_owned(),
        Some(time) => format!(
            "{} ago ({})",
            span(now.since(time)),
            term::local(time, &config.timezone)
        ),
    };
    let sender = match seen.sender {
        Some(process) => format!("running as process {process}, epoch {}", status.epoch),
        None => "not running".to_owned(),
    };
    writeln!(out, "sender         {sender}")?;
    writeln!(out, "last tick      {}", ago(heartbeat.started_at))?;
    writeln!(out, "last delivery  {}", ago(status.last_sent))?;
    let failing = match status.feeds_failing {
        0 => String::new(),
        failing => format!(", {failing} failing"),
    };
    writeln!(out, "feeds          {}{failing}", status.feeds)?;
    writeln!(out, "to be judged   {}", status.items_pending)?;
    let hint = if status.dead > 0 {
        "  (see: queue list --dead)"
    } else {
        ""
    };
    writeln!(out, "dead letters   {}{hint}", status.dead)?;
    writeln!(out, "marked repeats {}", status.repeats_marked)?;
    print_gates(seen, &ago, out)?;
    print_beats(seen, config, out)?;
    if status.backlog.is_empty() {
        return writeln!(out, "waiting        nothing");
    }
    let mut backlog = term::table(&[
        "waiting for",
        "critical",
        "high",
        "normal",
        "low",
        "oldest",
        "next",
    ]);
    for waiting in &status.backlog {
        let mut cells = vec![waiting.destination.to_string()];
        cells.extend(waiting.waiting.iter().map(ToString::to_string));
        cells.push(span(now.since(waiting.oldest)));
        cells.push(match gates.next(waiting, &status.gates).since(*now) {
            wait if wait.is_zero() => "now".to_owned(),
            wait => format!("in {}", span(wait)),
        });
        backlog.add_row(cells);
    }
    writeln!(out, "\n{}", backlog.trim_fmt())
}

/// A line for each heartbeat, when there are any.
fn print_beats(seen: &Seen, config: &Config, out: &mut dyn Write) -> io::Result<()> {
    for beat in &seen.beats {
        let last = beat.last_seen.map_or_else(
            || "never came".to_owned(),
            |at| format!("last {} ago", span(seen.now.since(at))),
        );
        let due = term::local(beat.due, &config.timezone);
        writeln!(
            out,
            "heartbeat      {}: {}, {last}, due {due}",
            beat.name, beat.state
        )?;
    }
    Ok(())
}

/// What keeps alerts waiting: a pause that ends by itself, or a refusal that does not.
fn print_gates(
    seen: &Seen,
    ago: &impl Fn(Option<Timestamp>) -> String,
    out: &mut dyn Write,
) -> io::Result<()> {
    for gate in &seen.status.gates {
        let reason = gate.reason.as_deref().unwrap_or("no reason given");
        let again = span(gate.closed_until.since(seen.now));
        let whom = seen.gates.whom(gate);
        match gate.refused_since {
            None => writeln!(out, "closed gate    {whom} for {again}: {reason}")?,
            Some(since) => {
                let since = ago(Some(since));
                writeln!(
                    out,
                    "refused        {whom} since {since}, tried again in {again}: {reason}"
                )?;
            }
        }
    }
    Ok(())
}

fn to_json(seen: &Seen) -> Value {
    let seconds = |time: Option<Timestamp>| time.map(Timestamp::unix_seconds);
    let (status, closed) = (&seen.status, &seen.gates);
    let next_due = |waiting| closed.next(waiting, &status.gates).unix_seconds();
    let backlog: Vec<Value> = status
        .backlog
        .iter()
        .map(|waiting| {
            let by_priority: serde_json::Map<String, Value> = Priority::ALL
                .iter()
                .zip(waiting.waiting)
                .map(|(priority, count)| (priority.name().to_owned(), count.into()))
                .collect();
            json!({
                "channel": waiting.destination.channel, "chat_id": waiting.destination.chat_id,
                "waiting": by_priority, "total": waiting.total(),
                "oldest": waiting.oldest.unix_seconds(), "next_due": next_due(waiting),
            })
        })
        .collect();
    let gates: Vec<Value> = status.gates.iter().map(|gate| json!({
        "scope": gate.scope, "key": gate.key, "whom": closed.whom(gate), "closed_until": gate.closed_until.unix_seconds(),
        "breaker": gate.breaker, "reason": gate.reason, "refused_since": seconds(gate.refused_since),
    })).collect();
    json!({
        "now": seen.now.unix_seconds(),
        "sender": {"process": seen.sender, "epoch": status.epoch, "since": status.epoch_since.unix_seconds()},
        "last_tick": {"started": seconds(seen.heartbeat.started_at), "finished": seconds(seen.heartbeat.finished_at)},
        "last_delivery": seconds(status.last_sent),
        "feeds": status.feeds, "feeds_failing": status.feeds_failing, "items_pending": status.items_pending,
        "dead": status.dead, "repeats_marked": status.repeats_marked,
        "heartbeats": seen.beats, "needs_a_person": seen.needs_a_person(), "gates": gates, "backlog": backlog,
    })
}
