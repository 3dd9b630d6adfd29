//! The watch over ourselves: alerts that wait too long, ticks that do not come. Told once each on a
//! channel that works, as far as there is one, and so is their end.

use crate::channel::Channels;
use crate::flight::Runway;
use crate::policy::share::Share;
use shared::model::{Alert, Destination, Gatekeeper, Severity, Timestamp};
use shared::policy::text::{one_line, span};
use shared::store::alarms::{self, Turn};
use shared::store::outbox::Notice;
use shared::store::{Db, StoreError, gate, heartbeats, mebibytes, room};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// So long may an alert that is due wait before that is told.
const OLD: Duration = Duration::from_mins(5);
/// So many ticks may be missing before that is told.
const MISSING: u32 = 3;
/// How the names of alarms about 429s begin; the channel's follows.
const THROTTLED: &str = "throttled:";

/// Looks, once a minute.
pub(crate) async fn look(runway: &Runway, now: Timestamp) -> Result<(), StoreError> {
    // Under a clock that was just set nobody knows how long anything waits.
    if !runway.steady.is_sure() {
        return Ok(());
    }
    let path = runway.store.path().to_owned();
    let (oldest, heartbeat, throttled) = runway
        .store
        .read(move |db| {
            let heartbeat = heartbeats::read(db, &path, now)?;
            let throttled = alarms::held(db, THROTTLED)?;
            Ok((alarms::oldest(db, now)?, heartbeat, throttled))
        })
        .await?;
    look_at_shares(runway, &throttled, now).await?;
    look_at_the_disk(runway, now).await?;
    let late = oldest.filter(|(_, since, _)| now.since(*since) >= OLD);
    note(
        runway,
        "late".to_owned(),
        late.is_some(),
        now,
        move |turn, to| late_notice(turn, late.as_ref(), to, now),
    )
    .await?;
    // Who has never seen a tick runs a sender alone.
    let Some(last) = heartbeat.started_at.max(heartbeat.finished_at) else {
        return Ok(());
    };
    let silent = now.since(last);
    let holds = silent >= runway.ticks_each * MISSING;
    note(runway, "ticks".to_owned(), holds, now, move |turn, to| {
        ticks_notice(turn, silent, to, now)
    })
    .await
}

/// It is low below what intake leaves, and is so until there is a quarter more.
async fn look_at_the_disk(runway: &Runway, now: Timestamp) -> Result<(), StoreError> {
    let (least, Some(left)) = (runway.min_free, room::left(runway.store.path())) else {
        return Ok(());
    };
    if (least..least + least / 4).contains(&left) {
        return Ok(());
    }
    let path = runway.store.path().to_owned();
    note(
        runway,
        "disk".to_owned(),
        left < least,
        now,
        move |turn, to| disk_notice(turn, &path, left, to, now),
    )
    .await
}

/// Each bot's share of 429s; those of which an alarm is known, from before a restart too.
async fn look_at_shares(
    runway: &Runway,
    known: &[String],
    now: Timestamp,
) -> Result<(), StoreError> {
    let shares = {
        let shares = runway.shares.lock();
        shares.unwrap_or_else(PoisonError::into_inner).clone()
    };
    let known_channels = known.iter().filter_map(|name| name.strip_prefix(THROTTLED));
    let mut channels: BTreeSet<&str> = shares.names().map(String::as_str).collect();
    channels.extend(known_channels);
    for channel in channels {
        let name = format!("{THROTTLED}{channel}");
        let share = shares.of(channel, now);
        let holds = share.is_alarming(known.contains(&name));
        let channel = channel.to_owned();
        note(runway, name, holds, now, move |turn, to| {
            share_notice(turn, &channel, share, to, now)
        })
        .await?;
    }
    Ok(())
}

async fn note(
    runway: &Runway,
    name: String,
    holds: bool,
    now: Timestamp,
    notice: impl Fn(Turn, &dyn Fn(&str) -> Option<Destination>) -> Option<Notice> + Send + 'static,
) -> Result<(), StoreError> {
    let (channels, alarm) = (Arc::clone(&runway.channels), name.clone());
    let turned = runway
        .store
        .write(move |db: &Db| {
            let elsewhere = |failed: &str| open(db, &channels, failed, now);
            alarms::note(db, &name, holds, |turn| notice(turn, &elsewhere), now)
        })
        .await?;
    match turned {
        Some(Turn::Begun) => tracing::error!(%alarm, "an alarm about watchalert itself begins"),
        Some(Turn::Over(_)) => tracing::info!(%alarm, "an alarm about watchalert itself is over"),
        None => {}
    }
    Ok(())
}

/// Where it can be told at once; else where it waits.
fn open(db: &Db, channels: &Channels, failed: &str, now: Timestamp) -> Option<Destination> {
    let is_open = |to: &&Destination| {
        let closed = gate::is_closed(db, &channels.keys(to), now);
        !closed.unwrap_or(false)
    };
    let found = channels.elsewhere(failed).find(is_open);
    found.or_else(|| channels.notices(failed)).cloned()
}

fn late_notice(
    turn: Turn,
    late: Option<&(Destination, Timestamp, i64)>,
    elsewhere: &dyn Fn(&str) -> Option<Destination>,
    now: Timestamp,
) -> Option<Notice> {
    let (title, summary, to) = match (turn, late) {
        (Turn::Begun, Some((to, since, count))) => (
            format!("Alerts wait: the oldest for {}", span(now.since(*since))),
            format!(
                "{count} are due, the oldest for {}. `watchalert-sender status` says what holds them.",
                one_line(&to.to_string())
            ),
            elsewhere(&to.channel)?,
        ),
        (Turn::Over(since), _) => (
            "No alert waits any more than it should".to_owned(),
            format!("It had begun {} ago.", span(now.since(since))),
            elsewhere("")?,
        ),
        (Turn::Begun, None) => return None,
    };
    Some(notice("late", turn, title, summary, to, now))
}

fn ticks_notice(
    turn: Turn,
    silent: Duration,
    elsewhere: &dyn Fn(&str) -> Option<Destination>,
    now: Timestamp,
) -> Option<Notice> {
    let (title, summary) = match turn {
        Turn::Begun => (
            format!("No tick for {}: nothing is watched", span(silent)),
            "See `systemctl status watchalert-ingest.timer` and `journalctl -u watchalert-ingest`."
                .to_owned(),
        ),
        Turn::Over(since) => (
            "Ticks come again".to_owned(),
            format!("They were missing for {}.", span(now.since(since))),
        ),
    };
    Some(notice("ticks", turn, title, summary, elsewhere("")?, now))
}

fn disk_notice(
    turn: Turn,
    database: &Path,
    left: u64,
    elsewhere: &dyn Fn(&str) -> Option<Destination>,
    now: Timestamp,
) -> Option<Notice> {
    let path = database.display();
    let left = mebibytes(left);
    let (title, summary) = match turn {
        Turn::Begun => (
            format!("The disk has {left} left: nothing new is taken in"),
            format!(
                "It is the disk under {path}. What is owed goes on being delivered; feeds are read again \
                 when there is room (state.min_free)."
            ),
        ),
        Turn::Over(since) => (
            "The disk has room again".to_owned(),
            format!(
                "{left} are left. It was short for {}.",
                span(now.since(since))
            ),
        ),
    };
    Some(notice("disk", turn, title, summary, elsewhere("")?, now))
}

fn share_notice(
    turn: Turn,
    channel: &str,
    share: Share,
    elsewhere: &dyn Fn(&str) -> Option<Destination>,
    now: Timestamp,
) -> Option<Notice> {
    let (title, summary) = match turn {
        Turn::Begun => (
            format!("The channel {channel} is asked to slow down too often"),
            format!(
                "{} of its last {} answers, in five minutes, were 429s: does something else send as the same bot?",
                share.refused, share.answers
            ),
        ),
        Turn::Over(since) => (
            format!("The channel {channel} is at its pace again"),
            format!("It was asked to slow down for {}.", span(now.since(since))),
        ),
    };
    let to = elsewhere(channel)?;
    let event = format!("throttled-{channel}");
    Some(notice(&event, turn, title, summary, to, now))
}

fn notice(
    name: &str,
    turn: Turn,
    title: String,
    summary: String,
    to: Destination,
    now: Timestamp,
) -> Notice {
    let (severity, end) = match turn {
        Turn::Begun => (Severity::High, ""),
        Turn::Over(_) => (Severity::Normal, "-over"),
    };
    let reason = "watchalert watches itself";
    let about = now.unix_millis() / 1000;
    Notice {
        event: format!("{name}{end}"),
        about: about.to_string(),
        to,
        alert: Alert::about_ourselves(severity, title, summary, reason, about),
    }
}
