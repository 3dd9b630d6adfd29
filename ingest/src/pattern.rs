//! The one way to compile a pattern that is part of the program.

use regex::Regex;

/// Compiles a pattern of our own. A wrong one is a bug that the first test of its file finds.
#[expect(
    clippy::expect_used,
    reason = "the sources are literals; there is nothing to do at run time about a wrong one"
)]
pub(crate) fn pattern(source: &str) -> Regex {
    Regex::new(source).expect("a pattern of the program is valid")
}
