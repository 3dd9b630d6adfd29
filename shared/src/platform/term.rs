//! What people see: whether there is a terminal, colour, and times in words.

use super::environment::Environment;
use crate::model::{Priority, Timestamp};
use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::io::{self, IsTerminal};

/// How to write for whoever reads standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    pub colour: bool,
}

impl Style {
    /// Colour only on a terminal, and only when `NO_COLOR` does not forbid it.
    pub fn of_stdout(environment: &Environment) -> Self {
        Self {
            colour: io::stdout().is_terminal() && !environment.no_color,
        }
    }

    /// The word in the colour of a priority.
    pub fn paint(self, priority: Priority, text: &str) -> String {
        let code = match priority {
            Priority::Critical => "1;31",
            Priority::High => "33",
            Priority::Normal => "36",
            Priority::Low => "2",
        };
        if self.colour {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// The width of the terminal at standard output in columns; `None` when there is none.
pub fn width() -> Option<u16> {
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0)
}

/// A table that fits the terminal, and is one line a row where there is none.
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(header.iter().copied());
    if let Some(width) = width() {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
    }
    table
}

/// `2026-11-30 09:00:00` in the zone of the configuration.
pub fn local(time: Timestamp, zone: &TimeZone) -> String {
    match jiff::Timestamp::from_millisecond(time.unix_millis()) {
        Ok(time) => time
            .to_zoned_datetime(zone.clone())
            .strftime("%F %T")
            .to_string(),
        Err(_) => format!("{} s", time.unix_seconds()),
    }
}

/// What a person writes for a time: `2026-12-02T08:00` in the zone of the configuration, an exact
/// one with its own zone, or a duration from now.
///
/// # Errors
/// What is wrong with it, and what to write.
pub fn moment(text: &str, zone: &TimeZone, now: Timestamp) -> Result<Timestamp, String> {
    let at = |exact: jiff::Timestamp| Timestamp::from_unix_millis(exact.as_millisecond());
    if let Ok(after) = humantime::parse_duration(text) {
        return Ok(now + after);
    }
    if let Ok(exact) = text.parse::<jiff::Timestamp>() {
        return Ok(at(exact));
    }
    let local = text.parse::<DateTime>();
    let zoned = local.and_then(|local| local.to_zoned_datetime(zone.clone()));
    zoned.map(|zoned| at(zoned.timestamp())).map_err(|why| {
        format!("is no time ({why}); write 2026-12-02T08:00, or 2h for in two hours")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_time_is_local_exact_or_a_duration() {
        let berlin = TimeZone::get("Europe/Berlin").expect("a zone");
        // 2026-11-30T08:00:00Z.
        let now = Timestamp::from_unix_millis(1_796_025_600_000);
        let read = |text| moment(text, &berlin, now);
        assert_eq!(read("2h"), Ok(now + Duration::from_secs(7_200)));
        let tomorrow = now + Duration::from_secs(86_400);
        assert_eq!(read("2026-12-01T09:00"), Ok(tomorrow));
        assert_eq!(read("2026-12-01T08:00Z"), Ok(tomorrow));
        for bad in ["tomorrow", "", "25:00", "2026-13-01T00:00"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_told_in_the_zone_of_the_configuration() {
        let time = Timestamp::from_unix_millis(1_796_025_600_000);
        assert_eq!(local(time, &TimeZone::UTC), "2026-11-30 08:00:00");
    }
}
