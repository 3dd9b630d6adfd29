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

/// Compiles wording to be found in an entry's text, upper or lower case; white space in the
/// source is layout. In such text the only white space is a single space, and taking `\s`, `\S`,
/// `\w` and `\d` by that makes the patterns a tenth of the size they have with all of Unicode.
pub(crate) fn wording(source: &str) -> Regex {
    let plain = source
        .replace(r"\s", r"\x20")
        .replace(r"\S", r"[^\x20]")
        .replace(r"[\w", r"[a-z0-9")
        .replace(r"\w", r"[^\x20]")
        .replace(r"[\d", r"[0-9")
        .replace(r"\d", r"[0-9]");
    pattern(&format!("(?ix)(?:{plain})"))
}
