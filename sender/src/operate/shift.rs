//! `queue retry` and `queue discard`: what a person moves, by number or by what it is; said before it is
//! done, and asked about when much would be given up.

use super::queue::{self, title};
use crate::args::Shift;
use crate::command::World;
use serde_json::json;
use shared::Failure;
use shared::config::Config;
use shared::model::{DeliveryKind, Timestamp};
use shared::platform::doorbell;
use shared::policy::text::shorten;
use shared::store::outbox::operator::{self, Entry, Filter, Movable, Moved};
use shared::store::{Db, Store, StoreError, Viewer, beside};
use std::io::{self, Write};

/// Rows of one transaction.
const AT_ONCE: usize = 100;
/// Rows that are shown before a question, and of a digest's.
const SHOWN: usize = 20;

/// One of the two moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    Retry,
    Discard,
}

impl Move {
    fn apply(self, db: &Db, id: i64, now: Timestamp) -> Result<Moved, StoreError> {
        match self {
            Self::Retry => operator::requeue(db, id, now),
            Self::Discard => operator::discard(db, id, now),
        }
    }

    const fn done(self) -> &'static str {
        match self {
            Self::Retry => "will be sent again",
            Self::Discard => "discarded",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Discard => "discard",
        }
    }
}

/// What is to be moved: rows that are there, and numbers of none.
struct Chosen {
    rows: Vec<Entry>,
    unknown: Vec<i64>,
}

/// Moves, and says for each row what became of it.
pub async fn run(
    options: Shift,
    to: Move,
    config: &Config,
    world: &World,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    let now = world.clock.now();
    let viewer = Viewer::open(&config.state_path)?;
    let chosen = choose(&options, to, &viewer, now)?;
    let alerts = viewer.read(|db| count_alerts(db, &chosen.rows))?;
    if options.dry_run {
        return Ok(if options.json {
            let ids: Vec<i64> = chosen.rows.iter().map(|row| row.id).collect();
            writeln!(out, "{}", json!({"would": to.name(), "rows": ids}))
        } else {
            queue::list(&chosen.rows, u32::MAX, now, out)
                .and_then(|()| writeln!(out, "would {} {}", to.name(), counted(&chosen, alerts)))
        });
    }
    let is_much = options.ids.is_empty() || alerts > options.ids.len();
    if to == Move::Discard && is_much && !chosen.rows.is_empty() && !options.yes {
        let summary = counted(&chosen, alerts);
        if !world.terminal {
            return Err(Failure::Usage(format!(
                "this would discard {summary} for good; say --yes, or --dry-run to see which"
            )));
        }
        let shown = chosen.rows.iter().take(SHOWN).cloned().collect::<Vec<_>>();
        let printed = queue::list(&shown, u32::MAX, now, out);
        printed.map_err(|error| Failure::Unexpected(format!("cannot ask: {error}")))?;
        if !super::is_confirmed(&format!("Discard {summary} for good"), out)? {
            return Err(Failure::Usage("nothing was discarded".to_owned()));
        }
    }
    let store = Store::open_existing(&config.state_path)?;
    let moved = shift(&store, to, &chosen.rows, now).await?;
    doorbell::ring(&beside(&config.state_path, ".bell"));
    report(&options, to, &chosen, &moved, out)
}

fn choose(options: &Shift, to: Move, viewer: &Viewer, now: Timestamp) -> Result<Chosen, Failure> {
    if !options.ids.is_empty() {
        let (mut rows, mut unknown) = (Vec::new(), Vec::new());
        for id in &options.ids {
            match viewer.read(|db| operator::show(db, *id))? {
                Some((row, _)) => rows.push(row),
                None => unknown.push(*id),
            }
        }
        return Ok(Chosen { rows, unknown });
    }
    if to == Move::Retry && options.waiting {
        return Err(Failure::Usage(
            "what waits is sent anyway; leave --waiting out".to_owned(),
        ));
    }
    let states: Vec<Movable> = [
        (options.waiting, Movable::Ready),
        (options.dead || options.all, Movable::Dead),
        (options.expired || options.all, Movable::Expired),
    ]
    .into_iter()
    .filter_map(|(wanted, state)| wanted.then_some(state))
    .collect();
    if states.is_empty() {
        return Err(Failure::Usage(format!(
            "say which rows to {}: their numbers, or --dead, --expired or --all",
            to.name()
        )));
    }
    let wanted = filter(&options.which, now);
    Ok(Chosen {
        rows: viewer.read(|db| operator::select(db, &states, &wanted))?,
        unknown: Vec::new(),
    })
}

pub(super) fn filter(which: &crate::args::Which, now: Timestamp) -> Filter {
    Filter {
        channel: which.channel.clone(),
        chat: which.chat.clone(),
        priority: which.priority,
        before: which.older_than.map(|age| now.minus(age)),
    }
}

/// How many alerts that is: a digest is as many as are in it.
fn count_alerts(db: &Db, rows: &[Entry]) -> Result<usize, StoreError> {
    let mut count = 0;
    for row in rows {
        count += if row.kind == DeliveryKind::Digest.name() {
            operator::members(db, row.id)?.len()
        } else {
            1
        };
    }
    Ok(count)
}

fn counted(chosen: &Chosen, alerts: usize) -> String {
    let rows = match chosen.rows.len() {
        1 => "1 row".to_owned(),
        many => format!("{many} rows"),
    };
    if alerts == chosen.rows.len() {
        rows
    } else {
        format!("{rows} with {alerts} alerts")
    }
}

async fn shift(
    store: &Store,
    to: Move,
    rows: &[Entry],
    now: Timestamp,
) -> Result<Vec<Moved>, Failure> {
    let mut moved = Vec::new();
    for some in rows.chunks(AT_ONCE) {
        let ids: Vec<i64> = some.iter().map(|row| row.id).collect();
        let shift = move |db: &Db| -> Result<Vec<Moved>, StoreError> {
            ids.iter().map(|id| to.apply(db, *id, now)).collect()
        };
        moved.extend(store.write(shift).await?);
    }
    Ok(moved)
}

fn report(
    options: &Shift,
    to: Move,
    chosen: &Chosen,
    moved: &[Moved],
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    let mut refused: Vec<(i64, String)> = Vec::new();
    let (mut done, mut printed) = (Vec::new(), Ok(()));
    for (row, moved) in chosen.rows.iter().zip(moved) {
        match moved {
            Moved::Done => {
                done.push(row.id);
                if !options.json && printed.is_ok() {
                    let text = shorten(&title(&row.content), queue::TITLE);
                    printed = writeln!(out, "row {}: {} ({text})", row.id, to.done());
                }
            }
            Moved::Unknown => refused.push((row.id, "there is none".to_owned())),
            Moved::Not(state) => refused.push((row.id, format!("it is {state}"))),
        }
    }
    let unknown = chosen.unknown.iter();
    refused.extend(unknown.map(|id| (*id, "there is none".to_owned())));
    if options.json && printed.is_ok() {
        let refused: Vec<_> = refused
            .iter()
            .map(|(id, why)| json!({"id": id, "why": why}))
            .collect();
        printed = writeln!(out, "{}", json!({to.name(): done, "refused": refused}));
    } else if done.is_empty() && refused.is_empty() && printed.is_ok() {
        printed = writeln!(out, "no such rows");
    }
    if refused.is_empty() || printed.is_err() {
        return Ok(printed);
    }
    let refused: Vec<String> = refused
        .iter()
        .map(|(id, why)| format!("row {id}: {why}"))
        .collect();
    Err(Failure::Usage(format!(
        "not done for {}",
        refused.join("; ")
    )))
}
