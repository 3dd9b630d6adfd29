//! From a delivery to what a channel puts on the wire: deterministic, from std and the model alone.

pub mod digest;
pub mod email;
pub mod exposition;
pub mod link;
pub mod ntfy;
pub mod plain;
pub mod split;
pub mod telegram;

use shared::model::Alert;

/// Where a story comes from: the source, and the others that brought it too.
fn sources(alert: &Alert) -> String {
    match alert.also.as_slice() {
        [] => alert.source.clone(),
        others => format!("{}, also in {}", alert.source, others.join(", ")),
    }
}
