//! Feeds that move: a permanent redirect is believed when it has led to the same place for a day.
//!
//! A captive portal and a page that tells of maintenance redirect permanently too. So only full
//! documents that hold known items count, three of them over at least 24 hours, and nothing else in
//! between. A place that showed none is a stranger's until the redirect ends: what it shows is known
//! from then on, and says nothing. The configuration stays as it is, and its URL is what the feed is
//! known by.

use super::{Db, StoreError};
use crate::model::Timestamp;
use rusqlite::named_params;
use std::time::Duration;

const CONFIRMED_BY: u32 = 3;
const CONFIRMED_OVER: Duration = Duration::from_hours(24);

/// After a full document: `moved_to` is where an unbroken row of permanent redirects led to it, or
/// where it is believed to live and was found; `is_known` tells that it holds known items.
pub(super) fn seen_in_full(
    db: &Db,
    id: i64,
    moved_to: Option<&str>,
    is_known: bool,
    now: Timestamp,
) -> Result<(), StoreError> {
    const COUNT: &str = "\
UPDATE feed SET moved_since=CASE WHEN moved_to=:to THEN moved_since ELSE :now END,moved_to=:to,
       moved_seen=CASE WHEN NOT :known THEN 0 WHEN moved_to IS NOT :to THEN 1
                       WHEN moved_seen=0 THEN 0 ELSE moved_seen+1 END
 WHERE id=:id AND location IS NOT :to";
    const BELIEVE: &str = "\
UPDATE feed SET location=moved_to,moved_to=NULL,moved_since=NULL,moved_seen=0
 WHERE id=:id AND moved_seen>=:confirmed AND moved_since<=:long_ago";
    const BACK: &str = "UPDATE feed SET location=NULL WHERE id=:id";
    let Some(to) = moved_to else {
        // It is where the configuration says, whatever was believed.
        db.prepare_cached(BACK)?
            .execute(named_params! {":id": id})?;
        return seen_unread(db, id, None);
    };
    db.prepare_cached(COUNT)?.execute(named_params! {
        ":to": to, ":known": is_known, ":now": now.unix_seconds(), ":id": id,
    })?;
    db.prepare_cached(BELIEVE)?.execute(named_params! {
        ":id": id, ":confirmed": CONFIRMED_BY,
        ":long_ago": now.minus(CONFIRMED_OVER).unix_seconds(),
    })?;
    Ok(())
}

/// After a "not modified", which shows no item: it confirms nothing, but it can contradict.
pub(super) fn seen_unread(db: &Db, id: i64, moved_to: Option<&str>) -> Result<(), StoreError> {
    const CONTRADICT: &str = "\
UPDATE feed SET moved_to=NULL,moved_since=NULL,moved_seen=0
 WHERE id=:id AND moved_to IS NOT NULL AND moved_to IS NOT :to";
    db.prepare_cached(CONTRADICT)?
        .execute(named_params! {":id": id, ":to": moved_to})?;
    Ok(())
}
