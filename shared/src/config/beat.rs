//! `[[heartbeat]]`: which jobs report to us, how often, and what it means when one does not.

use super::Surroundings;
use super::cron::Cron;
use super::reader::{Read, Section};
use super::rule::SENT;
use super::secret::{self, Program, SecretFile};
use super::value::{DAY, MINUTE, address_name, duration, one_of, text, timezone};
use crate::model::{Pulse, Severity, Timestamp};
use crate::policy::beat::{Terms, comes_after, state};
use jiff::civil::date;
use jiff::tz::TimeZone;
use jiff::{Span, ZonedDateTime};
use serde::Serialize;
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::time::Duration;
use toml::de::DeValue;

/// A call that comes so much before its time counts for it: the caller's clock may be ahead.
const EARLY: Duration = Duration::from_mins(5);
/// But not more than this part of the time from one to the next.
const EARLY_PART: u32 = 4;
/// Ticks come every few minutes: less than a minute could not be told; more than a year is forgotten.
const SENSIBLE: RangeInclusive<Duration> = MINUTE..=Duration::from_hours(366 * 24);
/// Shorter ones can be guessed.
const SHORTEST_TOKEN: usize = 16;

/// A job that calls `/heartbeat/NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// The last part of its address: small letters, digits, `-` and `_`, at most 64.
    pub name: String,
    /// What stands in its address instead of the name: letters, digits, `-` and `_`, 16 or more.
    pub token: Option<SecretFile>,
    pub schedule: Schedule,
    /// So long after it was due it is missed; an hour by default, or its period when that is shorter.
    pub grace: Duration,
    /// So long after its start a run must have ended; as long as `grace` by default.
    pub longest_run: Duration,
    /// The configuration's by default.
    pub timezone: TimeZone,
    pub tags: Vec<String>,
    /// Of what is wrong with it; high by default.
    pub severity: Severity,
    /// What is wrong for so long is told a second time, as critical; never by default.
    pub critical_after: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// So long after the last time.
    Every(Duration),
    Cron(Box<Cron>),
}

impl Beat {
    /// When it must come again; `None`: never.
    pub fn due(&self, after: Timestamp) -> Option<Timestamp> {
        let after_zoned = jiff::Timestamp::from_millisecond(after.unix_millis())
            .ok()?
            .to_zoned_datetime(self.timezone.clone());
        match &self.schedule {
            Schedule::Every(period) => Some(every(*period, after, &after_zoned)),
            Schedule::Cron(cron) => {
                let first = cron.after(&after_zoned)?;
                let Some(second) = cron.after(&first) else {
                    return Some(moment(&first));
                };
                let (next, later) = (moment(&first), moment(&second));
                let early = EARLY.min(later.since(next) / EARLY_PART);
                Some(if next.since(after) <= early {
                    later
                } else {
                    next
                })
            }
        }
    }

    pub fn terms(&self, pulse: &Pulse) -> Terms {
        Terms {
            // What no schedule asks for is not due in the lifetime of anybody.
            due: self
                .due(comes_after(pulse))
                .unwrap_or(Timestamp::from_unix_millis(i64::MAX)),
            grace: self.grace,
            longest_run: self.longest_run,
            critical_after: self.critical_after,
        }
    }

    /// The schedule in the words of the configuration.
    pub fn rhythm(&self) -> String {
        match &self.schedule {
            Schedule::Every(period) => format!("every {}", humantime::format_duration(*period)),
            Schedule::Cron(cron) => format!("cron {}", cron.as_str()),
        }
    }
}

/// How a beat is, for a person or a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Account {
    pub name: String,
    pub state: &'static str,
    pub schedule: String,
    /// The last success.
    pub last_seen: Option<Timestamp>,
    /// When it must come, or, of a run that goes on, must have ended.
    pub due: Timestamp,
    pub last_failed: Option<Timestamp>,
    pub exit_status: Option<u8>,
    pub note: Option<String>,
    /// Since when somebody was told of a trouble that is not over.
    pub told: Option<Timestamp>,
}

impl Account {
    /// Of what is known of a beat; one that nobody has looked at yet is new.
    pub fn of(beat: &Beat, pulse: Option<&Pulse>, now: Timestamp) -> Self {
        let new = Pulse {
            known_at: now,
            ..Pulse::default()
        };
        let pulse = pulse.unwrap_or(&new);
        let terms = beat.terms(pulse);
        Self {
            name: beat.name.clone(),
            state: state(pulse, &terms, now),
            schedule: beat.rhythm(),
            last_seen: pulse.seen_at,
            due: match pulse.started_at {
                Some(started) => started + terms.longest_run,
                None => terms.due,
            },
            last_failed: pulse.failed_at,
            exit_status: pulse.status,
            note: pulse.note.clone(),
            told: pulse.told.map(|told| told.at),
        }
    }
}

/// A day is as long as the clocks on the wall make it, when that is longer: a job that runs at the
/// same time each day is not late when they go back.
fn every(period: Duration, after: Timestamp, zoned: &ZonedDateTime) -> Timestamp {
    let plain = after + period;
    let days = period.as_secs() / DAY.as_secs();
    if !period.as_nanos().is_multiple_of(DAY.as_nanos()) {
        return plain;
    }
    let days = i64::try_from(days)
        .ok()
        .and_then(|days| Span::new().try_days(days).ok());
    let by_the_wall = days.and_then(|days| zoned.checked_add(days).ok());
    by_the_wall.map_or(plain, |wall| moment(&wall).max(plain))
}

fn moment(zoned: &ZonedDateTime) -> Timestamp {
    Timestamp::from_unix_millis(zoned.timestamp().as_millisecond())
}

pub(super) fn read_all(
    root: &mut Section<'_>,
    zone: &TimeZone,
    around: &Surroundings<'_>,
) -> Vec<Beat> {
    let (mut names, mut tokens) = (HashSet::new(), HashSet::new());
    let mut beats = Vec::new();
    for mut section in root.tables("heartbeat") {
        if let Some(beat) = read(&mut section, zone, around) {
            if names.insert(beat.name.clone()) {
                check_token(&beat, &mut tokens, &section, around);
            } else {
                let what = format!("{:?} is another heartbeat's name; choose one", beat.name);
                section.refuse("name", what);
            }
            beats.push(beat);
        }
        section.finish();
    }
    beats
}

fn read(section: &mut Section<'_>, zone: &TimeZone, around: &Surroundings<'_>) -> Option<Beat> {
    let missing = "is missing; write the name that ends its address, /heartbeat/NAME";
    let name = section.need("name", missing, address_name);
    let schedule = read_schedule(section);
    let grace = section.get("grace", duration(SENSIBLE));
    let longest_run = section.get("longest_run", duration(SENSIBLE));
    let zone = section.get("timezone", timezone).unwrap_or(zone.clone());
    let tags = section.list("tags", text).unwrap_or_default();
    let severity = section.get("severity", one_of("severity", &SENT));
    let critical_after = section.get("critical_after", duration(SENSIBLE));
    let has_token = section.has("token_file");
    let token = secret::read(section, "token_file", Program::Ingest, around);
    // A token that is refused must not leave the door open under the name.
    if has_token && token.is_none() {
        return None;
    }
    let schedule = schedule?;
    let hour = 60 * MINUTE;
    let grace = grace.unwrap_or(match &schedule {
        Schedule::Every(period) => hour.min(*period),
        Schedule::Cron(_) => hour,
    });
    Some(Beat {
        name: name?,
        token,
        schedule,
        grace,
        longest_run: longest_run.unwrap_or(grace),
        timezone: zone,
        tags,
        severity: severity.unwrap_or(Severity::High),
        critical_after,
    })
}

fn read_schedule(section: &mut Section<'_>) -> Option<Schedule> {
    let (has_every, has_cron) = (section.has("every"), section.has("cron"));
    if has_every && has_cron {
        section.refuse("cron", "stands beside every; remove one of them");
    } else if !has_every && !has_cron {
        section.refuse(
            "every",
            "is missing; write every = \"24h\", or cron = \"0 2 * * *\"",
        );
    }
    let every = section
        .get("every", duration(SENSIBLE))
        .map(Schedule::Every);
    let cron = section.get("cron", cron);
    let cron = cron.map(|cron| Schedule::Cron(Box::new(cron)));
    every.or(cron)
}

fn cron(value: &DeValue<'_>) -> Read<Cron> {
    let text = text(value)?;
    let advice = "write minute, hour, day, month and weekday, as in \"0 2 * * *\"";
    let read = Cron::parse(&text)
        .map_err(|why| format!("{text:?} is no cron expression ({why}); {advice}"))?;
    let some_day = date(2026, 1, 1).to_zoned_datetime(TimeZone::UTC);
    match some_day.ok().and_then(|day| read.after(&day)) {
        Some(_) => Ok(read),
        None => Err(format!("{text:?} is never due; {advice}")),
    }
}

/// Only who reads the secret can check it.
fn check_token(
    beat: &Beat,
    tokens: &mut HashSet<String>,
    section: &Section<'_>,
    around: &Surroundings<'_>,
) {
    let Some(file) = &beat.token else {
        if !tokens.insert(beat.name.clone()) {
            section.refuse(
                "name",
                "is what another heartbeat has for a token; choose one",
            );
        }
        return;
    };
    if !around.program.needs_what_is_for(Program::Ingest) {
        return;
    }
    let Ok(token) = file.resolve() else { return };
    let token = token.expose();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if token.len() < SHORTEST_TOKEN || !token.chars().all(plain) {
        let what = "holds no token that can end an address; write 16 or more letters, digits, - and _ into it";
        section.refuse("token_file", what);
    } else if !tokens.insert(token.to_owned()) {
        let what =
            "holds what another heartbeat has for a token or a name; write one of its own into it";
        section.refuse("token_file", what);
    }
}

#[cfg(test)]
#[path = "beat/tests.rs"]
mod tests;
