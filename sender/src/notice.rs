//! What the sender says about itself, on a channel that works.

use crate::channel::Channels;
use shared::model::{Alert, Severity, Timestamp};
use shared::policy::text::one_line;
use shared::store::outbox::Notice;

/// Rows wait for a channel that is not configured. Told once a day while it lasts; `None` when
/// there is no channel to tell it on.
pub(crate) fn unknown_channel(
    channel: &str,
    channels: &Channels,
    now: Timestamp,
) -> Option<Notice> {
    let to = channels.notices(channel)?.clone();
    let day = now.unix_millis().div_euclid(86_400_000);
    let channel = one_line(channel);
    let title = format!("Alerts wait for the channel {channel:?}, which is not configured");
    let summary = format!(
        "Add [channel.{channel}] and restart the sender: they are sent then. Or discard them with `watchalert-sender queue discard`."
    );
    let reason = "nothing waits silently";
    let alert = Alert::about_ourselves(Severity::High, title, summary, reason, day);
    Some(Notice {
        event: "unknown-channel".to_owned(),
        about: format!("{channel}.{day}"),
        to,
        alert,
    })
}
