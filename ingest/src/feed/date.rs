//! Dates as feeds write them: RFC 3339, RFC 2822, and what people make of both.

use shared::model::Timestamp;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment as it was written, in whole seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    /// Minutes east of Greenwich; a date that names no zone is UTC.
    offset: i32,
}

/// Reads a date; `None` when there is none, or none after 1970 (some publishers write year 1).
pub(super) fn read(text: &str) -> Option<Written> {
    let text = fold(text);
    let mut written = Written::default();
    for word in text.split([' ', '\t', '\n', '\r', ',', '(', ')']) {
        written.take(word.trim_matches('.'))?;
    }
    written.checked()
}

/// Lower case, and without the accents that occur in names of months.
fn fold(text: &str) -> String {
    let text = text.trim();
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let fold = |char: char| match char {
        'é' | 'è' => 'e',
        'û' => 'u',
        'ä' => 'a',
        'ğ' => 'g',
        'ş' => 's',
        '\u{2212}' => '-',
        other => other,
    };
    text.to_lowercase().chars().map(fold).collect()
}

impl Written {
    /// Takes what one word tells; `None` when it contradicts.
    fn take(&mut self, word: &str) -> Option<()> {
        let first = word.chars().next().unwrap_or(' ');
        if let Some((date, time)) = iso(word) {
            self.take_iso(date)?;
            self.take_time(time)
        } else if word.contains(':') && first.is_ascii_digit() {
            self.take_time(word)
        } else if matches!(first, '+' | '-') {
            self.offset = self.offset.checked_add(offset(word)?)?;
            Some(())
        } else if first.is_ascii_digit() {
            self.take_numbers(word)
        } else {
            self.take_name(word)
        }
    }

    /// `2026-11-30`, `2026-11`, `20261130`.
    fn take_iso(&mut self, date: &str) -> Option<()> {
        let mut parts = date.split('-');
        let mut next = || parts.next().map_or(Some(1), number);
        (self.year, self.month, self.day) = (next()?, next()?, next()?);
        Some(())
    }

    /// `10:00`, `10:00:00.123`, with `z`, `pm` or an offset behind it.
    fn take_time(&mut self, time: &str) -> Option<()> {
        let end = time.find(|char: char| !matches!(char, '0'..='9' | ':' | '.'));
        let (clock, zone) = time.split_at_checked(end.unwrap_or(time.len()))?;
        if !clock.is_empty() {
            let mut parts = clock.split([':', '.']);
            let mut next = || parts.next().map_or(Some(0), number);
            (self.hour, self.minute, self.second) = (next()?, next()?, next()?);
        }
        match zone.chars().next() {
            None => Some(()),
            Some('+' | '-') => {
                self.offset = offset(zone)?;
                Some(())
            }
            Some(_) => self.take_name(zone),
        }
    }

    /// `30`, `1st`, `2026`, `26`, `30-nov-2026`, `30.11.2026`, `2026/11/30`.
    fn take_numbers(&mut self, word: &str) -> Option<()> {
        let parts: Vec<&str> = word.split(['-', '/', '.']).collect();
        match *parts.as_slice() {
            [year, month, day] if year.len() == 4 => {
                (self.year, self.month, self.day) = (number(year)?, number(month)?, number(day)?);
            }
            [day, month, year] if month.starts_with(|char: char| char.is_ascii_digit()) => {
                let (first, second) = (number(day)?, number(month)?);
                // 11/30 can only be American; 3/4 could be either and is left unread.
                (self.day, self.month) = match (first, second) {
                    (_, 13..) => (second, first),
                    (13.., _) => (first, second),
                    _ if word.contains('.') || first == second => (first, second),
                    _ => return None,
                };
                self.year = full_year(year)?;
            }
            [day, month, year] => {
                self.take_name(month)?;
                (self.day, self.year) = (number(day)?, full_year(year)?);
            }
            [number] => self.take_number(number)?,
            _ => return None,
        }
        Some(())
    }

    fn take_number(&mut self, word: &str) -> Option<()> {
        let digits = word.trim_end_matches(|char: char| char.is_ascii_alphabetic());
        if self.day == 0 && digits.len() <= 2 {
            self.day = number(digits)?;
        } else if self.year == 0 {
            self.year = full_year(digits)?;
        }
        Some(())
    }

    /// A month, a zone, `am` or `pm`; anything else, such as a weekday, tells nothing.
    fn take_name(&mut self, name: &str) -> Option<()> {
        let split = name.find(['+', '-']).unwrap_or(name.len());
        let (name, east) = name.split_at_checked(split)?;
        if let Some(month) = month(name) {
            self.month = month;
        } else if let Some(minutes) = zone(name) {
            self.offset = minutes;
        } else if name == "pm" && self.hour < 12 {
            self.hour += 12;
        } else if name == "am" && self.hour == 12 {
            self.hour = 0;
        }
        if !east.is_empty() {
            self.offset = offset(east)?;
        }
        Some(())
    }

    pub(super) fn timestamp(self) -> Timestamp {
        Timestamp::from_unix_millis(self.unix_seconds() * 1000)
    }

    /// As the time of a machine, which other crates' types are made from.
    pub(super) fn system_time(self) -> SystemTime {
        let seconds = self.unix_seconds();
        let apart = Duration::from_secs(seconds.unsigned_abs());
        if seconds < 0 {
            UNIX_EPOCH - apart
        } else {
            UNIX_EPOCH + apart
        }
    }

    fn unix_seconds(self) -> i64 {
        // Counted from March, leap days come last: https://howardhinnant.github.io/date_algorithms.html
        let shifted = i64::from(self.month + 9) % 12;
        let year = i64::from(self.year) - i64::from(self.month <= 2);
        let day_of_year = (153 * shifted + 2) / 5 + i64::from(self.day) - 1;
        let days = 365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468;
        let minutes = (days * 24 + i64::from(self.hour)) * 60 + i64::from(self.minute);
        (minutes - i64::from(self.offset)) * 60 + i64::from(self.second)
    }

    fn checked(mut self) -> Option<Self> {
        // 24:00 is meant as the day's first moment by those who write it; 60 is a leap second.
        self.hour %= 24;
        self.second = self.second.min(59);
        let leap = self.year.is_multiple_of(4)
            && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        let days = match self.month {
            2 => 28 + u32::from(leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        let sound = (1970..=9999).contains(&self.year)
            && (1..=days).contains(&self.day)
            && self.minute < 60
            && self.offset.abs() < 24 * 60;
        sound.then_some(self)
    }
}

fn number(digits: &str) -> Option<u32> {
    digits.parse().ok()
}

fn full_year(digits: &str) -> Option<u32> {
    match (digits.len(), number(digits)?) {
        (2, year @ ..70) => Some(2000 + year),
        (2, year) => Some(1900 + year),
        (4, year) => Some(year),
        _ => None,
    }
}

/// Splits `2026-11-30t10:00z` and `2026-11-30`: whatever opens with four digits and a hyphen.
fn iso(word: &str) -> Option<(&str, &str)> {
    let (date, time) = word.split_once('t').unwrap_or((word, ""));
    let (year, rest) = date.split_once('-')?;
    let digits = |text: &str| {
        text.chars()
            .all(|char| char.is_ascii_digit() || char == '-')
    };
    (year.len() == 4 && digits(year) && digits(rest) && !rest.ends_with('-'))
        .then_some((date, time))
}

/// `+0100`, `+01:00`, `-5`, in minutes.
fn offset(text: &str) -> Option<i32> {
    let (sign, digits) = text.split_at_checked(1)?;
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() > 2 => digits.split_at_checked(digits.len() - 2)?,
        None => (digits, "0"),
    };
    let minutes = hours.parse::<i32>().ok()?.checked_mul(60)? + minutes.parse::<i32>().ok()?;
    Some(if sign == "-" { -minutes } else { minutes })
}

/// A month by its first letters: English, German, French, Spanish, Italian, Dutch, Turkish.
fn month(name: &str) -> Option<u32> {
    let month = match (name.get(..3)?, name.get(3..4)) {
        ("jan" | "ene" | "gen" | "oca", _) => 1,
        ("feb" | "fev" | "sub", _) => 2,
        ("mar" | "mrz", _) => 3,
        ("apr" | "avr" | "abr" | "nis", _) => 4,
        ("may" | "mai" | "mag" | "mei", _) => 5,
        ("jun" | "giu" | "haz", _) | ("jui", Some("n")) => 6,
        ("jul" | "lug" | "tem", _) | ("jui", Some("l")) => 7,
        ("aug" | "aou" | "ago" | "agu", _) => 8,
        ("sep" | "set" | "eyl", _) => 9,
        ("oct" | "okt" | "ott" | "eki", _) => 10,
        ("nov" | "kas", _) => 11,
        ("dec" | "dez" | "dic" | "ara", _) => 12,
        _ => return None,
    };
    Some(month)
}

/// Minutes east of Greenwich of the zones that are written by name.
fn zone(name: &str) -> Option<i32> {
    let half_hours = match name {
        "z" | "ut" | "utc" | "gmt" | "wet" => 0,
        "cet" | "met" | "mez" | "bst" | "west" => 2,
        "cest" | "mest" | "mesz" | "eet" | "sast" => 4,
        "eest" | "msk" | "trt" => 6,
        "ist" => 11,
        "sgt" | "hkt" | "awst" => 16,
        "jst" | "kst" => 18,
        "aest" => 20,
        "aedt" => 22,
        "nzst" => 24,
        "nzdt" => 26,
        "edt" => -8,
        "est" | "cdt" => -10,
        "cst" | "mdt" => -12,
        "mst" | "pdt" => -14,
        "pst" | "akdt" => -16,
        "akst" => -18,
        "hst" => -20,
        _ => return None,
    };
    Some(half_hours * 30)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt;

    /// RFC 3339.
    impl fmt::Display for Written {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let Self {
                year,
                month,
                day,
                hour,
                minute,
                second,
                offset,
            } = self;
            let sign = if *offset < 0 { '-' } else { '+' };
            let (hours, minutes) = (offset.abs() / 60, offset.abs() % 60);
            write!(
                f,
                "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{sign}{hours:02}:{minutes:02}"
            )
        }
    }

    #[test]
    fn dates_are_read_as_they_are_written() {
        for (text, expected) in [
            ("Mon, 30 Nov 2026 10:00:00 GMT", "2026-11-30T10:00:00+00:00"),
            (
                "Mon, 30 Nov 2026 10:00:00 +0130",
                "2026-11-30T10:00:00+01:30",
            ),
            ("Mon, 30 Nov 26 10:00 EST", "2026-11-30T10:00:00-05:00"),
            ("30 Nov 2026 10:00:00 CET", "2026-11-30T10:00:00+01:00"),
            (
                "Thurs, 5 November 2026 7:08:09 PDT",
                "2026-11-05T07:08:09-07:00",
            ),
            ("2026-11-30T10:00:00Z", "2026-11-30T10:00:00+00:00"),
            ("2026-11-30T10:00:00.123+01:00", "2026-11-30T10:00:00+01:00"),
            ("2026-11-30T10:00:00-0800", "2026-11-30T10:00:00-08:00"),
            ("2026-11-30 10:00:00", "2026-11-30T10:00:00+00:00"),
            ("2026-11-30 10:00:00 UTC", "2026-11-30T10:00:00+00:00"),
            ("2026-11-30 10:00:00 +0200", "2026-11-30T10:00:00+02:00"),
            ("2026-11-30", "2026-11-30T00:00:00+00:00"),
            ("2026-11", "2026-11-01T00:00:00+00:00"),
            (
                "Mo, 30 Nov 2026 10:00:00 +0100",
                "2026-11-30T10:00:00+01:00",
            ),
            (
                "Mittwoch, 3. März 2027 08:15 MEZ",
                "2027-03-03T08:15:00+01:00",
            ),
            (
                "mar., 03 déc. 2026 10:00:00 +0100",
                "2026-12-03T10:00:00+01:00",
            ),
            ("14 juillet 2026 10:00:00", "2026-07-14T10:00:00+00:00"),
            (
                "ma, 08 okt 2018 10:09:29 +0000",
                "2018-10-08T10:09:29+00:00",
            ),
            ("Sat, Oct 28 2023 08:28:28 PM", "2023-10-28T20:28:28+00:00"),
            (
                "Tue, 30 Jun 2026 24:00:00 +0000",
                "2026-06-30T00:00:00+00:00",
            ),
            ("30-Nov-2026 10:00", "2026-11-30T10:00:00+00:00"),
            ("30.11.2026 10:00", "2026-11-30T10:00:00+00:00"),
            ("11/30/2026 10:00", "2026-11-30T10:00:00+00:00"),
            ("Mon Nov 30 10:00:00 2026", "2026-11-30T10:00:00+00:00"),
            (
                "Mon, 30 Nov 2026 10:00:00 GMT+0200",
                "2026-11-30T10:00:00+02:00",
            ),
        ] {
            assert_eq!(
                read(text).map(|date| date.to_string()).as_deref(),
                Some(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn a_moment_is_counted_from_1970() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("2026-11-30T10:00:00+01:00", 1_796_029_200),
            ("1970-01-01T00:00:00+02:00", -7_200),
        ] {
            let expected = Timestamp::from_unix_millis(seconds * 1000);
            assert_eq!(read(text).map(Written::timestamp), Some(expected), "{text}");
            let time = read(text).unwrap().system_time();
            let apart = time.duration_since(UNIX_EPOCH);
            let apart = apart.map_or_else(
                |before| -before.duration().as_secs_f64(),
                |since| since.as_secs_f64(),
            );
            assert_eq!(Timestamp::from_unix_seconds(apart), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "Tue,",
            "yesterday",
            "0001-01-01T00:00:00Z",
            "31 Feb 2026",
            "3/4/2026",
            "99999999999999",
            "12:00",
            "é-é",
            "+",
            "2026-",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
