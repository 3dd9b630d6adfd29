//! The picture: every row, attempt, alert, silence, gate and count, as the file holds them and as the
//! reference says that it must.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row as Line};
use shared::model::{Gate, Timestamp};
use std::collections::BTreeMap;
use std::time::Duration;

/// A value of a column. Times are compared by the millisecond: SQL holds them as fractions.
pub trait Cell {
    fn of(value: ValueRef<'_>) -> Self;
}

impl Cell for i64 {
    fn of(value: ValueRef<'_>) -> Self {
        value.as_i64().expect("a whole number")
    }
}

impl Cell for String {
    fn of(value: ValueRef<'_>) -> Self {
        let bytes = value.as_bytes().expect("a text");
        Self::from_utf8_lossy(bytes).into_owned()
    }
}

impl Cell for Timestamp {
    fn of(value: ValueRef<'_>) -> Self {
        Self::from_unix_seconds(value.as_f64().expect("a time"))
    }
}

impl Cell for Duration {
    fn of(value: ValueRef<'_>) -> Self {
        Timestamp::of(value).since(Timestamp::EPOCH)
    }
}

impl<T: Cell> Cell for Option<T> {
    fn of(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => None,
            value => Some(T::of(value)),
        }
    }
}

/// A table as a list of structures, a field for each column that the reference speaks of.
macro_rules! record {
    ($name:ident of $table:literal { $($field:ident: $kind:ty),+ $(,)? }) => {
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name { $(pub $field: $kind),+ }

        impl $name {
            fn all(db: &Connection) -> Vec<Self> {
                let columns = [$(stringify!($field)),+].join(",");
                let sql = format!("SELECT {columns} FROM {}", $table);
                let mut statement = db.prepare_cached(&sql).expect("a good statement");
                let read = |line: &Line<'_>| Ok(Self {
                    $($field: Cell::of(line.get_ref(stringify!($field))?)),+
                });
                let read = statement.query_map([], read).expect("a good table");
                read.collect::<rusqlite::Result<_>>().expect("good rows")
            }
        }
    };
}

record!(Row of "outbox" {
    id: i64, idempotency_key: Option<String>, kind: String, alert_id: Option<i64>,
    parent_id: Option<i64>, released_from: Option<i64>, moved_to: Option<i64>,
    fallback_at: Option<Timestamp>, fallback_channel: Option<String>, fallback_chat_id: Option<String>,
    silenced_by: Option<i64>, told_by: Option<i64>, told_at: Option<Timestamp>,
    channel: String, chat_id: String, payload: String, priority: i64, state: String, attempts: i64, single: i64,
    not_before: Timestamp, next_attempt: Timestamp, failures: i64, failing_at: Option<Timestamp>,
    failed_for: Duration, expires_at: Option<Timestamp>, revived_at: Option<Timestamp>, tries_from: i64,
    lease_epoch: Option<i64>, last_error: Option<String>, message_id: Option<String>, rest: Option<String>,
    created_at: Timestamp, updated_at: Option<Timestamp>,
});

record!(Try of "attempt" {
    outbox_id: i64, n: i64, epoch: i64, started_at: Timestamp, ended_at: Option<Timestamp>,
    outcome: Option<String>, retry_after: Option<Duration>, detail: Option<String>,
});

record!(Story of "alert" { id: i64, dedup_key: String, payload: String, seen: i64, not_owed: Option<String>, created_at: Timestamp });

record!(Hush of "silence" { id: i64, pattern: String, until: Timestamp, ended_at: Option<Timestamp> });

record!(Count of "ledger WHERE name NOT LIKE 'item%'" { name: String, n: i64 });

record!(Seat of "sender_lease" { epoch: i64, stepped: i64 });

record!(Barrier of "gate" {
    scope: String, key: String, next_at: Timestamp, clean_since: Option<Timestamp>,
    blocked_until: Timestamp, blocked_for: Duration, breaker: String, strikes: i64,
    failing_since: Option<Timestamp>, refused_since: Option<Timestamp>, reason: Option<String>,
    folded_at: Timestamp, paused_until: Timestamp,
});

/// Everything that the protocol speaks of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    pub rows: BTreeMap<i64, Row>,
    pub tries: BTreeMap<(i64, i64), Try>,
    pub stories: BTreeMap<i64, Story>,
    pub silences: BTreeMap<i64, Hush>,
    pub gates: BTreeMap<(String, String), Gate>,
    pub ledger: BTreeMap<String, i64>,
    pub epoch: i64,
    pub stepped: i64,
    /// The last id that was ever given to a row.
    pub last_row: i64,
    pub last_story: i64,
}

impl Picture {
    pub fn taken(db: &Connection) -> Self {
        let last = |table: &str| -> i64 {
            let sql = "SELECT coalesce(max(seq),0) FROM sqlite_sequence WHERE name=?1";
            let mut statement = db.prepare_cached(sql).expect("a good statement");
            statement
                .query_row([table], |row| row.get(0))
                .expect("a number")
        };
        let seat = Seat::all(db).remove(0);
        let mut rows = Row::all(db);
        for notice in rows.iter_mut().filter(|row| row.kind == "notice") {
            // How it words what it tells is the business of its own tests.
            notice.payload.clear();
        }
        Self {
            rows: rows.into_iter().map(|row| (row.id, row)).collect(),
            tries: Try::all(db)
                .into_iter()
                .map(|it| ((it.outbox_id, it.n), it))
                .collect(),
            stories: Story::all(db).into_iter().map(|it| (it.id, it)).collect(),
            silences: Hush::all(db).into_iter().map(|it| (it.id, it)).collect(),
            gates: gates(db),
            ledger: Count::all(db)
                .into_iter()
                .map(|it| (it.name, it.n))
                .collect(),
            epoch: seat.epoch,
            stepped: seat.stepped,
            last_row: last("outbox"),
            last_story: last("alert"),
        }
    }

    /// Where it differs from what must be, line by line. Empty: nowhere.
    pub fn differences(&self, must: &Self) -> Vec<String> {
        let mut found = Vec::new();
        compare("row", &self.rows, &must.rows, &mut found);
        compare("attempt", &self.tries, &must.tries, &mut found);
        compare("alert", &self.stories, &must.stories, &mut found);
        compare("silence", &self.silences, &must.silences, &mut found);
        compare("gate", &self.gates, &must.gates, &mut found);
        compare("count", &self.ledger, &must.ledger, &mut found);
        let numbers = |it: &Self| (it.epoch, it.stepped, it.last_row, it.last_story);
        if numbers(self) != numbers(must) {
            found.push(format!(
                "epoch, stepped, last row, last alert: {:?}, must be {:?}",
                numbers(self),
                numbers(must)
            ));
        }
        found
    }
}

fn compare<K: Ord + std::fmt::Debug, V: PartialEq + std::fmt::Debug>(
    what: &str,
    is: &BTreeMap<K, V>,
    must: &BTreeMap<K, V>,
    found: &mut Vec<String>,
) {
    for (key, wanted) in must {
        match is.get(key) {
            Some(there) if there == wanted => {}
            Some(there) => {
                let (there, wanted) = (format!("{there:#?}"), format!("{wanted:#?}"));
                let pairs = there.lines().zip(wanted.lines()).filter(|(a, b)| a != b);
                let pairs: Vec<String> = pairs
                    .map(|(a, b)| format!("{} must be {}", a.trim(), b.trim()))
                    .collect();
                found.push(format!("{what} {key:?}: {}", pairs.join("; ")));
            }
            None => found.push(format!("{what} {key:?} is missing: {wanted:?}")),
        }
    }
    for (key, there) in is.iter().filter(|(key, _)| !must.contains_key(key)) {
        found.push(format!("{what} {key:?} must not be: {there:?}"));
    }
}

fn gates(db: &Connection) -> BTreeMap<(String, String), Gate> {
    let rings: BTreeMap<(String, String), (Vec<Timestamp>, f64)> = {
        let mut statement = db
            .prepare_cached("SELECT scope,key,coalesce(ring,x''),stretch FROM gate")
            .expect("a good statement");
        let read = |line: &Line<'_>| {
            let ring: Vec<u8> = line.get(2)?;
            let moments = ring.chunks_exact(8).map(|bytes| {
                Timestamp::from_unix_millis(i64::from_be_bytes(bytes.try_into().expect("eight")))
            });
            Ok((
                (line.get(0)?, line.get(1)?),
                (moments.collect(), line.get(3)?),
            ))
        };
        let read = statement.query_map([], read).expect("a good table");
        read.collect::<rusqlite::Result<_>>().expect("good rows")
    };
    let gate = |it: Barrier| {
        let name = (it.scope, it.key);
        let (ring, stretch) = rings[&name].clone();
        let gate = Gate {
            next_at: it.next_at,
            ring,
            stretch,
            clean_since: it.clean_since,
            blocked_until: it.blocked_until,
            blocked_for: it.blocked_for,
            breaker: it.breaker.parse().expect("a breaker"),
            failing_since: it.failing_since,
            refused_since: it.refused_since,
            strikes: u32::try_from(it.strikes).expect("a count"),
            reason: it.reason,
            folded_at: it.folded_at,
            paused_until: it.paused_until,
        };
        (name, gate)
    };
    Barrier::all(db).into_iter().map(gate).collect()
}
