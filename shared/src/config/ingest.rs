//! `[ingest]`: how a tick fetches.

use super::reader::{Read, Section};
use super::value::{DAY, MINUTE, TEN_YEARS, duration, flag, text, whole_number};
use std::time::Duration;
use toml::de::DeValue;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ingest {
    /// How often the timer starts a tick.
    pub interval: Duration,
    /// After this a tick starts no request; shorter than `interval`.
    pub deadline: Duration,
    /// Requests at the same time, 1 to 64.
    pub concurrency: usize,
    /// Feeds on private and loopback addresses.
    pub allow_private: bool,
    /// Feeds with `file://`.
    pub allow_file: bool,
    /// A feed that brings nothing new for so long is told, unless its own rhythm is slower.
    pub quiet_after: Duration,
    /// Goes into the User-Agent: how a publisher reaches the person behind the requests.
    pub contact: Option<String>,
}

impl Default for Ingest {
    fn default() -> Self {
        Self {
            interval: 2 * MINUTE,
            deadline: Duration::from_secs(100),
            concurrency: 16,
            allow_private: false,
            allow_file: false,
            quiet_after: 30 * DAY,
            contact: None,
        }
    }
}

pub(super) fn read(root: &mut Section<'_>) -> Ingest {
    let default = Ingest::default();
    let Some(mut section) = root.section("ingest", "[ingest]") else {
        return default;
    };
    let known = section.problems();
    let interval = section.get("interval", duration(MINUTE..=DAY));
    let deadline = section.get("deadline", duration(Duration::from_secs(1)..=DAY));
    let durations_are_sound = section.problems() == known;
    let ingest = Ingest {
        interval: interval.unwrap_or(default.interval),
        deadline: deadline.unwrap_or(default.deadline),
        concurrency: section
            .get("concurrency", whole_number(1..=64))
            .unwrap_or(default.concurrency),
        allow_private: permission(&mut section, "allow_private"),
        allow_file: permission(&mut section, "allow_file"),
        quiet_after: section
            .get("quiet_after", duration(DAY..=TEN_YEARS))
            .unwrap_or(default.quiet_after),
        contact: section.get("contact", contact),
    };
    if durations_are_sound && ingest.deadline >= ingest.interval {
        let told = if section.has("deadline") {
            "deadline"
        } else {
            "interval"
        };
        let (deadline, interval) = (
            humantime::format_duration(ingest.deadline),
            humantime::format_duration(ingest.interval),
        );
        section.refuse(
            told,
            format!(
                "a tick may last {deadline} and the next starts after {interval}; make \
                 ingest.deadline shorter than ingest.interval"
            ),
        );
    }
    section.finish();
    ingest
}

/// No by default. A value that is refused counts as yes: no feed shall be refused for it too.
fn permission(section: &mut Section<'_>, key: &'static str) -> bool {
    let given = section.get(key, flag);
    given.unwrap_or_else(|| section.has(key))
}

/// Text that can stand in the comment of a User-Agent header.
fn contact(value: &DeValue<'_>) -> Read<String> {
    let contact = text(value)?;
    let fits = |c: char| c.is_ascii_graphic() && !matches!(c, '(' | ')' | '\\');
    if contact.chars().all(fits) {
        Ok(contact)
    } else {
        Err(
            "goes into a header, so spaces, parentheses and letters beyond ASCII cannot stand \
         in it; write a URL or a mail address"
                .to_owned(),
        )
    }
}
