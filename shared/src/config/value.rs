//! Turns single values into checked types; each refusal says what is wrong and what to write.

use super::reader::{Read, described};
use super::suggest::{instead_of, nearest};
use jiff::tz::TimeZone;
use regex::Regex;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;
use toml::de::DeValue;

pub(super) const MINUTE: Duration = Duration::from_mins(1);
pub(super) const DAY: Duration = Duration::from_hours(24);
/// Longer than anybody means; short enough that no sum with a date runs over.
pub(super) const TEN_YEARS: Duration = Duration::from_hours(3653 * 24);

/// One line of text that says something.
pub(super) fn text(value: &DeValue<'_>) -> Read<String> {
    let DeValue::String(text) = value else {
        let found = described(value);
        return Err(format!("must be text, not {found}; put it in quotes"));
    };
    if text.trim().is_empty() {
        return Err("is empty; write something or remove the key".to_owned());
    }
    if text.chars().any(char::is_control) {
        return Err("holds a line break or a control character; write it on one line".to_owned());
    }
    Ok(text.clone().into_owned())
}

/// A name that ends an address of ours.
pub(super) fn address_name(value: &DeValue<'_>) -> Read<String> {
    let name = text(value)?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(format!(
            "{name:?} cannot end an address; write at most 64 small letters, digits, - and _"
        ));
    }
    Ok(name)
}

pub(super) fn flag(value: &DeValue<'_>) -> Read<bool> {
    value.as_bool().ok_or_else(|| {
        let found = described(value);
        format!("must be true or false, not {found}; write it without quotes")
    })
}

pub(super) fn whole_number(range: RangeInclusive<usize>) -> impl Fn(&DeValue<'_>) -> Read<usize> {
    move |value| {
        let DeValue::Integer(number) = value else {
            let found = described(value);
            return Err(format!(
                "must be a whole number, not {found}; write one without quotes"
            ));
        };
        usize::from_str_radix(number.as_str(), number.radix())
            .ok()
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                let (least, most) = (range.start(), range.end());
                format!("{number} is out of range; write a number from {least} to {most}")
            })
    }
}

/// So many bytes: "64 MiB", "2 GiB".
pub(super) fn size(value: &DeValue<'_>) -> Read<u64> {
    let text = text(value)?;
    let like = "write one like \"64 MiB\" or \"2 GiB\"";
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit: u64 = match unit.trim() {
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(format!("{text:?} is no size; {like}")),
    };
    let number: Option<u64> = number.parse().ok();
    number
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(|| format!("{text:?} is no size; {like}"))
}

/// A duration as humantime reads it. A bare number is refused: nobody knows its unit.
pub(super) fn duration(range: RangeInclusive<Duration>) -> impl Fn(&DeValue<'_>) -> Read<Duration> {
    move |value| {
        let text = match value {
            DeValue::String(text) => text.trim(),
            DeValue::Integer(number) => {
                return Err(format!(
                    "{number} has no unit; write \"{number}s\" for seconds"
                ));
            }
            other => {
                let found = described(other);
                return Err(format!(
                    "must be a duration, not {found}; write \"90s\" or \"1h 30m\""
                ));
            }
        };
        let duration = humantime::parse_duration(text).map_err(|why| {
            format!("{text:?} is not a duration ({why}); write \"90s\" or \"1h 30m\"")
        })?;
        if duration < *range.start() {
            let least = humantime::format_duration(*range.start());
            return Err(format!(
                "{text:?} is too short; write \"{least}\" or longer"
            ));
        }
        if duration > *range.end() {
            let (meant, most) = (
                humantime::format_duration(duration),
                humantime::format_duration(*range.end()),
            );
            return Err(format!(
                "{text:?} means {meant}, which is too long; write \"{most}\" or shorter (m is \
                 minutes, M is months)"
            ));
        }
        Ok(duration)
    }
}

/// One name of a fixed list.
pub(super) fn one_of<T>(what: &str, known: &[T]) -> impl Fn(&DeValue<'_>) -> Read<T>
where
    T: Copy + FromStr + ToString + PartialEq,
{
    move |value| {
        let name = text(value)?;
        match T::from_str(&name) {
            Ok(read) if known.contains(&read) => Ok(read),
            _ => {
                let names: Vec<String> = known.iter().map(ToString::to_string).collect();
                let instead = instead_of(&name, names.iter().map(String::as_str));
                Err(format!("unknown {what} {name:?}{instead}"))
            }
        }
    }
}

/// A regular expression of the `regex` crate: searched for anywhere, in linear time.
pub(super) fn pattern(value: &DeValue<'_>) -> Read<Regex> {
    let DeValue::String(pattern) = value else {
        let found = described(value);
        return Err(format!("must be a pattern, not {found}; put it in quotes"));
    };
    if pattern.is_empty() {
        return Err("an empty pattern matches everything; remove the key".to_owned());
    }
    Regex::new(pattern).map_err(|error| {
        // The crate draws the pattern and an arrow; its last line says what is wrong.
        let drawn = error.to_string();
        let gist = drawn.lines().last().unwrap_or_default();
        let gist = gist.trim_start_matches("error: ");
        format!("not a regular expression: {gist}; see https://docs.rs/regex/latest/regex/#syntax")
    })
}

pub(super) fn timezone(value: &DeValue<'_>) -> Read<TimeZone> {
    let name = text(value)?;
    TimeZone::get(&name).map_err(|_says_less| {
        let database = jiff::tz::db();
        if database.is_definitively_empty() {
            return format!(
                "{name:?} cannot be looked up: this machine has no time zone database; install \
                 the package tzdata"
            );
        }
        let names: Vec<String> = database.available().map(|zone| zone.to_string()).collect();
        let instead = match nearest(&name, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean {near:?}?"),
            None => "write an IANA name such as \"Europe/Berlin\", or \"UTC\"".to_owned(),
        };
        format!("unknown time zone {name:?}; {instead}")
    })
}
