//! The map from cases to tests: every test that it names exists, every case has a line of its own.

use super::lexer::{Token, lex};
use std::collections::BTreeSet;

/// Names of tests in a map: what stands in backquotes on the lines of cases, and is no path.
pub(super) fn named(map: &str) -> BTreeSet<&str> {
    let lines = map.lines().filter(|line| line.starts_with("- "));
    let quoted = lines.flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted.collect()
}

/// Every function below an attribute that ends with `test]`.
pub(super) fn tests(source: &str) -> Vec<String> {
    let tokens = lex(source);
    let names = tokens.windows(2).enumerate().filter_map(|(at, pair)| {
        let is_test = pair[0].is("fn") && attributes(&tokens[..at]).any(|word| word.is("test"));
        is_test.then(|| pair[1].text.clone())
    });
    names.collect()
}

/// The words between the end of the last block or statement and the function.
fn attributes(before: &[Token]) -> impl Iterator<Item = &Token> {
    let ends = |token: &&Token| !["}", "{", ";"].contains(&&*token.text);
    before.iter().rev().take_while(ends)
}

/// The cases of a map, in its order.
fn cases(map: &str) -> Vec<&str> {
    let lines = map.lines().filter_map(|line| line.strip_prefix("- "));
    lines
        .filter_map(|line| Some(line.split_once(':')?.0))
        .collect()
}

/// What is wrong with a map, as sentences.
pub(super) fn faults(map: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let unknown = named(map).into_iter().filter(|name| !tests.contains(*name));
    let mut faults: Vec<String> = unknown
        .map(|name| format!("there is no test `{name}`"))
        .collect();
    let mut seen = BTreeSet::new();
    for case in cases(map) {
        if !seen.insert(case) {
            faults.push(format!("{case} stands twice"));
        }
    }
    let silent = map
        .lines()
        .filter(|line| line.starts_with("- ") && !line.contains('`') && !line.contains("missing"));
    faults.extend(silent.map(|line| format!("neither a test nor \"missing\": {line}")));
    faults
}

#[test]
fn a_map_that_names_what_is_not_there_is_told() {
    let there = tests(
        "#[test] fn one() { fn inner() {} } #[tokio::test(start_paused = true)] async fn two() {}
         /// Doc.
         #[test] #[expect(x)] fn three() {} fn no_test() {}",
    );
    assert_eq!(there, ["one", "two", "three"]);
    let there = there.into_iter().collect();
    assert_eq!(
        faults("`zero`\n- A1: a: `one`, `two`\n- A2: missing", &there),
        [""; 0]
    );
    assert_eq!(
        faults(
            "- A1: a: `one`, `no_test`\n- A1: b: `inner`\n- A3: nothing",
            &there
        ),
        [
            "there is no test `inner`",
            "there is no test `no_test`",
            "A1 stands twice",
            "neither a test nor \"missing\": - A3: nothing"
        ]
    );
}
