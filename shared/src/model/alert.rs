//! The one versioned contract between the two programs: what is worth telling.

use super::{Category, Judge, Severity, Timestamp};
use serde::{Deserialize, Serialize};

/// An alert, as it stands in `outbox.payload`. Text, not markup: rendering belongs to the sender.
///
/// A field may be added with a default; a change of meaning needs a new [`Alert::VERSION`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// [`Alert::VERSION`]; its presence tells an alert from a raw payload.
    pub v: u32,
    /// Six hexadecimal digits that a person sees, the same in every copy.
    pub short_id: String,
    pub severity: Severity,
    pub category: Category,
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Where it comes from: the feed's title, else its host.
    pub source: String,
    /// Other sources that brought the same story, as far as they were known when it was sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Why it was judged so.
    pub reason: String,
    pub judge: Judge,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Timestamp>,
}

impl Alert {
    pub const VERSION: u32 = 1;

    /// What watchalert says about itself. `about` becomes the short id: the same for the same cause.
    pub fn about_ourselves(
        severity: Severity,
        title: String,
        summary: String,
        reason: &str,
        about: i64,
    ) -> Self {
        Self {
            v: Self::VERSION,
            short_id: format!("{:06x}", about & 0xff_ffff),
            severity,
            category: Category::Operations,
            title,
            summary,
            link: None,
            source: "watchalert".to_owned(),
            also: Vec::new(),
            reason: reason.to_owned(),
            judge: Judge::Builtin,
            published: None,
        }
    }
}
