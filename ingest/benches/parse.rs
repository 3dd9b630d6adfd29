//! How fast feeds are read, beside feed-rs alone on the same bytes in the same run: scripts/bench.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a bench talks, takes the time, and may end at its own faults"
)]

use shared::model::Prints;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use url::Url;
use watchalert_ingest::feed;

const BASE: &str = "https://example.org/feeds/all.xml";
/// Of so many turns the fastest counts: what else the machine does only ever slows.
const TURNS: usize = 25;
/// Our time by that of feed-rs alone, for feeds that were read before.
const BAR: f64 = 1.10;

fn main() {
    let folders = std::env::args().skip(1).filter(|word| word != "--bench");
    let base = Url::parse(BASE).expect("a URL");
    std::panic::set_hook(Box::new(|_| {}));
    let bodies: Vec<Vec<u8>> = folders
        .flat_map(|folder| files(Path::new(&folder)))
        .filter_map(|path| std::fs::read(path).ok())
        .filter(|body| is_read_by_both(body, &base))
        .collect();
    drop(std::panic::take_hook());
    let bytes: usize = bodies.iter().map(Vec::len).sum();
    let (mut theirs, mut first, mut again) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for body in &bodies {
        let read = feed::parse(body, None, Some(&base)).expect("read before");
        let known = Prints::of(read.prints);
        let mut best = [Duration::MAX; 3];
        for _ in 0..TURNS {
            let turn = [
                time(|| alone(body)),
                time(|| feed::parse(body, None, Some(&base))),
                time(|| feed::parse_again(body, None, Some(&base), &known)),
            ];
            best = std::array::from_fn(|at| best[at].min(turn[at]));
        }
        theirs += best[0];
        first += best[1];
        again += best[2];
    }
    let ratio = |ours: Duration| ours.as_secs_f64() / theirs.as_secs_f64();
    let rate = bytes as f64 / theirs.as_secs_f64() / 1e6;
    println!(
        "{} feeds, {bytes} bytes; feed-rs alone: {rate:.0} MB/s",
        bodies.len()
    );
    println!(
        "read for the first time, every text made plain: {:.2} times its time",
        ratio(first)
    );
    let reached = if ratio(again) <= BAR { "yes" } else { "NO" };
    println!(
        "read before, entries unchanged: {:.2} times its time  bar {BAR:.2}: {reached}",
        ratio(again)
    );
}

fn alone(body: &[u8]) -> bool {
    let parser = feed_rs::parser::Builder::new().base_uri(Some(BASE)).build();
    parser.parse(body).is_ok()
}

/// Strictly, so that both do the same work.
fn is_read_by_both(body: &[u8], base: &Url) -> bool {
    let read = std::panic::catch_unwind(|| alone(body)).unwrap_or(false);
    read && feed::parse(body, None, Some(base)).is_ok_and(|document| !document.repaired)
}

fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    std::hint::black_box(work());
    start.elapsed()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
    {
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}
