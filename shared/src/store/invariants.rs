//! The twelve invariants of the outbox: what must hold in the file at any moment, as SQL that
//! returns the rows which break them.

use super::{Db, StoreError};
use crate::model::{LONGEST_BACKOFF, Timestamp};
use crate::store::outbox::{optional_text, text};
use std::time::Duration;

/// One rule, and the statement that finds what breaks it.
#[derive(Debug)]
pub struct Invariant {
    /// 1 to 12, as ARCHITECTURE.md numbers them.
    pub number: u8,
    pub name: &'static str,
    /// Gives one row per offence: where, and what.
    sql: &'static str,
}

/// An invariant that does not hold, with the first offences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub number: u8,
    pub name: &'static str,
    /// At most [`SHOWN`], each for a person.
    pub offences: Vec<String>,
}

/// Offences that are reported of one invariant.
pub const SHOWN: usize = 5;

/// Who checks takes his time first and reads the file then: a wait may be written in between.
const SLACK: Duration = Duration::from_mins(1);

pub const ALL: [Invariant; 12] = [
    Invariant {
        number: 1,
        name: "what came in is there or was pruned",
        sql: "\
SELECT 'alert', (SELECT n FROM ledger WHERE name='alert_in')-(SELECT n FROM ledger WHERE name='alert_pruned')-count(*)
  FROM alert HAVING (SELECT n FROM ledger WHERE name='alert_in')-(SELECT n FROM ledger WHERE name='alert_pruned')<>count(*)
UNION ALL
SELECT 'outbox', (SELECT n FROM ledger WHERE name='outbox_in')-(SELECT n FROM ledger WHERE name='outbox_pruned')-count(*)
  FROM outbox HAVING (SELECT n FROM ledger WHERE name='outbox_in')-(SELECT n FROM ledger WHERE name='outbox_pruned')<>count(*)
UNION ALL
SELECT 'item', (SELECT n FROM ledger WHERE name='item_in')-(SELECT n FROM ledger WHERE name='item_out')-count(*)
  FROM item HAVING (SELECT n FROM ledger WHERE name='item_in')-(SELECT n FROM ledger WHERE name='item_out')<>count(*)",
    },
    Invariant {
        number: 2,
        name: "every item that matters has its alert",
        sql: "\
SELECT 'item '||id, severity FROM item
 WHERE state='judged' AND severity<>'ignore' AND NOT alert_pruned
   AND (alert_id IS NULL OR NOT EXISTS(SELECT 1 FROM alert WHERE id=alert_id))",
    },
    Invariant {
        number: 3,
        name: "every alert is owed, or says why not",
        sql: "\
SELECT 'alert '||id, title FROM alert
 WHERE not_owed IS NULL AND NOT EXISTS(SELECT 1 FROM outbox WHERE alert_id=alert.id)",
    },
    Invariant {
        number: 4,
        name: "leased has an epoch, folded a parent, moved a target, dead a reason",
        sql: "\
SELECT 'row '||id, state FROM outbox
 WHERE (state='leased')<>(lease_epoch IS NOT NULL) OR (state='folded')<>(parent_id IS NOT NULL)
    OR (state='moved')<>(moved_to IS NOT NULL) OR (state='dead' AND last_error IS NULL)",
    },
    Invariant {
        number: 5,
        name: "folded rows have a digest, and an unfinished digest has members",
        sql: "\
SELECT 'row '||id, state FROM outbox AS member
 WHERE state='folded' AND (SELECT kind FROM outbox WHERE id=member.parent_id) IS NOT 'digest'
UNION ALL
SELECT 'row '||id, state FROM outbox AS digest
 WHERE kind='digest' AND state IN('ready','leased')
   AND NOT EXISTS(SELECT 1 FROM outbox WHERE parent_id=digest.id)",
    },
    Invariant {
        number: 6,
        name: "what is sent has a successful attempt, and what is begun says what is left",
        sql: "\
SELECT 'row '||id, state FROM outbox
 WHERE state='sent' AND NOT EXISTS(SELECT 1 FROM attempt WHERE outbox_id=outbox.id AND outcome='ok')
UNION ALL
SELECT 'row '||id, state FROM outbox
 WHERE state IN('ready','leased','dead')
   AND coalesce(json_array_length(rest),0)>0
       <>EXISTS(SELECT 1 FROM attempt WHERE outbox_id=outbox.id AND outcome='ok')",
    },
    Invariant {
        number: 7,
        name: "no lease outside the current epoch",
        sql: "\
SELECT 'row '||id, lease_epoch FROM outbox
 WHERE state='leased' AND lease_epoch IS NOT (SELECT epoch FROM sender_lease WHERE one=1)",
    },
    Invariant {
        number: 8,
        name: "an open attempt belongs to a leased row",
        sql: "\
SELECT 'row '||outbox_id, n FROM attempt
 WHERE ended_at IS NULL
   AND NOT EXISTS(SELECT 1 FROM outbox WHERE id=outbox_id AND state='leased' AND attempts=n)",
    },
    Invariant {
        number: 9,
        name: "every death is told",
        sql: "\
SELECT 'row '||id, last_error FROM outbox AS dead
 WHERE state='dead' AND kind<>'notice'
   AND (told_at IS NULL
     OR (told_by IS NOT NULL AND NOT EXISTS(SELECT 1 FROM outbox WHERE id=dead.told_by AND kind='notice')))",
    },
    Invariant {
        number: 10,
        name: "no backoff beyond the longest",
        sql: "SELECT 'row '||id, next_attempt FROM outbox WHERE state='ready' AND attempts>0 AND next_attempt>:latest",
    },
    Invariant {
        number: 11,
        name: "every row is in exactly one place: due or timed, leased by the current epoch, folded, finished, dead",
        sql: "\
SELECT 'row '||id, state FROM outbox
 WHERE (state='ready')+(state='leased' AND lease_epoch IS (SELECT epoch FROM sender_lease WHERE one=1))+(state='folded' AND parent_id IS NOT NULL)
      +(state IN('sent','moved','expired','cancelled'))+(state='dead')<>1
    OR typeof(due_at)<>'real'",
    },
    Invariant {
        number: 12,
        name: "every reference leads somewhere",
        sql: "SELECT \"table\"||' '||coalesce(rowid,''), parent FROM pragma_foreign_key_check",
    },
];

/// Checks all twelve. Empty: all hold.
pub fn check(db: &Db, now: Timestamp) -> Result<Vec<Violation>, StoreError> {
    let mut violations = Vec::new();
    for invariant in &ALL {
        let offences = offences(db, invariant, now)?;
        if !offences.is_empty() {
            violations.push(Violation {
                number: invariant.number,
                name: invariant.name,
                offences,
            });
        }
    }
    Ok(violations)
}

fn offences(db: &Db, invariant: &Invariant, now: Timestamp) -> Result<Vec<String>, StoreError> {
    let mut statement = db.prepare_cached(invariant.sql)?;
    if let Some(index) = statement.parameter_index(":latest")? {
        let latest = now + LONGEST_BACKOFF + SLACK;
        statement.raw_bind_parameter(index, latest.unix_seconds())?;
    }
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let what = optional_text(row, 1)?.unwrap_or_else(|| "nothing".to_owned());
        found.push(format!("{}: {what}", text(row, 0)?));
        if found.len() == SHOWN {
            break;
        }
    }
    Ok(found)
}
