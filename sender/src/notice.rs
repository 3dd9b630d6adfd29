//! What the sender says about itself, on a channel that works.

use crate::channel::Channels;
use shared::model::{Alert, Destination, Fault, Hold, Severity, Timestamp};
use shared::policy::text::one_line;
use shared::store::outbox::Notice;
use std::collections::BTreeMap;

/// The unknown channels that were told of, with the day.
#[derive(Debug, Default)]
pub(crate) struct UnknownChannels(BTreeMap<String, i64>);

impl UnknownChannels {
    pub(crate) fn is_news(&self, channel: &str, now: Timestamp) -> bool {
        self.0.get(channel) != Some(&day(now))
    }

    pub(crate) fn told(&mut self, channel: String, now: Timestamp) {
        self.0.insert(channel, day(now));
    }
}

fn day(now: Timestamp) -> i64 {
    now.unix_millis().div_euclid(86_400_000)
}

/// Rows wait for a channel that is not configured. Told once a day while it lasts; `None` when
/// there is no channel to tell it on.
pub(crate) fn unknown_channel(
    channel: &str,
    channels: &Channels,
    now: Timestamp,
) -> Option<Notice> {
    let to = channels.notices(channel)?.clone();
    let day = day(now);
    let channel = one_line(channel);
    let title = format!("Alerts wait for the channel {channel:?}, which is not configured");
    let summary = format!(
        "Add [channel.{channel}] and restart the sender: they are sent then. Or discard them with `watchalert-sender queue discard`."
    );
    let reason = "nothing waits silently";
    let alert = Alert::about_ourselves(Severity::High, title, summary, reason, day);
    Some(Notice {
        event: "unknown-channel".to_owned(),
        // One notice a day, whatever names strangers come up with.
        about: day.to_string(),
        to,
        alert,
    })
}

/// A gate is closed, since then, by a refusal that a person must look into: the chat's, or the whole
/// bot's. Told once for each that closes on a day; `None` when there is no other channel to tell it on.
pub(crate) fn closed(
    to: &Destination,
    fault: &Fault,
    channels: &Channels,
    since: Timestamp,
) -> Option<Notice> {
    let (whom, about) = match fault.hold? {
        Hold::Suspended => (format!("the chat {to}"), to.to_string()),
        Hold::Stopped => (
            format!("the channel {}", to.channel),
            channels.bot(&to.channel),
        ),
        Hold::RateLimited | Hold::Down => return None,
    };
    let told_on = match fault.hold? {
        Hold::Stopped => channels.beyond(&to.channel),
        _ => channels.notices(&to.channel),
    };
    let day = day(since);
    let title = format!("Nothing gets through to {}: it is refused", one_line(&whom));
    let summary = format!(
        "{}. Its alerts wait and are sent when it is accepted again; it is tried now and then.",
        one_line(&fault.detail)
    );
    let reason = "nothing waits silently";
    Some(Notice {
        event: "closed".to_owned(),
        about: format!("{about}.{day}"),
        to: told_on?.clone(),
        alert: Alert::about_ourselves(Severity::High, title, summary, reason, day),
    })
}
