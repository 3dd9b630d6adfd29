//! What a tick did, for a person, for a script, and for the heartbeat.

use crate::fetch::{self, schedule};
use crate::plan::Planned;
use serde::Serialize;
use shared::model::{Judge, Severity, Timestamp};
use shared::policy::text::{one_line, shorten};
use shared::store::outbox::Owed;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

/// One tick.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Nothing was written and nothing will be sent.
    pub dry_run: bool,
    pub feeds: Vec<FeedReport>,
    /// Items that were judged in this tick, also those an earlier one left behind.
    pub judged: Judged,
    pub judged_by: JudgedBy,
    /// Judged by rules alone in a dry run; a tick would ask a model about them.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_to_a_model: usize,
    /// What became an alert, or, in a dry run, would have.
    pub alerts: Vec<AlertReport>,
    /// Rows that were enqueued.
    pub deliveries: usize,
    /// Items still without a verdict.
    pub pending: usize,
    /// What is wrong with watchalert itself, that the outside ping must tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub troubles: Vec<String>,
    pub took_seconds: f64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[derive(Clone, Debug, Serialize)]
pub struct FeedReport {
    pub url: String,
    pub name: String,
    #[serde(flatten)]
    pub result: FeedResult,
    /// Where it lives now, when that is not where the configuration says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    /// Of a feed that failed.
    #[serde(flatten)]
    pub next_try: Option<NextTry>,
    pub took_seconds: f64,
}

/// What a failure leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NextTry {
    /// In a row, with this one.
    pub failures: u32,
    /// About so long from now.
    pub next_try_seconds: u64,
}

impl NextTry {
    /// After one more failure of a feed, whose server wants to be left alone until `retry_at`.
    pub fn after(planned: &Planned, retry_at: Option<Timestamp>, now: Timestamp) -> Self {
        let failures = planned.state.failures.saturating_add(1);
        let wished = retry_at.map_or(Duration::ZERO, |at| at.since(now));
        let pause = schedule::backoff(planned.interval(), failures).max(wished);
        Self {
            failures,
            next_try_seconds: pause.as_secs(),
        }
    }
}

/// ` (3 times in a row; next try in 8m)`; a first failure that changes nothing says nothing.
impl fmt::Display for NextTry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pause = humantime::format_duration(Duration::from_secs(self.next_try_seconds));
        match self.failures {
            1 if self.next_try_seconds < 10 * 60 => Ok(()),
            1 => write!(f, " (next try in {pause})"),
            times => write!(f, " ({times} times in a row; next try in {pause})"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum FeedResult {
    Read {
        new: usize,
        known: usize,
        /// Taken as known, because it is the feed's first fetch.
        seeded: usize,
        /// The document was faulty and was read all the same.
        repaired: bool,
    },
    NotModified,
    Failed {
        error: String,
    },
    /// The deadline came first; the next tick goes on.
    CarriedOver,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Judged {
    pub critical: usize,
    pub high: usize,
    pub normal: usize,
    pub low: usize,
    pub ignore: usize,
}

/// Who judged how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JudgedBy {
    pub rule: usize,
    pub floor: usize,
    pub model: usize,
    pub cloud: usize,
    /// What a model had said to the same words before.
    pub cache: usize,
    pub builtin: usize,
    /// What the sources said themselves.
    pub source: usize,
    /// The built-in rules in place of a model.
    pub unclassified: usize,
}

impl FeedReport {
    pub fn of(planned: &Planned, result: FeedResult) -> Self {
        Self {
            url: fetch::shown(&planned.feed.url),
            name: planned.name(),
            result,
            moved_to: planned
                .state
                .location
                .as_deref()
                .and_then(|url| Some(fetch::shown(&url.parse().ok()?))),
            next_try: None,
            took_seconds: 0.0,
        }
    }
}

impl FeedResult {
    pub fn brought_news(&self) -> bool {
        matches!(self, Self::Read { new, .. } if *new > 0)
    }
}

impl JudgedBy {
    pub fn count(&mut self, judge: Judge, remembered: bool) {
        let count = match judge {
            _ if remembered => &mut self.cache,
            Judge::Rule => &mut self.rule,
            Judge::Floor => &mut self.floor,
            Judge::Builtin => &mut self.builtin,
            Judge::Source => &mut self.source,
            Judge::Model => &mut self.model,
            Judge::Cloud => &mut self.cloud,
            Judge::Unclassified => &mut self.unclassified,
        };
        *count += 1;
    }

    /// Empty while no model is in it: then there is nothing to tell apart.
    fn in_words(self) -> String {
        if self.model + self.cloud + self.cache + self.unclassified == 0 {
            return String::new();
        }
        listed(
            " by",
            &[
                (self.rule, "rule"),
                (self.floor, "floor"),
                (self.model, "model"),
                (self.cloud, "cloud"),
                (self.cache, "cache"),
                (self.builtin, "built-in rules"),
                (self.source, "source"),
                (self.unclassified, "built-in rules for want of a model"),
            ],
        )
    }
}

impl Judged {
    pub fn count(&mut self, severity: Severity) {
        match severity {
            Severity::Critical => self.critical += 1,
            Severity::High => self.high += 1,
            Severity::Normal => self.normal += 1,
            Severity::Low => self.low += 1,
            Severity::Ignore => self.ignore += 1,
        }
    }

    pub fn total(self) -> usize {
        self.critical + self.high + self.normal + self.low + self.ignore
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AlertReport {
    pub short_id: String,
    pub severity: Severity,
    pub title: String,
    pub source: String,
    pub link: Option<String>,
    pub reason: String,
    pub to: Vec<String>,
}

impl AlertReport {
    pub fn of(owed: &Owed) -> Self {
        let alert = &owed.alert;
        Self {
            short_id: alert.short_id.clone(),
            severity: alert.severity,
            title: alert.title.clone(),
            source: alert.source.clone(),
            link: alert.link.clone(),
            reason: alert.reason.clone(),
            to: owed
                .to
                .iter()
                .map(|to| to.destination.channel.clone())
                .collect(),
        }
    }
}

impl Report {
    fn of(&self, wanted: impl Fn(&FeedResult) -> bool) -> usize {
        self.feeds
            .iter()
            .filter(|feed| wanted(&feed.result))
            .count()
    }

    fn items(&self) -> (usize, usize, usize) {
        self.feeds
            .iter()
            .fold((0, 0, 0), |sum, feed| match feed.result {
                FeedResult::Read {
                    new, known, seeded, ..
                } => (sum.0 + new, sum.1 + known, sum.2 + seeded),
                _ => sum,
            })
    }

    /// For a person: what needs attention by name, then the sums.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        for feed in &self.feeds {
            if let Some(url) = &feed.moved_to {
                let name = &feed.name;
                writeln!(
                    out,
                    "moved   {name}: it is now at {url}; change the configuration"
                )?;
            }
            match &feed.result {
                FeedResult::Failed { error } => {
                    writeln!(
                        out,
                        "failed  {}: {}{}",
                        feed.name,
                        shorten(&one_line(error), 300),
                        feed.next_try.map_or(String::new(), |next| next.to_string())
                    )?;
                }
                FeedResult::Read { repaired: true, .. } => {
                    writeln!(
                        out,
                        "faulty  {}: the document is broken and was read all the same",
                        feed.name
                    )?;
                }
                _ => {}
            }
        }
        if self.dry_run {
            for alert in &self.alerts {
                let title = shorten(&one_line(&alert.title), 120);
                writeln!(
                    out,
                    "would alert  {:<8} {title} [{}] → {}",
                    alert.severity,
                    one_line(&alert.source),
                    alert.to.join(", ")
                )?;
                writeln!(out, "             why: {}", one_line(&alert.reason))?;
            }
        }
        for trouble in &self.troubles {
            writeln!(out, "trouble {trouble}")?;
        }
        writeln!(out, "{self}")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sums = vec![self.feeds_in_words()];
        let (new, known, seeded) = self.items();
        if new + known + seeded > 0 {
            sums.push(listed(
                &format!("{} items seen", new + known + seeded),
                &[(new, "new"), (seeded, "known from now on")],
            ));
        }
        if self.judged.total() > 0 {
            sums.push(format!(
                "{}{}",
                self.judged.in_words(),
                self.judged_by.in_words()
            ));
        }
        if self.left_to_a_model > 0 {
            sums.push(format!(
                "by the rules alone: a tick would ask a model about {} of them",
                self.left_to_a_model
            ));
        }
        if self.pending > 0 {
            sums.push(format!("{} still to be judged", self.pending));
        }
        sums.push(match (self.dry_run, self.alerts.len()) {
            (true, alerts) => format!("would alert {alerts}"),
            (false, alerts) => format!("alerted {alerts} by {} deliveries", self.deliveries),
        });
        write!(f, "{}; took {:.1} s", sums.join("; "), self.took_seconds)
    }
}

impl Report {
    fn feeds_in_words(&self) -> String {
        if self.feeds.is_empty() {
            return "no feed was due".to_owned();
        }
        let fetched = self.of(|result| matches!(result, FeedResult::Read { .. }));
        let failed = self.of(|result| matches!(result, FeedResult::Failed { .. }));
        listed(
            &format!("{} feeds read", self.feeds.len()),
            &[
                (fetched, "fetched"),
                (
                    self.of(|result| *result == FeedResult::NotModified),
                    "unchanged",
                ),
                (failed, "failed"),
                (
                    self.of(|result| *result == FeedResult::CarriedOver),
                    "left for the next tick",
                ),
            ],
        )
    }
}

impl Judged {
    fn in_words(self) -> String {
        listed(
            &format!("{} judged", self.total()),
            &[
                (self.critical, "critical"),
                (self.high, "high"),
                (self.normal, "normal"),
                (self.low, "low"),
                (self.ignore, "ignored"),
            ],
        )
    }
}

/// `14 judged: 2 critical, 3 high`; what is zero is left out.
fn listed(total: &str, parts: &[(usize, &str)]) -> String {
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    match parts.as_slice() {
        [] => total.to_owned(),
        parts => format!("{total}: {}", parts.join(", ")),
    }
}
