//! A minute in which Telegram answers nothing as it should, and the account of what arrived after it
//! and after kills: how often, marked or not, and why.

use crate::telegram::{Fault, Message, Storm, Telegram};
use rusqlite::Connection;
use shared::model::{Priority, Timestamp};
use std::fmt;
use std::time::Duration;

pub const MINUTE: Duration = Duration::from_secs(60);
const MARK: &str = "(possible repeat) ";

/// A minute from `now` on in which every `sendMessage` meets a fault, of each kind that passes by
/// itself and closes no gate for longer than the minute.
pub fn of_every_kind(seed: u64, now: Timestamp) -> Storm {
    Storm {
        seed,
        ends: Some(now + MINUTE),
        one_in: 1,
        faults: vec![
            Fault::flood(2),
            Fault::page(502),
            Fault::page(503),
            Fault::page(504).after_acceptance(),
            Fault::refuse("restart"),
            Fault::refuse("restart").after_acceptance(),
            Fault::refuse("internal"),
            Fault::refuse("sent-then-deleted"),
            Fault::reset_before(),
            Fault::reset_after(),
            Fault::reset_amid(),
            Fault::half(),
            Fault::garbage(),
            Fault::hold(Duration::from_secs(8)),
            Fault::hang(),
            Fault::hang_after(),
        ],
    }
}

/// Refusals of which too many would be the end of an alert, and rightly: these come first, once.
pub fn refusals(chat: i64) -> [Fault; 2] {
    let refused = |name| Fault::refuse(name).in_chat(chat);
    [refused("entities"), refused("unknown").times(2)]
}

/// With an even seed all are critical, and hurry with their copies.
pub fn priority(seed: u64, number: usize) -> Priority {
    if seed.is_multiple_of(2) {
        Priority::Critical
    } else {
        Priority::ALL[number % 4]
    }
}

/// What arrived of a number of alerts. Making one checks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    pub alerts: usize,
    /// Copies that arrived.
    pub arrived: usize,
    /// Copies beyond the first of an alert; each is marked.
    pub repeats: usize,
    /// Repeats of alerts of which an attempt was interrupted by a kill, and of which one had an
    /// outcome that nobody knows; both for some.
    pub after_kills: usize,
    pub after_unknown: usize,
    /// Attempts that ended so.
    pub interrupted: usize,
    pub unknown: usize,
}

/// What the outbox says of one alert.
struct Row {
    key: String,
    state: String,
    error: String,
    ok: usize,
    unknown: usize,
    interrupted: usize,
}

impl Account {
    /// Of the alerts whose keys begin with `keys`.
    ///
    /// # Panics
    /// When one of them was not delivered, or a copy is neither marked nor explained.
    pub fn of(db: &Connection, telegram: &Telegram, keys: &str) -> Self {
        let arrived = telegram.accepted();
        let mut account = Self::default();
        for row in rows(db, keys) {
            let title = format!("Title of {}", row.key);
            let is_of_row = |message: &&Message| message.text.contains(&title);
            let copies: Vec<&Message> = arrived.iter().filter(is_of_row).collect();
            account.add(&row, &copies);
        }
        assert_eq!(account.arrived, arrived.len(), "what else arrived?");
        account
    }

    fn add(&mut self, row: &Row, copies: &[&Message]) {
        let key = &row.key;
        assert_eq!(
            (row.state.as_str(), row.ok),
            ("sent", 1),
            "{key}: {}",
            row.error
        );
        assert!(!copies.is_empty(), "{key} is lost");
        let repeats = copies.len() - 1;
        let unmarked = |copy: &&&Message| !copy.text.starts_with(MARK);
        assert_eq!(
            copies.iter().skip(1).filter(unmarked).count(),
            0,
            "{key}: a repeat without its mark: {copies:#?}"
        );
        assert!(
            repeats <= row.unknown + row.interrupted,
            "{key}: {} copies after {} attempts of unknown outcome and {} interrupted",
            copies.len(),
            row.unknown,
            row.interrupted
        );
        self.alerts += 1;
        self.arrived += copies.len();
        self.repeats += repeats;
        self.after_kills += if row.interrupted > 0 { repeats } else { 0 };
        self.after_unknown += if row.unknown > 0 { repeats } else { 0 };
        self.interrupted += row.interrupted;
        self.unknown += row.unknown;
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "0 lost, {} arrived: {} repeats, all marked ({} after a kill, {} after an unknown outcome; \
             {} attempts interrupted, {} unknown)",
            self.arrived,
            self.repeats,
            self.after_kills,
            self.after_unknown,
            self.interrupted,
            self.unknown
        )
    }
}

fn rows(db: &Connection, keys: &str) -> Vec<Row> {
    let sql = "SELECT replace(title,'Title of ',''),state,
        (SELECT count(*) FROM attempt WHERE outbox_id=outbox.id AND outcome='ok'),
        (SELECT count(*) FROM attempt WHERE outbox_id=outbox.id AND outcome='unknown'),
        (SELECT count(*) FROM attempt WHERE outbox_id=outbox.id AND outcome='interrupted'),
        coalesce(last_error,'')
        FROM outbox JOIN alert ON alert.id=alert_id WHERE title LIKE 'Title of '||?1||'%'";
    let mut statement = db.prepare(sql).expect("a statement");
    let rows = statement.query_map([keys], |row| {
        let count = |column| row.get::<_, u32>(column).map(|count| count as usize);
        Ok(Row {
            key: row.get(0)?,
            state: row.get(1)?,
            error: row.get(5)?,
            ok: count(2)?,
            unknown: count(3)?,
            interrupted: count(4)?,
        })
    });
    rows.and_then(Iterator::collect).expect("rows")
}
