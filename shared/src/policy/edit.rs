//! Tells an edited title from another story's: for items that are known by their link alone.
//!
//! A page that shows one entry at a time gives every story the same link, so the link alone would
//! swallow news. What differs in a number is never an edit: versions, CVE ids and dates decide.

use std::collections::BTreeSet;

/// Words in common, of all words of both titles, from which on one is an edit of the other.
const IN_COMMON: f64 = 0.6;

/// Whether `new` may be `old` after a correction. An empty text is an edit of nothing but itself:
/// an alert too many is better than one that is swallowed.
pub fn is_edit(old: &str, new: &str) -> bool {
    if old.trim() == new.trim() {
        return true;
    }
    let (before, after) = (words(old), words(new));
    if numbers(&before) != numbers(&after) {
        return false;
    }
    let both = before.intersection(&after).count();
    let all = before.union(&after).count();
    share(both, all) >= IN_COMMON
}

/// Whether `new` may be `old` after a correction that changed its address too: a few words differ, and
/// none of them is a number or a name.
pub fn is_correction(old: &str, new: &str) -> bool {
    let (old, new) = (as_written(old), as_written(new));
    let differing: Vec<&&str> = old.symmetric_difference(&new).collect();
    let is_plain = |word: &&&str| word.chars().all(char::is_lowercase);
    old.intersection(&new).count() >= 4
        && differing.len() <= 3
        && differing.iter().copied().all(|word| is_plain(&word))
}

/// Whether `old` names a pre-release and `new` the release that it became: `1.23-rc1`, then `1.23`.
pub fn is_promotion(old: &str, new: &str) -> bool {
    let (before, after) = (words(old), words(new));
    let base = |word: &String| {
        let marked = PRE_RELEASE.iter().filter_map(|mark| word.find(mark));
        let base = marked.min().and_then(|at| word.get(..at))?;
        let base = base.trim_end_matches(['.', '-', '_']);
        base.ends_with(char::is_numeric).then(|| base.to_owned())
    };
    let is_pre = |words: &BTreeSet<String>| words.iter().any(|word| base(word).is_some());
    let mut bases = before.iter().filter_map(base);
    !is_pre(&after) && bases.any(|base| after.contains(&base))
}

/// How versions name what is not released yet, behind their number.
const PRE_RELEASE: [&str; 7] = ["rc", "alpha", "beta", "pre", "preview", "dev", "snapshot"];

/// In lower case.
pub(super) fn words(title: &str) -> BTreeSet<String> {
    as_written(title)
        .into_iter()
        .map(str::to_lowercase)
        .collect()
}

fn as_written(title: &str) -> BTreeSet<&str> {
    let apart = |c: char| !c.is_alphanumeric() && !matches!(c, '.' | '-' | '_');
    let words = title
        .split(apart)
        .map(|word| word.trim_matches(['.', '-', '_']));
    words.filter(|word| !word.is_empty()).collect()
}

/// The words with a digit in them.
pub(super) fn numbers(words: &BTreeSet<String>) -> BTreeSet<&String> {
    words
        .iter()
        .filter(|word| word.contains(|c: char| c.is_numeric()))
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "a title has few words")]
pub(super) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correction_is_an_edit() {
        for (old, new) in [
            ("Build your own adventure", "Build your own adventure"),
            (
                "Recieve mail again after the outage",
                "Receive mail again after the outage",
            ),
            (
                "Heron 2.8.1 fixes nested archives",
                "Heron 2.8.1 fixes deeply nested archives",
            ),
        ] {
            assert!(is_edit(old, new), "{old} / {new}");
        }
    }

    #[test]
    fn a_release_candidate_that_became_the_release_is_news() {
        for (old, new) in [
            ("1.23-rc1", "1.23"),
            ("v2.0.0-beta.2", "v2.0.0"),
            ("Heron 3.1rc2 is out", "Heron 3.1 is out"),
        ] {
            assert!(is_promotion(old, new), "{old} / {new}");
        }
        for (old, new) in [
            ("1.23-rc1", "1.23-rc2"),
            ("1.23", "1.23"),
            ("1.22-rc1", "1.23"),
            ("The March 5 architecture", "The March 5 archive"),
        ] {
            assert!(!is_promotion(old, new), "{old} / {new}");
        }
    }

    #[test]
    fn a_correction_changes_neither_a_number_nor_a_name() {
        for (old, new) in [
            (
                "How to build your own honeypot",
                "How to build a your own honeypot",
            ),
            (
                "Recieve mail after the outage again",
                "Recieve mail again after an outage",
            ),
        ] {
            assert!(is_correction(old, new), "{old} / {new}");
        }
        for (old, new) in [
            (
                "The Bar plugin for WordPress is vulnerable to scripting",
                "The Baz plugin for WordPress is vulnerable to scripting",
            ),
            (
                "Heron 2.8.1 fixes nested archives",
                "Heron 2.8.2 fixes nested archives",
            ),
            ("The first of the day", "the last one of those"),
            ("", ""),
        ] {
            assert!(!is_correction(old, new), "{old} / {new}");
        }
    }

    #[test]
    fn another_story_is_not() {
        for (old, new) in [
            (
                "Outage of the image registry",
                "Network maintenance on Sunday",
            ),
            ("Release 1.2.3", "Release 1.2.4"),
            ("Outage in eu-1", "Outage in eu-2"),
            (
                "Flaw in Sable (CVE-2026-91001)",
                "Flaw in Sable (CVE-2026-91002)",
            ),
            ("Elevated errors", "Elevated latency"),
            ("A title", ""),
            ("", "A title"),
        ] {
            assert!(!is_edit(old, new), "{old} / {new}");
        }
    }
}
