//! How much something matters: severity, priority, category, and who says so.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A name that is not on its list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName(pub String);

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown name {:?}", self.0)
    }
}

impl std::error::Error for UnknownName {}

/// Gives an enum its list, its names in lower case, and both directions between them.
macro_rules! named {
    ($type:ident { $($variant:ident => $name:literal),+ $(,)? }) => {
        impl $type {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $type {
            type Err = UnknownName;

            fn from_str(name: &str) -> Result<Self, UnknownName> {
                Self::ALL
                    .iter()
                    .copied()
                    .find(|known| known.name() == name)
                    .ok_or_else(|| UnknownName(name.to_owned()))
            }
        }
    };
}
pub(super) use named;

/// How much an item matters. Ordered: `Critical` is the least value, so `min` picks the graver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Critical,
    High,
    Normal,
    Low,
    /// Stored and explained, but not sent.
    Ignore,
}

named!(Severity {
    Critical => "critical",
    High => "high",
    Normal => "normal",
    Low => "low",
    Ignore => "ignore",
});

impl Severity {
    /// The priority at which it is sent; `None` for what is not sent.
    pub const fn priority(self) -> Option<Priority> {
        match self {
            Self::Critical => Some(Priority::Critical),
            Self::High => Some(Priority::High),
            Self::Normal => Some(Priority::Normal),
            Self::Low => Some(Priority::Low),
            Self::Ignore => None,
        }
    }
}

/// The rank of a row in the outbox: 0 (critical) to 3 (low).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    Critical,
    High,
    Normal,
    Low,
}

named!(Priority {
    Critical => "critical",
    High => "high",
    Normal => "normal",
    Low => "low",
});

impl Priority {
    /// The number in `outbox.priority`.
    pub const fn rank(self) -> i64 {
        match self {
            Self::Critical => 0,
            Self::High => 1,
            Self::Normal => 2,
            Self::Low => 3,
        }
    }

    /// The inverse of [`rank`](Self::rank); the table's CHECK admits no other number.
    pub const fn from_rank(rank: i64) -> Option<Self> {
        match rank {
            0 => Some(Self::Critical),
            1 => Some(Self::High),
            2 => Some(Self::Normal),
            3 => Some(Self::Low),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    Vulnerability,
    Incident,
    Release,
    Operations,
    Industry,
    Other,
}

named!(Category {
    Vulnerability => "vulnerability",
    Incident => "incident",
    Release => "release",
    Operations => "operations",
    Industry => "industry",
    Other => "other",
});

/// Who reached a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judge {
    /// A rule of the user's configuration.
    Rule,
    /// The floor under which nothing that is known to be exploited can fall.
    Floor,
    /// The built-in rules, when no model is configured.
    Builtin,
    /// What sent it: a webhook whose events say how grave they are.
    Source,
    /// The model that Ollama runs.
    Model,
    /// The model in the cloud, while Ollama cannot be reached.
    Cloud,
    /// The built-in rules in place of a model that gave no answer in time: at least normal.
    Unclassified,
}

named!(Judge {
    Rule => "rule",
    Floor => "floor",
    Builtin => "builtin",
    Source => "source",
    Model => "model",
    Cloud => "cloud",
    Unclassified => "unclassified",
});

/// What was decided about one item, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub severity: Severity,
    pub category: Category,
    /// At most a few sentences for the phone; empty when the title says it all.
    pub summary: String,
    /// For a person who asks why: the rule or the words that decided.
    pub reason: String,
    pub judge: Judge,
}
