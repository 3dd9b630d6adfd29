//! What the sender says about itself, on a channel that works.

use crate::channel::Channels;
use shared::model::{Alert, Category, Judge, Severity, Timestamp};
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
    let alert = Alert {
        v: Alert::VERSION,
        short_id: format!("{:06x}", day & 0xff_ffff),
        severity: Severity::High,
        category: Category::Operations,
        title: format!("Alerts wait for the channel {channel:?}, which is not configured"),
        summary: format!(
            "Add [channel.{channel}] and restart the sender: they are sent then. Or discard them with `watchalert-sender queue discard`."
        ),
        link: None,
        source: "watchalert".to_owned(),
        reason: "nothing waits silently".to_owned(),
        judge: Judge::Builtin,
        published: None,
    };
    Some(Notice {
        event: "unknown-channel".to_owned(),
        about: format!("{channel}.{day}"),
        to,
        alert,
    })
}
