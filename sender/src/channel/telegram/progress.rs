//! What is left of a delivery in several messages that was interrupted between two of them, so
//! that the next attempt sends the rest and not the whole again.
//!
//! Kept in memory: after a restart the whole is repeated, marked.

use super::letter::Letter;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// The most deliveries that are remembered; the oldest are forgotten, and repeated whole.
const MOST: usize = 256;

/// What is left to send, and what came of the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Left {
    pub(super) letters: VecDeque<Letter>,
    /// The ids of the messages that arrived.
    pub(super) receipts: Vec<String>,
    /// The first of the letters may have arrived.
    pub(super) unsure: bool,
}

/// By the number of the row, with what the whole was at first.
#[derive(Debug, Default)]
pub(super) struct Progress(Mutex<BTreeMap<i64, (Vec<Letter>, Left)>>);

impl Progress {
    /// What is left of these letters, if some of them have arrived.
    pub(super) fn resume(&self, row: i64, whole: &[Letter]) -> Option<Left> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, left) = kept.get(&row)?;
        let pairs = || known.iter().zip(whole);
        let same = known.len() == whole.len() && pairs().all(|(a, b)| a.says_the_same(b));
        same.then(|| left.clone())
    }

    /// Before and after each letter: a task may be ended at any time.
    pub(super) fn keep(&self, row: i64, whole: &[Letter], left: &Left) {
        if left.receipts.is_empty() {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(row, (whole.to_vec(), left.clone()));
        if kept.len() > MOST {
            kept.pop_first();
        }
    }

    pub(super) fn forget(&self, row: i64) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.remove(&row);
    }
}
