//! Finds what was probably meant by a name that is not on its list.

/// `; did you mean "url"?` when a known name is near, else the whole (short) list.
pub(super) fn instead_of<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("; did you mean {near:?}?"),
        None if known.is_empty() => "; remove it".to_owned(),
        None => format!("; known: {}", known.join(", ")),
    }
}

/// The known name with the fewest edits, unless even that one differs in more than a quarter of
/// its letters. Case does not count, and `-` is as good as `_`.
pub(super) fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let name = letters(name);
    known
        .into_iter()
        .map(|candidate| {
            let letters = letters(candidate);
            let limit = (name.len().max(letters.len()) / 4).max(1);
            (distance(&name, &letters), limit, candidate)
        })
        .filter(|(distance, limit, _)| distance <= limit)
        .min_by_key(|(distance, ..)| *distance)
        .map(|(.., candidate)| candidate)
}

fn letters(name: &str) -> Vec<char> {
    // No name that we know is longer; a line of noise must not cost its square.
    const LONGEST: usize = 64;
    name.chars()
        .take(LONGEST)
        .map(|letter| match letter {
            '-' => '_',
            letter => letter.to_ascii_lowercase(),
        })
        .collect()
}

/// Edits between two words: insert, delete, replace, or swap two neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    let mut previous_a = None;
    for (row, letter_a) in a.iter().enumerate() {
        let mut current = vec![row + 1];
        let mut previous_b = None;
        for (column, letter_b) in b.iter().enumerate() {
            let cell = |line: &[usize], at: usize| line.get(at).copied().unwrap_or(usize::MAX / 2);
            let mut edits = (cell(&above, column) + usize::from(letter_a != letter_b))
                .min(cell(&above, column + 1) + 1)
                .min(cell(&current, column) + 1);
            let swapped = previous_a == Some(letter_b) && previous_b == Some(letter_a);
            if swapped && column > 0 {
                edits = edits.min(cell(&before, column - 1) + 1);
            }
            current.push(edits);
            previous_b = Some(letter_b);
        }
        previous_a = Some(letter_a);
        before = above;
        above = current;
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (a, b, edits) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("high", "high", 0),
            ("hihg", "high", 1),
            ("critcal", "critical", 1),
            ("kitten", "sitting", 3),
            ("ab", "ba", 1),
        ] {
            assert_eq!(distance(&letters(a), &letters(b)), edits, "{a} {b}");
        }
    }

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        let known = ["critical", "high", "normal", "low"];
        assert_eq!(nearest("Critcal", known), Some("critical"));
        assert_eq!(nearest("HIGH", known), Some("high"));
        assert_eq!(
            nearest("give-up-after", ["give_up_after"]),
            Some("give_up_after")
        );
        assert_eq!(nearest("urgent", known), None);
        assert_eq!(
            instead_of("urgent", known),
            "; known: critical, high, normal, low"
        );
    }
}
