//! CVSS scores in running text.

use crate::pattern::pattern;
use regex::{Captures, Regex};
use std::sync::LazyLock;

/// `CVSS`, perhaps a version and a vector, a few words, a number: "CVSS v3.1 base score of 9.8".
static SCORE_BEHIND: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\bCVSS[\s_:-]*(?:version\s*)?v?(?:[234](?:[.,][01x])?)?",
        r"(?:/[a-z]{1,3}:[a-z](?:/[a-z]{1,3}:[a-z])*)?",
        r"(?P<words>[^\d.!?;\n]{0,40})(?P<score>\d+(?:[.,]\d+)*)(?P<after>%?)"
    ))
});
/// "9.8 CVSS", "9.8/10 (CVSS v3)", "a score of 9.8 out of 10 on the CVSS scale".
static SCORE_BEFORE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)(?:^|[\s(\[:])(?P<score>\d+(?:[.,]\d+)*)(?:\s*/\s*10|\s+(?:out\s+)?of\s+10)?",
        r"\)?\s*\(?(?:on\s+the\s+|auf\s+der\s+)?CVSS"
    ))
});
/// Words that say the number behind them is no score, or one that is not reached.
static NO_SCORE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:below|under|less than|lower than|up to|unter|fixed|version|before|prior|release|since|CVE)\b|<",
    )
});

/// The highest score that the text states; `None` when it states none, or only one that is as
/// likely the version of CVSS.
pub(super) fn highest(text: &str) -> Option<f64> {
    let behind: Vec<f64> = SCORE_BEHIND
        .captures_iter(text)
        .filter_map(|found| score(&found))
        .collect();
    let scores = if behind.is_empty() {
        SCORE_BEFORE
            .captures_iter(text)
            .filter_map(|found| score(&found))
            .collect()
    } else {
        behind
    };
    scores.into_iter().max_by(f64::total_cmp)
}

fn score(found: &Captures<'_>) -> Option<f64> {
    let group = |name| found.name(name).map_or("", |group| group.as_str());
    let score = group("score").replace(',', ".");
    let (whole, fraction) = score.split_once('.').unwrap_or((&score, "0"));
    let is_score = whole.len() <= 2 && fraction.len() == 1 && group("after").is_empty();
    let number: f64 = score.parse().ok().filter(|_| is_score)?;
    let is_version = matches!(&*score, "2" | "2.0" | "3" | "3.0" | "3.1" | "4" | "4.0");
    (number <= 10.0 && !is_version && !NO_SCORE.is_match(group("words"))).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_read_in_every_spelling() {
        for (text, expected) in [
            ("CVSS 9.8", 9.8),
            ("CVSS: 9.8", 9.8),
            ("(CVSS score: 9.8)", 9.8),
            ("CVSS score of 10", 10.0),
            ("CVSS 9", 9.0),
            ("CVSSv3 10.0", 10.0),
            ("CVSSv3.1: 9.1", 9.1),
            ("CVSS v3.1 base score 9.8/10", 9.8),
            ("CVSS 4.0 score 9.3", 9.3),
            (
                "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H base score 9.8",
                9.8,
            ),
            ("CVSS-Wert 9,8", 9.8),
            ("score CVSS de 9,8", 9.8),
            ("puntuación CVSS de 9.8", 9.8),
            ("CVSS puanı 9.8", 9.8),
            ("a severity rating of 9.9 out of 10 on the CVSS scale", 9.9),
            ("9.8 CVSS", 9.8),
            ("rated 9.8/10 (CVSS v3)", 9.8),
            ("two bugs, CVSS 7.5 and CVSS 9.1", 9.1),
            ("CVSS 7.5) fixed in 9.1", 7.5),
            ("nginx 9.1 CVSS 5.0", 5.0),
            ("CVSS 0.98", 0.0),
            ("CVSS 9.8.1", 0.0),
            ("CVSS 98", 0.0),
            ("CVSS 3.1", 0.0),
            ("scored 9.8 (CVSS:3.1/AV:N/AC:L/PR:N)", 9.8),
            ("CVSS below 9.0", 0.0),
            ("CVSS v4.0 supported since 9.2", 0.0),
            ("9.8", 0.0),
        ] {
            let found = highest(text).unwrap_or_default();
            assert!((found - expected).abs() < 1e-9, "{text}: {found}");
        }
    }
}
