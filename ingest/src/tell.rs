//! Tells of the feeds themselves: one notice a tick for each kind of news, however many feeds it is
//! of, stored together with the fact that it was told.

use crate::enqueue::notices;
use crate::fetch::shown;
use crate::trouble::{self, RHYTHM_DAYS, Telling};
use shared::config::{Config, Feed};
use shared::model::{Alert, Severity, Timestamp};
use shared::policy::text::{one_line, shorten, span};
use shared::store::health::{self, Health, Told};
use shared::store::outbox::{self, Notice};
use shared::store::{Db, Store, StoreError};
use std::collections::HashMap;

/// So many feeds are named in one notice.
const NAMED: usize = 10;
/// Characters of one reason.
const REASON: usize = 200;

/// One feed of a notice.
struct About {
    feed: Health,
    name: String,
    telling: Telling,
}

/// Tells what is to be told of the configured feeds. Returns how many rows were enqueued.
pub(crate) async fn tell(
    store: &Store,
    config: &Config,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let configured: HashMap<String, Feed> = config
        .feeds
        .iter()
        .map(|feed| (feed.url.to_string(), feed.clone()))
        .collect();
    let total = configured.len();
    let news = store.read(move |db| collect(db, &configured, now)).await?;
    let mut rows = 0;
    for what in [
        Told::Failing,
        Told::Gone,
        Told::Works,
        Told::Quiet,
        Told::Heard,
        Told::Renamed,
    ] {
        let about: Vec<&About> = news.iter().filter(|one| one.telling.what == what).collect();
        let Some(notice) = notice_of(what, &about, total, now, config) else {
            continue;
        };
        let ids: Vec<i64> = about.iter().map(|one| one.feed.id).collect();
        rows += store
            .write(move |db| {
                for id in &ids {
                    health::told(db, *id, what, now)?;
                }
                Ok(usize::from(outbox::notify(db, &notice, now)?.new))
            })
            .await?;
    }
    Ok(rows)
}

fn collect(
    db: &Db,
    configured: &HashMap<String, Feed>,
    now: Timestamp,
) -> Result<Vec<About>, StoreError> {
    let mut news = Vec::new();
    for feed in health::all(db)? {
        let Some(watched) = configured.get(&feed.url) else {
            continue;
        };
        let mut tellings = trouble::tellings(&feed, now);
        if let Some(since) = trouble::silent_since(&feed, watched.quiet_after, now) {
            let arrivals = health::arrivals(db, feed.id, RHYTHM_DAYS)?;
            tellings.extend(trouble::quiet(since, &arrivals, watched.quiet_after, now));
        }
        let named = watched.name.clone().or_else(|| feed.title.clone());
        let name = one_line(&named.unwrap_or_else(|| shown(&watched.url)));
        news.extend(tellings.into_iter().map(|telling| About {
            feed: feed.clone(),
            name: name.clone(),
            telling,
        }));
    }
    let is_failure = |one: &About| one.telling.what == Told::Failing;
    if !news
        .iter()
        .any(|one| is_failure(one) && trouble::is_confirmed(&one.feed, now))
    {
        news.retain(|one| !is_failure(one));
    }
    Ok(news)
}

/// `None` when there is nothing to tell, or nobody to tell it to.
fn notice_of(
    what: Told,
    about: &[&About],
    total: usize,
    now: Timestamp,
    config: &Config,
) -> Option<Notice> {
    let first = about.first()?;
    let is_all = what == Told::Failing && total > 1 && about.len() == total;
    let (title, summary) = match about {
        [one] => (
            headline(&format!("The feed {}", one.name), one, now),
            detail(one),
        ),
        several if is_all => (
            format!(
                "None of the {total} feeds can be read: perhaps this machine has no connection"
            ),
            listed(several),
        ),
        several => (
            headline(&format!("{} feeds", several.len()), first, now),
            listed(several),
        ),
    };
    let severity = match what {
        Told::Failing if is_all => Severity::High,
        Told::Failing | Told::Gone => Severity::Normal,
        _ => Severity::Low,
    };
    let reason = "what happens to a feed is told once";
    let alert = Alert::about_ourselves(severity, title, summary, reason, first.feed.id);
    Some(Notice {
        event: format!("feed-{}", event(what)),
        about: format!("{}@{}", first.feed.id, first.telling.at.unix_millis()),
        to: notices(&alert, config)?,
        alert,
    })
}

fn event(what: Told) -> &'static str {
    match what {
        Told::Failing => "failing",
        Told::Works => "works",
        Told::Gone => "gone",
        Told::Quiet => "quiet",
        Told::Heard => "heard",
        Told::Renamed => "renamed",
    }
}

/// The sentence; `who` is one feed or several.
fn headline(who: &str, one: &About, now: Timestamp) -> String {
    let for_so_long = span(now.since(one.telling.at));
    let is_one = who.starts_with("The ");
    let by_number = |one: &'static str, several: &'static str| if is_one { one } else { several };
    match one.telling.what {
        Told::Failing => format!("{who} cannot be read for {for_so_long}"),
        Told::Works => format!("{who} can be read again"),
        Told::Gone => format!(
            "{who} {} gone for good, says the server",
            by_number("is", "are")
        ),
        Told::Quiet if is_one => format!(
            "{who} brought nothing new for {} days",
            now.since(one.telling.at).as_secs() / 86_400
        ),
        Told::Quiet => format!("{who} bring nothing new"),
        Told::Heard => format!("{who} {} something new again", by_number("brings", "bring")),
        Told::Renamed if is_one => format!(
            "{who} shows its {} items under new names: none was told again",
            one.feed.storm_items
        ),
        Told::Renamed => format!("{who} show all their items under new names: none was told again"),
    }
}

/// What a person reads below it.
fn detail(one: &About) -> String {
    let error = one.feed.last_error.as_deref().unwrap_or_default();
    match one.telling.what {
        Told::Failing => format!(
            "{} It failed {}, and is tried again and again.",
            ended(error),
            match one.feed.failures {
                1 => "once".to_owned(),
                times => format!("{times} times in a row"),
            }
        ),
        Told::Gone => "It answered 410. It is asked once a week from now on; `watchalert-ingest feeds resume` asks at once, and removing it from the configuration ends it.".to_owned(),
        Told::Quiet => "It can be read, and shows nothing new: longer than quiet_after, and than its own rhythm. Perhaps it has moved.".to_owned(),
        Told::Works | Told::Heard | Told::Renamed => String::new(),
    }
}

fn ended(error: &str) -> String {
    let mut sentence = shorten(&one_line(error), REASON);
    let mut letters = sentence.chars();
    if let Some(first) = letters.next() {
        sentence = format!("{}{}", first.to_uppercase(), letters.as_str());
    }
    format!("{}.", sentence.trim_end_matches('.'))
}

/// A line for each feed, with the reason where there is one.
fn listed(about: &[&About]) -> String {
    let mut lines: Vec<String> = about
        .iter()
        .take(NAMED)
        .map(|one| match (one.telling.what, &one.feed.last_error) {
            (Told::Failing, Some(error)) => {
                format!("{}: {}", one.name, shorten(&one_line(error), REASON))
            }
            _ => one.name.clone(),
        })
        .collect();
    if about.len() > NAMED {
        lines.push(format!("and {} more", about.len() - NAMED));
    }
    lines.join("\n")
}
