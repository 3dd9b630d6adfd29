//! Reads a row of the outbox into a `Delivery`.

use crate::model::{
    Alert, Content, Delivery, DeliveryKind, DeliveryState, Destination, Priority, Timestamp,
};
use crate::store::{Db, StoreError};
use rusqlite::types::ValueRef;
use rusqlite::{Row, RowIndex, named_params};

/// The columns that [`delivery`] reads, in its order.
pub(super) const COLUMNS: &str = "id,kind,channel,chat_id,priority,payload,max(created_at,not_before,coalesce(revived_at,0)),rest";

/// Who revives a row gives it its tries again; but a copy that may have arrived stays one. Before
/// the last message that arrived all is settled.
const HISTORY: &str = "\
SELECT count(*) FILTER(WHERE outcome='unknown' AND started_at>=revived),
       count(*) FILTER(WHERE outcome='rejected' AND started_at>=revived),
       count(*) FILTER(WHERE outcome NOT IN('ok','released') AND started_at>=revived),
       count(*) FILTER(WHERE outcome IN('unknown','interrupted'))
  FROM attempt, (SELECT coalesce(revived_at,0) AS revived FROM outbox WHERE id=:id),
       (SELECT coalesce(max(n),0) AS arrived FROM attempt WHERE outbox_id=:id AND outcome='ok')
 WHERE outbox_id=:id AND n>arrived";

/// The row as SQL holds it, before its payload is read.
pub(super) struct Raw {
    id: i64,
    kind: String,
    destination: Destination,
    priority: i64,
    payload: String,
    owed_since: f64,
    rest: Option<String>,
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
    let (unknown, unrecognised, failures, maybe_arrived): (u32, u32, u32, u32) = db
        .prepare_cached(HISTORY)?
        .query_row(named_params! {":id": raw.id}, |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
    let rest: Option<Vec<String>> = raw
        .rest
        .as_deref()
        .map(serde_json::from_str)
        .transpose()
        .map_err(|error| StoreError::Bug(format!("the rest of row {}: {error}", raw.id)))?;
    Ok(Delivery {
        id: raw.id,
        kind: known(&raw.kind)?,
        destination: raw.destination,
        priority: Priority::from_rank(raw.priority)
            .ok_or_else(|| StoreError::Bug(format!("priority {}", raw.priority)))?,
        content: content(&raw.payload),
        rest: rest.unwrap_or_default(),
        owed_since: Timestamp::from_unix_seconds(raw.owed_since),
        unknown_outcomes: unknown,
        unrecognised,
        failures,
        possible_repeat: maybe_arrived > 0,
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
