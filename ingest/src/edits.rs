//! Tells edits, of the feeds that want it: `edits = "tell"`. What an item says now is judged by the
//! rules beside what it said; an edit is low, unless it made the item graver.

use crate::classify::facts::Facts;
use crate::classify::{self, FeedFacts};
use crate::enqueue::title;
use crate::know::changed;
use crate::route::route;
use shared::config::{Config, Rule};
use shared::model::{Alert, DedupKey, Entry, Priority, Severity, Timestamp, Verdict};
use shared::policy::text::shorten;
use shared::store::edits::{self, Edit};
use shared::store::outbox::{self, Owed};
use shared::store::{Db, Store, StoreError};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

/// More edits of one feed at once are one alert: it changed its template, not its news.
const SINGLE: usize = 5;
/// So many of them are named in it.
const NAMED: usize = 10;
/// Characters of one title there.
const TITLE: usize = 100;
/// An item that is edited again and again, as one that counts its readers, is told so often.
const EACH: Duration = Duration::from_hours(24);
/// Edits of one tick; more wait for the next.
const AT_ONCE: u32 = 1_000;

/// What becomes of one edit.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Weight {
    /// It is not worth telling.
    Nothing,
    /// One was told a short time ago: what it says in a day is told then.
    Later,
    Low(Verdict),
    /// The item grew worse: that never waits, and is never one of many.
    Graver(Verdict),
}

/// What one alert tells.
struct Told {
    edits: Vec<Edit>,
    owed: Owed,
}

/// Tells what was edited. Returns what was told, and how many rows that are.
pub(crate) async fn tell(
    store: &Store,
    config: &Config,
    facts: &Facts,
    now: Timestamp,
) -> Result<(Vec<Owed>, usize), StoreError> {
    let untold = store.read(|db| edits::untold(db, AT_ONCE)).await?;
    if untold.is_empty() {
        return Ok((Vec::new(), 0));
    }
    let (told, silent) = decide(untold, config, facts, now);
    store
        .write(move |db| {
            for edit in &silent {
                edits::settle(db, edit, None, now)?;
            }
            Ok(())
        })
        .await?;
    let (mut all, mut rows) = (Vec::new(), 0);
    for one in told {
        all.push(one.owed.clone());
        rows += store.write(move |db| enqueue(db, &one, now)).await?;
    }
    Ok((all, rows))
}

fn enqueue(db: &Db, told: &Told, now: Timestamp) -> Result<usize, StoreError> {
    let enqueued = outbox::enqueue(db, &told.owed, now)?;
    for edit in &told.edits {
        edits::settle(db, edit, Some(enqueued.alert_id()), now)?;
    }
    Ok(match enqueued {
        outbox::Enqueued::New { rows, .. } => rows,
        outbox::Enqueued::Known { .. } => 0,
    })
}

/// What is told, and what is not worth it; the rest waits.
fn decide(
    untold: Vec<Edit>,
    config: &Config,
    facts: &Facts,
    now: Timestamp,
) -> (Vec<Told>, Vec<Edit>) {
    let wanted = config.feeds.iter().filter(|feed| feed.tells_edits);
    let wanted: HashSet<&str> = wanted.map(|feed| feed.url.as_str()).collect();
    let (mut told, mut silent) = (Vec::new(), Vec::new());
    let mut low: BTreeMap<i64, Vec<(Edit, Verdict)>> = BTreeMap::new();
    for edit in untold {
        let about = facts.about(&edit.item);
        if !wanted.contains(edit.item.feed_url.as_str()) {
            silent.push(edit);
            continue;
        }
        match weigh(&edit, &about, &config.rules, now) {
            Weight::Nothing => silent.push(edit),
            Weight::Later => {}
            Weight::Low(verdict) => low
                .entry(edit.item.feed_id)
                .or_default()
                .push((edit, verdict)),
            Weight::Graver(verdict) => told.push(single(edit, &verdict, &about, config, now)),
        }
    }
    for of_one_feed in low.into_values() {
        told.extend(of_feed(of_one_feed, facts, config, now));
    }
    (told, silent)
}

fn weigh(edit: &Edit, facts: &FeedFacts, rules: &[Rule], now: Timestamp) -> Weight {
    let old = Entry {
        title: edit.old_title.clone(),
        summary: edit.old_summary.clone(),
        ..edit.item.entry.clone()
    };
    let before = classify::rule(&old, facts, rules).verdict.severity;
    let mut verdict = classify::rule(&edit.item.entry, facts, rules).verdict;
    let known = edit
        .severity
        .map_or(before, |severity| severity.min(before));
    if verdict.severity == Severity::Ignore {
        return Weight::Nothing;
    }
    if verdict.severity < known {
        return Weight::Graver(verdict);
    }
    if edit.severity == Some(Severity::Ignore) {
        return Weight::Nothing;
    }
    let is_late = |told: Timestamp| told <= now && now.since(told) < EACH;
    if edit.told_at.is_some_and(is_late) {
        return Weight::Later;
    }
    verdict.severity = Severity::Low;
    Weight::Low(verdict)
}

/// One alert each, or one for all.
fn of_feed(
    edits: Vec<(Edit, Verdict)>,
    facts: &Facts,
    config: &Config,
    now: Timestamp,
) -> Vec<Told> {
    if edits.len() > SINGLE {
        return many(edits, facts, config, now).into_iter().collect();
    }
    let each = edits.into_iter().map(|(edit, verdict)| {
        let about = facts.about(&edit.item);
        single(edit, &verdict, &about, config, now)
    });
    each.collect()
}

fn single(
    edit: Edit,
    verdict: &Verdict,
    facts: &FeedFacts,
    config: &Config,
    now: Timestamp,
) -> Told {
    let entry = &edit.item.entry;
    let is_graver = verdict.severity < Severity::Low;
    let reason = if is_graver {
        format!("an edit made it graver: {}", verdict.reason)
    } else {
        "an edit of a known entry; its feed has edits = \"tell\"".to_owned()
    };
    let alert = Alert {
        title: format!("Edited: {}", title(entry)),
        summary: what_changed(&edit),
        link: entry.link.clone(),
        reason,
        published: entry.published,
        ..alert_of(&edit, verdict, facts)
    };
    let key = format!("e:{}:{}", edit.item.id, edit.told + 1);
    let raised_from = edit.alert_id.filter(|_| is_graver);
    let owed = Owed {
        raised_from,
        ..owe(alert, key, facts, config, now)
    };
    Told {
        edits: vec![edit],
        owed,
    }
}

fn many(
    edits: Vec<(Edit, Verdict)>,
    facts: &Facts,
    config: &Config,
    now: Timestamp,
) -> Option<Told> {
    let (first, verdict) = edits.first()?;
    let about = facts.about(&first.item);
    let mut lines: Vec<String> = edits
        .iter()
        .take(NAMED)
        .map(|(edit, _)| shorten(&title(&edit.item.entry), TITLE))
        .collect();
    if edits.len() > NAMED {
        lines.push(format!("and {} more", edits.len() - NAMED));
    }
    let alert = Alert {
        title: format!("{} entries of {} were edited", edits.len(), about.name),
        summary: lines.join("\n"),
        reason: format!(
            "more than {SINGLE} edits at once are one alert; their feed has edits = \"tell\""
        ),
        ..alert_of(first, verdict, &about)
    };
    let key = format!("e:{}:{}:{}", first.item.id, first.told + 1, edits.len());
    Some(Told {
        owed: owe(alert, key, &about, config, now),
        edits: edits.into_iter().map(|(edit, _)| edit).collect(),
    })
}

/// Under the short id of the item: it is the same story.
fn alert_of(edit: &Edit, verdict: &Verdict, facts: &FeedFacts) -> Alert {
    Alert {
        v: Alert::VERSION,
        short_id: DedupKey::new(edit.item.key.clone()).short_id().to_owned(),
        severity: verdict.severity,
        category: verdict.category,
        title: String::new(),
        summary: String::new(),
        link: None,
        source: facts.name.clone(),
        also: Vec::new(),
        reason: String::new(),
        judge: verdict.judge,
        published: None,
    }
}

/// Each change has a key of its own, and is settled in the transaction that enqueues it. An edit is no
/// story that another feed could tell.
fn owe(alert: Alert, key: String, facts: &FeedFacts, config: &Config, now: Timestamp) -> Owed {
    let to = route(&alert, &facts.tags, config, now);
    Owed {
        dedup_key: key,
        cves: None,
        raised_from: None,
        not_owed: to.is_empty().then(|| "no channel is configured".to_owned()),
        priority: alert.severity.priority().unwrap_or(Priority::Low),
        alert,
        to,
    }
}

fn what_changed(edit: &Edit) -> String {
    let entry = &edit.item.entry;
    let was = (edit.old_title != entry.title)
        .then(|| format!("The title was: {}", shorten(&edit.old_title, TITLE)));
    let text = Some(changed(&edit.old_summary, &entry.summary));
    let text = text.filter(|text| !text.is_empty() && !entry.summary.is_empty());
    let parts: Vec<String> = was.into_iter().chain(text).collect();
    parts.join("\n")
}
