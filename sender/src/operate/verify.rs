//! `verify`: the conservation audit and the twelve invariants, for a person or a script.

use serde_json::json;
use shared::Failure;
use shared::config::Config;
use shared::model::Timestamp;
use shared::store::invariants::Violation;
use shared::store::verify::Audit;
use shared::store::{Viewer, invariants, verify};
use std::io::{self, Write};

/// Prints the audit. `false`: something is unaccounted for, or an invariant does not hold.
pub fn run(
    config: &Config,
    as_json: bool,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<(bool, io::Result<()>), Failure> {
    let viewer = Viewer::open(&config.state_path)?;
    let audit = viewer.read(verify::audit)?;
    let violations = viewer.read(|db| invariants::check(db, now))?;
    let sound = audit.unaccounted == 0 && violations.is_empty();
    let printed = if as_json {
        let broken: Vec<_> = violations.iter().map(|violation| json!({
            "number": violation.number, "name": violation.name, "offences": violation.offences,
        })).collect();
        writeln!(
            out,
            "{}",
            json!({"sound": sound, "audit": audit, "violations": broken})
        )
    } else {
        print(&audit, &violations, out)
    };
    Ok((sound, printed))
}

fn print(audit: &Audit, violations: &[Violation], out: &mut dyn Write) -> io::Result<()> {
    let Audit {
        items,
        alerts,
        outbox,
        ..
    } = audit;
    writeln!(
        out,
        "items       {} seen: {} known from a first fetch, {} to be judged, {} judged ({} ignored), {} pruned",
        items.seen, items.seeded, items.pending, items.judged, items.ignored, items.pruned
    )?;
    writeln!(
        out,
        "alerts      {} accepted: {} owed, {} owed to nobody for a reason, {} pruned",
        alerts.accepted, alerts.owed, alerts.not_owed, alerts.pruned
    )?;
    writeln!(
        out,
        "deliveries  {} accepted: {} delivered, {} waiting, {} in flight, {} dead and told, {} pruned",
        outbox.accepted, outbox.sent, outbox.ready, outbox.leased, outbox.dead, outbox.pruned
    )?;
    writeln!(
        out,
        "            {} folded, {} moved, {} expired, {} cancelled",
        outbox.folded, outbox.moved, outbox.expired, outbox.cancelled
    )?;
    writeln!(
        out,
        "repeats     {} copies sent with the mark of a possible repeat",
        audit.repeats_marked
    )?;
    for violation in violations {
        writeln!(
            out,
            "BROKEN {}: {}: {}",
            violation.number,
            violation.name,
            violation.offences.join("; ")
        )?;
    }
    writeln!(
        out,
        "invariants  {} of {} hold",
        invariants::ALL.len() - violations.len(),
        invariants::ALL.len()
    )?;
    writeln!(out, "unaccounted {}", audit.unaccounted)
}
