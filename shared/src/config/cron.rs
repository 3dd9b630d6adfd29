//! When a cron expression is due: croner's reading of it over jiff's time zones, whose changes of the
//! clocks it meets as cron does.

use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use croner::{CivilDate, CivilDateTime, CivilTime, CronDateTime, Resolution, Weekday};
use jiff::civil::DateTime;
use jiff::tz::AmbiguousOffset;
use jiff::{SignedDuration, ZonedDateTime};
use std::cmp::Ordering;

/// Five fields, or a nickname such as `@daily`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    /// As it was written.
    text: String,
    read: croner::Cron,
}

impl Cron {
    /// # Errors
    /// What is wrong with the expression, in croner's words.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let parser = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build();
        match parser.parse(text) {
            Ok(read) => Ok(Self {
                text: text.to_owned(),
                read,
            }),
            Err(error) => Err(error.to_string()),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// The first time after `time`; `None` when there is none.
    pub(super) fn after(&self, time: &ZonedDateTime) -> Option<ZonedDateTime> {
        let found = self.read.find_next_occurrence(&Wall(time.clone()), false);
        found.ok().map(|wall| wall.0)
    }
}

/// A time with its zone, as croner asks about it.
#[derive(Clone)]
struct Wall(ZonedDateTime);

impl CronDateTime for Wall {
    fn to_civil(&self) -> CivilDateTime {
        let time = self.0.datetime();
        let part = |number: i8| u32::from(number.unsigned_abs());
        CivilDateTime::new(
            CivilDate::from_parts_unchecked(
                i32::from(time.year()),
                part(time.month()),
                part(time.day()),
            ),
            CivilTime::from_parts_unchecked(
                part(time.hour()),
                part(time.minute()),
                part(time.second()),
            ),
        )
    }

    fn civil_weekday(&self) -> Weekday {
        let days = self.0.weekday().to_sunday_zero_offset();
        Weekday::from_days_from_sunday(u32::from(days.unsigned_abs()))
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        let found = self
            .0
            .time_zone()
            .to_ambiguous_zoned_datetime(datetime(civil)?);
        let wall = |zoned: Result<ZonedDateTime, jiff::Error>| {
            zoned.map(Self).map_err(|_says_less| CronError::InvalidTime)
        };
        Ok(match found.offset() {
            AmbiguousOffset::Unambiguous { .. } => Resolution::Single(wall(found.unambiguous())?),
            AmbiguousOffset::Gap { .. } => Resolution::Gap,
            AmbiguousOffset::Fold { .. } => {
                Resolution::Ambiguous(wall(found.clone().earlier())?, wall(found.later())?)
            }
        })
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        let moved = self.0.checked_add(SignedDuration::from_secs(seconds));
        moved.ok().map(Self)
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.0.timestamp().cmp(&other.0.timestamp())
    }
}

fn datetime(civil: CivilDateTime) -> Result<DateTime, CronError> {
    let part = |number: u32| i8::try_from(number).map_err(|_too_large| CronError::InvalidDate);
    let year = i16::try_from(civil.year()).map_err(|_too_far| CronError::InvalidDate)?;
    let (month, day) = (part(civil.month())?, part(civil.day())?);
    let (hour, minute) = (part(civil.hour())?, part(civil.minute())?);
    DateTime::new(year, month, day, hour, minute, part(civil.second())?, 0)
        .map_err(|_says_less| CronError::InvalidDate)
}
