//! Named points at which a test has the program end from one moment to the next, as at a power cut. Only debug builds
//! have them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where, and at which passing of it.
static WANTED: OnceLock<(String, u64)> = OnceLock::new();
static PASSED: AtomicU64 = AtomicU64::new(0);

/// `wanted` is a point and the number of its passing, as in `commit.after:3`; anything else is nothing.
pub fn arm(wanted: Option<&str>) {
    let parts = wanted.and_then(|wanted| wanted.rsplit_once(':'));
    let parsed = parts.and_then(|(point, number)| Some((point.to_owned(), number.parse().ok()?)));
    if let Some(wanted) = parsed {
        drop(WANTED.set(wanted));
    }
}

/// Ends the process when this passing of `point` is the one that is wanted.
pub fn point(point: &str) {
    point_of(point, "");
}

/// As [`point`], of one thing among several: `call.after.mail:2` is its second passing for `mail`.
pub fn point_of(point: &str, about: &str) {
    let is_meant = |wanted: &str| {
        let about = wanted.strip_prefix(point).map(|rest| (rest, about));
        about.is_some_and(|(rest, about)| rest.is_empty() || rest.strip_prefix('.') == Some(about))
    };
    let is_wanted = cfg!(debug_assertions)
        && WANTED.get().is_some_and(|(wanted, number)| {
            is_meant(wanted) && PASSED.fetch_add(1, Ordering::Relaxed) + 1 == *number
        });
    if is_wanted {
        std::process::abort();
    }
}
