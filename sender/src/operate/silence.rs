//! `silence`: what nobody wants to hear of for a while waits for its end.

use crate::args::Silence;
use shared::Failure;
use shared::config::Config;
use shared::model::Timestamp;
use shared::platform::{doorbell, term};
use shared::policy::text::{one_line, span};
use shared::store::silences::Pattern;
use shared::store::{Db, Store, Viewer, beside, silences};
use std::io::{self, Write};

/// Begins a silence, ends one, or lists them.
pub async fn run(
    options: Silence,
    config: &Config,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    match (options.pattern, options.end) {
        (_, Some(id)) => {
            let store = Store::open_existing(&config.state_path)?;
            let ended = store
                .write(move |db: &Db| silences::end(db, id, now))
                .await?;
            doorbell::ring(&beside(&config.state_path, ".bell"));
            let Some(held) = ended else {
                return Err(Failure::Usage(format!(
                    "there is no silence {id}, or it is over"
                )));
            };
            Ok(writeln!(
                out,
                "silence {id} ends; {held} rows that it held are sent"
            ))
        }
        (Some(pattern), None) => {
            Pattern::new(&pattern)
                .map_err(|why| Failure::Usage(format!("{pattern:?} is {why}")))?;
            let until = now + options.lasting;
            let store = Store::open(&config.state_path)?;
            let begin = move |db: &Db| silences::begin(db, &pattern, until, now);
            let (id, held) = store.write(begin).await?;
            let until = term::local(until, &config.timezone);
            Ok(writeln!(
                out,
                "silence {id} holds what matches until {until}; {held} rows that wait already are among it"
            ))
        }
        (None, None) => {
            let viewer = Viewer::open(&config.state_path)?;
            let active = viewer.read(|db| silences::active(db, now))?;
            Ok(list(&active, now, out))
        }
    }
}

fn list(active: &[silences::Silence], now: Timestamp, out: &mut dyn Write) -> io::Result<()> {
    if active.is_empty() {
        return writeln!(out, "nothing is silenced");
    }
    let mut rows = term::table(&["silence", "ends in", "holds", "what matches"]);
    for silence in active {
        rows.add_row([
            silence.id.to_string(),
            span(silence.until.since(now)),
            silence.held.to_string(),
            one_line(&silence.pattern),
        ]);
    }
    writeln!(out, "{rows}")
}
