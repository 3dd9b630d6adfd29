//! The evaluation: items with the verdict a person gave them, and how near a judge comes to that.

mod figures;

pub use figures::{Figures, table};

use serde_json::Value;
use shared::model::{Category, Entry, Severity};
use watchalert_ingest::classify::{self, FeedFacts};

/// One JSON object a line: title, summary, source, tags, language, severity, category, why.
const CASES: &str = include_str!("../fixtures/evaluation.jsonl");
/// The same, written when the lists of the rules were done: README.md says what came out at first,
/// and what then.
const LATER: &str = include_str!("../fixtures/evaluation_later.jsonl");

/// One item with its label.
#[derive(Clone, Debug)]
pub struct Case {
    pub entry: Entry,
    pub feed: FeedFacts,
    /// Two letters.
    pub language: String,
    pub severity: Severity,
    pub category: Category,
    /// Why a person judged so.
    pub why: String,
    pub part: Part,
}

/// What a judge says of an item; `None` when it did not judge it.
pub type Judged = Option<(Severity, Category)>;

/// The parts of the set. In which half of the first file a case is follows from its title alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What the lists of the rules were made with.
    Tuning,
    /// What was kept aside meanwhile.
    Held,
    /// The second file: what was written when the lists were done.
    Later,
}

impl Case {
    /// Nothing that has to reach anybody.
    pub fn is_noise(&self) -> bool {
        self.severity >= Severity::Low
    }

    fn read(line: &str, part: Option<Part>) -> Self {
        let value: Value = serde_json::from_str(line).expect(line);
        let text = |key: &str| value[key].as_str().expect(line).to_owned();
        let title = text("title");
        let halves = [Part::Tuning, Part::Held];
        let half = halves[usize::from(fnv(title.as_bytes()) % 2 == 1)];
        let tags = value["tags"].as_array().expect(line).iter();
        Self {
            entry: Entry {
                title,
                summary: text("summary"),
                ..Entry::default()
            },
            feed: FeedFacts {
                url: text("source"),
                tags: tags
                    .map(|tag| tag.as_str().expect(line).to_owned())
                    .collect(),
                ..FeedFacts::default()
            },
            language: text("language"),
            severity: text("severity").parse().expect(line),
            category: text("category").parse().expect(line),
            why: text("why"),
            part: part.unwrap_or(half),
        }
    }
}

/// Every case, in the order of the files.
pub fn cases() -> Vec<Case> {
    let first = CASES.lines().map(|line| Case::read(line, None));
    let later = LATER
        .lines()
        .map(|line| Case::read(line, Some(Part::Later)));
    first.chain(later).collect()
}

/// The built-in rules without a rule of the user, as a judge of this evaluation.
pub fn built_in_rules(case: &Case) -> Judged {
    let verdict = classify::rule(&case.entry, &case.feed, &[]).verdict;
    Some((verdict.severity, verdict.category))
}

/// FNV-1a, 64 bits: <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
