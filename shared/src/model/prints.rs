//! Prints: by which an entry that stands as it stood at the last reading is told at no cost.

/// A number for each entry of a document, over everything it says; sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prints(Vec<u64>);

impl Prints {
    pub const NONE: Self = Self(Vec::new());

    pub fn of(mut prints: Vec<u64>) -> Self {
        prints.sort_unstable();
        prints.dedup();
        Self(prints)
    }

    pub fn hold(&self, print: u64) -> bool {
        self.0.binary_search(&print).is_ok()
    }

    /// Eight bytes each, the least first.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0
            .iter()
            .flat_map(|print| print.to_le_bytes())
            .collect()
    }

    /// What [`to_bytes`](Self::to_bytes) gave; of anything else, what can be made of it: a print
    /// that is not there costs only the work that it would have saved.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let (prints, _rest) = bytes.as_chunks();
        Self::of(
            prints
                .iter()
                .map(|print| u64::from_le_bytes(*print))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_come_back_from_their_bytes() {
        let prints = Prints::of(vec![7, u64::MAX, 0, 7]);
        assert_eq!(Prints::from_bytes(&prints.to_bytes()), prints);
        assert!(prints.hold(0) && prints.hold(u64::MAX) && !prints.hold(8));
        assert_eq!(Prints::from_bytes(&[1, 2, 3]), Prints::NONE);
    }
}
