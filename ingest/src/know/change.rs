//! Says in a few words what an edit changed.

use shared::policy::text::{one_line, shorten};

/// Words that are shown before the first one that differs.
const BEFORE: usize = 6;
/// Characters of what is shown.
const SHOWN: usize = 280;

/// From shortly before the first word that differs: what it says now, and, where nothing was
/// added, what it said. Empty when only spaces differ.
pub(crate) fn changed(old: &str, new: &str) -> String {
    let words =
        |text: &str| -> Vec<String> { one_line(text).split(' ').map(str::to_owned).collect() };
    let (old, new) = (words(old), words(new));
    let same = std::iter::zip(&old, &new).take_while(|(old, new)| old == new);
    let at = same.count();
    let from = |words: &[String]| -> String {
        let start = at.saturating_sub(BEFORE);
        let shown = words.get(start..).unwrap_or_default().join(" ");
        let cut = if start > 0 { "… " } else { "" };
        shorten(&format!("{cut}{shown}"), SHOWN)
    };
    match (old.get(at), new.get(at)) {
        (None, None) => String::new(),
        (Some(_), None) => format!("left out: {}", from(&old)),
        (_, Some(_)) => from(&new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_shown_from_shortly_before_its_first_word() {
        let long = "one two three four five six seven eight nine";
        for (old, new, shown) in [
            ("a b", "a  b", ""),
            ("a b", "a c d", "a c d"),
            ("", "a", "a"),
            ("a b c", "a b", "left out: a b c"),
            (
                long,
                "one two three four five six seven eight ten",
                "… three four five six seven eight ten",
            ),
            (
                long,
                &format!("{long} and ten"),
                "… four five six seven eight nine and ten",
            ),
        ] {
            assert_eq!(changed(old, new), shown, "{old} / {new}");
        }
        let endless = "word ".repeat(500);
        assert_eq!(changed("", &endless).chars().count(), SHOWN);
    }
}
