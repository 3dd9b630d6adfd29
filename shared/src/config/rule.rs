//! `[[rule]]`: what the user knows better. The first rule that matches decides.

use super::reader::Section;
use super::value::{flag, one_of, pattern, text};
use crate::model::{Category, Severity};
use regex::Regex;

#[derive(Clone, Debug)]
pub struct Rule {
    /// For the reason in an alert; "rule N" when it has none of its own.
    pub name: String,
    pub matches: Match,
    /// What becomes of the severity; `None`: it is judged as ever.
    pub severity: Option<Adjust>,
    pub category: Option<Category>,
    /// The rule holds below the built-in floor too; only with a drop or a forced severity.
    pub beats_floor: bool,
}

/// Searched for in the item; every pattern that is given must be found. At least one is given.
#[derive(Clone, Debug, Default)]
pub struct Match {
    pub title: Option<Regex>,
    pub summary: Option<Regex>,
    /// The feed's name or its URL.
    pub feed: Option<Regex>,
    /// One of the feed's tags.
    pub tag: Option<Regex>,
}

/// What a rule does to the severity. Never [`Severity::Ignore`]: that is a drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adjust {
    Drop,
    Force(Severity),
    /// At least this grave.
    Floor(Severity),
}

/// What can be sent.
pub(super) const SENT: [Severity; 4] = [
    Severity::Critical,
    Severity::High,
    Severity::Normal,
    Severity::Low,
];

pub(super) fn read_all(root: &mut Section<'_>) -> Vec<Rule> {
    let sections = root.tables("rule").into_iter().enumerate();
    sections
        .map(|(index, section)| read(section, index + 1))
        .collect()
}

fn read(mut section: Section<'_>, number: usize) -> Rule {
    let name = section.get("name", text);
    let matches = read_match(&mut section);
    let severity = read_adjust(&mut section);
    let category = section.get("category", one_of("category", Category::ALL));
    let beats_floor = section.get("beats_floor", flag).unwrap_or_default();
    if beats_floor && !section.has("drop") && !section.has("force") {
        section.refuse(
            "beats_floor",
            "does something only beside drop or force; remove it",
        );
    }
    let acts = ["drop", "force", "floor", "category"];
    if !acts.iter().any(|key| section.has(key)) {
        section
            .refuse_whole("the rule does nothing; give it drop = true, force, floor or category");
    }
    section.finish();
    Rule {
        name: name.unwrap_or_else(|| format!("rule {number}")),
        matches,
        severity,
        category,
        beats_floor,
    }
}

fn read_match(section: &mut Section<'_>) -> Match {
    let example = "match = { title = \"…\" }";
    if !section.has("match") {
        section.refuse("match", format!("is missing; write {example}"));
    }
    let Some(mut given) = section.section("match", example) else {
        return Match::default();
    };
    let keys = ["title", "summary", "feed", "tag"];
    if !keys.iter().any(|key| given.has(key)) {
        given.refuse_whole("names nothing to look at; give it title, summary, feed or tag");
    }
    let matches = Match {
        title: given.get("title", pattern),
        summary: given.get("summary", pattern),
        feed: given.get("feed", pattern),
        tag: given.get("tag", pattern),
    };
    given.finish();
    matches
}

fn read_adjust(section: &mut Section<'_>) -> Option<Adjust> {
    let drop = section.get("drop", flag);
    let force = section.get("force", |value| match value.as_str() {
        Some("ignore") => Err("\"ignore\" is what a drop does; write drop = true".to_owned()),
        _ => one_of("severity", &SENT)(value),
    });
    let floor = section.get("floor", one_of("severity", &SENT));
    if drop == Some(false) {
        section.refuse("drop", "false does nothing; remove it");
    }
    match (drop == Some(true), force, floor) {
        (true, None, None) => Some(Adjust::Drop),
        (false, Some(force), None) => Some(Adjust::Force(force)),
        (false, None, Some(floor)) => Some(Adjust::Floor(floor)),
        (false, None, None) => None,
        (true, ..) => {
            section.refuse(
                "drop",
                "a dropped item has no severity; remove drop, or force and floor",
            );
            None
        }
        (false, Some(force), Some(floor)) => {
            let what = if force > floor {
                format!(
                    "is {floor:?}, graver than force = {force:?}",
                    floor = floor.name(),
                    force = force.name()
                )
            } else {
                "changes nothing beside force".to_owned()
            };
            section.refuse("floor", format!("{what}; keep one of the two"));
            None
        }
    }
}
