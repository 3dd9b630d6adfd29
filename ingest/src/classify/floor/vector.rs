//! CVSS vectors: the base score that a vector of the second or third version means, and whether
//! one of the fourth is the gravest.

use crate::pattern::pattern;
use regex::Regex;
use std::sync::LazyLock;

/// Metrics with their values, the attack vector among the first: "AV:N/AC:L/PR:N/…".
pub(super) static VECTOR: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"/?\bAV:[NALP](?:/[A-Za-z]{1,3}:[A-Za-z]{1,2})*"));

/// What the fourth version gives to the vector that all of its gravest values make, with nothing
/// reached beyond the vulnerable system:
/// <https://www.first.org/cvss/v4.0/specification-document>.
const GRAVEST_OF_V4: f64 = 9.3;

/// The base scores of all vectors in a text that are complete.
pub(super) fn scores(text: &str) -> impl Iterator<Item = f64> {
    VECTOR.find_iter(text).filter_map(|found| {
        let vector = Metrics(found.as_str());
        vector.v2().or_else(|| vector.v3()).or_else(|| vector.v4())
    })
}

struct Metrics<'t>(&'t str);

impl Metrics<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        let metrics = self
            .0
            .split('/')
            .filter_map(|metric| metric.split_once(':'));
        metrics
            .filter(|(known, _)| *known == name)
            .map(|(_, value)| value)
            .next()
    }

    /// The weight of a metric's value; `None` when it is missing or has another.
    fn weight(&self, name: &str, weights: &[(&str, f64)]) -> Option<f64> {
        let value = self.value(name)?;
        weights
            .iter()
            .find(|(known, _)| *known == value)
            .map(|(_, weight)| *weight)
    }

    /// Equations: <https://www.first.org/cvss/v2/guide>, 3.2.1.
    fn v2(&self) -> Option<f64> {
        let harm = [("N", 0.0), ("P", 0.275), ("C", 0.66)];
        let kept = |name| Some(1.0 - self.weight(name, &harm)?);
        let impact = 10.41 * (1.0 - kept("C")? * kept("I")? * kept("A")?);
        let ease = 20.0
            * self.weight("AV", &[("L", 0.395), ("A", 0.646), ("N", 1.0)])?
            * self.weight("AC", &[("H", 0.35), ("M", 0.61), ("L", 0.71)])?
            * self.weight("Au", &[("M", 0.45), ("S", 0.56), ("N", 0.704)])?;
        let score = if impact > 0.0 {
            (0.6 * impact + 0.4 * ease - 1.5) * 1.176
        } else {
            0.0
        };
        Some((score * 10.0).round() / 10.0)
    }

    /// Equations: <https://www.first.org/cvss/v3.1/specification-document>, 7.1.
    fn v3(&self) -> Option<f64> {
        let changed = self.weight("S", &[("U", 0.0), ("C", 1.0)])? > 0.5;
        let harm = [("N", 0.0), ("L", 0.22), ("H", 0.56)];
        let kept = |name| Some(1.0 - self.weight(name, &harm)?);
        let lost: f64 = 1.0 - kept("C")? * kept("I")? * kept("A")?;
        let rights = if changed {
            [("N", 0.85), ("L", 0.68), ("H", 0.5)]
        } else {
            [("N", 0.85), ("L", 0.62), ("H", 0.27)]
        };
        let ease = 8.22
            * self.weight("AV", &[("N", 0.85), ("A", 0.62), ("L", 0.55), ("P", 0.2)])?
            * self.weight("AC", &[("L", 0.77), ("H", 0.44)])?
            * self.weight("PR", &rights)?
            * self.weight("UI", &[("N", 0.85), ("R", 0.62)])?;
        let impact = if changed {
            7.52 * (lost - 0.029) - 3.25 * (lost - 0.02).powi(15)
        } else {
            6.42 * lost
        };
        let sum = (impact + ease) * if changed { 1.08 } else { 1.0 };
        Some(if impact > 0.0 {
            round_up(sum.min(10.0))
        } else {
            0.0
        })
    }

    /// The fourth version looks scores up in a table of 270 rows. Of those only the row that is
    /// met most stands here: over the network, by anybody, without conditions, all is lost.
    fn v4(&self) -> Option<f64> {
        let gravest = [
            ("AV", "N"),
            ("AC", "L"),
            ("AT", "N"),
            ("PR", "N"),
            ("UI", "N"),
            ("VC", "H"),
            ("VI", "H"),
        ];
        let is_gravest = gravest
            .iter()
            .all(|(name, value)| self.value(name) == Some(value));
        is_gravest.then_some(GRAVEST_OF_V4)
    }
}

/// To the next tenth; a hundred-thousandth more than a tenth is that tenth.
fn round_up(score: f64) -> f64 {
    ((score * 10.0) - 1e-4).ceil() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_means_its_base_score() {
        for (vector, score) in [
            ("AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", Some(9.8)),
            ("CVSS:3.0/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H", Some(10.0)),
            (
                "CVSS:3.1/AV:N/AC:L/PR:L/UI:N/S:C/C:H/I:H/A:H/E:P",
                Some(9.9),
            ),
            ("CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:N", Some(9.1)),
            ("CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:U/C:H/I:H/A:H", Some(8.8)),
            ("CVSS:3.1/AV:L/AC:L/PR:L/UI:N/S:U/C:H/I:H/A:H", Some(7.8)),
            ("CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N", Some(6.1)),
            ("CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:N", Some(0.0)),
            ("(AV:N/AC:L/Au:N/C:C/I:C/A:C)", Some(10.0)),
            ("AV:N/AC:M/Au:N/C:C/I:C/A:C", Some(9.3)),
            ("AV:N/AC:L/Au:N/C:P/I:P/A:P", Some(7.5)),
            ("AV:N/AC:L/Au:N/C:N/I:N/A:N", Some(0.0)),
            (
                "CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N",
                Some(9.3),
            ),
            (
                "CVSS:4.0/AV:L/AC:L/AT:N/PR:L/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N",
                None,
            ),
            ("CVSS:3.1/AV:N/AC:L/PR:N", None),
            ("AV:N/AC:Z/PR:N/UI:N/S:U/C:H/I:H/A:H", None),
            ("no vector", None),
        ] {
            let found = scores(vector).next();
            assert_eq!(
                found.map(|s| format!("{s:.1}")),
                score.map(|s| format!("{s:.1}")),
                "{vector}"
            );
        }
    }
}
