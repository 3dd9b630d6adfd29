//! A first fetch seeds: its items are known, not told. One low notice a tick says so.

use crate::enqueue::notices;
use shared::config::Config;
use shared::model::{Alert, Severity, Timestamp};
use shared::store::outbox::{self, Notice};
use shared::store::{Store, StoreError, feeds};

/// Tells first fetches that were not told yet, also those of a tick that was cut short. Returns
/// how many rows were enqueued.
pub(crate) async fn tell(
    store: &Store,
    config: &Config,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let untold = store.read(feeds::seeded_untold).await?;
    let ids: Vec<i64> = untold.iter().map(|(id, _)| *id).collect();
    let items: i64 = untold.iter().map(|(_, items)| *items).sum();
    let Some(first) = ids.first().copied() else {
        return Ok(0);
    };
    let alert = notice_of(ids.len(), items, first);
    let Some(to) = notices(&alert, config) else {
        return Ok(0);
    };
    let notice = Notice {
        event: "seeded".to_owned(),
        // Each feed is seeded once, so the first of them names this notice for good.
        about: first.to_string(),
        to,
        alert,
    };
    store
        .write(move |db| {
            feeds::seed_told(db, &ids, now)?;
            Ok(usize::from(outbox::notify(db, &notice, now)?.new))
        })
        .await
}

fn notice_of(feeds: usize, items: i64, first: i64) -> Alert {
    let plural = |count: i64, one: &str| match count {
        1 => format!("1 {one}"),
        many => format!("{many} {one}s"),
    };
    let feeds = i64::try_from(feeds).unwrap_or(i64::MAX);
    let title = format!(
        "{}, {} known: alerts begin with what is new from now on",
        plural(feeds, "new feed"),
        plural(items, "item")
    );
    let reason = "a first fetch is told once";
    Alert::about_ourselves(Severity::Low, title, String::new(), reason, first)
}
