//! How many of a bot's answers ask for a pause (429): one in ten is an alarm; pure.

use shared::model::Timestamp;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// What is looked at (DESIGN.md, "The sender").
const WINDOW: Duration = Duration::from_mins(5);
/// Answers are counted together for so long.
const SLOT: Duration = Duration::from_secs(10);
/// Fewer are met by any sender that finds out how fast it may be: a chat's first, the method's second.
const FEWEST: u32 = 3;
/// It begins above a tenth of the answers, and ends below a twentieth.
const BEGINS: u32 = 10;
const ENDS: u32 = 20;

/// Of the last five minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    pub answers: u32,
    pub refused: u32,
}

impl Share {
    /// Whether the alarm holds now, when it did before or did not.
    pub fn is_alarming(self, was: bool) -> bool {
        if was {
            self.refused > 0 && self.refused * ENDS >= self.answers
        } else {
            self.refused >= FEWEST && self.refused * BEGINS > self.answers
        }
    }
}

/// By bot, under the name of its first channel.
#[derive(Clone, Debug, Default)]
pub struct Shares(BTreeMap<String, VecDeque<(Timestamp, Share)>>);

impl Shares {
    pub fn note(&mut self, name: &str, is_refused: bool, now: Timestamp) {
        if !self.0.contains_key(name) {
            self.0.insert(name.to_owned(), VecDeque::new());
        }
        let Some(slots) = self.0.get_mut(name) else {
            return;
        };
        slots.retain(|(at, _)| now.since(*at) < WINDOW);
        if slots.back().is_none_or(|(at, _)| now.since(*at) >= SLOT) {
            slots.push_back((now, Share::default()));
        }
        if let Some((_, share)) = slots.back_mut() {
            share.answers += 1;
            share.refused += u32::from(is_refused);
        }
    }

    pub fn of(&self, name: &str, now: Timestamp) -> Share {
        let slots = self.0.get(name).into_iter().flatten();
        let recent = slots.filter(|(at, _)| now.since(*at) < WINDOW);
        recent.fold(Share::default(), |sum, (_, share)| Share {
            answers: sum.answers + share.answers,
            refused: sum.refused + share.refused,
        })
    }

    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_unix_millis(1_796_025_600_000);
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn one_in_ten_begins_it_and_one_in_twenty_ends_it() {
        let alarming = |answers, refused, was| Share { answers, refused }.is_alarming(was);
        for (answers, refused, begins, goes_on) in [
            (2, 2, false, true),
            (29, 3, true, true),
            (30, 3, false, true),
            (60, 3, false, true),
            (61, 3, false, false),
            (100, 11, true, true),
            (50, 0, false, false),
            (0, 0, false, false),
        ] {
            let said = (
                alarming(answers, refused, false),
                alarming(answers, refused, true),
            );
            assert_eq!(said, (begins, goes_on), "{refused} of {answers}");
        }
    }

    #[test]
    fn only_the_last_five_minutes_of_each_bot_count() {
        let mut shares = Shares::default();
        for second in 0..600 {
            shares.note("ops", second < 400, NOW + SECOND * second);
        }
        shares.note("phone", true, NOW + SECOND * 599);
        let end = NOW + SECOND * 599;
        let ops = shares.of("ops", end);
        assert_eq!((ops.answers, ops.refused), (300, 100));
        let phone = Share {
            answers: 1,
            refused: 1,
        };
        assert_eq!(shares.of("phone", end), phone);
        assert_eq!(shares.of("nobody", end), Share::default());
        assert_eq!(shares.of("ops", end + WINDOW), Share::default());
    }
}
