//! `backup`: a checked snapshot of the database, while both programs run.

use shared::Failure;
use shared::config::Config;
use shared::model::Timestamp;
use shared::store::backup;
use std::io::{self, Write};
use std::path::Path;

/// Writes it, reads it back, and says what is in it. `false`: something in it is not as it should be.
pub fn run(
    config: &Config,
    to: &Path,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<(bool, io::Result<()>), Failure> {
    let snapshot = backup::write(&config.state_path, to, now)?;
    let (audit, to) = (&snapshot.audit, to.display());
    let printed = writeln!(
        out,
        "{to}: {} KiB, read back and sound; {} items, {} alerts and {} rows came in, {} rows wait, {} are dead",
        snapshot.bytes.div_ceil(1024),
        audit.items.seen,
        audit.alerts.accepted,
        audit.outbox.accepted,
        audit.outbox.ready + audit.outbox.leased,
        audit.outbox.dead,
    );
    let printed = printed.and_then(|()| {
        snapshot.violations.iter().try_for_each(|violation| {
            let offences = violation.offences.join("; ");
            writeln!(
                out,
                "NOT SOUND: {} does not hold: {offences}",
                violation.name
            )
        })
    });
    let sound = snapshot.violations.is_empty() && audit.unaccounted == 0;
    Ok((sound, printed))
}
