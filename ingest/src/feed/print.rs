//! The print of an entry: a number over all that it says, as it says it.

/// Takes text by text; a cheap sum over sixteen bytes at a time. Who makes two texts of his own
/// feed collide keeps an edit of his from being seen, no more.
pub(super) struct Printer(u64);

/// Numbers without pattern: the fractions of the golden ratio and of the root of two.
const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0x6a09_e667_f3bc_c909;

impl Printer {
    pub(super) fn new() -> Self {
        Self(FIRST)
    }

    pub(super) fn take(&mut self, text: &str) {
        let (blocks, rest) = text.as_bytes().as_chunks();
        for block in blocks {
            self.mix(u128::from_le_bytes(*block));
        }
        let mut last = [0; 16];
        for (byte, read) in last.iter_mut().zip(rest) {
            *byte = *read;
        }
        self.mix(u128::from_le_bytes(last));
        // So that no text runs into the next one.
        self.mix(text.len() as u128);
    }

    fn mix(&mut self, block: u128) {
        let (low, high) = halves(block);
        let (low, high) = halves(u128::from(self.0 ^ low ^ FIRST) * u128::from(high ^ SECOND));
        self.0 = self.0.rotate_left(29) ^ low ^ high;
    }

    pub(super) fn print(self) -> u64 {
        self.0
    }
}

fn halves(whole: u128) -> (u64, u64) {
    let (low, high) = (whole & u128::from(u64::MAX), whole >> 64);
    (
        low.try_into().unwrap_or_default(),
        high.try_into().unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn print(texts: &[&str]) -> u64 {
        let mut printer = Printer::new();
        for text in texts {
            printer.take(text);
        }
        printer.print()
    }

    #[test]
    fn every_letter_and_every_border_counts() {
        let long = "a long text of more than eight bytes";
        let mut seen = HashSet::from([print(&[long]), print(&[long, ""]), print(&["", long])]);
        assert_eq!(seen.len(), 3);
        for at in 0..long.len() {
            let (before, after) = long.split_at(at);
            let changed = format!("{before}!{}", after.split_at(1).1);
            assert!(seen.insert(print(&[&changed])), "{changed}");
            assert!(
                at == 0 || seen.insert(print(&[before, after])),
                "{before}|{after}"
            );
        }
        assert_eq!(print(&[long]), print(&[long]));
    }
}
