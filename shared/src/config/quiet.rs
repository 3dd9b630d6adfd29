//! `[quiet]`: hours in which only what breaks through is sent; the rest waits for their end.

use super::channel::Channels;
use super::reader::{Read, Section};
use super::value::{one_of, text};
use crate::model::{Priority, Timestamp};
use jiff::civil::Time;
use jiff::tz::TimeZone;
use toml::de::DeValue;

/// From one time of the day to another, over midnight or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quiet {
    pub from: Time,
    /// Not `from`.
    pub to: Time,
    /// These are sent all the same; critical is always among them.
    pub break_through: Vec<Priority>,
    /// Only for these channels; empty: for all.
    pub channels: Vec<String>,
    pub timezone: TimeZone,
}

impl Quiet {
    /// When what is enqueued at `now` may be sent to `channel`; `None`: at once. An hour that a change
    /// of the clocks leaves out ends when the clocks have gone forward.
    pub fn until(&self, channel: &str, priority: Priority, now: Timestamp) -> Option<Timestamp> {
        let concerns = self.channels.is_empty() || self.channels.iter().any(|name| name == channel);
        if !concerns || priority == Priority::Critical || self.break_through.contains(&priority) {
            return None;
        }
        let local = jiff::Timestamp::from_millisecond(now.unix_millis())
            .ok()?
            .to_zoned_datetime(self.timezone.clone());
        let time = local.time();
        let over_midnight = self.to < self.from;
        let is_quiet = if over_midnight {
            time >= self.from || time < self.to
        } else {
            time >= self.from && time < self.to
        };
        if !is_quiet {
            return None;
        }
        let ends_tomorrow = over_midnight && time >= self.from;
        let day = if ends_tomorrow {
            local.date().tomorrow().ok()?
        } else {
            local.date()
        };
        let end = day
            .to_datetime(self.to)
            .to_zoned_datetime(self.timezone.clone())
            .ok()?;
        Some(Timestamp::from_unix_millis(
            end.timestamp().as_millisecond(),
        ))
    }
}

pub(super) fn read(
    root: &mut Section<'_>,
    channels: &Channels<'_>,
    timezone: &TimeZone,
) -> Option<Quiet> {
    let mut section = root.section("quiet", "[quiet]")?;
    let missing = "is missing; write a time such as \"22:00\"";
    let from = section.need("from", missing, time);
    let to = section.need("to", missing, time);
    if from.is_some() && from == to {
        section.refuse(
            "to",
            "is the same as from, so that no hour is quiet; write another time",
        );
    }
    let empty = "is an empty list; remove it, or write [\"high\"]";
    let break_through =
        section.filled_list("break_through", empty, one_of("priority", Priority::ALL));
    let all = "is an empty list; remove it for all channels";
    let only = section.filled_list("channels", all, |value| channels.named_by(value));
    section.finish();
    Some(Quiet {
        from: from?,
        to: to?,
        break_through: break_through.unwrap_or_default(),
        channels: only.unwrap_or_default(),
        timezone: timezone.clone(),
    })
}

fn time(value: &DeValue<'_>) -> Read<Time> {
    let text = text(value)?;
    let is_short = text.len() == 5 && text.as_bytes().get(2) == Some(&b':');
    let read = text.parse::<Time>().ok().filter(|_| is_short);
    read.ok_or_else(|| format!("{text:?} is no time of the day; write one such as \"22:00\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        let at: jiff::Timestamp = text.parse().expect("a time");
        Timestamp::from_unix_millis(at.as_millisecond())
    }

    fn quiet(from: &str, to: &str) -> Quiet {
        Quiet {
            from: from.parse().expect("a time"),
            to: to.parse().expect("a time"),
            break_through: vec![Priority::High],
            channels: vec!["phone".to_owned()],
            timezone: TimeZone::get("Europe/Berlin").expect("a zone"),
        }
    }

    #[test]
    fn what_comes_at_night_waits_for_the_morning() {
        let night = quiet("22:00", "07:00");
        for (now, until) in [
            ("2026-11-30T20:59:59Z", None),
            ("2026-11-30T21:00:00Z", Some("2026-12-01T06:00:00Z")),
            ("2026-11-30T23:30:00Z", Some("2026-12-01T06:00:00Z")),
            ("2026-12-01T05:59:59Z", Some("2026-12-01T06:00:00Z")),
            ("2026-12-01T06:00:00Z", None),
            // The night in which the clocks go forward has an hour less, the other one more.
            ("2026-03-28T22:30:00Z", Some("2026-03-29T05:00:00Z")),
            ("2026-10-24T21:30:00Z", Some("2026-10-25T06:00:00Z")),
        ] {
            let found = night.until("phone", Priority::Normal, at(now));
            assert_eq!(found, until.map(at), "{now}");
        }
        // The hour in which it would end is left out.
        let short = quiet("22:00", "02:30");
        let found = short.until("phone", Priority::Normal, at("2026-03-28T22:30:00Z"));
        assert_eq!(found, Some(at("2026-03-29T01:30:00Z")));
        let noon = quiet("12:00", "13:00");
        let found = |now| noon.until("phone", Priority::Low, at(now));
        assert_eq!(
            found("2026-11-30T11:30:00Z"),
            Some(at("2026-11-30T12:00:00Z"))
        );
        assert_eq!(found("2026-11-30T12:00:00Z"), None);
    }

    #[test]
    fn what_breaks_through_and_other_channels_do_not_wait() {
        let night = quiet("22:00", "07:00");
        let now = at("2026-11-30T23:30:00Z");
        for (channel, priority, waits) in [
            ("phone", Priority::Critical, false),
            ("phone", Priority::High, false),
            ("phone", Priority::Normal, true),
            ("mail", Priority::Low, false),
        ] {
            let until = night.until(channel, priority, now);
            assert_eq!(until.is_some(), waits, "{channel} {priority}");
        }
    }
}
