//! The conservation audit: what was seen, judged, owed, delivered, given up and told, and that
//! nothing is unaccounted for.

use super::{Db, StoreError};
use rusqlite::named_params;
use serde::Serialize;

/// Counts of one moment, read in one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Audit {
    pub items: Items,
    pub alerts: Alerts,
    pub outbox: Rows,
    /// Copies that were sent with the mark of a possible repeat.
    pub repeats_marked: i64,
    /// Everything that came in less everything that is somewhere; 0, or something is lost.
    pub unaccounted: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Items {
    pub seen: i64,
    pub seeded: i64,
    pub pending: i64,
    pub judged: i64,
    pub ignored: i64,
    pub pruned: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Alerts {
    pub accepted: i64,
    pub owed: i64,
    pub not_owed: i64,
    pub pruned: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rows {
    pub accepted: i64,
    pub ready: i64,
    pub leased: i64,
    pub folded: i64,
    pub moved: i64,
    pub sent: i64,
    pub dead: i64,
    pub expired: i64,
    pub cancelled: i64,
    pub pruned: i64,
}

/// Counts. The caller wraps it in one transaction, so that all numbers are of one moment.
pub fn audit(db: &Db) -> Result<Audit, StoreError> {
    let snapshot = db.unchecked_transaction()?;
    let (items, alerts, outbox) = (items(&snapshot)?, alerts(&snapshot)?, rows(&snapshot)?);
    let lost_items = items.seen - items.seeded - items.pending - items.judged - items.pruned;
    let lost_alerts = alerts.accepted - alerts.owed - alerts.not_owed - alerts.pruned;
    let somewhere = outbox.ready
        + outbox.leased
        + outbox.folded
        + outbox.moved
        + outbox.sent
        + outbox.dead
        + outbox.expired
        + outbox.cancelled
        + outbox.pruned;
    Ok(Audit {
        unaccounted: lost_items.abs() + lost_alerts.abs() + (outbox.accepted - somewhere).abs(),
        repeats_marked: ledger(&snapshot, "repeat_marked")?,
        items,
        alerts,
        outbox,
    })
}

fn items(db: &Db) -> Result<Items, StoreError> {
    const ITEMS: &str = "\
SELECT count(*) FILTER(WHERE state='seeded'),count(*) FILTER(WHERE state='pending'),
       count(*) FILTER(WHERE state='judged' AND (severity='ignore' OR alert_pruned
                         OR EXISTS(SELECT 1 FROM alert WHERE id=alert_id))),
       count(*) FILTER(WHERE severity='ignore') FROM item";
    let counted = db.query_row(ITEMS, [], |row| {
        Ok(Items {
            seeded: row.get(0)?,
            pending: row.get(1)?,
            judged: row.get(2)?,
            ignored: row.get(3)?,
            ..Items::default()
        })
    })?;
    Ok(Items {
        seen: ledger(db, "item_in")?,
        pruned: ledger(db, "item_out")?,
        ..counted
    })
}

fn alerts(db: &Db) -> Result<Alerts, StoreError> {
    const ALERTS: &str = "\
SELECT count(*) FILTER(WHERE EXISTS(SELECT 1 FROM outbox WHERE alert_id=alert.id)),
       count(*) FILTER(WHERE not_owed IS NOT NULL
                         AND NOT EXISTS(SELECT 1 FROM outbox WHERE alert_id=alert.id)) FROM alert";
    let (owed, not_owed) = db.query_row(ALERTS, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Alerts {
        accepted: ledger(db, "alert_in")?,
        owed,
        not_owed,
        pruned: ledger(db, "alert_pruned")?,
    })
}

fn rows(db: &Db) -> Result<Rows, StoreError> {
    let mut rows = Rows {
        accepted: ledger(db, "outbox_in")?,
        pruned: ledger(db, "outbox_pruned")?,
        ..Rows::default()
    };
    let mut statement = db.prepare("SELECT state,count(*) FROM outbox GROUP BY state")?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let (state, count) = (super::outbox::text(row, 0)?, row.get(1)?);
        let place = match super::outbox::state(&state)? {
            crate::model::DeliveryState::Ready => &mut rows.ready,
            crate::model::DeliveryState::Leased => &mut rows.leased,
            crate::model::DeliveryState::Folded => &mut rows.folded,
            crate::model::DeliveryState::Moved => &mut rows.moved,
            crate::model::DeliveryState::Sent => &mut rows.sent,
            crate::model::DeliveryState::Dead => &mut rows.dead,
            crate::model::DeliveryState::Expired => &mut rows.expired,
            crate::model::DeliveryState::Cancelled => &mut rows.cancelled,
        };
        *place = count;
    }
    Ok(rows)
}

fn ledger(db: &Db, name: &str) -> Result<i64, StoreError> {
    Ok(db
        .prepare_cached("SELECT n FROM ledger WHERE name=:name")?
        .query_row(named_params! {":name": name}, |row| row.get(0))?)
}
