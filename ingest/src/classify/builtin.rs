//! The built-in lists: severity and category by the words of an entry, when nobody knows better.

mod words;

use super::plain::{folded, wording};
use super::{FeedFacts, Opinion};
use regex::Regex;
use shared::model::{Category, Entry, Judge, Severity};
use std::sync::LazyLock;

/// Words, and what an entry is that holds one of them.
struct List {
    severity: Severity,
    category: Category,
    /// Of what the words are a sign, as the reason says it.
    sign: &'static str,
    /// Searched in the title.
    title: Regex,
    /// If given, one of these must stand in the title or the text as well.
    with: Option<Regex>,
    /// If given, none of these may stand in the title.
    unless: Option<Regex>,
}

impl List {
    fn new(severity: Severity, category: Category, sign: &'static str, title: &str) -> Self {
        Self {
            severity,
            category,
            sign,
            title: wording(title),
            with: None,
            unless: None,
        }
    }

    fn with(self, words: &str) -> Self {
        let with = Some(wording(words));
        Self { with, ..self }
    }

    fn unless(self, words: &str) -> Self {
        let unless = Some(wording(words));
        Self { unless, ..self }
    }
}

/// The first list that matches decides.
static LISTS: LazyLock<Vec<List>> = LazyLock::new(|| {
    let lists = [talk(), holes(), operations(), news()];
    lists.into_iter().flatten().collect()
});

/// What only speaks of grave things, before what is grave.
fn talk() -> Vec<List> {
    use Category::{Industry, Other, Release};
    use Severity::Low;
    use words::{ADVISORY, FUNDING, HOUSEKEEPING, MARKETING, READING, SURVEY, TALK, VULNERABILITY};
    vec![
        List::new(Low, Other, "an advertisement", MARKETING).unless(ADVISORY),
        List::new(Low, Release, "housekeeping", HOUSEKEEPING).unless(ADVISORY),
        List::new(Low, Industry, "trade news", FUNDING).unless(ADVISORY),
        List::new(Low, Industry, "statistics", SURVEY).unless(ADVISORY),
        List::new(Low, Other, "something to read", TALK).unless(ADVISORY),
        List::new(Low, Other, "something to read", READING).unless(VULNERABILITY),
    ]
}

fn holes() -> Vec<List> {
    use Category::{Incident, Vulnerability};
    use Severity::{Critical, High, Low, Normal};
    use words::{CRITICAL, GRAVE, HIGH, LEAKED, LOW, OPEN_TO_ALL, VULNERABILITY};
    let hole = |severity, sign, words| List::new(severity, Vulnerability, sign, words);
    vec![
        hole(Critical, "a critical vulnerability", VULNERABILITY).with(CRITICAL),
        hole(Critical, "a critical vulnerability", OPEN_TO_ALL),
        hole(High, "a grave vulnerability", GRAVE),
        List::new(High, Incident, "leaked secrets", LEAKED),
        hole(High, "a vulnerability of high severity", VULNERABILITY).with(HIGH),
        hole(Low, "a vulnerability of low severity", VULNERABILITY).with(LOW),
        hole(Normal, "a vulnerability", VULNERABILITY),
    ]
}

fn operations() -> Vec<List> {
    use Category::{Incident, Operations};
    use Severity::{High, Low, Normal};
    use words::{DISTURBANCE, DONE, INCIDENT, OPERATIONS, OVER, REVIEWED, URGENT};
    vec![
        List::new(Low, Incident, "the report on an incident", REVIEWED),
        List::new(Normal, Incident, "an incident that is over", INCIDENT).with(OVER),
        List::new(High, Incident, "an incident", INCIDENT),
        List::new(Normal, Incident, "a disturbance", DISTURBANCE),
        List::new(High, Operations, "something to be done soon", URGENT),
        List::new(Low, Operations, "work that is done", OPERATIONS).with(DONE),
        List::new(Normal, Operations, "a matter of operations", OPERATIONS),
    ]
}

fn news() -> Vec<List> {
    use Category::{Industry, Release};
    use Severity::{Low, Normal};
    use words::{INDUSTRY, PRERELEASE, RELEASE};
    vec![
        List::new(Low, Release, "a pre-release", PRERELEASE),
        List::new(Normal, Release, "a release", RELEASE),
        List::new(Low, Industry, "trade news", INDUSTRY),
    ]
}

/// Words for "it does not work": on a page that tells of outages alone, they are one.
static DOWN: LazyLock<Regex> = LazyLock::new(|| wording(words::DOWN));
/// Single words that may be the sign of something grave.
static ALARMING: LazyLock<Regex> = LazyLock::new(|| wording(words::ALARMING));
/// Small words of the languages that the lists know: without one, the text is not understood.
static EVERYDAY: LazyLock<Regex> = LazyLock::new(|| wording(words::EVERYDAY));

/// Judges by the words in the title, then by what the feed is about.
pub(super) fn judge(entry: &Entry, feed: &FeedFacts) -> Opinion {
    let (title, text) = (folded(&entry.title), folded(&entry.summary));
    LISTS
        .iter()
        .find_map(|list| by_list(list, &title, &text))
        .unwrap_or_else(|| undecided(feed, &title, &text))
}

fn by_list(list: &List, title: &str, text: &str) -> Option<Opinion> {
    let trimmed = |text: regex::Match<'_>| {
        text.as_str()
            .trim()
            .trim_end_matches([',', '.', ':', ';'])
            .to_owned()
    };
    if list
        .unless
        .as_ref()
        .is_some_and(|unless| unless.is_match(title))
    {
        return None;
    }
    let mut words = vec![trimmed(list.title.find(title)?)];
    if let Some(with) = &list.with {
        let found = with.find(title).or_else(|| with.find(text));
        let found = trimmed(found?);
        if !words.contains(&found) {
            words.push(found);
        }
    }
    let quoted: Vec<String> = words.iter().map(|words| format!("\"{words}\"")).collect();
    Some(Opinion {
        severity: list.severity,
        category: list.category,
        reason: format!("looks like {}: {}", list.sign, quoted.join(" and ")),
        judge: Judge::Builtin,
    })
}

/// No list matched: what the feed is about decides, and whether anything in the text sounds an
/// alarm. Only what can be read, and is quiet, is low: the rest is left to a person.
fn undecided(feed: &FeedFacts, title: &str, text: &str) -> Opinion {
    let find = |words: &Regex| {
        let found = words.find(title).or_else(|| words.find(text));
        found.map(|found| found.as_str().to_owned())
    };
    let category = about(feed);
    let down = find(&DOWN).filter(|_| category == Category::Incident);
    let open = matches!(category, Category::Other | Category::Industry);
    let quiet = open && find(&ALARMING).is_none() && find(&EVERYDAY).is_some();
    let (severity, mut reason) = match down {
        Some(words) => (Severity::High, format!("it says {words:?}")),
        None if quiet => (Severity::Low, "no word that asks for attention".to_owned()),
        None => (Severity::Normal, "no word that decides".to_owned()),
    };
    if category != Category::Other {
        reason.push_str("; the feed is about ");
        reason.push_str(category.name());
    }
    Opinion {
        severity,
        category,
        reason,
        judge: Judge::Builtin,
    }
}

/// What a feed's tags and address say that is about one thing only.
fn about(feed: &FeedFacts) -> Category {
    let tagged = |names: &[&str]| {
        feed.tags
            .iter()
            .any(|tag| names.contains(&&*tag.to_lowercase()))
    };
    if tagged(&["security", "advisories", "vulnerabilities", "cve"]) {
        Category::Vulnerability
    } else if tagged(&["release", "releases"])
        || feed.url.ends_with("/releases.atom")
        || feed.url.ends_with("/tags.atom")
    {
        Category::Release
    } else if tagged(&["status", "incidents"]) {
        Category::Incident
    } else if tagged(&["operations", "ops"]) {
        Category::Operations
    } else if tagged(&["industry", "business", "trade"]) {
        Category::Industry
    } else {
        Category::Other
    }
}
