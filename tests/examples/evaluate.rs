//! The evaluation by hand: how near the judges come to the labels of a person.

use std::io::Write;
use std::process::ExitCode;
use watchalert_tests::evaluation::{Case, Figures, Judged, Part, built_in_rules, cases, table};

const USAGE: &str = "\
usage: scripts/evaluate [--misses tuning|held|later|all]

Judges the committed items of tests/fixtures/evaluation*.jsonl with the built-in rules and compares
with the labels: both halves of the first file (the lists were made with one, the other was held
back), the second file (written when the lists were done), each language, and who was taken for
what.

  --misses PART   also each item that was judged otherwise than labelled
  -h, --help      this text
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let misses: &[Part] = match arguments[..] {
        [] => &[],
        ["--misses", "tuning"] => &[Part::Tuning],
        ["--misses", "held"] => &[Part::Held],
        ["--misses", "later"] => &[Part::Later],
        ["--misses", "all"] => &[Part::Tuning, Part::Held, Part::Later],
        ["-h" | "--help"] => {
            say(USAGE);
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    report("the built-in rules", built_in_rules, misses);
    ExitCode::SUCCESS
}

/// Any judge is a function of a case: one more judge is one more call.
fn report(name: &str, mut judge: impl FnMut(&Case) -> Judged, misses: &[Part]) {
    let judged: Vec<(Case, Judged)> = cases()
        .into_iter()
        .map(|case| {
            let verdict = judge(&case);
            (case, verdict)
        })
        .collect();
    say(&format!("== {name}\n{}", table(&groups(&judged))));
    for (case, verdict) in &judged {
        if misses.contains(&case.part) && *verdict != Some((case.severity, case.category)) {
            let said = verdict.map_or("nothing".to_owned(), |(severity, category)| {
                format!("{severity} {category}")
            });
            say(&format!(
                "{} {} -> {said}: {} ({})\n",
                case.severity, case.category, case.entry.title, case.why
            ));
        }
    }
}

/// The whole, its parts, each language.
fn groups(judged: &[(Case, Judged)]) -> Vec<(String, Figures)> {
    let part = |name: &str, belongs: &dyn Fn(&Case) -> bool| {
        let part = judged.iter().filter(|(case, _)| belongs(case));
        (name.to_owned(), Figures::of(part))
    };
    let mut groups = vec![
        part("all", &|_| true),
        part("tuning", &|case| case.part == Part::Tuning),
        part("held", &|case| case.part == Part::Held),
        part("later", &|case| case.part == Part::Later),
    ];
    let languages = ["en", "de", "fr", "es", "tr"];
    groups.extend(languages.map(|language| part(language, &|case| case.language == language)));
    groups
}

fn say(text: &str) {
    // A reader that has seen enough, such as head, is no fault.
    let _ = std::io::stdout().write_all(text.as_bytes());
}
