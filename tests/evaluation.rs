//! The bars that the built-in rules reach over the labelled items of tests/fixtures/evaluation*.jsonl.

use shared::model::{Category, Severity};
use std::collections::BTreeSet;
use watchalert_tests::evaluation::{Case, Figures, Judged, Part, built_in_rules, cases};

fn judged(belongs: impl Fn(&Case) -> bool) -> Vec<(Case, Judged)> {
    let cases = cases().into_iter().filter(|case| belongs(case));
    cases
        .map(|case| {
            let verdict = built_in_rules(&case);
            (case, verdict)
        })
        .collect()
}

#[test]
fn the_rules_find_all_that_is_critical_and_leave_most_noise_low() {
    for half in [Part::Tuning, Part::Held] {
        let judged = judged(|case| case.part == half);
        let missed: Vec<&str> = judged
            .iter()
            .filter(|(case, verdict)| {
                case.severity == Severity::Critical
                    && verdict.is_none_or(|(severity, _)| severity != Severity::Critical)
            })
            .map(|(case, _)| &*case.entry.title)
            .collect();
        assert!(missed.is_empty(), "{half:?}: {missed:#?}");
        let cut = Figures::of(&judged).noise_cut();
        assert!(cut >= 0.7, "{half:?}: {cut}");
    }
}

#[test]
fn nothing_grave_is_taken_for_noise_and_what_is_raised_mostly_is_grave() {
    let judged = judged(|_| true);
    for (case, verdict) in &judged {
        let (severity, _) = verdict.expect("the rules judge everything");
        let grave = case.severity <= Severity::High;
        assert!(
            !grave || severity <= Severity::Normal,
            "{}",
            case.entry.title
        );
    }
    let precision = Figures::of(&judged).raised_precision();
    assert!(precision >= 0.95, "{precision}");
}

#[test]
fn the_set_is_large_varied_and_mostly_noise_as_life_is() {
    let cases = cases();
    assert!(cases.len() >= 160);
    let noise = cases.iter().filter(|case| case.is_noise()).count();
    assert!((cases.len() * 2 / 5..cases.len() * 3 / 5).contains(&noise));
    let halves = cases.iter().filter(|case| case.part == Part::Held);
    assert!((cases.len() / 3..cases.len() * 2 / 3).contains(&halves.count()));
    let severities: BTreeSet<_> = cases.iter().map(|case| case.severity).collect();
    assert_eq!(severities.len(), Severity::ALL.len());
    let categories: BTreeSet<_> = cases.iter().map(|case| case.category.name()).collect();
    assert_eq!(categories.len(), Category::ALL.len());
    let languages: BTreeSet<_> = cases.iter().map(|case| &*case.language).collect();
    assert_eq!(languages, BTreeSet::from(["de", "en", "es", "fr", "tr"]));
    let titles: BTreeSet<_> = cases.iter().map(|case| &*case.entry.title).collect();
    assert_eq!(titles.len(), cases.len(), "a title stands twice");
}

#[test]
fn a_judge_that_says_nothing_or_the_same_of_everything_fails_the_bars() {
    let all = |verdict: Judged| {
        let judged: Vec<_> = cases().into_iter().map(|case| (case, verdict)).collect();
        Figures::of(&judged)
    };
    let low = all(Some((Severity::Low, Category::Other)));
    assert!(low.noise_cut() >= 1.0 && low.critical_recall() <= 0.0);
    let critical = all(Some((Severity::Critical, Category::Other)));
    assert!(critical.noise_cut() <= 0.0 && critical.critical_recall() >= 1.0);
    assert!(critical.raised_precision() < 0.5);
    assert_eq!(all(None).unjudged, all(None).cases);
}
