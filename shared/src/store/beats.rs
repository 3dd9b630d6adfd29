//! Heartbeats of others: what was heard of each, and what was told of it.

use super::outbox::optional_text;
use super::{Db, StoreError};
use crate::model::{Pulse, Timestamp, Told, Trouble};
use rusqlite::{OptionalExtension, Row, named_params};
use std::time::Duration;

/// Every one that was ever looked at or heard, by name, in the order of names.
pub fn all(db: &Db) -> Result<Vec<(String, Pulse)>, StoreError> {
    let mut statement = db.prepare_cached("SELECT * FROM beat ORDER BY name")?;
    let rows = statement.query_map([], |row| Ok((row.get("name")?, pulse(row)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// `None`: nothing is known of it yet.
pub fn get(db: &Db, name: &str) -> Result<Option<Pulse>, StoreError> {
    let row = db
        .prepare_cached("SELECT * FROM beat WHERE name=:name")?
        .query_row(named_params! {":name": name}, pulse);
    Ok(row.optional()?)
}

pub fn keep(db: &Db, name: &str, pulse: &Pulse) -> Result<(), StoreError> {
    const KEEP: &str = "\
INSERT INTO beat(name,known_at,seen_at,failed_at,status,is_failed,started_at,note,waits_since,waited,looked_at,told,told_at,told_due,is_past,is_raised,alert_id)
VALUES(:name,:known,:seen,:failed,:status,:is_failed,:started,:note,:waits,:waited,:looked,:told,:told_at,:told_due,:is_past,:is_raised,:alert)
ON CONFLICT(name) DO UPDATE SET known_at=:known,seen_at=:seen,failed_at=:failed,status=:status,is_failed=:is_failed,
    started_at=:started,note=:note,waits_since=:waits,waited=:waited,looked_at=:looked,told=:told,told_at=:told_at,told_due=:told_due,is_past=:is_past,is_raised=:is_raised,alert_id=:alert";
    let seconds = |time: Option<Timestamp>| time.map(Timestamp::unix_seconds);
    let told = pulse.told;
    db.prepare_cached(KEEP)?.execute(named_params! {
        ":name": name, ":known": pulse.known_at.unix_seconds(), ":seen": seconds(pulse.seen_at),
        ":failed": seconds(pulse.failed_at), ":status": pulse.status, ":is_failed": pulse.is_failed,
        ":started": seconds(pulse.started_at), ":note": pulse.note,
        ":waits": seconds(pulse.waits_since), ":waited": pulse.waited.as_secs_f64(),
        ":looked": seconds(pulse.looked_at), ":told": told.map(|told| told.trouble.name()),
        ":told_at": seconds(told.map(|told| told.at)),
        ":told_due": seconds(told.and_then(|told| told.due)),
        ":is_past": told.is_some_and(|told| told.is_past),
        ":is_raised": told.is_some_and(|told| told.is_raised),
        ":alert": told.and_then(|told| told.alert_id),
    })?;
    Ok(())
}

/// It is not in the configuration any more.
pub fn forget(db: &Db, name: &str) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM beat WHERE name=:name")?
        .execute(named_params! {":name": name})?;
    Ok(())
}

fn pulse(row: &Row<'_>) -> rusqlite::Result<Pulse> {
    let time = |name: &str| -> rusqlite::Result<Option<Timestamp>> {
        let seconds: Option<f64> = row.get(name)?;
        Ok(seconds.map(Timestamp::from_unix_seconds))
    };
    let told: Option<String> = row.get("told")?;
    let trouble = told.and_then(|name| name.parse::<Trouble>().ok());
    let told_at = time("told_at")?.unwrap_or_default();
    let (due, is_past, is_raised) = (
        time("told_due")?,
        row.get("is_past")?,
        row.get("is_raised")?,
    );
    let alert_id = row.get("alert_id")?;
    Ok(Pulse {
        known_at: time("known_at")?.unwrap_or_default(),
        seen_at: time("seen_at")?,
        failed_at: time("failed_at")?,
        status: row.get("status")?,
        is_failed: row.get("is_failed")?,
        started_at: time("started_at")?,
        note: optional_text(row, "note")?,
        waits_since: time("waits_since")?,
        waited: Duration::try_from_secs_f64(row.get("waited")?).unwrap_or_default(),
        looked_at: time("looked_at")?,
        told: trouble.map(|trouble| Told {
            trouble,
            at: told_at,
            due,
            is_past,
            is_raised,
            alert_id,
        }),
    })
}
