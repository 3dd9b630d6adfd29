//! `/metrics`: the numbers of the store, as families that Prometheus reads. Labels are names of the
//! configuration and of fixed lists, nothing else.

use super::View;
use crate::render::exposition::{CONTENT_TYPE, Kind, Labels, Page};
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::Response;
use shared::config::Config;
use shared::model::{Breaker, Judge, Priority, Scope, Timestamp};
use shared::store::metrics::{self, Backlog, Metrics, Tally};
use shared::store::{Db, StoreError, room};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Of an attempt, as the schema lists them.
const OUTCOMES: [&str; 6] = [
    "ok",
    "deferred",
    "rejected",
    "unknown",
    "interrupted",
    "released",
];
/// Of a row that has not arrived.
const STATES: [&str; 3] = ["ready", "leased", "folded"];
/// Channels that rows name and no configuration ever did.
const OTHER: &str = "other";

/// The channels of the configuration, and those that it had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    known: BTreeSet<String>,
    /// Takes what names no channel.
    default: String,
}

impl Names {
    pub fn of(config: &Config) -> Self {
        let names = config.channels.iter();
        let names = names.map(|channel| channel.destination().channel);
        Self {
            known: names.collect(),
            default: config.default_channel.clone(),
        }
    }

    /// Whatever was ever sent to was configured then: its counts stay under its name, so that none falls
    /// and none jumps.
    fn and_past(&self, metrics: &Metrics) -> Self {
        let attempts = metrics.tallies.iter().filter(|of| of.name == "attempt");
        let past = attempts.map(|of| of.channel.clone());
        let past = past.filter(|channel| !channel.is_empty());
        Self {
            known: self.known.iter().cloned().chain(past).collect(),
            default: self.default.clone(),
        }
    }

    /// Every value of the label `channel`.
    fn all(&self) -> BTreeSet<&str> {
        let known = self.known.iter().map(String::as_str);
        known.chain([OTHER]).collect()
    }

    /// Under which of them a row is counted.
    fn of_row<'a>(&'a self, channel: &'a str) -> &'a str {
        match channel {
            "" => &self.default,
            known if self.known.contains(known) => known,
            _ => OTHER,
        }
    }
}

/// What the database does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    pub started_at: Timestamp,
    pub now: Timestamp,
    /// Bytes of the database, of its write-ahead log, and of what is free on its disk.
    pub file: u64,
    pub log: u64,
    pub free: Option<u64>,
}

/// 200 with the page, or 503 with a sentence.
pub(super) async fn answer(State(view): State<Arc<View>>) -> Response {
    let (status, kind, body) = match view.in_time(page(&view)).await {
        Ok(text) => (StatusCode::OK, CONTENT_TYPE, text),
        Err(why) => {
            let kind = "text/plain; charset=utf-8";
            (StatusCode::SERVICE_UNAVAILABLE, kind, format!("{why}\n"))
        }
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let kind = header::HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

async fn page(view: &View) -> Result<String, StoreError> {
    let now = view.clock.now();
    let path = view.store.path().to_owned();
    let read = move |db: &Db| Ok((metrics::read(db, &path, now)?, room::left(&path)));
    let (metrics, free) = view.look(read).await?;
    let machine = Machine {
        started_at: view.started_at,
        now,
        file: view.store.file_size(),
        log: view.store.log_size(),
        free,
    };
    Ok(text(&metrics, &view.names, machine))
}

/// The whole page: the same for the same numbers.
pub fn text(metrics: &Metrics, names: &Names, machine: Machine) -> String {
    let mut families = Families {
        page: Page::default(),
        metrics,
        names: &names.and_past(metrics),
        machine,
    };
    families.programs();
    families.attempts();
    families.waits_asked_for();
    families.deliveries();
    families.ends();
    families.backlog();
    families.gates();
    families.breakers();
    families.ticks();
    families.sources();
    families.disk();
    families.page.text()
}

struct Families<'a> {
    page: Page,
    metrics: &'a Metrics,
    names: &'a Names,
    machine: Machine,
}

impl Families<'_> {
    fn programs(&mut self) {
        self.one(
            Kind::Gauge,
            "process_start_time_seconds",
            "When this sender began, in seconds since 1970.",
            self.machine.started_at.unix_seconds(),
        );
        let version = env!("CARGO_PKG_VERSION");
        self.page
            .family(
                Kind::Gauge,
                "watchalert_build_info",
                "1, with the version of the sender.",
            )
            .number(&[("version", version)], 1);
        self.one(
            Kind::Counter,
            "watchalert_sender_starts_total",
            "Senders that have run on this database, this one included.",
            self.metrics.epoch,
        );
    }

    fn attempts(&mut self) {
        let mut family = self.page.family(
            Kind::Counter,
            "watchalert_attempts_total",
            "Attempts to deliver that have ended, by channel and outcome. ok: it arrived; deferred: not now; \
             rejected: not so; unknown: it may have arrived; interrupted: the sender ended meanwhile; released: \
             handed back unsent.",
        );
        for channel in self.names.all() {
            for outcome in OUTCOMES {
                let of_it = tallies(self.metrics, self.names, "attempt", channel);
                let count = sum(of_it.filter(|tally| tally.label == outcome));
                family.number(&[("channel", channel), ("outcome", outcome)], count);
            }
        }
        self.by_channel(
            "watchalert_possible_repeats_total",
            "Copies that went out, or may have, with the mark of a possible repeat, by channel.",
            "repeat",
        );
    }

    fn waits_asked_for(&mut self) {
        self.by_channel(
            "watchalert_rate_limited_total",
            "Answers with 429 (too many requests), by channel.",
            "limited",
        );
        let mut family = self.page.family(
            Kind::Histogram,
            "watchalert_retry_after_seconds",
            "How long answers asked us to wait, by channel.",
        );
        for channel in self.names.all() {
            let of_it = tallies(self.metrics, self.names, "asked", channel);
            let (counts, seconds) = cells(of_it);
            let labels: Labels<'_> = &[("channel", channel)];
            family.histogram(labels, &self.metrics.bounds, &counts, seconds);
        }
    }

    fn deliveries(&mut self) {
        let mut family = self.page.family(
            Kind::Histogram,
            "watchalert_delivery_latency_seconds",
            "From when an alert was accepted, or was meant to be sent, to its arrival, by priority; each alert of a \
             digest by itself. By the wall clock.",
        );
        for priority in Priority::ALL {
            let rank = priority.rank().to_string();
            let of_it = self.metrics.tallies.iter();
            let of_it = of_it.filter(|tally| tally.name == "delivered" && tally.label == rank);
            let (counts, seconds) = cells(of_it);
            let labels: Labels<'_> = &[("priority", priority.name())];
            family.histogram(labels, &self.metrics.bounds, &counts, seconds);
        }
    }

    fn ends(&mut self) {
        self.by_channel(
            "watchalert_dead_letters_total",
            "Deliveries that were given up, by channel.",
            "dead",
        );
        let mut family = self.page.family(
            Kind::Gauge,
            "watchalert_dead_letters_waiting",
            "Deliveries that were given up and wait for a person, by channel.",
        );
        for channel in self.names.all() {
            let dead = self.metrics.dead.iter();
            let of_it = dead.filter(|(of, _)| self.names.of_row(of) == channel);
            let count: i64 = of_it.map(|(_, rows)| rows).sum();
            family.number(&[("channel", channel)], count);
        }
        self.by_channel(
            "watchalert_expired_total",
            "Deliveries whose own time was over before they could be made, by channel.",
            "expired",
        );
    }

    fn backlog(&mut self) {
        let mut family = self.page.family(
            Kind::Gauge,
            "watchalert_backlog",
            "Deliveries that are owed, by channel, state and priority. ready: waits for its turn; leased: under way; \
             folded: in a digest that has not arrived.",
        );
        for channel in self.names.all() {
            for state in STATES {
                for priority in Priority::ALL {
                    let of_it = owed(self.metrics, self.names, channel)
                        .filter(|of| of.state == state && of.rank == priority.rank());
                    let labels = [
                        ("channel", channel),
                        ("state", state),
                        ("priority", priority.name()),
                    ];
                    family.number(&labels, of_it.map(|waiting| waiting.rows).sum::<i64>());
                }
            }
        }
        let mut family = self.page.family(
            Kind::Gauge,
            "watchalert_oldest_due_age_seconds",
            "How long the oldest alert that is due has waited, whatever holds it, by channel; 0 when none is.",
        );
        for channel in self.names.all() {
            let since =
                owed(self.metrics, self.names, channel).filter_map(|waiting| waiting.due_since);
            let age = since.min().map(|since| self.machine.now.since(since));
            family.number(
                &[("channel", channel)],
                age.unwrap_or_default().as_secs_f64(),
            );
        }
    }

    fn gates(&mut self) {
        let (metrics, now) = (self.metrics, self.machine.now);
        let of_scope = |scope: &Scope| {
            let (name, gates) = (scope.name(), metrics.gates.iter());
            gates.filter(move |gates| gates.scope == name)
        };
        let mut family = self.page.family(
            Kind::Gauge,
            "watchalert_gates_closed",
            "Gates that let nothing through now: the other side, a breaker or a person closed them. By what they stand before.",
        );
        for scope in Scope::ALL {
            let closed: i64 = of_scope(scope).map(|gates| gates.closed).sum();
            family.number(&[("scope", scope.name())], closed);
        }
        let mut family = self.page.family(
            Kind::Gauge,
            "watchalert_gates_longest_wait_seconds",
            "Until the last of the closed gates opens.",
        );
        for scope in Scope::ALL {
            let opens_at = of_scope(scope).map(|gates| gates.opens_at).max();
            let wait = opens_at.unwrap_or_default().since(now);
            family.number(&[("scope", scope.name())], wait.as_secs_f64());
        }
        let mut family = self.page.family(
            Kind::Gauge,
            "watchalert_gates_refused",
            "Gates that stay closed until a person mends what refuses us.",
        );
        for scope in Scope::ALL {
            let refused: i64 = of_scope(scope).map(|gates| gates.refused).sum();
            family.number(&[("scope", scope.name())], refused);
        }
    }

    fn breakers(&mut self) {
        let metrics = self.metrics;
        let mut family = self.page.family(
            Kind::Gauge,
            "watchalert_breakers",
            "Breakers by what they stand before and their state. closed: deliveries pass; half-open: one is a probe; open: none pass.",
        );
        for scope in Scope::ALL {
            for state in Breaker::ALL {
                let (scope, state) = (scope.name(), state.name());
                let gates = metrics.gates.iter();
                let of_it = gates.filter(|of| of.scope == scope && of.breaker == state);
                let count: i64 = of_it.map(|gates| gates.gates).sum();
                family.number(&[("scope", scope), ("state", state)], count);
            }
        }
    }

    fn ticks(&mut self) {
        let tick = self.metrics.tick;
        let times = [
            (
                "watchalert_tick_started_timestamp_seconds",
                "When the last tick began, in seconds since 1970.",
                tick.started_at,
            ),
            (
                "watchalert_tick_finished_timestamp_seconds",
                "When a tick last ended well, in seconds since 1970.",
                tick.finished_at,
            ),
        ];
        for (name, help, at) in times {
            if let Some(at) = at {
                self.one(Kind::Gauge, name, help, at.unix_seconds());
            }
        }
        let of_result = |result: &'static str| {
            let tallies = self.metrics.tallies.iter();
            tallies.filter(move |tally| tally.name == "tick" && tally.label == result)
        };
        let mut family = self.page.family(
            Kind::Counter,
            "watchalert_ticks_total",
            "Ticks, by result. finished: it ended well; unfinished: it failed or was killed, counted when the next begins.",
        );
        for result in ["finished", "unfinished"] {
            family.number(&[("result", result)], sum(of_result(result)));
        }
        let (counts, seconds) = cells(of_result("finished"));
        let count = counts.iter().map(|(_, count)| count).sum();
        self.page
            .family(
                Kind::Summary,
                "watchalert_tick_duration_seconds",
                "How long ticks that ended well took, by the wall clock.",
            )
            .summary(&[], seconds, count);
    }

    fn sources(&mut self) {
        let Metrics {
            feeds,
            feeds_failing,
            items_pending,
            ..
        } = *self.metrics;
        let feeds_help = "Feeds of the configuration.";
        self.one(Kind::Gauge, "watchalert_feeds", feeds_help, feeds);
        self.one(
            Kind::Gauge,
            "watchalert_feeds_failing",
            "Feeds whose last fetch failed.",
            feeds_failing,
        );
        self.one(
            Kind::Gauge,
            "watchalert_items_pending",
            "Items without a verdict.",
            items_pending,
        );
        let mut family = self.page.family(
            Kind::Counter,
            "watchalert_judgements_total",
            "Items that were judged, by who judged. model: Ollama; unclassified: the built-in rules, because no model answered in time.",
        );
        for judge in Judge::ALL {
            let tallies = self.metrics.tallies.iter();
            let of_it = tallies.filter(|of| of.name == "judged" && of.label == judge.name());
            family.number(&[("judge", judge.name())], sum(of_it));
        }
    }

    fn disk(&mut self) {
        let Machine {
            file, log, free, ..
        } = self.machine;
        self.one(
            Kind::Gauge,
            "watchalert_database_size_bytes",
            "Size of the database, without its log.",
            file,
        );
        self.one(
            Kind::Gauge,
            "watchalert_wal_size_bytes",
            "Size of the write-ahead log; large: somebody has a transaction open.",
            log,
        );
        if let Some(free) = free {
            let help = "Free on the disk under the database.";
            self.one(Kind::Gauge, "watchalert_disk_free_bytes", help, free);
        }
    }

    fn one(&mut self, kind: Kind, name: &'static str, help: &str, value: impl std::fmt::Display) {
        self.page.family(kind, name, help).number(&[], value);
    }

    fn by_channel(&mut self, name: &'static str, help: &str, counted: &str) {
        let mut family = self.page.family(Kind::Counter, name, help);
        for channel in self.names.all() {
            let of_it = tallies(self.metrics, self.names, counted, channel);
            family.number(&[("channel", channel)], sum(of_it));
        }
    }
}

fn owed<'a>(
    metrics: &'a Metrics,
    names: &'a Names,
    channel: &'a str,
) -> impl Iterator<Item = &'a Backlog> {
    let backlog = metrics.backlog.iter();
    backlog.filter(move |waiting| names.of_row(&waiting.channel) == channel)
}

fn tallies<'a>(
    metrics: &'a Metrics,
    names: &'a Names,
    name: &'a str,
    channel: &'a str,
) -> impl Iterator<Item = &'a Tally> {
    let tallies = metrics.tallies.iter();
    tallies.filter(move |of| of.name == name && names.of_row(&of.channel) == channel)
}

fn sum<'a>(tallies: impl Iterator<Item = &'a Tally>) -> i64 {
    tallies.map(|tally| tally.n).sum()
}

/// What each bound counts, and the sum.
fn cells<'a>(tallies: impl Iterator<Item = &'a Tally>) -> (Vec<(f64, i64)>, f64) {
    let (mut counts, mut seconds) = (Vec::new(), 0.0);
    for tally in tallies {
        counts.push((tally.le, tally.n));
        seconds += tally.seconds;
    }
    (counts, seconds)
}
