//! `[digest]`: how alerts that wait for one chat are folded into few messages.

use super::reader::Section;
use super::value::{duration, flag, whole_number};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digests {
    /// From one folding to the next, for one chat; 30 s by default.
    pub window: Duration,
    /// The most digests of one folding, 1 to 10; 3 by default.
    pub max_messages: usize,
}

impl Default for Digests {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(30),
            max_messages: 3,
        }
    }
}

/// They are made unless somebody says no.
pub(super) fn read(root: &mut Section<'_>) -> Option<Digests> {
    let default = Digests::default();
    let Some(mut section) = root.section("digest", "[digest]") else {
        return Some(default);
    };
    let enabled = section.get("enabled", flag).unwrap_or(true);
    let range = Duration::from_secs(1)..=Duration::from_hours(1);
    let window = section.get("window", duration(range));
    let max_messages = section.get("max_messages", whole_number(1..=10));
    section.finish();
    enabled.then(|| Digests {
        window: window.unwrap_or(default.window),
        max_messages: max_messages.unwrap_or(default.max_messages),
    })
}
