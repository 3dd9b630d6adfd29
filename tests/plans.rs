//! Every statement that runs while alerts wait finds its rows by an index: a backlog or ninety days
//! of history must not make the next alert late. The statements are those which SQLite really ran.

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use shared::model::{
    Blame, Category, DedupKey, Entry, Item, Judge, Lease, Priority, Pulse, Settlement, Severity,
    Timestamp, Validators, Verdict,
};
use shared::store::explain::{self, Sought};
use shared::store::health::{self, Told};
use shared::store::items::Parsed;
use shared::store::models::Name;
use shared::store::outbox::operator::{Filter, Listed, Movable};
use shared::store::outbox::{self, Claim, Notice, operator, prune, waiting};
use shared::store::posts::{self, Arrival, Post, Repeats};
use shared::store::stories::{self, Story};
use shared::store::watch::Reading;
use shared::store::{
    StoreError, absent, beats, edits, feeds, gate, heartbeats, items, journal, metrics, models,
    status, timeline, watch,
};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use watchalert_tests::world::{START, Unlimited, World, alert, fault, owed, receipt, stranger, to};

/// A connection of ours, and what it ran so far.
fn watched(world: &World) -> (Connection, Arc<Mutex<BTreeSet<String>>>) {
    let mut db = stranger(&world.database());
    db.pragma_update(None, "foreign_keys", true)
        .expect("as ours have it");
    let ran = Arc::new(Mutex::new(BTreeSet::new()));
    let heard = Arc::clone(&ran);
    let listen = move |event: TraceEvent<'_>| {
        if let TraceEvent::Profile(statement, _) = event {
            heard
                .lock()
                .expect("free")
                .insert(statement.sql().into_owned());
        }
    };
    db.trace_v2(TraceEventCodes::SQLITE_TRACE_PROFILE, Some(listen))
        .expect("traced");
    (db, ran)
}

fn the_sender_and_its_operator(db: &Connection) -> Result<(), StoreError> {
    let (screen, other, now) = (to("screen", "-"), to("other", "-"), START);
    let later = now + Duration::from_secs(60);
    for key in ["a", "a", "b", "c", "d", "e"] {
        outbox::enqueue(db, &owed(key, &screen, Priority::High), now)?;
    }
    let notice = Notice {
        event: "seeded".to_owned(),
        about: "1".to_owned(),
        to: other.clone(),
        alert: alert("n", Severity::Low),
    };
    outbox::notify(db, &notice, now)?;
    outbox::notify(db, &notice, now)?;
    waiting::address(db, &to("", "-"), &screen, now)?;
    gate::heal(db, now)?;
    gate::rename(db, "a", "b", "b")?;
    gate::renamed(db)?;
    waiting::all(db, now)?;
    waiting::fresh(db, waiting::high_water(db)?, now, later)?;
    let epoch = outbox::take_over(db, "test", now)?.epoch;
    outbox::heal(db, now)?;
    timeline::follow(db, epoch, 5_000, now)?;
    timeline::follow(db, epoch, 0, now)?;
    let settle =
        |lease: &Lease<_>, settlement| outbox::settle(db, lease, &settlement, Some(&other), now);
    let lease = || match outbox::claim(db, epoch, &screen, &Unlimited, now)? {
        Claim::Leased(lease) => Ok(*lease),
        nothing => Err(StoreError::Bug(format!("{nothing:?}"))),
    };
    let first = lease()?;
    settle(&first, receipt("m"))?;
    settle(&first, receipt("m"))?;
    settle(&lease()?, Settlement::Release)?;
    settle(
        &lease()?,
        Settlement::RetryAt(later, fault(Blame::Channel, true)),
    )?;
    for _ in 0..2 {
        settle(
            &lease()?,
            Settlement::Bury("no".to_owned(), fault(Blame::Message, false)),
        )?;
    }
    let held = lease()?;
    let completion = journal::Completion {
        outbox_id: held.held().id,
        attempt: held.attempt(),
        epoch: held.epoch(),
        message_id: "m".to_owned(),
        rest: vec!["left".to_owned()],
    };
    journal::replay(db, &[completion], now)?;
    outbox::claim(db, epoch, &screen, &Unlimited, now)?;
    outbox::claim_each(db, epoch, std::slice::from_ref(&screen), &Unlimited, now)?;
    for listed in [Listed::Waiting, Listed::Dead, Listed::Finished] {
        operator::list(db, listed, &Filter::default(), 10)?;
    }
    operator::show(db, 1)?;
    operator::members(db, 1)?;
    let movable = [Movable::Ready, Movable::Dead, Movable::Expired];
    operator::select(db, &movable, &Filter::default())?;
    outbox::bury_behind(db, &screen, later, "no", Some(&other), now)?;
    operator::requeue(db, 4, now)?;
    operator::discard(db, 4, now)?;
    status::status(db, now)?;
    metrics::read(db, Path::new("state.db"), now)?;
    prune::prune(db, later)?;
    Ok(())
}

fn item(key: &str, link: &str) -> Item {
    Item {
        entry: Entry {
            guid: None,
            link: Some(link.to_owned()),
            title: "A title of some words".to_owned(),
            summary: String::new(),
            tags: Vec::new(),
            published: None,
            rating: None,
        },
        key: DedupKey::new(key.to_owned()),
        link_key: Some(DedupKey::new(link.to_owned())),
        other_link_keys: vec![DedupKey::new(format!("{link}-elsewhere"))],
    }
}

fn parsed(items: Vec<Item>) -> Parsed {
    Parsed {
        feed_id: 1,
        title: None,
        items,
        unchanged: std::collections::HashSet::new(),
        prints: shared::model::Prints::NONE,
        ttl: None,
        moved_to: None,
        guids_unreliable: false,
        validators: Validators::NONE,
        seed: false,
        tells_edits: true,
    }
}

fn what_it_watches(db: &Connection, now: Timestamp) -> Result<(), StoreError> {
    posts::expect(db, "other", now)?;
    beats::keep(db, "backup", &Pulse::default())?;
    beats::all(db)?;
    beats::get(db, "backup")?;
    beats::forget(db, "backup")?;
    let reading = Reading {
        wall: now,
        steady: Duration::ZERO,
        boot: "one".to_owned(),
    };
    watch::keep_reading(db, &reading)?;
    watch::reading(db)?;
    watch::keep_suspicion(db, None)?;
    watch::suspicion(db)?;
    watch::drain(db, &|_| true, now)?;
    watch::untold(db)?;
    Ok(())
}

fn the_tick(db: &Connection) -> Result<(), StoreError> {
    let now = START;
    heartbeats::tick_started(db, now)?;
    feeds::register(db, &["https://example.org/feed".to_owned()])?;
    feeds::all(db)?;
    items::store(db, &parsed(vec![item("a", "1"), item("b", "2")]), now)?;
    let later = now + Duration::from_secs(2 * 86_400);
    items::store(db, &parsed(vec![item("a", "1"), item("c", "2")]), later)?;
    items::unknown(db, 1, &[item("d", "3")], true, now)?;
    let verdict = Verdict {
        severity: Severity::Ignore,
        category: Category::Other,
        summary: String::new(),
        reason: String::new(),
        judge: Judge::Rule,
    };
    for pending in items::pending(db, 0, 10)? {
        models::unusable(db, pending.id)?;
        models::was_unusable(db, pending.id)?;
        items::judged(db, pending.id, &verdict, None, now)?;
        models::is_judged(db, pending.id)?;
    }
    models::keep_health(db, Name::Cloud, &models::health(db, Name::Ollama)?)?;
    models::spend(db, 1, now)?;
    models::remember(db, "hash", "{}", Judge::Model, now)?;
    models::answer(db, "hash")?;
    models::forget(db, later)?;
    items::routed(db, 1, "the default channel")?;
    items::count_pending(db)?;
    feeds::not_modified(db, 1, &Validators::NONE, None, now)?;
    feeds::failed(db, 1, "no", None, now)?;
    feeds::seeded_untold(db)?;
    feeds::seed_told(db, &[1], now)?;
    let post = |key: &str, is_end| Post {
        entry: item(key, "1").entry,
        key: DedupKey::new(key.to_owned()),
        thread: Some(DedupKey::new("thread".to_owned())),
        is_end,
    };
    let arrival = Arrival {
        name: "infra".to_owned(),
        delivery: Some("1".to_owned()),
        body: "hash".to_owned(),
        repeats: Repeats::Within(later.since(now)),
        posts: vec![post("p1", false), post("p2", true)],
    };
    posts::receive(db, &arrival, now)?;
    let after = Arrival {
        delivery: None,
        ..arrival
    };
    posts::receive(db, &after, later)?;
    for posted in items::pending(db, 0, 10)? {
        posts::thread(db, posted.id)?;
    }
    posts::told_to(db, Some(1))?;
    posts::prune(db, later)?;
    what_it_watches(db, now)?;
    heartbeats::tick_finished(db, "done", now)
}

/// What is told and kept of feeds, and what a person asks.
fn the_tick_about_feeds(db: &Connection) -> Result<(), StoreError> {
    the_tick(db)?;
    let now = START;
    let later = now + Duration::from_secs(4 * 86_400);
    let mut edited = item("a", "1");
    "Another title of some words".clone_into(&mut edited.entry.title);
    items::store(db, &parsed(vec![edited, item("c", "2")]), later)?;
    for edit in edits::untold(db, 10)? {
        edits::history(db, edit.item.id)?;
        edits::settle(db, &edit, None, now)?;
    }
    let story = Story {
        title: "A title of some words".to_owned(),
        cves: Some("CVE-2026-91001".to_owned()),
        other_pages: vec![DedupKey::new("elsewhere".to_owned())],
        has_a_page: true,
        has_a_telling_title: true,
    };
    stories::told(db, 1, &story, now)?;
    stories::told(
        db,
        1,
        &Story {
            cves: None,
            ..story
        },
        now,
    )?;
    stories::also(db, 1, 1, "News", now)?;
    health::all(db)?;
    health::counts(db)?;
    health::arrivals(db, 1, 20)?;
    for what in [
        Told::Failing,
        Told::Works,
        Told::Gone,
        Told::Quiet,
        Told::Heard,
        Told::Renamed,
    ] {
        health::told(db, 1, what, now)?;
    }
    health::gone(db, 1, now)?;
    health::pause(db, 1, None, now)?;
    health::resume(db, 1)?;
    let sought = Sought {
        id: Some(1),
        short_id: Some("abcdef".to_owned()),
        aliases: vec!["1".to_owned()],
    };
    explain::find(db, &sought)?;
    explain::item(db, 1)?;
    explain::alert(db, 1)?;
    explain::deliveries(db, 1)?;
    absent::keep(db, 1, None)?;
    absent::forget(db, 1)?;
    Ok(())
}

/// What SQLite would do for a statement, its triggers included.
fn plan(db: &Connection, statement: &str) -> Vec<String> {
    let mut explained = db
        .prepare(&format!("EXPLAIN QUERY PLAN {statement}"))
        .expect(statement);
    let lines = explained.raw_query().mapped(|row| row.get("detail"));
    lines.collect::<rusqlite::Result<_>>().expect("a plan")
}

/// Tables that grow with what happened, and not with the configuration.
const GROWING: [&str; 10] = [
    "arrival", "outbox", "alert", "item", "attempt", "digest", "answer", "unusable", "edit", "also",
];

/// Walking one of these is no scan: each holds only what waits, is under way, or is due.
const SMALL: [&str; 8] = [
    "outbox_ready",
    "outbox_due",
    "outbox_leased",
    "outbox_dead",
    "outbox_expired",
    "item_pending",
    "attempt_open",
    "edit_untold",
];

fn scans(line: &str) -> bool {
    let mut words = line.split(' ');
    let scan =
        words.next() == Some("SCAN") && words.next().is_some_and(|table| GROWING.contains(&table));
    let index = line.split(" INDEX ").nth(1).unwrap_or_default();
    scan && !SMALL.contains(&index.split(' ').next().unwrap_or_default())
}

/// The last so many of what finished: the index is walked in its order, up to the limit.
fn walks_from_the_end(statement: &str, plan: &[String]) -> bool {
    let walk = "SCAN outbox USING INDEX outbox_finished";
    statement.contains(" LIMIT ") && plan == [walk]
}

fn every_plan_is_good(db: &Connection, statements: &BTreeSet<String>) {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRIGGER_EQP, true)
        .expect("set");
    let planned = |statement: &&String| {
        let verb = statement.split_whitespace().next().unwrap_or_default();
        ["SELECT", "INSERT", "UPDATE", "DELETE"].contains(&verb)
    };
    let bad: Vec<String> = statements
        .iter()
        .filter(planned)
        .flat_map(|statement| {
            let lines = plan(db, statement);
            if walks_from_the_end(statement, &lines) {
                return Vec::new();
            }
            let bad = lines.into_iter().filter(|line| scans(line));
            bad.map(|line| format!("{line}: {statement}")).collect()
        })
        .collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

/// A long history and a little that waits, and what ANALYZE at somebody's prompt makes of it.
const HISTORY: &str = "\
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5000)
INSERT INTO outbox(channel,chat_id,payload,created_at) SELECT 'screen','-','{}',i FROM n;
UPDATE outbox SET state='cancelled',updated_at=id WHERE id<4990;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5000)
INSERT INTO alert(dedup_key,payload,severity,title,source,not_owed,created_at) SELECT i,'{}','low','t','s','no',i FROM n;
INSERT INTO feed(url) VALUES('https://example.org/feed');
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5000)
INSERT INTO item(feed_id,dedup_key,link_key,title,summary,first_seen_at,last_seen_at,state) SELECT 1,i,i,'t','',i,i,'seeded' FROM n;
ANALYZE;";

/// Plans on a fresh file, and on one with a history that was analysed.
fn holds_everywhere(course: fn(&Connection) -> Result<(), StoreError>, at_least: usize) {
    let world = World::new();
    let (db, ran) = watched(&world);
    course(&db).expect("the whole course");
    let ran = ran.lock().expect("free").clone();
    assert!(ran.len() > at_least, "{ran:#?}");
    every_plan_is_good(&world.stranger(), &ran);
    let old = World::new();
    old.stranger().execute_batch(HISTORY).expect("a history");
    every_plan_is_good(&old.stranger(), &ran);
}

#[test]
fn no_statement_of_the_sender_reads_what_it_does_not_want() {
    holds_everywhere(the_sender_and_its_operator, 40);
}

#[test]
fn no_statement_of_the_tick_reads_what_it_does_not_want() {
    holds_everywhere(the_tick, 15);
}

#[test]
fn no_statement_about_feeds_reads_what_it_does_not_want() {
    holds_everywhere(the_tick_about_feeds, 40);
}

#[test]
fn a_scan_would_be_seen() {
    let world = World::new();
    let db = world.stranger();
    for (statement, scan) in [
        ("SELECT * FROM outbox WHERE last_error='x'", true),
        (
            "SELECT id FROM outbox WHERE state IN('ready','leased')",
            true,
        ),
        ("SELECT id FROM alert", true),
        ("SELECT id FROM outbox WHERE state='ready'", false),
        ("SELECT 1 FROM outbox WHERE id=1", false),
    ] {
        let lines = plan(&db, statement);
        assert_eq!(lines.iter().any(|line| scans(line)), scan, "{lines:?}");
    }
}
