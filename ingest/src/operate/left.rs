//! The feeds that left the configuration, as `feeds list` shows them until they are forgotten.

use super::public;
use crate::absence::FORGOTTEN_AFTER;
use serde_json::{Value, json};
use shared::config::Config;
use shared::model::Timestamp;
use shared::policy::text::{one_line, span};
use shared::store::absent::Absence;
use shared::store::health::Health;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::time::Duration;

/// One feed that is known and not configured.
pub(super) struct Left {
    health: Health,
    /// `None`: no tick has missed it yet.
    absence: Option<Absence>,
    items: i64,
}

pub(super) fn of(config: &Config, health: &[Health], counts: &HashMap<i64, i64>) -> Vec<Left> {
    let configured: HashSet<&str> = config.feeds.iter().map(|feed| feed.url.as_str()).collect();
    let left = health
        .iter()
        .filter(|feed| !configured.contains(feed.url.as_str()));
    left.map(|feed| Left {
        absence: feed.absence,
        items: counts.get(&feed.id).copied().unwrap_or_default(),
        health: feed.clone(),
    })
    .collect()
}

impl Left {
    /// For so long it stays known.
    fn rest(&self) -> Duration {
        let lasted = self.absence.map(|absence| absence.lasted);
        FORGOTTEN_AFTER.saturating_sub(lasted.unwrap_or_default())
    }
}

pub(super) fn print(left: &[Left], now: Timestamp, out: &mut dyn Write) -> io::Result<()> {
    for feed in left {
        let url = public(&feed.health.url);
        let name = feed.health.title.as_deref().unwrap_or(&url);
        let since = feed.absence.map_or(now, |absence| absence.since);
        writeln!(
            out,
            "not configured for {}: {} ({url}), {} items, forgotten {}",
            span(now.since(since)),
            one_line(name),
            feed.items,
            match feed.rest() {
                Duration::ZERO => "with the next ticks".to_owned(),
                rest => format!("in {}", span(rest)),
            }
        )?;
    }
    Ok(())
}

pub(super) fn to_json(left: &[Left]) -> Vec<Value> {
    let of_one = |feed: &Left| {
        json!({
            "name": feed.health.title.clone().unwrap_or_else(|| public(&feed.health.url)),
            "url": public(&feed.health.url), "health": "left",
            "left_at": feed.absence.map(|absence| absence.since.unix_seconds()),
            "forgotten_in_seconds": feed.rest().as_secs(), "items": feed.items,
        })
    };
    left.iter().map(of_one).collect()
}
