//! A dry run: reads and parses as a tick does, judges by the rules alone, writes and sends nothing, and
//! says what would have been alerted and why. No model is asked: the cloud's requests are counted, and
//! would be sent somewhere; how many items one would judge is said.

use crate::classify;
use crate::classify::facts::Facts;
use crate::enqueue;
use crate::gather::{Gathered, Gathering};
use crate::parsing::Parsing;
use crate::plan::{self, Planned};
use crate::reader::Reader;
use crate::report::{AlertReport, FeedResult, Report};
use crate::run::{Options, Scene, client};
use shared::Failure;
use shared::config::{Access, Feed};
use shared::model::{Item, Prints, Timestamp, Validators};
use shared::store::feeds::{self, FeedState};
use shared::store::items::{self, Parsed, Pending};
use shared::store::{StoreError, Viewer};
use std::collections::BTreeMap;
use tokio::time::Instant;

/// Reads every feed, whatever its schedule, or the one that was asked for, configured or not.
///
/// # Errors
/// A database that is there and cannot be read. One that is not there knows nothing yet.
pub async fn run(scene: Scene, options: Options) -> Result<Report, Failure> {
    let start = Instant::now();
    let viewer = match Viewer::open(&scene.config.state_path) {
        Ok(viewer) => Some(viewer),
        Err(StoreError::Missing(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let states = match &viewer {
        Some(viewer) => viewer.read(feeds::all)?,
        None => Vec::new(),
    };
    let planned: Vec<Planned> = feeds_to_try(&scene, &options)?
        .into_iter()
        .map(|feed| whole(feed, &states))
        .collect();
    let deadline = start + scene.config.ingest.deadline;
    let reader = Reader {
        client: client(&scene.config)?,
        clock: scene.clock.clone(),
        parsing: Parsing::default(),
        same_hosts: scene.config.same_hosts.clone(),
        store: None,
        alert_existing: options.alert_existing,
        deadline,
        end: deadline,
    };
    let concurrency = scene.config.ingest.concurrency;
    let mut gathering = Gathering::new(reader, planned, concurrency, scene.progress);
    let mut gathered = BTreeMap::new();
    while let Some(one) = gathering.next().await? {
        gathered.insert(one.place, one);
    }
    let mut report = Report {
        dry_run: true,
        ..Report::default()
    };
    for one in gathered.into_values() {
        let is_first = !one.planned.state.seeded && !options.alert_existing;
        judge(&scene, viewer.as_ref(), one, is_first, &mut report)?;
    }
    report.took_seconds = start.elapsed().as_secs_f64();
    Ok(report)
}

/// A feed that is not in the configuration may be tried, as if it were.
fn feeds_to_try(scene: &Scene, options: &Options) -> Result<Vec<Feed>, Failure> {
    let configured = plan::wanted(&scene.config, options.feed.as_ref());
    match (&options.feed, configured) {
        (Some(url), Err(_)) => Ok(vec![Feed {
            url: url.clone(),
            name: None,
            tags: Vec::new(),
            interval: scene.config.ingest.interval,
            quiet_after: scene.config.ingest.quiet_after,
            authorization: None,
            cloud: true,
            heeds_ttl: true,
            tells_edits: false,
            access: Access::default(),
        }]),
        (_, configured) => configured,
    }
}

/// Asks for the whole document: "not modified" would show nothing.
fn whole(feed: Feed, states: &[FeedState]) -> Planned {
    let known = states.iter().find(|state| state.url == feed.url.as_str());
    let mut state = known
        .cloned()
        .unwrap_or_else(|| FeedState::new(feed.url.to_string()));
    state.validators = Validators::NONE;
    state.full_at = None;
    state.prints = Prints::NONE;
    Planned { feed, state }
}

fn judge(
    scene: &Scene,
    viewer: Option<&Viewer>,
    one: Gathered,
    is_first: bool,
    report: &mut Report,
) -> Result<(), Failure> {
    let Gathered { planned, read, .. } = one;
    let mut feed = read.report;
    if let (
        Some(parsed),
        FeedResult::Read {
            new, known, seeded, ..
        },
    ) = (&read.parsed, &mut feed.result)
    {
        let unknown = unknown(viewer, &planned, parsed, scene.clock.now())?;
        *known = parsed.items.len() - unknown.len();
        if is_first {
            *seeded = unknown.len();
        } else {
            *new = unknown.len();
            for item in unknown {
                judge_one(scene, &planned, parsed, item, report);
            }
        }
    }
    report.feeds.push(feed);
    Ok(())
}

fn unknown<'p>(
    viewer: Option<&Viewer>,
    planned: &Planned,
    parsed: &'p Parsed,
    now: Timestamp,
) -> Result<Vec<&'p Item>, StoreError> {
    let Some(viewer) = viewer else {
        return Ok(parsed.items.iter().collect());
    };
    let unreliable = parsed.guids_unreliable;
    let unknown =
        viewer.read(|db| items::unknown(db, planned.state.id, &parsed.items, unreliable, now))?;
    let pairs = parsed.items.iter().zip(unknown);
    Ok(pairs
        .filter(|(_, unknown)| *unknown)
        .map(|(item, _)| item)
        .collect())
}

fn judge_one(scene: &Scene, planned: &Planned, parsed: &Parsed, item: &Item, report: &mut Report) {
    let pending = Pending {
        id: 0,
        feed_id: planned.state.id,
        feed_url: planned.feed.url.to_string(),
        feed_title: parsed.title.clone(),
        key: item.key.to_string(),
        entry: item.entry.clone(),
        first_seen: scene.clock.now(),
        is_end: false,
    };
    let facts = Facts::of(&scene.config).about(&pending);
    let ruling = classify::rule(&pending.entry, &facts, &scene.config.rules);
    let is_open = ruling.open.is_some() && scene.config.classify.asks_about(facts.cloud);
    report.left_to_a_model += usize::from(is_open);
    let verdict = ruling.verdict;
    report.judged.count(verdict.severity);
    report.judged_by.count(verdict.judge, false);
    let decision = enqueue::decide(&pending, &facts, verdict, &scene.config, scene.clock.now());
    report
        .alerts
        .extend(decision.owed.as_ref().map(AlertReport::of));
}
