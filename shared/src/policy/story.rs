//! Tells whether two feeds tell one story, from the titles alone. Merging hides the second, so each way
//! asks for more than it seems to need: an alert too many is better than one that is swallowed.

use super::edit::{numbers, share, words};
use std::collections::BTreeSet;

/// Titles of one page of which two feeds know a single item each: that no number says otherwise, and
/// some of the words agree.
pub fn is_of_one_page(one: &str, other: &str) -> bool {
    let (one, other) = (telling(one), telling(other));
    let both = one.intersection(&other).count();
    agree(&one, &other) && both > 0 && share(both, one.union(&other).count()) >= 0.3
}

/// Titles that name the same CVE ids: that no other number says otherwise.
pub fn is_of_the_same_ids(one: &str, other: &str) -> bool {
    agree(&telling(one), &telling(other))
}

/// Titles alone: at least six words, and no word that tells anything is another one.
pub fn is_the_same_title(one: &str, other: &str) -> bool {
    let (one, other) = (telling(one), telling(other));
    one.len() >= 6 && one == other
}

/// Versions, scores, dates: both have none, or one has none, or they are the same.
fn agree(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    let without_ids = |words: &BTreeSet<String>| -> BTreeSet<String> {
        let numbers = numbers(words).into_iter();
        numbers
            .filter(|word| !word.starts_with("cve-"))
            .cloned()
            .collect()
    };
    let (one, other) = (without_ids(one), without_ids(other));
    one.is_empty() || other.is_empty() || one == other
}

/// Words that hold sentences together, in the five languages of the built-in rules.
const FILLING: &str = "\
a an and are as at be by for from has have in into is it its of on or that the this to was were with \
das dem den der des die ein eine einen einer für ist mit nach und von wird zu \
au aux ce dans de des du en est et la le les par pour sur un une \
al con del el es la las los para por que se un una y \
bir bu da de için ile ve";

fn telling(title: &str) -> BTreeSet<String> {
    let filling: BTreeSet<&str> = FILLING.split_whitespace().collect();
    let mut words = words(title);
    words.retain(|word| !filling.contains(word.as_str()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_page_tells_one_story_unless_the_titles_say_otherwise() {
        for (one, other) in [
            ("Exploited flaw in Sable", "Sable is exploited"),
            (
                "CVE-2026-91001: flaw in Sable",
                "The flaw in Sable, explained",
            ),
        ] {
            assert!(is_of_one_page(one, other), "{one} / {other}");
        }
        for (one, other) in [
            ("Increased error rates", "Data loss in eu-west-1"),
            ("Sable 2.8.1 is out", "Sable 2.8.2 is out"),
            ("", ""),
            ("The", "The"),
        ] {
            assert!(!is_of_one_page(one, other), "{one} / {other}");
        }
    }

    #[test]
    fn the_same_ids_are_the_same_story_unless_a_version_says_otherwise() {
        for (one, other) in [
            ("CVE-2026-91001 in Sable", "Exploited: CVE-2026-91001"),
            (
                "CVE-2026-91001 in Sable 2.8",
                "CVE-2026-91001: Sable 2.8 exploited",
            ),
        ] {
            assert!(is_of_the_same_ids(one, other), "{one} / {other}");
        }
        let (one, other) = ("CVE-2026-91001: Sable 2.8", "CVE-2026-91001: Heron 3.1");
        assert!(!is_of_the_same_ids(one, other));
    }

    #[test]
    fn a_title_alone_must_say_much_and_nothing_else() {
        let long = "Large outage of the northern exchange point takes down many providers";
        let turned = "Many providers down: large outage takes northern exchange point";
        assert!(is_the_same_title(long, turned));
        for (one, other) in [
            ("Elevated 5xx error rates", "Elevated 5xx error rates"),
            (
                "Scheduled maintenance on 12 December 2026",
                "Scheduled maintenance on 12 December 2026",
            ),
            (
                "Release v1.2.0: dependency updates",
                "Release v1.2.0: dependency updates",
            ),
            (
                "December 2026 security update available for Foo products now",
                "December 2026 security update available for Bar products now",
            ),
            (
                "Fortress warns of new critical flaw in FortOne exploited in attacks",
                "Fortress warns of new critical flaw in FortTwo exploited in attacks",
            ),
        ] {
            assert!(!is_the_same_title(one, other), "{one} / {other}");
        }
    }
}
