//! `[[heartbeat]]` and `[ping]`, as a good file has them.

use super::{fixtures, load};
use shared::config::PingUrl;
use shared::model::Severity;
use std::time::Duration;

#[test]
fn heartbeats_and_whom_to_ping_are_read() {
    let config = load(&fixtures("good/everything.toml")).unwrap();
    let [backup, index] = config.beats.as_slice() else {
        panic!("two heartbeats: {:?}", config.beats);
    };
    assert_eq!(
        (backup.name.as_str(), backup.rhythm().as_str()),
        ("backup", "every 1day")
    );
    let hours = |duration: Duration| duration.as_secs() / 3_600;
    assert_eq!((hours(backup.grace), hours(backup.longest_run)), (2, 3));
    assert_eq!(
        (&*backup.tags, backup.severity),
        (&["linux".to_owned()][..], Severity::Critical)
    );
    assert_eq!(
        backup.timezone.iana_name(),
        Some("Europe/Berlin"),
        "the configuration's"
    );
    assert_eq!(index.rhythm(), "cron */5 8-17 * * MON-FRI");
    assert_eq!(index.timezone.iana_name(), Some("America/New_York"));
    assert_eq!(backup.critical_after.map(hours), Some(12));
    assert_eq!(index.critical_after, None);
    assert_eq!((hours(index.grace), index.severity), (1, Severity::High));
    let start = config.ping.start.as_ref().map(PingUrl::resolve);
    let start = start.expect("given").expect("no file is needed");
    assert_eq!(start.expose(), "https://hc.example.net/ping/1/start");
    assert!(config.ping.fail.is_none());
    assert!(
        !format!("{config:?}").contains("hc.example.net"),
        "it is a secret"
    );
}
