//! What a person sees of the outbox, and the moves that only a person makes.

use super::row;
use crate::model::{
    Attempt, Content, DeliveryKind, DeliveryState, Destination, Priority, Timestamp,
};
use crate::store::{Db, StoreError};
use rusqlite::{OptionalExtension, Row, named_params};

/// A row as a person reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub id: i64,
    pub state: DeliveryState,
    pub kind: String,
    pub priority: Priority,
    pub destination: Destination,
    pub content: Content,
    pub attempts: i64,
    pub created_at: Timestamp,
    pub due_at: Timestamp,
    pub last_error: Option<String>,
    pub message_id: Option<String>,
}

/// Which rows to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Ready, leased and folded.
    Waiting,
    Dead,
    /// Sent, moved, cancelled and expired; the last ones first.
    Finished,
}

/// Which of them: what is not said does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub channel: Option<String>,
    pub chat: Option<String>,
    pub priority: Option<Priority>,
    /// Owed since before then.
    pub before: Option<Timestamp>,
}

impl Filter {
    fn takes(&self, entry: &Entry) -> bool {
        let is = |wanted: &Option<String>, found: &String| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        is(&self.channel, &entry.destination.channel)
            && is(&self.chat, &entry.destination.chat_id)
            && self.priority.is_none_or(|wanted| wanted == entry.priority)
            && self.before.is_none_or(|before| entry.created_at < before)
    }
}

/// A state from which a person moves rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movable {
    Ready,
    Dead,
    Expired,
}

const COLUMNS: &str = "id,state,kind,priority,channel,chat_id,payload,attempts,created_at,due_at,last_error,message_id";

/// Each state by its name, or its partial index does not serve.
const WAITING: &str = "\
id IN(SELECT id FROM (
    SELECT id,priority FROM outbox WHERE state='ready'
    UNION ALL SELECT id,priority FROM outbox WHERE state='leased'
    UNION ALL SELECT member.id,member.priority FROM outbox AS digest JOIN outbox AS member ON member.parent_id=digest.id
     WHERE digest.state='ready' AND digest.kind='digest'
    UNION ALL SELECT member.id,member.priority FROM outbox AS digest JOIN outbox AS member ON member.parent_id=digest.id
     WHERE digest.state='leased')
  ORDER BY priority,id LIMIT :limit)
 ORDER BY priority,id";

/// At most `limit` rows.
pub fn list(
    db: &Db,
    listed: Listed,
    wanted: &Filter,
    limit: u32,
) -> Result<Vec<Entry>, StoreError> {
    let filter = match listed {
        Listed::Waiting => WAITING,
        Listed::Dead => "state='dead' ORDER BY id",
        Listed::Finished => {
            "state IN('sent','moved','cancelled','expired') ORDER BY updated_at DESC,id DESC"
        }
    };
    let statement = format!("SELECT {COLUMNS} FROM outbox WHERE {filter} LIMIT :limit");
    let mut statement = db.prepare(&statement)?;
    // All of them are looked at when not every one is wanted.
    let most = if *wanted == Filter::default() {
        limit
    } else {
        u32::MAX
    };
    let mut rows = statement.query(named_params! {":limit": most})?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let entry = entry(row)?;
        if wanted.takes(&entry) {
            found.push(entry);
        }
        if u32::try_from(found.len()).is_ok_and(|count| count >= limit) {
            break;
        }
    }
    Ok(found)
}

/// Every row in one of these states that is wanted, in their order.
pub fn select(db: &Db, states: &[Movable], wanted: &Filter) -> Result<Vec<Entry>, StoreError> {
    let mut found = Vec::new();
    for state in states {
        // In these words, or no partial index serves.
        let state = match state {
            Movable::Ready => "state='ready'",
            Movable::Dead => "state='dead'",
            Movable::Expired => "state='expired' ORDER BY id",
        };
        let mut statement = db.prepare(&format!("SELECT {COLUMNS} FROM outbox WHERE {state}"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let entry = entry(row)?;
            if takes(db, wanted, &entry)? {
                found.push(entry);
            }
        }
    }
    found.sort_by_key(|entry| entry.id);
    Ok(found)
}

/// A digest is wanted when all that is in it is: nobody moves what he has not named.
fn takes(db: &Db, wanted: &Filter, entry: &Entry) -> Result<bool, StoreError> {
    if entry.kind != DeliveryKind::Digest.name() {
        return Ok(wanted.takes(entry));
    }
    let members = members(db, entry.id)?;
    Ok(!members.is_empty() && members.iter().all(|member| wanted.takes(member)))
}

/// What is in a digest.
pub fn members(db: &Db, digest: i64) -> Result<Vec<Entry>, StoreError> {
    let statement = format!("SELECT {COLUMNS} FROM outbox WHERE parent_id=:digest ORDER BY id");
    let mut statement = db.prepare(&statement)?;
    let mut rows = statement.query(named_params! {":digest": digest})?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(entry(row)?);
    }
    Ok(found)
}

/// One row with all its attempts; `None` when there is no such row.
pub fn show(db: &Db, id: i64) -> Result<Option<(Entry, Vec<Attempt>)>, StoreError> {
    const ATTEMPTS: &str =
        "SELECT n,started_at,ended_at,outcome,detail FROM attempt WHERE outbox_id=:id ORDER BY n";
    let mut statement = db.prepare(&format!("SELECT {COLUMNS} FROM outbox WHERE id=:id"))?;
    let mut rows = statement.query(named_params! {":id": id})?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let found = entry(row)?;
    let attempts = db
        .prepare(ATTEMPTS)?
        .query_map(named_params! {":id": id}, attempt)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Some((found, attempts)))
}

/// What became of one row that a person named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    Done,
    Unknown,
    /// The row is in a state from which this move does not start.
    Not(DeliveryState),
}

/// Dead or expired → ready, due at once, its age counted from now.
pub fn requeue(db: &Db, id: i64, now: Timestamp) -> Result<Moved, StoreError> {
    const REQUEUE: &str = "\
UPDATE outbox SET state='ready',next_attempt=:now,revived_at=:now,tries_from=attempts,failures=0,failing_at=NULL,failed_for=0,expires_at=NULL,told_at=NULL,told_by=NULL,updated_at=:now
 WHERE id=:id AND state IN('dead','expired')";
    shift(db, REQUEUE, id, now)
}

/// Ready, dead or expired → cancelled: it will not be sent, and that is a person's decision.
pub fn discard(db: &Db, id: i64, now: Timestamp) -> Result<Moved, StoreError> {
    const DISCARD: &str = "\
UPDATE outbox SET state='cancelled',updated_at=:now WHERE id=:id AND state IN('ready','dead','expired')";
    shift(db, DISCARD, id, now)
}

fn shift(db: &Db, statement: &str, id: i64, now: Timestamp) -> Result<Moved, StoreError> {
    let changed = db
        .prepare_cached(statement)?
        .execute(named_params! {":id": id, ":now": now.unix_seconds()})?;
    if changed == 1 {
        return Ok(Moved::Done);
    }
    let found: Option<String> = db
        .prepare_cached("SELECT state FROM outbox WHERE id=:id")?
        .query_row(named_params! {":id": id}, |row| row.get(0))
        .optional()?;
    Ok(match found {
        None => Moved::Unknown,
        Some(name) => Moved::Not(row::state(&name)?),
    })
}

fn entry(row: &Row<'_>) -> Result<Entry, StoreError> {
    let payload = row::text(row, "payload")?;
    let state: String = row.get("state")?;
    let priority: i64 = row.get("priority")?;
    Ok(Entry {
        id: row.get("id")?,
        state: row::state(&state)?,
        kind: row.get("kind")?,
        priority: Priority::from_rank(priority).unwrap_or(Priority::Normal),
        destination: Destination {
            channel: row::text(row, "channel")?,
            chat_id: row::text(row, "chat_id")?,
        },
        content: row::content(&payload),
        attempts: row.get("attempts")?,
        created_at: Timestamp::from_unix_seconds(row.get("created_at")?),
        due_at: Timestamp::from_unix_seconds(row.get("due_at")?),
        last_error: row::optional_text(row, "last_error")?,
        message_id: row::optional_text(row, "message_id")?,
    })
}

fn attempt(row: &Row<'_>) -> rusqlite::Result<Attempt> {
    let ended_at: Option<f64> = row.get(2)?;
    Ok(Attempt {
        n: row.get(0)?,
        started_at: Timestamp::from_unix_seconds(row.get(1)?),
        ended_at: ended_at.map(Timestamp::from_unix_seconds),
        outcome: row::optional_text(row, 3)?,
        detail: row::optional_text(row, 4)?,
    })
}
