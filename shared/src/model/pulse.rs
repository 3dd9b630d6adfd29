//! What a heartbeat says, and what is known of one.

use super::Timestamp;
use super::verdict::{UnknownName, named};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What one call says of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Signal {
    /// A run begins.
    Start,
    /// A run is done.
    Success,
    Fail,
    /// A run is done with this exit status; 0 is success.
    Status(u8),
}

/// One call, as it is kept in a file while the database is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// Of the heartbeat; never its token.
    pub name: String,
    pub signal: Signal,
    /// The beginning of its body, one line of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When it came.
    pub at: Timestamp,
}

/// What is wrong with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It did not come in time.
    Missed,
    /// It began and did not end in time.
    Overrun,
    /// It said that it failed.
    Failed,
}

named!(Trouble {
    Missed => "missed",
    Overrun => "overrun",
    Failed => "failed",
});

/// What is known of a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    /// Since when it is expected.
    pub known_at: Timestamp,
    /// The last success.
    pub seen_at: Option<Timestamp>,
    /// The last failure, and its exit status when it told one.
    pub failed_at: Option<Timestamp>,
    pub status: Option<u8>,
    /// The last run that ended failed.
    pub is_failed: bool,
    /// The run that goes on: its first start since something ended.
    pub started_at: Option<Timestamp>,
    /// What came with the last call.
    pub note: Option<String>,
    /// What is waited for, since it was due.
    pub waits_since: Option<Timestamp>,
    /// For so long of that time we were there to hear it: a sum, which no clock that is set lengthens.
    pub waited: Duration,
    /// When a tick last looked.
    pub looked_at: Option<Timestamp>,
    /// What was told and is not over, when, and by which alert.
    pub told: Option<Told>,
}

/// A trouble that was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub trouble: Trouble,
    pub at: Timestamp,
    /// When what was missed was due; `None` when it was something else, or a clock has made that void.
    pub due: Option<Timestamp>,
    /// It has succeeded since.
    pub is_past: bool,
    /// It was told a second time, as critical.
    pub is_raised: bool,
    /// The last one that told it.
    pub alert_id: Option<i64>,
}
