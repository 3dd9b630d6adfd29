//! The outbox protocol against a model of it: whatever alerts, strangers, crashes, clocks and channels do, in
//! whatever order, the file is what a second, simple writing of the protocol says (`model/reference`), every
//! invariant holds after every step, and so do the promises that only the other side could judge (`model/truth.rs`).
//!
//! A case is a list of steps that is drawn by proptest from a seed. A failure prints its seed and the fewest
//! steps that show it; `WATCHALERT_SEED=N cargo nextest run --test model` takes that case first, and
//! `scripts/prove --seed N model` too, in the long form.
//!
//! proptest alone, without its crate for state machines: each step can be taken in any state, so a list of them
//! is all there is to draw and to shrink, and no second state has to be kept for preconditions.

#[path = "model/counted.rs"]
mod counted;
#[path = "model/life.rs"]
mod life;
#[path = "model/machine.rs"]
mod machine;
#[path = "model/outside.rs"]
mod outside;
#[path = "model/picture.rs"]
mod picture;
#[path = "model/posts.rs"]
mod posts;
#[path = "model/reference/mod.rs"]
mod reference;
#[path = "model/sender.rs"]
mod sender;
#[path = "model/step.rs"]
mod step;
#[path = "model/truth.rs"]
mod truth;

use machine::{Held, Machine};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::cell::Cell;
use step::Step;
use watchalert_tests::programs::{long, seed, tell};

/// In the suite, and in the long form.
const CASES: [u64; 2] = [100, 3_000];
/// Tries to show a failure by fewer steps.
const SHRINKS: u32 = 500;

/// Takes the steps, and then, all faults being over, waits until everything is delivered.
fn run(steps: &[Step], seed: u64, taken: &Cell<u64>) -> Held {
    // With the limits of Telegram and ntfy, and without; to the end, which costs time, in some.
    let (has_limits, ends_well) = (seed.is_multiple_of(2), seed.is_multiple_of(3));
    let mut machine = Machine::new(has_limits);
    for (number, step) in steps.iter().enumerate() {
        taken.set(taken.get() + 1);
        machine
            .take(step)
            .map_err(|wrong| format!("step {number}, {step:?}:\n{wrong}"))?;
    }
    if !ends_well {
        return Ok(());
    }
    machine
        .drain()
        .map_err(|wrong| format!("in the end:\n{wrong}"))
}

fn runner(seed: u64) -> TestRunner {
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases: 1,
        failure_persistence: None,
        max_shrink_iters: Config::default().max_shrink_iters.min(SHRINKS),
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

#[test]
fn the_file_is_what_the_model_says_whatever_happens() {
    let first = seed("model");
    let cases = CASES[usize::from(long())];
    let taken = Cell::new(0);
    for seed in (first..).take(usize::try_from(cases).expect("a few")) {
        let shown = runner(seed).run(&step::steps(), |steps| {
            run(&steps, seed, &taken).map_err(TestCaseError::fail)
        });
        match shown {
            Ok(()) => {}
            Err(TestError::Fail(why, steps)) => {
                let steps: Vec<String> = steps.iter().map(|step| format!("    {step:?}")).collect();
                panic!(
                    "WATCHALERT_SEED={seed} shows it again\n{}\n{why}",
                    steps.join("\n")
                )
            }
            Err(error) => panic!("WATCHALERT_SEED={seed}: {error}"),
        }
    }
    tell(&format!("model: {cases} cases, {} steps", taken.get()));
}
