//! What people see: whether there is a terminal, colour, and times in words.

use super::environment::Environment;
use crate::model::{Priority, Timestamp};
use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_the_zone_of_the_configuration() {
        let time = Timestamp::from_unix_millis(1_796_025_600_000);
        assert_eq!(local(time, &TimeZone::UTC), "2026-11-30 08:00:00");
    }
}
