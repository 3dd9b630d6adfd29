//! How much an entry matters: the user's rules, the built-in floor, the built-in lists, and, for what
//! the first two leave open, a model.

pub mod answer;
mod anthropic;
mod builtin;
pub mod facts;
mod fare;
mod fault;
mod floor;
pub mod model;
mod ollama;
mod openai;
mod plain;
pub mod prompt;
mod rules;
mod ruling;
mod wait;
mod wire;

pub use facts::FeedFacts;
pub use fare::{Fare, News};
pub use fault::{Fault, FaultKind};
pub use ruling::Ruling;
pub use wait::{Waits, places_in_time};

use crate::panics::caught;
use shared::config::{Adjust, Rule};
use shared::model::{Category, Entry, Judge, Severity, Verdict};

/// A summary on the phone is at most this many characters.
const SUMMARY_LIMIT: usize = 280;

/// A severity and category, who says so, and why.
struct Opinion {
    severity: Severity,
    category: Category,
    reason: String,
    judge: Judge,
}

/// Judges an entry by rules alone: the first rule that matches, then the floor, then what its source
/// says, else the built-in lists; and says what of it a model may decide in their place.
///
/// The floor (known to be exploited, CVSS of 9 and more) beats a rule that drops or lowers, unless
/// that rule says otherwise. A rule's category always stands. Rules that panic cost a look of a
/// person, never a tick.
pub fn rule(entry: &Entry, feed: &FeedFacts, rules: &[Rule]) -> Ruling {
    or_by_a_person(entry, || by_rules(entry, feed, rules))
}

/// Fails open: an item that the rules cannot judge is told, and says that nobody judged it.
fn or_by_a_person(entry: &Entry, judge: impl FnOnce() -> Ruling) -> Ruling {
    caught(judge).unwrap_or_else(|words| {
        tracing::error!(title = entry.title, "the rules failed on an item: {words}");
        Ruling::closed(Verdict {
            severity: Severity::Normal,
            category: Category::Other,
            summary: String::new(),
            reason: format!("the rules failed on this item: {words}; please judge it yourself"),
            judge: Judge::Builtin,
        })
    })
}

fn by_rules(entry: &Entry, feed: &FeedFacts, rules: &[Rule]) -> Ruling {
    let rule = rules
        .iter()
        .find(|rule| rules::matches(&rule.matches, entry, feed));
    let opinion = match rule {
        Some(rule) => by_rule(rule, entry, feed),
        None => unruled(entry, feed),
    };
    let verdict = Verdict {
        severity: opinion.severity,
        category: opinion.category,
        summary: summary(entry),
        reason: opinion.reason,
        judge: opinion.judge,
    };
    // Who sent it has said so: there is nothing to ask a model.
    if entry.rating.is_some() {
        return Ruling::closed(verdict);
    }
    Ruling::of(rule, verdict)
}

fn by_rule(rule: &Rule, entry: &Entry, feed: &FeedFacts) -> Opinion {
    let mut opinion = if rule.beats_floor {
        said(entry).unwrap_or_else(|| builtin::judge(entry, feed))
    } else {
        unruled(entry, feed)
    };
    let says = match rule.severity {
        Some(Adjust::Drop) => Some((Severity::Ignore, "drops it")),
        Some(Adjust::Force(forced)) => Some((forced, "sets its severity")),
        Some(Adjust::Floor(floor)) if floor < opinion.severity => Some((floor, "raises it")),
        Some(Adjust::Floor(_)) | None => None,
    };
    match says {
        Some((_, does)) if opinion.judge == Judge::Floor => {
            let held = format!("; the rule {:?} {does}, but not below the floor", rule.name);
            opinion.reason.push_str(&held);
        }
        Some((severity, does)) => {
            opinion.severity = severity;
            opinion.judge = Judge::Rule;
            opinion.reason = format!("the rule {:?} {does}", rule.name);
        }
        None => {}
    }
    if let Some(category) = rule.category {
        opinion.category = category;
        if opinion.judge != Judge::Rule {
            let sorted = format!("; the rule {:?} sets its category", rule.name);
            opinion.reason.push_str(&sorted);
        }
    }
    opinion
}

fn unruled(entry: &Entry, feed: &FeedFacts) -> Opinion {
    match floor::find(entry) {
        Some(reason) => Opinion {
            severity: Severity::Critical,
            category: Category::Vulnerability,
            reason,
            judge: Judge::Floor,
        },
        None => said(entry).unwrap_or_else(|| builtin::judge(entry, feed)),
    }
}

/// What its source says of it.
fn said(entry: &Entry) -> Option<Opinion> {
    entry.rating.map(|rating| Opinion {
        severity: rating.severity,
        category: rating.category,
        reason: "its source says so".to_owned(),
        judge: Judge::Source,
    })
}

/// The beginning of the description, cut between words; nothing when it only repeats the title.
fn summary(entry: &Entry) -> String {
    let text = &entry.summary;
    let bare = text.trim_end_matches(['…', '.', ' ']);
    if entry.title.contains(bare) {
        return String::new();
    }
    let Some((end, _)) = text.char_indices().nth(SUMMARY_LIMIT) else {
        return text.clone();
    };
    let head = text.get(..end).unwrap_or_default();
    let head = head.rsplit_once(' ').map_or(head, |(words, _)| words);
    format!("{} …", head.trim_end_matches([',', ';', ':', '-']))
}

#[cfg(test)]
mod tests;
