//! Feeds that left the configuration stay known for a while, so that one which comes back tells
//! only what is new; then their items are forgotten.

use shared::config::Config;
use shared::model::Timestamp;
use shared::store::absent::{self, Absence};
use shared::store::feeds::{self, FeedState};
use shared::store::{Store, StoreError};
use std::collections::HashSet;
use std::time::Duration;

/// A feed that is not configured for so long is forgotten.
pub(crate) const FORGOTTEN_AFTER: Duration = Duration::from_hours(30 * 24);
/// It is counted once an hour: a tick every two minutes need not write.
const COUNTED_EACH: Duration = Duration::from_hours(1);
/// Between two counts there is a day at most, whatever the clock says: one that was set wrong, or a
/// machine that was off, forgets nothing. A timer starts at least one tick a day.
const LONGEST_STEP: Duration = Duration::from_hours(24);
/// Transactions of one tick, a hundred items each: more can wait for the next.
const FORGETTINGS: usize = 10;

/// What is to be kept of one feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Returned,
    Gone(Absence),
    Forgotten,
}

/// Counts what is absent and forgets what is so for too long.
pub(crate) async fn keep(store: &Store, config: &Config, now: Timestamp) -> Result<(), StoreError> {
    let configured: HashSet<String> = config
        .feeds
        .iter()
        .map(|feed| feed.url.to_string())
        .collect();
    let known = store.read(feeds::all).await?;
    let mut forgettings = FORGETTINGS;
    for feed in &known {
        let (id, url) = (feed.id, feed.url.as_str());
        match change(feed, configured.contains(url), now) {
            None => {}
            Some(Change::Returned) => store.write(move |db| absent::keep(db, id, None)).await?,
            Some(Change::Gone(absence)) => {
                store
                    .write(move |db| absent::keep(db, id, Some(absence)))
                    .await?;
            }
            Some(Change::Forgotten) => forget(store, id, &mut forgettings).await?,
        }
    }
    Ok(())
}

async fn forget(store: &Store, id: i64, left: &mut usize) -> Result<(), StoreError> {
    while *left > 0 {
        *left -= 1;
        if store.write(move |db| absent::forget(db, id)).await? == 0 {
            break;
        }
    }
    Ok(())
}

fn change(feed: &FeedState, is_configured: bool, now: Timestamp) -> Option<Change> {
    if is_configured {
        return feed.absence.map(|_| Change::Returned);
    }
    // A row that is none of the configuration's feeds is somebody else's.
    let is_a_feed = ["http://", "https://", "file://"];
    if !is_a_feed.iter().any(|scheme| feed.url.starts_with(scheme)) {
        return None;
    }
    let Some(known) = feed.absence else {
        return Some(Change::Gone(Absence {
            since: now,
            counted_at: now,
            lasted: Duration::ZERO,
        }));
    };
    if known.lasted >= FORGOTTEN_AFTER {
        return Some(Change::Forgotten);
    }
    let is_ahead = known.counted_at > now;
    let passed = now.since(known.counted_at);
    (is_ahead || passed >= COUNTED_EACH).then(|| {
        Change::Gone(Absence {
            since: known.since.min(now),
            counted_at: now,
            lasted: known.lasted + passed.min(LONGEST_STEP),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-30T08:00:00Z
    const START: Timestamp = Timestamp::from_unix_millis(1_796_025_600_000);
    const HOUR: Duration = Duration::from_hours(1);
    const DAY: Duration = Duration::from_hours(24);

    fn gone() -> FeedState {
        FeedState::new("https://example.org/feed".to_owned())
    }

    /// One look; whether something was written.
    fn look(feed: &mut FeedState, now: Timestamp) -> bool {
        match change(feed, false, now) {
            Some(Change::Gone(absence)) => feed.absence = Some(absence),
            Some(Change::Forgotten) => panic!("forgotten"),
            Some(Change::Returned) => panic!("returned"),
            None => return false,
        }
        true
    }

    /// After how many days of ticks, so far apart, it is forgotten.
    fn forgotten_after(apart: Duration) -> u64 {
        let (mut feed, mut now) = (gone(), START);
        while change(&feed, false, now) != Some(Change::Forgotten) {
            look(&mut feed, now);
            now = now + apart;
        }
        now.since(START).as_secs() / DAY.as_secs()
    }

    #[test]
    fn a_feed_is_forgotten_after_thirty_days_however_often_the_timer_starts() {
        for apart in [2 * Duration::from_mins(1), HOUR, 7 * HOUR, DAY] {
            let days = forgotten_after(apart);
            assert!((30..=31).contains(&days), "{days} d, {apart:?} apart");
        }
    }

    #[test]
    fn a_tick_writes_once_an_hour_at_most() {
        let mut feed = gone();
        let ticks = (0..24 * 30).map(|tick| START + Duration::from_mins(2) * tick);
        let written = ticks.filter(|now| look(&mut feed, *now)).count();
        assert_eq!(written, 24);
    }

    #[test]
    fn no_clock_that_jumps_and_no_machine_that_was_off_forgets() {
        let mut feed = gone();
        look(&mut feed, START);
        for now in [START + 3650 * DAY, START, START + 40 * DAY, START + DAY] {
            look(&mut feed, now);
        }
        let absence = feed.absence.unwrap();
        assert_eq!(absence.lasted, 2 * DAY, "a day for each jump ahead");
        assert_eq!((absence.since, absence.counted_at), (START, START + DAY));
    }

    #[test]
    fn a_feed_that_is_configured_again_is_counted_anew() {
        let mut feed = gone();
        assert_eq!(change(&feed, true, START), None);
        look(&mut feed, START);
        assert_eq!(
            change(&feed, true, START + 29 * DAY),
            Some(Change::Returned)
        );
    }

    #[test]
    fn a_row_that_is_no_feed_of_the_configuration_is_left_alone() {
        let other = FeedState::new("webhook:infra".to_owned());
        assert_eq!(change(&other, false, START), None);
    }
}
