//! Settle: the holder of a lease, and nobody else, writes what came of its attempt.

use super::enqueue::{Notice, notify, to_json};
use super::{failover, fold, row};
use crate::model::{
    Alert, Delivery, DeliveryKind, Destination, Fault, Hold, Lease, Priority, Receipt, Settlement,
    Severity, Timestamp,
};
use crate::store::{Db, StoreError};
use rusqlite::{OptionalExtension, named_params};
use std::time::Duration;

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    Sent,
    /// A message of several has arrived.
    Begun,
    Waits,
    /// Given up here, and owed on its fallback; or others of its place are.
    Moved,
    Dead,
}

const SENT: &str = "\
UPDATE outbox SET state='sent',lease_epoch=NULL,rest=NULL,last_error=NULL,updated_at=:now,
       message_id=coalesce(message_id||',','')||:message
 WHERE id=:id AND state='leased' AND lease_epoch=:epoch AND attempts=:n";

/// What is left goes on at once, as soon as the limits let it.
const BEGUN: &str = "\
UPDATE outbox SET state='ready',lease_epoch=NULL,rest=:rest,single=1,last_error=NULL,next_attempt=0,updated_at=:now,
       failures=0,failing_at=NULL,failed_for=0,
       message_id=coalesce(message_id||',','')||:message
 WHERE id=:id AND state='leased' AND lease_epoch=:epoch AND attempts=:n";

const WAITS: &str = "\
UPDATE outbox SET state='ready',lease_epoch=NULL,next_attempt=:at,single=max(:maybe,single&1),last_error=coalesce(:error,last_error),updated_at=:now
 WHERE id=:id AND state='leased' AND lease_epoch=:epoch AND attempts=:n";

const DEAD: &str = "\
UPDATE outbox SET state='dead',lease_epoch=NULL,single=1,last_error=:error,told_at=:now,told_by=:notice,updated_at=:now
 WHERE id=:id AND state='leased' AND lease_epoch=:epoch AND attempts=:n";

/// The row is ours, so the word on its attempt is ours too, whatever somebody did to it meanwhile.
const ENDED: &str = "\
UPDATE attempt SET ended_at=:now,outcome=:outcome,status=:status,retry_after=:retry_after,detail=:detail
 WHERE outbox_id=:id AND n=:n";

const LOST: &str = "INSERT INTO attempt(outbox_id,n,epoch,started_at) VALUES(:id,:n,:epoch,:now)";

/// Too many requests: that is how both kinds of channel are told so.
const TOO_MANY: i64 = 429;

/// Our own completion, committed before although we never heard of it.
const ALREADY_OK: &str =
    "SELECT 1 FROM attempt WHERE outbox_id=:id AND n=:n AND epoch=:epoch AND outcome='ok'";

/// What counts against the row.
const FAILED: &str = "\
UPDATE outbox SET failures=failures+1,failing_at=:now,failed_for=:failed_for WHERE id=:id";
/// What does not: the time until the next failure is no time of failing either.
const SPARED: &str = "UPDATE outbox SET failing_at=NULL WHERE id=:id";

/// Writes `settlement`. A death is told in the same transaction: by a notice to `notices`, or,
/// when that is `None` because there is no other channel, by log and status.
///
/// # Errors
/// `Fenced` when the row is no longer held under this lease: this sender must stop.
pub fn settle(
    db: &Db,
    lease: &Lease<Delivery>,
    settlement: &Settlement,
    notices: Option<&Destination>,
    now: Timestamp,
) -> Result<Settled, StoreError> {
    match settlement {
        Settlement::Complete(receipt) => arrived(db, of(lease), receipt, &[], now),
        Settlement::Continue(receipt, rest) => arrived(db, of(lease), receipt, rest, now),
        Settlement::RetryAt(at, fault) => {
            wait(db, lease, *at, Some((&fault.detail, fault)), now)?;
            count(db, lease.held(), fault, now)?;
            Ok(Settled::Waits)
        }
        Settlement::Release => {
            wait(db, lease, Timestamp::EPOCH, None, now)?;
            Ok(Settled::Waits)
        }
        Settlement::Bury(reason, fault) => bury(db, lease, reason, fault, notices, now),
    }
}

fn count(db: &Db, held: &Delivery, fault: &Fault, now: Timestamp) -> Result<(), StoreError> {
    if fault.counts() {
        let failed_for = held.failing_for(now).as_secs_f64();
        db.prepare_cached(FAILED)?.execute(named_params! {
            ":now": now.unix_seconds(), ":failed_for": failed_for, ":id": held.id,
        })?;
    } else if !fault.maybe_delivered {
        db.prepare_cached(SPARED)?
            .execute(named_params! {":id": held.id})?;
    }
    Ok(())
}

/// The row is sent, or goes on with what is left of it.
pub(in crate::store) fn arrived(
    db: &Db,
    (id, n, epoch): Try,
    receipt: &Receipt,
    rest: &[String],
    now: Timestamp,
) -> Result<Settled, StoreError> {
    let settled = if rest.is_empty() {
        Settled::Sent
    } else {
        Settled::Begun
    };
    let (message, seconds) = (&receipt.message_id, now.unix_seconds());
    let changed = if rest.is_empty() {
        db.prepare_cached(SENT)?.execute(named_params! {
            ":message": message, ":now": seconds, ":id": id, ":epoch": epoch, ":n": n,
        })?
    } else {
        db.prepare_cached(BEGUN)?.execute(named_params! {
            ":message": message, ":now": seconds, ":id": id, ":epoch": epoch, ":n": n,
            ":rest": to_json(rest)?,
        })?
    };
    if changed == 0 {
        let ours = db
            .prepare_cached(ALREADY_OK)?
            .query_row(named_params! {":id": id, ":n": n, ":epoch": epoch}, |_| {
                Ok(())
            })
            .optional()?;
        return ours.map_or(Err(StoreError::Fenced(epoch)), |()| Ok(settled));
    }
    end_attempt(db, (id, n, epoch), "ok", None, now)?;
    Ok(settled)
}

/// Ready again from `at` on, its attempt ended: by a fault and what the row says of it, or let go.
fn wait(
    db: &Db,
    lease: &Lease<Delivery>,
    at: Timestamp,
    failed: Option<(&str, &Fault)>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (error, fault) = failed.unzip();
    let maybe_delivered = fault.is_some_and(|fault| fault.maybe_delivered);
    let changed = db.prepare_cached(WAITS)?.execute(named_params! {
        ":maybe": maybe_delivered,
        ":at": at.unix_seconds(), ":error": error, ":now": now.unix_seconds(),
        ":id": lease.held().id, ":epoch": lease.epoch(), ":n": lease.attempt(),
    })?;
    require_one(changed, lease)?;
    let outcome = fault.map_or("released", outcome_of);
    end_attempt(db, of(lease), outcome, fault, now)?;
    unmark(db, lease, maybe_delivered)
}

fn bury(
    db: &Db,
    lease: &Lease<Delivery>,
    reason: &str,
    fault: &Fault,
    notices: Option<&Destination>,
    now: Timestamp,
) -> Result<Settled, StoreError> {
    let delivery = lease.held();
    if delivery.kind == DeliveryKind::Digest {
        return release(db, lease, reason, fault, now);
    }
    // While another channel has not tried, nothing is dead.
    if has_fallback(db, delivery.id)? {
        wait(db, lease, Timestamp::EPOCH, Some((reason, fault)), now)?;
        return Ok(if failover::hand_over(db, delivery.id, now)? {
            Settled::Moved
        } else {
            failover::stay(db, delivery.id)?;
            Settled::Waits
        });
    }
    // A notice about a dead notice would go round in circles: log and status tell of it.
    let notices = notices.filter(|_| delivery.kind != DeliveryKind::Notice);
    let notice = match notices {
        Some(to) => {
            // A row that is revived and dies again is told again.
            let about = format!("{}.{}", delivery.id, lease.attempt());
            let dead = (delivery.id, &delivery.destination);
            let notice = death_notice(db, dead, about, reason, to, now)?;
            if delivery.kind == DeliveryKind::Raw && delivery.priority == Priority::Low {
                let together = (now + TOGETHER).unix_seconds();
                db.prepare_cached(LATER)?
                    .execute(named_params! {":notice": notice, ":at": together})?;
            }
            Some(notice)
        }
        None => None,
    };
    let changed = db.prepare_cached(DEAD)?.execute(named_params! {
        ":error": reason, ":now": now.unix_seconds(), ":notice": notice, ":id": delivery.id,
        ":epoch": lease.epoch(), ":n": lease.attempt(),
    })?;
    require_one(changed, lease)?;
    end_attempt(db, of(lease), outcome_of(fault), Some(fault), now)?;
    unmark(db, lease, fault.maybe_delivered)?;
    if let Some(notice) = notice {
        count_deaths(db, notice)?;
    }
    Ok(Settled::Dead)
}

fn has_fallback(db: &Db, id: i64) -> Result<bool, StoreError> {
    const FALLBACK: &str = "SELECT coalesce(fallback_channel,'')<>'' FROM outbox WHERE id=:id";
    let mut statement = db.prepare_cached(FALLBACK)?;
    Ok(statement.query_row(named_params! {":id": id}, |row| row.get(0))?)
}

/// A digest that is given up is no dead letter: what is in it goes out by itself.
fn release(
    db: &Db,
    lease: &Lease<Delivery>,
    reason: &str,
    fault: &Fault,
    now: Timestamp,
) -> Result<Settled, StoreError> {
    wait(db, lease, Timestamp::EPOCH, Some((reason, fault)), now)?;
    fold::dissolve(db, lease.held().id, true, now)?;
    Ok(Settled::Waits)
}

/// A marked copy was counted when it was claimed, and did not go out.
fn unmark(db: &Db, lease: &Lease<Delivery>, maybe_delivered: bool) -> Result<(), StoreError> {
    if lease.held().possible_repeat && !maybe_delivered {
        db.prepare_cached("UPDATE ledger SET n=n-1 WHERE name='repeat_marked'")?
            .execute([])?;
    }
    Ok(())
}

/// What waits for one destination since before a moment, but for notices.
const OLD: &str = "\
SELECT id FROM outbox
 WHERE state='ready' AND channel=:channel AND chat_id=:chat AND kind<>'notice'
   AND fallback_channel IS NULL AND max(created_at,not_before,coalesce(revived_at,0))<=:before ORDER BY priority,id LIMIT 100";

const OLD_DIGESTS: &str = "\
SELECT id FROM outbox WHERE state='ready' AND channel=:channel AND chat_id=:chat AND kind='digest' LIMIT 10";

const DEAD_BEHIND: &str = "\
UPDATE outbox SET state='dead',last_error=:error,told_at=:now,told_by=:notice,updated_at=:now
 WHERE id=:id AND state='ready'";

/// Buries, for the same `reason`, what waits for `place` and was owed before `before`: a hundred
/// rows, told in one notice. Returns how many; call again until it is 0.
pub fn bury_behind(
    db: &Db,
    place: &Destination,
    before: Timestamp,
    reason: &str,
    notices: Option<&Destination>,
    now: Timestamp,
) -> Result<usize, StoreError> {
    // What is in a digest is as old as it is.
    let digests: Vec<i64> = db
        .prepare_cached(OLD_DIGESTS)?
        .query_map(
            named_params! {":channel": place.channel, ":chat": place.chat_id},
            |row| row.get(0),
        )?
        .collect::<rusqlite::Result<_>>()?;
    for digest in digests {
        fold::dissolve(db, digest, true, now)?;
    }
    let rows: Vec<i64> = db
        .prepare_cached(OLD)?
        .query_map(
            named_params! {
                ":channel": place.channel, ":chat": place.chat_id, ":before": before.unix_seconds(),
            },
            |row| row.get(0),
        )?
        .collect::<rusqlite::Result<_>>()?;
    let notice = match (notices, rows.first()) {
        (Some(to), Some(id)) => {
            let about = format!("{id}.at.{}", now.unix_millis());
            Some(death_notice(db, (*id, place), about, reason, to, now)?)
        }
        _ => None,
    };
    for id in &rows {
        db.prepare_cached(DEAD_BEHIND)?.execute(named_params! {
            ":error": reason, ":now": now.unix_seconds(), ":notice": notice, ":id": id,
        })?;
    }
    if let Some(notice) = notice {
        count_deaths(db, notice)?;
    }
    Ok(rows.len())
}

/// Of a broadcast many die within a while: their notice waits for them, when it tells of them alone.
const TOGETHER: Duration = Duration::from_secs(60);
const LATER: &str = "\
UPDATE outbox SET not_before=:at WHERE id=:notice AND not_before=0
   AND NOT EXISTS(SELECT 1 FROM outbox WHERE told_by=:notice)";

/// A notice of deaths for this destination that has not been claimed yet: one more death joins it.
const OPEN_NOTICE: &str = "\
SELECT id FROM outbox WHERE state='ready' AND channel=:channel AND chat_id=:chat AND attempts=0
   AND kind='notice' AND idempotency_key LIKE 'n:dead:%' LIMIT 1";

fn death_notice(
    db: &Db,
    (id, place): (i64, &Destination),
    about: String,
    reason: &str,
    to: &Destination,
    now: Timestamp,
) -> Result<i64, StoreError> {
    let open: Option<i64> = db
        .prepare_cached(OPEN_NOTICE)?
        .query_row(
            named_params! {":channel": to.channel, ":chat": to.chat_id},
            |row| row.get(0),
        )
        .optional()?;
    if let Some(id) = open {
        return Ok(id);
    }
    let notice = Notice {
        event: "dead".to_owned(),
        about,
        to: to.clone(),
        alert: death_alert(1, id, &place.to_string(), reason),
    };
    Ok(notify(db, &notice, now)?.id)
}

const DEATHS: &str = "\
SELECT count(*),min(id),max(channel||'/'||chat_id),max(last_error) FROM outbox WHERE told_by=:notice";

/// Many deaths at once are one notice, which says how many.
fn count_deaths(db: &Db, notice: i64) -> Result<(), StoreError> {
    let (deaths, first, place, reason): (i64, i64, String, String) = db
        .prepare_cached(DEATHS)?
        .query_row(named_params! {":notice": notice}, |row| {
            let (place, reason) = (row::text(row, 2)?, row::text(row, 3)?);
            Ok((row.get(0)?, row.get(1)?, place, reason))
        })?;
    let payload = to_json(&death_alert(deaths, first, &place, &reason))?;
    db.prepare_cached("UPDATE outbox SET payload=:payload WHERE id=:notice AND state='ready'")?
        .execute(named_params! {":payload": payload, ":notice": notice})?;
    Ok(())
}

fn death_alert(deaths: i64, first: i64, place: &str, reason: &str) -> Alert {
    let title = match deaths {
        1 => format!("An alert for {place} was given up (row {first})"),
        many => format!("{many} alerts were given up, the first for {place} (row {first})"),
    };
    let summary = format!(
        "Reason: {reason}. See `watchalert-sender queue list --dead`; then `queue retry` or `queue discard`."
    );
    let why = "a dead letter is always told";
    Alert::about_ourselves(Severity::High, title, summary, why, first)
}

/// A row, the number of its attempt, and the epoch that it was made in.
pub(in crate::store) type Try = (i64, i64, i64);

pub(in crate::store) fn end_attempt(
    db: &Db,
    (id, n, epoch): Try,
    outcome: &str,
    fault: Option<&Fault>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (now, detail) = (now.unix_seconds(), fault.map(|fault| fault.detail.as_str()));
    let retry_after = fault.and_then(|fault| fault.retry_after);
    let is_limited = fault.is_some_and(|fault| fault.hold == Some(Hold::RateLimited));
    let end = || {
        db.prepare_cached(ENDED)?.execute(named_params! {
            ":now": now, ":outcome": outcome, ":status": is_limited.then_some(TOO_MANY),
            ":retry_after": retry_after.map(|wait| wait.as_secs_f64()), ":detail": detail,
            ":id": id, ":n": n,
        })
    };
    if end()? == 0 {
        db.prepare_cached(LOST)?
            .execute(named_params! {":now": now, ":id": id, ":n": n, ":epoch": epoch})?;
        end()?;
    }
    Ok(())
}

fn of(lease: &Lease<Delivery>) -> Try {
    (lease.held().id, lease.attempt(), lease.epoch())
}

fn outcome_of(fault: &Fault) -> &'static str {
    use crate::model::Blame;
    match (fault.maybe_delivered, fault.blame) {
        (true, _) => "unknown",
        (false, Blame::Message | Blame::Ours) => "rejected",
        (false, Blame::Destination | Blame::Channel) => "deferred",
    }
}

fn require_one(changed: usize, lease: &Lease<Delivery>) -> Result<(), StoreError> {
    match changed {
        1 => Ok(()),
        _ => Err(StoreError::Fenced(lease.epoch())),
    }
}
