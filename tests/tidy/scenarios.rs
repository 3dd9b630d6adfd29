//! The map of scenarios: every test that it names plays on a set clock, asks for no real time, and asks
//! whether the books balance.

use super::lexer::{Token, lex};
use super::{File, cases};
use std::collections::{BTreeMap, BTreeSet};

/// Where the twelve invariants are checked.
const VERIFY: [&str; 2] = ["all_invariants_hold", "verified"];
/// Whoever calls these waits for the machine.
const WAITS: [&str; 1] = ["sleep"];
/// There the real programs run, in real time.
const REAL: &str = "tests/process";
/// So many there are at least.
pub(super) const LEAST: usize = 40;

/// The words of each function, by its file and name.
type Functions<'f> = BTreeMap<(&'f str, String), BTreeSet<String>>;

/// What is wrong with the map, as sentences.
pub(super) fn faults(map: &str, files: &[File]) -> Vec<String> {
    let rust = files
        .iter()
        .filter(|file| file.is_rust() && file.is_within("tests"));
    let functions: Functions<'_> = rust.clone().flat_map(functions).collect();
    let tests = rust.flat_map(|file| {
        let names = cases::tests(&file.text).into_iter();
        names.map(|name| (file.path.as_str(), name))
    });
    let tests: BTreeSet<(&str, String)> = tests.collect();
    let mut faults = cases::faults(map, &tests.iter().map(|(_, name)| name.clone()).collect());
    let named = cases::named(map);
    if named.len() < LEAST {
        faults.push(format!("{} scenarios are too few", named.len()));
    }
    for (path, name) in tests
        .iter()
        .filter(|(_, name)| named.contains(name.as_str()))
    {
        let words = reached(&functions, path, name);
        if !VERIFY.iter().any(|word| words.contains(*word)) {
            faults.push(format!("`{name}` does not ask whether the invariants hold"));
        }
        if path.starts_with(REAL) || WAITS.iter().any(|word| words.contains(*word)) {
            faults.push(format!("`{name}` takes real time"));
        }
    }
    faults
}

/// Each function with the words of its body.
fn functions(file: &File) -> Vec<((&str, String), BTreeSet<String>)> {
    let tokens = lex(&file.text);
    let mut found = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        if pair[0].is("fn") && pair[1].is_name() {
            let body = body(&tokens[at..]);
            let words = body.iter().filter(|token| token.is_name());
            let words = words.map(|token| token.text.clone()).collect();
            found.push(((file.path.as_str(), pair[1].text.clone()), words));
        }
    }
    found
}

/// From the first brace to the one that closes it.
fn body(from: &[Token]) -> &[Token] {
    let begins = from.iter().position(|token| token.is("{"));
    let from = &from[begins.unwrap_or(from.len())..];
    let mut depth = 0;
    let ends = from.iter().position(|token| {
        depth += i32::from(token.is("{")) - i32::from(token.is("}"));
        depth == 0
    });
    &from[..ends.unwrap_or(from.len())]
}

/// All words of a function and of those that it calls in its own file and in the one above that.
fn reached(functions: &Functions<'_>, path: &str, name: &str) -> BTreeSet<String> {
    let above = path
        .rsplit_once('/')
        .map(|(folder, _)| format!("{folder}.rs"));
    let places = [Some(path.to_owned()), above];
    let mut words = BTreeSet::new();
    let mut open = vec![name.to_owned()];
    while let Some(next) = open.pop() {
        for place in places.iter().flatten() {
            for word in functions
                .get(&(place.as_str(), next.clone()))
                .into_iter()
                .flatten()
            {
                if words.insert(word.clone()) {
                    open.push(word.clone());
                }
            }
        }
    }
    words
}

#[test]
fn a_scenario_that_waits_or_never_verifies_is_told() {
    let file = File::new(
        "tests/a/b.rs",
        "#[test] fn good() { play(); } #[test] fn bad() { nap() } fn nap() { sleep(1) }",
    );
    let above = File::new("tests/a.rs", "fn play() { world.all_invariants_hold() }");
    let found = faults("- S1: a: `good`, `bad`\n- S2: b: `none`", &[file, above]);
    assert_eq!(
        found,
        [
            "there is no test `none`",
            "3 scenarios are too few",
            "`bad` does not ask whether the invariants hold",
            "`bad` takes real time"
        ]
    );
}
