//! `feeds list`: the health of each feed, those in trouble first.

use super::public;
use crate::fetch::schedule::Due;
use crate::plan::Planned;
use serde_json::{Value, json};
use shared::config::Config;
use shared::model::Timestamp;
use shared::platform::term;
use shared::policy::text::{one_line, shorten, span};
use shared::store::feeds::FeedState;
use shared::store::health::Health;
use std::collections::HashMap;
use std::io::{self, Write};

/// Characters of a name and of an error in the table.
const NAME: usize = 40;
const ERROR: usize = 60;
/// The middle of the drawn waits: what is shown is a good guess.
const MIDDLE: f64 = 0.5;

/// One configured feed.
pub(super) struct Line {
    pub(super) planned: Planned,
    pub(super) health: Health,
    pub(super) items: i64,
}

/// How a feed is, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Condition {
    Failing,
    Gone,
    Quiet,
    Paused,
    New,
    Well,
}

impl Condition {
    fn of(feed: &Health, now: Timestamp) -> Self {
        if feed.is_paused(now) {
            Self::Paused
        } else if feed.gone_at.is_some() {
            Self::Gone
        } else if feed.failures > 0 {
            Self::Failing
        } else if feed.succeeded_at.is_none() {
            Self::New
        } else if feed.quiet_told_at.is_some() {
            Self::Quiet
        } else {
            Self::Well
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Gone => "gone",
            Self::Quiet => "quiet",
            Self::Paused => "paused",
            Self::New => "new",
            Self::Well => "ok",
        }
    }
}

/// A line for each feed of the configuration, the worst first.
pub(super) fn lines(
    config: &Config,
    states: Vec<FeedState>,
    health: Vec<Health>,
    counts: &HashMap<i64, i64>,
    now: Timestamp,
) -> Vec<Line> {
    let mut states: HashMap<String, FeedState> = states
        .into_iter()
        .map(|state| (state.url.clone(), state))
        .collect();
    let mut health: HashMap<String, Health> = health
        .into_iter()
        .map(|health| (health.url.clone(), health))
        .collect();
    let mut lines: Vec<Line> = config
        .feeds
        .iter()
        .map(|feed| {
            let url = feed.url.to_string();
            let health = health.remove(&url).unwrap_or_default();
            let state = states.remove(&url);
            Line {
                items: counts.get(&health.id).copied().unwrap_or_default(),
                planned: Planned {
                    feed: feed.clone(),
                    state: state.unwrap_or_else(|| FeedState::new(url)),
                },
                health,
            }
        })
        .collect();
    lines.sort_by_key(|line| Condition::of(&line.health, now));
    lines
}

impl Line {
    fn next(&self, now: Timestamp) -> Option<Timestamp> {
        Some(match self.planned.due(now, MIDDLE)? {
            Due::Now => now,
            Due::At(at) => at,
        })
    }

    /// The condition with its time, where that says more.
    fn condition(&self, now: Timestamp) -> String {
        let feed = &self.health;
        let condition = Condition::of(feed, now);
        let since = match condition {
            Condition::Failing => feed.failing_since,
            Condition::Gone => feed.gone_at,
            Condition::Quiet => feed.new_item_at.or(feed.seeded_at),
            Condition::Paused | Condition::New | Condition::Well => None,
        };
        match since {
            Some(since) => format!("{} {}", condition.name(), span(now.since(since))),
            None => condition.name().to_owned(),
        }
    }

    fn error(&self) -> String {
        one_line(self.health.last_error.as_deref().unwrap_or_default())
    }
}

pub(super) fn print(lines: &[Line], now: Timestamp, out: &mut dyn Write) -> io::Result<()> {
    if lines.is_empty() {
        return writeln!(out, "no feed is configured");
    }
    let mut rows = term::table(&[
        "feed",
        "health",
        "last success",
        "next fetch",
        "items",
        "last error",
    ]);
    for line in lines {
        let success = line.health.succeeded_at;
        rows.add_row([
            shorten(&one_line(&line.planned.name()), NAME),
            line.condition(now),
            success.map_or_else(
                || "never".to_owned(),
                |at| format!("{} ago", span(now.since(at))),
            ),
            match line.next(now) {
                None => "when resumed".to_owned(),
                Some(at) if at <= now => "now".to_owned(),
                Some(at) => format!("in {}", span(at.since(now))),
            },
            line.items.to_string(),
            shorten(&line.error(), ERROR),
        ]);
    }
    writeln!(out, "{}", rows.trim_fmt())?;
    writeln!(out, "{}", sums(lines, now))
}

/// `87 feeds: 85 ok, 2 failing`.
fn sums(lines: &[Line], now: Timestamp) -> String {
    let all = [
        Condition::Well,
        Condition::New,
        Condition::Failing,
        Condition::Gone,
        Condition::Quiet,
        Condition::Paused,
    ];
    let counted = all.map(|condition| {
        let of_it = lines
            .iter()
            .filter(|line| Condition::of(&line.health, now) == condition);
        (of_it.count(), condition.name())
    });
    let parts: Vec<String> = counted
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    let feeds = if lines.len() == 1 { "feed" } else { "feeds" };
    format!("{} {feeds}: {}", lines.len(), parts.join(", "))
}

pub(super) fn to_json(lines: &[Line], now: Timestamp) -> Vec<Value> {
    let seconds = |time: Option<Timestamp>| time.map(Timestamp::unix_seconds);
    lines
        .iter()
        .map(|line| {
            let feed = &line.health;
            json!({
                "name": line.planned.name(), "url": public(line.planned.feed.url.as_str()),
                "tags": line.planned.feed.tags, "health": Condition::of(feed, now).name(),
                "failures": feed.failures, "failing_since": seconds(feed.failing_since.filter(|_| feed.failures > 0)),
                "gone_since": seconds(feed.gone_at), "paused_until": seconds(feed.paused_until),
                "last_attempt": seconds(feed.attempted_at), "last_success": seconds(feed.succeeded_at),
                "last_new": seconds(feed.new_item_at), "next_fetch": seconds(line.next(now)),
                "items": line.items, "last_error": feed.last_error,
            })
        })
        .collect()
}

/// When and in whose hand it is, for what a person just decided.
pub(super) fn until(time: Option<Timestamp>, config: &Config) -> String {
    match time {
        Some(time) => format!("until {}", term::local(time, &config.timezone)),
        None => "until it is resumed".to_owned(),
    }
}
