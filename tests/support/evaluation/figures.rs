//! What comes of an evaluation: shares, and who was taken for what.

use super::{Case, Judged};
use shared::model::Severity;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Counts over some cases that one judge has judged.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    pub cases: usize,
    /// The judge gave no verdict.
    pub unjudged: usize,
    pub right_severity: usize,
    pub right_category: usize,
    /// Labelled, and judged, critical.
    critical: (usize, usize),
    /// Judged critical or high, and labelled so too.
    raised: (usize, usize),
    /// Labelled low or ignore, and judged so too.
    noise: (usize, usize),
    /// How often each label got each verdict.
    taken_for: BTreeMap<(Severity, Severity), usize>,
}

impl Figures {
    pub fn of<'c>(judged: impl IntoIterator<Item = &'c (Case, Judged)>) -> Self {
        let mut figures = Self::default();
        for (case, judged) in judged {
            figures.count(case, *judged);
        }
        figures
    }

    fn count(&mut self, case: &Case, judged: Judged) {
        self.cases += 1;
        let Some((severity, category)) = judged else {
            self.unjudged += 1;
            return;
        };
        let wanted = case.severity;
        self.right_severity += usize::from(severity == wanted);
        self.right_category += usize::from(category == case.category);
        if wanted == Severity::Critical {
            tally(&mut self.critical, severity == Severity::Critical);
        }
        if severity <= Severity::High {
            tally(&mut self.raised, wanted <= Severity::High);
        }
        if case.is_noise() {
            tally(&mut self.noise, severity >= Severity::Low);
        }
        *self.taken_for.entry((wanted, severity)).or_default() += 1;
    }

    /// Of all cases, those with the label's severity; 0 to 1, like every share here.
    pub fn accuracy(&self) -> f64 {
        share(self.right_severity, self.cases)
    }

    pub fn category_accuracy(&self) -> f64 {
        share(self.right_category, self.cases)
    }

    /// Of what is critical, what was found to be.
    pub fn critical_recall(&self) -> f64 {
        share(self.critical.0, self.critical.1)
    }

    /// Of what was judged critical or high, what is.
    pub fn raised_precision(&self) -> f64 {
        share(self.raised.0, self.raised.1)
    }

    /// Of what is low or to be ignored, what was left there.
    pub fn noise_cut(&self) -> f64 {
        share(self.noise.0, self.noise.1)
    }
}

fn tally((hits, of): &mut (usize, usize), hit: bool) {
    *hits += usize::from(hit);
    *of += 1;
}

/// 1 of nothing: there was nothing to get wrong.
fn share(hits: usize, of: usize) -> f64 {
    let count = |number| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    if of == 0 {
        1.0
    } else {
        count(hits) / count(of)
    }
}

/// The figures of each group, a line each, and below them who was taken for what in the first.
pub fn table(groups: &[(String, Figures)]) -> String {
    let mut text = format!(
        "{:<10}{:>6}{:>10}{:>10}{:>10}{:>11}{:>10}{:>10}\n",
        "", "items", "severity", "category", "critical", "crit/high", "noise", "without"
    );
    text.push_str(
        "                     right     right    recall  precision       cut   verdict\n",
    );
    for (name, figures) in groups {
        let _ = writeln!(
            text,
            "{name:<10}{:>6}{:>9.1}%{:>9.1}%{:>9.1}%{:>10.1}%{:>9.1}%{:>10}",
            figures.cases,
            100.0 * figures.accuracy(),
            100.0 * figures.category_accuracy(),
            100.0 * figures.critical_recall(),
            100.0 * figures.raised_precision(),
            100.0 * figures.noise_cut(),
            figures.unjudged,
        );
    }
    for (name, figures) in groups {
        text.push_str(&confusion(name, figures));
    }
    text
}

fn confusion(name: &str, figures: &Figures) -> String {
    let mut text = format!("\n{name}: label down, verdict across\n{:<10}", "");
    for severity in Severity::ALL {
        let _ = write!(text, "{severity:>10}");
    }
    text.push('\n');
    for label in Severity::ALL {
        let _ = write!(text, "{label:<10}");
        for verdict in Severity::ALL {
            let count = figures.taken_for.get(&(*label, *verdict));
            let _ = write!(text, "{:>10}", count.unwrap_or(&0));
        }
        text.push('\n');
    }
    text
}
