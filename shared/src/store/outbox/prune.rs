//! Prune: finished rows leave after their retention, a hundred at a time, with their alerts.

use crate::model::Timestamp;
use crate::store::{Db, StoreError};
use rusqlite::named_params;

/// A transaction touches no more rows, so that others are not kept out.
const AT_ONCE: i64 = 100;

/// A row that another row still points to stays until that one has gone.
const FINISHED: &str = "\
DELETE FROM outbox WHERE id IN(
 SELECT id FROM outbox AS old
  WHERE state IN('sent','moved','cancelled','expired') AND updated_at<:before
    AND NOT EXISTS(SELECT 1 FROM outbox WHERE parent_id=old.id)
    AND NOT EXISTS(SELECT 1 FROM outbox WHERE moved_to=old.id)
    AND NOT EXISTS(SELECT 1 FROM outbox WHERE told_by=old.id)
  ORDER BY updated_at LIMIT :limit)";

/// Folded members go before their digest, and after what moved to them.
const FOLDED: &str = "\
DELETE FROM outbox WHERE id IN(
 SELECT member.id FROM outbox AS digest JOIN outbox AS member ON member.parent_id=digest.id
  WHERE digest.state IN('sent','moved','cancelled','expired') AND digest.updated_at<:before
    AND NOT EXISTS(SELECT 1 FROM outbox WHERE told_by=member.id)
    AND NOT EXISTS(SELECT 1 FROM outbox WHERE moved_to=member.id)
  LIMIT :limit)";

/// An alert leaves with its last row, by a trigger; this is for those that never had one.
const NOT_OWED: &str = "\
DELETE FROM alert WHERE id IN(
 SELECT id FROM alert WHERE not_owed IS NOT NULL AND created_at<:before
    AND NOT EXISTS(SELECT 1 FROM outbox WHERE alert_id=alert.id)
  ORDER BY created_at LIMIT :limit)";

/// Deletes what finished before `before`. Returns how many rows left; call again until it is 0.
pub fn prune(db: &Db, before: Timestamp) -> Result<usize, StoreError> {
    let before = before.unix_seconds();
    let values = named_params! {":before": before, ":limit": AT_ONCE};
    let mut gone = 0;
    for statement in [FOLDED, FINISHED, NOT_OWED] {
        gone += db.prepare_cached(statement)?.execute(values)?;
    }
    Ok(gone)
}
