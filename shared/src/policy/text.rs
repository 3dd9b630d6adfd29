//! Text for people: what strangers wrote, made safe to show, and durations in words.

use std::time::Duration;

/// One line without control characters: escape sequences of a terminal lose their escape, line
/// breaks become spaces, and marks that turn the direction of what follows are dropped.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' => {}
            c if c.is_whitespace() || c.is_control() => {
                if !line.ends_with(' ') {
                    line.push(' ');
                }
            }
            c => line.push(c),
        }
    }
    line.trim().to_owned()
}

/// At most `limit` characters; what was longer ends in "…".
pub fn shorten(text: &str, limit: usize) -> String {
    if text.chars().nth(limit).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(limit.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// A duration in its two largest units, rounded down: `2 min 30 s`, `3 d 4 h`.
pub fn span(duration: Duration) -> String {
    let mut rest = duration.as_secs();
    let mut parts = Vec::new();
    for (unit, seconds) in [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)] {
        let count = rest / seconds;
        rest %= seconds;
        if count > 0 {
            parts.push(format!("{count} {unit}"));
        } else if !parts.is_empty() {
            break;
        }
    }
    parts.truncate(2);
    if parts.is_empty() {
        return "0 s".to_owned();
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_told_in_their_two_largest_units() {
        let told = |seconds| span(Duration::from_secs(seconds));
        assert_eq!(
            [0, 59, 60, 150].map(told),
            ["0 s", "59 s", "1 min", "2 min 30 s"]
        );
        assert_eq!([3_600, 3_605, 273_605].map(told), ["1 h", "1 h", "3 d 4 h"]);
        assert_eq!(told(72 * 3_600), "3 d");
    }

    #[test]
    fn a_title_cannot_drive_the_terminal() {
        assert_eq!(
            one_line("\u{1b}[31mred\u{7}\r\nnext\t\u{202e}line"),
            "[31mred next line"
        );
        assert_eq!(one_line("  \u{9b}2J  "), "2J");
    }

    #[test]
    fn shortening_counts_characters() {
        assert_eq!(shorten("käse", 4), "käse");
        assert_eq!(shorten("käsekuchen", 5), "käse…");
        assert_eq!(shorten("", 0), "");
    }
}
