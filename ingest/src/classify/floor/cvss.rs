//! CVSS in running text: scores as they are written, and vectors that stand without a score.

use super::super::plain::wording;
use super::vector;
use regex::Regex;
use std::sync::LazyLock;

/// Behind "CVSS", so many bytes are looked at: a vector of the fourth version and a few words.
const REACH: usize = 240;
/// Between "CVSS" and its number stand at most so many characters, vectors not counted.
const GAP: usize = 40;

static CVSS: LazyLock<Regex> = LazyLock::new(|| wording(r"\bCVSS(?:v?[234](?:\.[01x])?)?(?:\b|_)"));
/// A number with all of its points, and a sign behind it that makes it something else.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| wording(r"\d+(?:[.,]\d+)*%?"));
/// "9.8 CVSS", "9.8/10 (CVSS v3)", "a score of 9.8 out of 10 on the CVSS scale"; and the score
/// that stands without the name: "Base Score: 9.8".
static SCORE_BEFORE: LazyLock<Regex> = LazyLock::new(|| {
    wording(
        r"(?:^|[\s(\[:])(?P<score>\d+(?:[.,]\d+)*)(?:\s*/\s*10|\s+(?:out\s+)?of\s+10|\s+von\s+10|\s+sur\s+10)?
            \)?\s*\(?(?:on\s+the\s+|auf\s+der\s+|according\s+to\s+|nach\s+|selon\s+|según\s+)?CVSS
        | \bbase\s+score\b[\s:=(|-]{0,4}(?P<bare>\d+(?:[.,]\d+)*)",
    )
});
/// Words that say the number behind them is no score, or one that is not reached.
static NO_SCORE: LazyLock<Regex> = LazyLock::new(|| {
    wording(
        r"\b(?:below|under|less\s+than|lower\s+than|up\s+to|unter|inférieur|inferior|fixed|version|before|prior|release|since|CVE)\b|<",
    )
});
/// Words that make the number before them a threshold or a part of a name.
static THRESHOLD: LazyLock<Regex> = LazyLock::new(|| {
    wording(
        r"^\+?\s*(?:(?:and|or)\s+(?:above|higher|more|greater)|(?:und|oder)\s+(?:höher|mehr)|(?:et|ou)\s+plus|(?:y|o)\s+más|ve\s+üzeri
            |(?:training|course|courses|quiz|exam|workshop|calculator|kurs|schulung)\b)",
    )
});
/// What may stand between two scores of one list.
static AND: LazyLock<Regex> =
    LazyLock::new(|| wording(r"^\s*(?:,|-|and|und|et|y|ve|to|bis|&)\s*(?:and|und|et|y|ve)?\s*$"));

/// The highest score that a statement gives; `None` when it gives none, or only one that is as
/// likely the version of CVSS. The statement is folded.
pub(super) fn highest(text: &str) -> Option<f64> {
    let mut scores: Vec<f64> = CVSS
        .find_iter(text)
        .flat_map(|name| behind(ahead(text, name.end())))
        .collect();
    if scores.is_empty() {
        let before = SCORE_BEFORE.captures_iter(text).filter_map(|found| {
            let written = found.name("score").or_else(|| found.name("bare"))?;
            score(written.as_str())
        });
        scores.extend(before);
    }
    scores.extend(vector::scores(text));
    scores.into_iter().max_by(f64::total_cmp)
}

/// What stands behind a place, as far as it is looked at.
fn ahead(text: &str, start: usize) -> &str {
    let mut end = text.len().min(start + REACH);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(start..end).unwrap_or_default()
}

/// The scores that follow the name: the first number that is no version of CVSS, and more of
/// them in a list.
fn behind(text: &str) -> Vec<f64> {
    let text = vector::VECTOR.replace_all(text, " ");
    let mut scores = Vec::new();
    let mut from = 0;
    for found in NUMBER.find_iter(&text) {
        let words = text.get(from..found.start()).unwrap_or_default();
        let after = text.get(found.end()..).unwrap_or_default();
        from = found.end();
        let listed =
            scores.is_empty() || (AND.is_match(words) && found.as_str().contains(['.', ',']));
        let near = words.chars().count() <= GAP && !words.contains(['!', '?', ';']);
        if !near || !listed || NO_SCORE.is_match(words) {
            break;
        }
        if scores.is_empty() && is_version(found.as_str()) {
            continue;
        }
        match score(found.as_str()).filter(|_| !THRESHOLD.is_match(after)) {
            Some(score) => scores.push(score),
            None => break,
        }
    }
    scores
}

fn is_version(number: &str) -> bool {
    matches!(number, "2" | "2.0" | "3" | "3.0" | "3.1" | "4" | "4.0")
}

/// 0 to 10, with at most one place behind the point.
fn score(written: &str) -> Option<f64> {
    let written = written.replace(',', ".");
    let (whole, fraction) = written.split_once('.').unwrap_or((&written, "0"));
    let number: f64 = written.parse().ok()?;
    let is_score = whole.len() <= 2 && fraction.len() == 1 && number <= 10.0;
    (is_score && !is_version(&written)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::super::super::plain::fold;
    use super::*;

    #[test]
    fn scores_are_read_in_every_spelling() {
        for (text, expected) in [
            ("CVSS 9.8", 9.8),
            ("CVSS: 9.8", 9.8),
            ("cvss=9.8", 9.8),
            ("(CVSS score: 9.8)", 9.8),
            ("CVSS score of 10", 10.0),
            ("CVSS 9", 9.0),
            ("CVSSv3 10.0", 10.0),
            ("CVSSv3.1: 9.1", 9.1),
            ("CVSS (v3.1): 9.8", 9.8),
            ("CVSS base score (v3.1) – 9.8", 9.8),
            ("CVSS v3.1 base score 9.8/10", 9.8),
            ("CVSS 4.0 score 9.3", 9.3),
            ("CVSS-BT 9.2", 9.2),
            ("CVSS v2 Base Score: 10.0 (HIGH)", 10.0),
            (
                "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H base score 9.8",
                9.8,
            ),
            ("CVSS-Wert 9,8", 9.8),
            ("CVSS: 9,8", 9.8),
            ("score CVSS de 9,8", 9.8),
            ("puntuación CVSS de 9.8", 9.8),
            ("CVSS puanı 9.8", 9.8),
            ("ＣＶＳＳ ９．８", 9.8),
            ("a severity rating of 9.9 out of 10 on the CVSS scale", 9.9),
            ("9.8 CVSS", 9.8),
            ("Base Score: 9.8 CRITICAL", 9.8),
            ("9,4 nach CVSS", 9.4),
            ("rated 9.8/10 (CVSS v3)", 9.8),
            ("two bugs, CVSS 7.5 and CVSS 9.1", 9.1),
            ("CVSS scores of 7.5 and 9.8", 9.8),
            ("CVSS 5.3, 9.1, and 7.2", 9.1),
            ("CVSS 7.5) fixed in 9.1", 7.5),
            ("CVSS 7.5/10", 7.5),
            ("CVSS 7.5, 10 bugs fixed", 7.5),
            ("nginx 9.1 CVSS 5.0", 5.0),
            ("CVSS 0.98", 0.0),
            ("CVSS 9.8.1", 0.0),
            ("CVSS 98", 0.0),
            ("CVSS 9%", 0.0),
            ("CVSS 3.1", 0.0),
            ("scored 9.8 (CVSS:3.1/AV:N/AC:L/PR:N)", 9.8),
            ("CVSS below 9.0", 0.0),
            ("CVSS 9.0 or higher must be patched", 0.0),
            ("CVSS 9+ and more", 0.0),
            ("CVSS 9 training course", 0.0),
            ("CVSS v4.0 supported since 9.2", 0.0),
            ("CVSSX 9.8", 0.0),
            ("9.8", 0.0),
        ] {
            let found = highest(&fold(text)).unwrap_or_default();
            assert!((found - expected).abs() < 1e-9, "{text}: {found}");
        }
    }
}
