//! What a part of the proof has counted, in one line that `scripts/prove --write` makes a row of tests/PROOF.md of.

use crate::programs::tell;

#[derive(Clone, Debug, Default)]
pub struct Proof<'a> {
    /// What was done to what.
    pub what: &'a str,
    /// How often, and against what odds.
    pub how: String,
    pub seed: Option<u64>,
    /// Alerts (or deliveries) that were acknowledged, each once for each place that it was owed to.
    pub accepted: usize,
    /// Of those, how many have arrived.
    pub delivered: usize,
    /// Given up, and told.
    pub dead: usize,
    /// Copies beyond the first, all marked.
    pub repeats: usize,
    /// Why there are any.
    pub cause: &'a str,
}

impl Proof<'_> {
    /// # Panics
    /// When something is lost.
    pub fn tell(&self) {
        let Self {
            what,
            how,
            accepted,
            delivered,
            dead,
            repeats,
            cause,
            ..
        } = self;
        let lost = accepted - delivered - dead;
        assert_eq!(lost, 0, "{what}: lost");
        let seed = self.seed.map_or("-".to_owned(), |seed| seed.to_string());
        let cause = if *repeats == 0 { "-" } else { cause };
        let row = [
            what.to_string(),
            how.clone(),
            seed,
            accepted.to_string(),
            delivered.to_string(),
            dead.to_string(),
            lost.to_string(),
            repeats.to_string(),
            cause.to_string(),
        ];
        tell(&format!("| {} |", row.join(" | ")));
    }
}
