//! Reads a row of the outbox into a `Delivery`.

use super::fold;
use crate::model::{
    Alert, Content, Delivery, DeliveryKind, DeliveryState, Destination, Priority, Timestamp,
};
use crate::store::{Db, StoreError};
use rusqlite::types::ValueRef;
use rusqlite::{Row, RowIndex, named_params};
use std::time::Duration;

/// The columns that [`delivery`] reads, in its order.
pub(super) const COLUMNS: &str = "id,kind,channel,chat_id,priority,payload,max(created_at,not_before,coalesce(revived_at,0)),rest,failures,failing_at,failed_for";

/// A copy of it in a digest that was given up, or on a channel that it came from, may have arrived too; of
/// a digest, a copy of what is in it. Who revives a row gives it its tries again; but a copy that may have arrived stays one. Before
/// the last message that arrived all is settled. By number, for clocks are set.
const HISTORY: &str = "\
WITH RECURSIVE told(id) AS (SELECT :id UNION ALL SELECT id FROM outbox WHERE parent_id=:id),
 moved(id) AS (SELECT late.id FROM told JOIN outbox AS late ON late.moved_to=told.id
               UNION SELECT late.id FROM moved JOIN outbox AS late ON late.moved_to=moved.id)
SELECT count(*) FILTER(WHERE outcome='unknown' AND n>tries_from),
       count(*) FILTER(WHERE outcome='rejected' AND n>tries_from),
       count(*) FILTER(WHERE outcome IN('unknown','interrupted'))
       +(SELECT count(*) FROM attempt
          WHERE outbox_id IN(SELECT released_from FROM outbox WHERE id=:id
                             UNION ALL SELECT released_from FROM moved JOIN outbox USING(id))
            AND outcome IN('unknown','interrupted'))
       +(SELECT count(*) FROM attempt
          WHERE outbox_id IN(SELECT id FROM moved) AND outcome IN('unknown','interrupted','ok')),
       EXISTS(SELECT 1 FROM attempt WHERE outbox_id=:id AND outcome='ok')
  FROM attempt, (SELECT tries_from FROM outbox WHERE id=:id)
 WHERE outbox_id=:id
   AND n>(SELECT coalesce(max(n),0) FROM attempt WHERE outbox_id=:id AND outcome='ok')";

/// The row as SQL holds it, before its payload is read.
pub(super) struct Raw {
    id: i64,
    kind: String,
    destination: Destination,
    priority: i64,
    payload: String,
    owed_since: f64,
    rest: Option<String>,
    failures: u32,
    failing_at: Option<f64>,
    failed_for: f64,
}

pub(super) fn raw(row: &Row<'_>) -> rusqlite::Result<Raw> {
    Ok(Raw {
        id: row.get(0)?,
        kind: row.get(1)?,
        destination: Destination {
            channel: text(row, 2)?,
            chat_id: text(row, 3)?,
        },
        priority: row.get(4)?,
        payload: text(row, 5)?,
        owed_since: row.get(6)?,
        rest: optional_text(row, 7)?,
        failures: row.get(8)?,
        failing_at: row.get(9)?,
        failed_for: row.get(10)?,
    })
}

/// A text column as a person reads it. SQLite takes any bytes for text, and a script in an old
/// locale writes Latin-1: a character that cannot be read must not keep its alert from going out.
pub(in crate::store) fn text<I: RowIndex>(row: &Row<'_>, column: I) -> rusqlite::Result<String> {
    Ok(optional_text(row, column)?.unwrap_or_default())
}

/// The same for a column that may be NULL.
pub(in crate::store) fn optional_text<I: RowIndex>(
    row: &Row<'_>,
    column: I,
) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => Some(format!("{} bytes", bytes.len())),
    })
}

/// Adds what earlier attempts left behind.
pub(super) fn delivery(db: &Db, raw: Raw) -> Result<Delivery, StoreError> {
    let history = db
        .prepare_cached(HISTORY)?
        .query_row(named_params! {":id": raw.id}, history)?;
    // Nobody but the sender writes it; what cannot be read costs a marked copy, not the row.
    let rest = raw.rest.as_deref().map(serde_json::from_str::<Vec<String>>);
    let rest = rest.and_then(Result::ok).unwrap_or_default();
    let kind = known(&raw.kind)?;
    let content = match kind {
        DeliveryKind::Digest => fold::members(db, raw.id)?,
        DeliveryKind::Raw | DeliveryKind::Alert | DeliveryKind::Notice => content(&raw.payload),
    };
    Ok(Delivery {
        id: raw.id,
        kind,
        destination: raw.destination,
        priority: Priority::from_rank(raw.priority)
            .ok_or_else(|| StoreError::Bug(format!("priority {}", raw.priority)))?,
        content,
        owed_since: Timestamp::from_unix_seconds(raw.owed_since),
        unknown_outcomes: history.unknown,
        unrecognised: history.unrecognised,
        failures: raw.failures,
        failing_at: raw.failing_at.map(Timestamp::from_unix_seconds),
        failed_for: Duration::try_from_secs_f64(raw.failed_for).unwrap_or_default(),
        refused_since: None,
        possible_repeat: history.maybe_arrived > 0 || (history.is_begun && rest.is_empty()),
        rest,
    })
}

struct History {
    unknown: u32,
    unrecognised: u32,
    maybe_arrived: u32,
    is_begun: bool,
}

fn history(row: &Row<'_>) -> rusqlite::Result<History> {
    Ok(History {
        unknown: row.get(0)?,
        unrecognised: row.get(1)?,
        maybe_arrived: row.get(2)?,
        is_begun: row.get(3)?,
    })
}

/// An object with a `"v"` is an alert, any other is raw.
pub(super) fn content(payload: &str) -> Content {
    let value: serde_json::Value = match serde_json::from_str(payload) {
        Ok(value) => value,
        Err(error) => return Content::Unreadable(format!("the payload is not JSON: {error}")),
    };
    match value.get("v") {
        None => Content::Raw {
            text: value.get("text").map(|text| match text.as_str() {
                Some(text) => text.to_owned(),
                None => text.to_string(),
            }),
            body: payload.to_owned(),
        },
        Some(v) if *v == Alert::VERSION => match serde_json::from_value::<Alert>(value) {
            Ok(alert) => Content::Alert(Box::new(alert)),
            Err(error) => Content::Unreadable(format!("the alert cannot be read: {error}")),
        },
        Some(v) => Content::Unreadable(format!(
            "the alert has version {v}, this program knows {}",
            Alert::VERSION
        )),
    }
}

fn known(kind: &str) -> Result<DeliveryKind, StoreError> {
    kind.parse()
        .map_err(|_unknown| StoreError::Bug(format!("kind {kind:?}")))
}

pub(in crate::store) fn state(name: &str) -> Result<DeliveryState, StoreError> {
    name.parse()
        .map_err(|_unknown| StoreError::Bug(format!("state {name:?}")))
}
