//! What the rules say of an item, what they leave to a model, and what becomes of its answer; pure.

use super::answer::Answer;
use shared::config::{Adjust, Rule};
use shared::model::{Category, Judge, Severity, Verdict};

/// The verdict of the rules, and within which bounds a model may say otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    pub verdict: Verdict,
    /// `None`: the rules have decided, nobody is asked.
    pub open: Option<Bounds>,
}

/// What no model may undo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// At least this grave.
    pub least: Option<Severity>,
    /// The user's rule sorted it.
    pub category: Option<Category>,
}

impl Ruling {
    pub(super) fn closed(verdict: Verdict) -> Self {
        Self {
            verdict,
            open: None,
        }
    }

    /// Dropped, forced, or as grave as can be: closed. A rule that raises or sorts leaves the rest
    /// open. What the built-in lists call grave no model can talk away: its words may be the
    /// attacker's.
    pub(super) fn of(rule: Option<&Rule>, verdict: Verdict) -> Self {
        let by_rule = match rule.and_then(|rule| rule.severity) {
            Some(Adjust::Drop | Adjust::Force(_) | Adjust::Floor(Severity::Critical)) => {
                return Self::closed(verdict);
            }
            Some(Adjust::Floor(least)) => Some(least),
            None => None,
        };
        if verdict.judge == Judge::Floor {
            return Self::closed(verdict);
        }
        let grave = (verdict.severity <= Severity::High).then_some(Severity::Normal);
        let bounds = Bounds {
            least: by_rule.into_iter().chain(grave).min(),
            category: rule.and_then(|rule| rule.category),
        };
        Self {
            verdict,
            open: Some(bounds),
        }
    }

    /// The verdict that follows from a model's answer. `by` names the model for a person.
    pub fn answered(&self, answer: &Answer, judge: Judge, by: &str) -> Verdict {
        let bounds = self.open.unwrap_or_default();
        let least = bounds.least.unwrap_or(Severity::Ignore);
        let severity = answer.severity.min(least);
        let mut reason = format!("{by}: {}", answer.reason);
        if severity < answer.severity {
            let said = answer.severity;
            let raised = format!("; it said {said}, and the rules allow nothing below {least}");
            reason.push_str(&raised);
        }
        let summary = match answer.summary.as_str() {
            "" => self.verdict.summary.clone(),
            summary => summary.to_owned(),
        };
        Verdict {
            severity,
            category: bounds.category.unwrap_or(answer.category),
            summary,
            reason,
            judge,
        }
    }

    /// Fails open: the rules judge, and what they would have kept back is told.
    pub fn unclassified(&self, why: &str) -> Verdict {
        let verdict = self.verdict.clone();
        Verdict {
            severity: verdict.severity.min(Severity::Normal),
            reason: format!("unclassified, {why}; by the rules: {}", verdict.reason),
            judge: Judge::Unclassified,
            ..verdict
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::config::Match;

    fn verdict(severity: Severity, judge: Judge) -> Verdict {
        Verdict {
            severity,
            category: Category::Other,
            summary: "the feed's words".to_owned(),
            reason: "the rules' reason".to_owned(),
            judge,
        }
    }

    fn rule(severity: Option<Adjust>, category: Option<Category>) -> Rule {
        Rule {
            name: "r".to_owned(),
            matches: Match::default(),
            severity,
            category,
            beats_floor: false,
        }
    }

    fn said(severity: Severity) -> Answer {
        Answer {
            severity,
            category: Category::Release,
            summary: "the model's words".to_owned(),
            reason: "so it seems".to_owned(),
        }
    }

    #[test]
    fn what_rule_or_floor_have_decided_is_closed() {
        use Severity::{Critical, High, Ignore, Low};
        for (severity, by) in [
            (Some(Adjust::Drop), verdict(Ignore, Judge::Rule)),
            (Some(Adjust::Force(Low)), verdict(Low, Judge::Rule)),
            (
                Some(Adjust::Floor(Critical)),
                verdict(Critical, Judge::Rule),
            ),
            (Some(Adjust::Floor(High)), verdict(Critical, Judge::Floor)),
            (None, verdict(Critical, Judge::Floor)),
        ] {
            let ruling = Ruling::of(Some(&rule(severity, None)), by);
            assert_eq!(ruling.open, None, "{severity:?}");
        }
    }

    #[test]
    fn no_answer_falls_below_the_bounds() {
        use Severity::{Critical, High, Ignore, Low, Normal};
        // The rule's floor, what the lists say, what the model says, what becomes of it.
        for (floor, listed, model, judged) in [
            (None, Low, Ignore, Ignore),
            (None, Low, Critical, Critical),
            (None, Normal, Ignore, Ignore),
            (None, High, Ignore, Normal),
            (None, Critical, Low, Normal),
            (None, Critical, High, High),
            (Some(High), High, Low, High),
            (Some(High), High, Critical, Critical),
            (Some(Low), Critical, Ignore, Normal),
        ] {
            let rule = rule(floor.map(Adjust::Floor), None);
            let ruling = Ruling::of(Some(&rule), verdict(listed, Judge::Builtin));
            let answered = ruling.answered(&said(model), Judge::Model, "Ollama");
            assert_eq!(answered.severity, judged, "{floor:?} {listed} {model}");
            assert_eq!(answered.reason.contains("it said"), judged != model);
        }
    }

    #[test]
    fn a_rule_that_sorts_leaves_the_severity_open() {
        let rule = rule(None, Some(Category::Incident));
        let ruling = Ruling::of(Some(&rule), verdict(Severity::Low, Judge::Builtin));
        let answered = ruling.answered(&said(Severity::High), Judge::Cloud, "the cloud");
        assert_eq!(answered.category, Category::Incident);
        assert_eq!(answered.severity, Severity::High);
        assert_eq!(answered.summary, "the model's words");
        assert_eq!(answered.reason, "the cloud: so it seems");
    }

    #[test]
    fn what_no_model_judged_is_at_least_normal_and_says_so() {
        let of = |severity| {
            let ruling = Ruling::of(None, verdict(severity, Judge::Builtin));
            ruling.unclassified("no model answered within 10 min")
        };
        assert_eq!(of(Severity::Ignore).severity, Severity::Normal);
        assert_eq!(of(Severity::High).severity, Severity::High);
        assert_eq!(
            of(Severity::Low).reason,
            "unclassified, no model answered within 10 min; by the rules: the rules' reason"
        );
        assert_eq!(of(Severity::Low).judge, Judge::Unclassified);
    }
}
