//! The plan of a tick: which feeds are due, those that waited longest first; pure.

use crate::fetch;
use crate::fetch::schedule::{self, Due};
use shared::Failure;
use shared::config::{Config, Feed};
use shared::model::Timestamp;
use shared::store::feeds::FeedState;
use std::collections::HashMap;
use std::time::Duration;
use url::Url;

/// How long a feed that its server calls gone (410) is left alone.
const WEEK: Duration = Duration::from_hours(7 * 24);

/// A feed of the configuration, and what the last tick left of it.
#[derive(Clone, Debug)]
pub struct Planned {
    pub feed: Feed,
    pub state: FeedState,
}

impl Planned {
    /// How people call it: by the user's name, the feed's own title, or its URL without a key.
    pub fn name(&self) -> String {
        let named = self.feed.name.clone().or_else(|| self.state.title.clone());
        named.unwrap_or_else(|| fetch::shown(&self.feed.url))
    }

    /// The least time between two attempts: the configuration's, or longer at its server's wish.
    /// One that is gone for good is asked now and then all the same: nothing latches.
    pub fn interval(&self) -> Duration {
        let wish = self.state.ttl.filter(|_| self.feed.heeds_ttl);
        let pace = schedule::pace(self.feed.interval, wish);
        if self.state.gone_at.is_some() {
            pace.max(WEEK)
        } else {
            pace
        }
    }

    /// When it is due; `None`: not before a person resumes it.
    pub fn due(&self, now: Timestamp, chance: f64) -> Option<Due> {
        let paused = match (self.state.paused_at, self.state.paused_until) {
            (Some(_), None) => return None,
            (Some(_), Some(until)) if until > now => Due::At(until),
            _ => Due::Now,
        };
        let state = schedule::FeedState {
            interval: self.interval(),
            last_attempt: self.state.attempted_at,
            failures: self.state.failures,
            retry_at: Some(self.state.retry_at).filter(|at| *at > Timestamp::EPOCH),
        };
        Some(match (schedule::due(&state, now, chance, false), paused) {
            (Due::At(own), Due::At(until)) => Due::At(own.max(until)),
            (Due::Now, other) | (other, Due::Now) => other,
        })
    }
}

/// The feeds of the configuration, or the one that was asked for.
///
/// # Errors
/// `Usage`: the one that was asked for is not there.
pub fn wanted(config: &Config, asked: Option<&Url>) -> Result<Vec<Feed>, Failure> {
    let Some(url) = asked else {
        return Ok(config.feeds.clone());
    };
    let found = config.feeds.iter().find(|feed| feed.url == *url);
    let feed = found.cloned().ok_or_else(|| {
        Failure::Usage(format!(
            "{url} is not in the configuration: add it there, or try it with --dry-run"
        ))
    })?;
    Ok(vec![feed])
}

/// Those of `wanted` that are due, those that waited longest first. `chance` is drawn once for
/// each; a feed without a state is left for the next tick.
pub fn due(
    wanted: Vec<Feed>,
    states: Vec<FeedState>,
    now: Timestamp,
    chance: &mut fastrand::Rng,
    forced: bool,
) -> Vec<Planned> {
    let mut by_url: HashMap<String, FeedState> = states
        .into_iter()
        .map(|state| (state.url.clone(), state))
        .collect();
    let mut due: Vec<Planned> = wanted
        .into_iter()
        .filter_map(|feed| {
            let state = by_url.remove(feed.url.as_str())?;
            Some(Planned { feed, state })
        })
        .filter(|planned| planned.due(now, chance.f64()) == Some(Due::Now) || forced)
        .collect();
    due.sort_by_key(|planned| planned.state.attempted_at);
    due
}
