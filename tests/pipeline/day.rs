//! A day on a set clock: feeds publish, correct themselves, rename everything, fail and recover, and
//! exactly what was published is alerted, once each.

use super::Newsroom;
use fastrand::Rng;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;
use watchalert_ingest::run::Options;
use watchalert_tests::feeds::Reply;
use watchalert_tests::programs::{long, seed, tell};

/// Entries that a feed shows, the newest first.
const WINDOW: usize = 15;
/// What was published so many ticks ago was fetched, if the feed was well since then.
const FETCHED: usize = 30;

#[derive(Clone)]
struct Entry {
    guid: String,
    link: String,
    title: String,
    text: String,
    /// Minutes after midnight, as its date says.
    dated: usize,
    published: usize,
}

#[derive(Default)]
struct Source {
    entries: Vec<Entry>,
    /// What it answers instead, and until when.
    trouble: Option<(Reply, usize)>,
    well_since: usize,
}

impl Source {
    fn document(&self, path: &str) -> String {
        let mut items = String::new();
        for entry in &self.entries {
            let (hour, minute) = (entry.dated / 60 % 24, entry.dated % 60);
            let Entry {
                guid,
                link,
                title,
                text,
                ..
            } = entry;
            write!(
                items,
                "<item><guid isPermaLink=\"false\">{guid}</guid><link>https://example.org/{link}</link>\
                 <title>{title}</title><pubDate>Mon, 30 Nov 2026 {hour:02}:{minute:02}:00 +0000</pubDate>\
                 <description>{text}</description></item>"
            )
            .expect("written");
        }
        format!(
            "<rss version=\"2.0\"><channel><title>News of {path}</title><link>https://example.org{path}</link><description>d</description>{items}</channel></rss>"
        )
    }
}

struct Day {
    room: Newsroom,
    chance: Rng,
    sources: Vec<Source>,
    /// The titles of which each must be alerted once.
    expected: BTreeSet<String>,
    /// Gives every story a number of its own.
    stories: usize,
    tick: usize,
}

fn path(source: usize) -> String {
    format!("/feed/{source}")
}

impl Day {
    fn new(sources: usize, seed: u64) -> Self {
        let mut day = Self {
            room: Newsroom::new(),
            chance: Rng::with_seed(seed),
            sources: Vec::new(),
            expected: BTreeSet::new(),
            stories: 0,
            tick: 0,
        };
        for _ in 0..sources {
            day.join();
        }
        day
    }

    /// A feed that nobody knows yet: what it shows is not told.
    fn join(&mut self) {
        let source = Source {
            well_since: self.tick,
            ..Source::default()
        };
        self.sources.push(source);
        let known: Vec<Entry> = (0..8).map(|_| self.story()).collect();
        if let Some(source) = self.sources.last_mut() {
            source.entries = known;
        }
    }

    fn story(&mut self) -> Entry {
        self.stories += 1;
        let number = self.stories;
        Entry {
            guid: format!("guid-{number}"),
            link: format!("story/{number}"),
            title: format!("Heron {number}.7 is actively exploited"),
            text: "The first words.".to_owned(),
            dated: self.tick * 2,
            published: self.tick,
        }
    }

    fn publish(&mut self, sources: &[usize]) {
        let story = self.story();
        self.expected.insert(story.title.clone());
        for source in sources {
            let entries = &mut self.sources[*source].entries;
            entries.insert(0, story.clone());
            entries.truncate(WINDOW);
        }
    }

    /// What happens to one feed in one tick.
    fn happen(&mut self, at: usize) {
        let others = self.chance.usize(..self.sources.len());
        match self.chance.u32(..2_000) {
            0..20 => self.publish(&[at]),
            20..24 if others != at => self.publish(&[at, others]),
            24..40 => self.correct(at),
            40..44 => self.rename_guids(at),
            44..46 => self.rename_all(at),
            46..56 => self.fail(at),
            _ => {}
        }
    }

    fn correct(&mut self, at: usize) {
        let (tick, source) = (self.tick, &mut self.sources[at]);
        let was_fetched = |entry: &&mut Entry| {
            let since = entry.published.max(source.well_since);
            source.trouble.is_none() && tick >= since + FETCHED
        };
        if let Some(entry) = source.entries.iter_mut().find(was_fetched) {
            entry.title = entry.title.replace(" is actively", " is now actively");
            entry.text.push_str(" And more.");
        }
    }

    fn rename_guids(&mut self, at: usize) {
        let tick = self.tick;
        for entry in &mut self.sources[at].entries {
            entry.guid = format!("{}-{tick}", entry.link);
        }
    }

    fn rename_all(&mut self, at: usize) {
        let tick = self.tick;
        for entry in &mut self.sources[at].entries {
            entry.guid = format!("{}-new-{tick}", entry.link);
            entry.link = format!("{}/new-{tick}", entry.link);
        }
    }

    fn fail(&mut self, at: usize) {
        let reply = match self.chance.u32(..6) {
            0 => Reply::status(503),
            1 => Reply::status(429).header("Retry-After", "1800"),
            2 => Reply::cut(),
            3 => Reply::body("<html><title>Just a moment...</title></html>"),
            4 => Reply::status(404),
            _ => Reply::feed("<rss version=\"2.0\"><channel><title>broken"),
        };
        let until = self.tick + self.chance.usize(1..20);
        self.sources[at].trouble = Some((reply, until));
    }

    fn show(&mut self) {
        let tick = self.tick;
        for (at, source) in self.sources.iter_mut().enumerate() {
            if source
                .trouble
                .as_ref()
                .is_some_and(|(_, until)| *until <= tick)
            {
                source.trouble = None;
                source.well_since = tick;
            }
            let reply = match &source.trouble {
                Some((reply, _)) => reply.clone(),
                None => Reply::feed(source.document(&path(at))),
            };
            self.room.server.set(&path(at), reply);
        }
    }

    fn run_tick(&self) {
        let paths: Vec<String> = (0..self.sources.len()).map(path).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let ticked = self.room.try_tick(&paths, Options::default());
        ticked.expect("a tick");
    }

    fn play(&mut self, ticks: usize) {
        for tick in 0..ticks {
            self.tick = tick;
            if tick > 0 {
                for at in 0..self.sources.len() {
                    self.happen(at);
                }
            }
            let clock = &self.room.world.clock;
            match tick {
                // Set forth and back, as by a bad time server.
                _ if tick == ticks / 4 => clock.turn_to(clock.now() + Duration::from_secs(10_800)),
                _ if tick == ticks / 3 => {
                    clock.turn_to(clock.now().minus(Duration::from_secs(10_800)));
                }
                _ if tick == ticks / 2 => self.join(),
                _ => {}
            }
            self.show();
            self.run_tick();
            self.room.world.advance(Duration::from_secs(120));
        }
        self.recover(ticks);
    }

    /// All is well again, and every wait that a server asked for is over.
    fn recover(&mut self, ticks: usize) {
        self.tick = ticks + 1_000;
        self.show();
        for _ in 0..3 {
            self.room.world.advance(Duration::from_secs(86_400));
            self.run_tick();
        }
    }
}

fn exactly_what_was_published_is_alerted(sources: usize, ticks: usize, seed: u64) {
    let mut day = Day::new(sources, seed);
    day.play(ticks);
    let told = day.room.world.ask(
        "SELECT coalesce(group_concat(title,'|'),'') FROM (SELECT title FROM alert ORDER BY title)",
    );
    let mut told: Vec<&str> = told.split('|').filter(|title| !title.is_empty()).collect();
    told.sort_unstable();
    let expected: Vec<&str> = day.expected.iter().map(String::as_str).collect();
    let (again, missing) = (
        told.iter()
            .filter(|title| !expected.contains(title))
            .collect::<Vec<_>>(),
        expected
            .iter()
            .filter(|title| !told.contains(title))
            .collect::<Vec<_>>(),
    );
    assert!(
        again.is_empty() && missing.is_empty(),
        "seed {seed}: too many {again:?}, missing {missing:?}"
    );
    assert_eq!(told.len(), expected.len(), "seed {seed}: {told:?}");
    day.room.world.all_invariants_hold();
    tell(&format!(
        "day: seed {seed}, {sources} feeds and one more, {ticks} ticks, {} requests, {} stories alerted once each",
        day.room.server.requests().len(),
        told.len()
    ));
}

#[test]
fn an_hour_of_twenty_feeds_alerts_exactly_what_was_published() {
    for seed in [1, 2] {
        exactly_what_was_published_is_alerted(20, 30, seed);
    }
}

#[test]
fn a_day_of_87_feeds_alerts_exactly_what_was_published() {
    if !long() {
        tell("SKIPPED: 720 ticks take minutes; WATCHALERT_LONG=1 plays them");
        return;
    }
    exactly_what_was_published_is_alerted(87, 720, seed("day"));
}
