//! How fast feeds are read, beside feed-rs alone on the same bytes in the same moment.

use super::super::Scale;
use super::super::figures::{Bar, Table, short};
use feed_rs::model;
use shared::model::Prints;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;
use url::Url;
use watchalert_ingest::feed;

const BASE: &str = "https://example.org/feeds/all.xml";
/// What is kept of a description, in characters.
const SUMMARY: usize = 2000;
const MOST: f64 = 1.10;

/// What reading takes, in the fastest of some turns: what else the machine does only ever slows.
struct Took {
    /// feed-rs, which leaves texts as they are.
    bare: Duration,
    /// The first text of each entry as one plain line, of what feed-rs has read already.
    plain: Duration,
    /// By us, for the first time.
    first: Duration,
    /// By us, entries unchanged since.
    again: Duration,
}

/// Feeds of a folder, each kind of reading as a share of what feed-rs alone takes.
pub fn measure(table: &mut Table, folder: &Path, scale: Scale) {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let base = Url::parse(BASE).expect("a URL");
    // feed-rs panics on some documents; the hook would print each.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let bodies: Vec<Vec<u8>> = files(folder)
        .iter()
        .filter_map(|path| fs::read(path).ok())
        .filter(|body| is_read_by_both(body, &base))
        .collect();
    std::panic::set_hook(hook);
    let documents: Vec<Document<'_>> = bodies
        .iter()
        .map(|body| Document::of(body, &base))
        .collect();
    let all = fastest(&documents, &base, scale.turns);
    let bytes: usize = bodies.iter().map(Vec::len).sum();
    println!(
        "({name}: {} feeds, {} kB, feed-rs alone {}; the fastest of {} turns each)",
        bodies.len(),
        bytes / 1_000,
        short(all.bare),
        scale.turns,
    );
    let mut line = |what: &str, took: Duration, bar: bool| {
        let ratio = took.as_secs_f64() / all.bare.as_secs_f64();
        let bar = bar.then_some(Bar {
            text: "1.10",
            reached: ratio <= MOST,
        });
        let what = format!("{name}: {what}");
        table.line(&what, &format!("{ratio:.2} of feed-rs"), "", bar);
    };
    line("parsing, read before", all.again, true);
    // feed-rs leaves texts as HTML: the bar is for what both do.
    let besides = all.first.saturating_sub(all.plain);
    line("parsing, first reading without its texts", besides, true);
    line("the texts: HTML to plain text", all.plain, false);
    line("parsing, first reading with them", all.first, false);
}

/// One to be read.
struct Document<'b> {
    body: &'b [u8],
    /// Of its entries.
    known: Prints,
    texts: Vec<[Option<String>; 3]>,
}

impl<'b> Document<'b> {
    fn of(body: &'b [u8], base: &Url) -> Self {
        let read = feed::parse(body, None, Some(base)).expect("read before");
        let entries = bare(body).into_iter().flat_map(|feed| feed.entries);
        Self {
            body,
            known: Prints::of(read.prints),
            texts: entries.map(texts).collect(),
        }
    }
}

/// In each turn one kind of reading goes over all documents before the next one does, so that all of
/// them run equally warm, and meet the same neighbours; results are dropped within their time.
fn fastest(documents: &[Document<'_>], base: &Url, turns: usize) -> Took {
    let kinds: [&dyn Fn(&Document<'_>); 4] = [
        &|document| drop(black_box(bare(document.body))),
        &|document| document.texts.iter().for_each(make_plain),
        &|document| drop(black_box(feed::parse(document.body, None, Some(base)))),
        &|Document { body, known, .. }| {
            drop(black_box(feed::parse_again(body, None, Some(base), known)));
        },
    ];
    let mut best = kinds.map(|_| vec![Duration::MAX; documents.len()]);
    for _ in 0..turns {
        for (best, read) in best.iter_mut().zip(kinds) {
            for (best, document) in best.iter_mut().zip(documents) {
                let began = Instant::now();
                read(document);
                *best = began.elapsed().min(*best);
            }
        }
    }
    let [theirs, plain, first, again] = best.map(|times| times.iter().sum());
    Took {
        bare: theirs,
        plain,
        first,
        again,
    }
}

fn bare(body: &[u8]) -> Option<model::Feed> {
    let parser = feed_rs::parser::Builder::new().base_uri(Some(BASE)).build();
    parser.parse(body).ok()
}

/// Title, summary and content.
fn texts(entry: model::Entry) -> [Option<String>; 3] {
    [
        entry.title.map(|text| text.content),
        entry.summary.map(|text| text.content),
        entry.content.and_then(|content| content.body),
    ]
}

/// As an entry has them: its title, and the first of its texts that says something.
fn make_plain([title, texts @ ..]: &[Option<String>; 3]) {
    black_box(title.as_ref().map(|title| feed::plain(title, SUMMARY)));
    let texts = texts.iter().flatten();
    let mut plain = texts.map(|text| feed::plain(text, SUMMARY));
    black_box(plain.find(|text| !text.is_empty()));
}

/// Strictly, so that both do the same work.
fn is_read_by_both(body: &[u8], base: &Url) -> bool {
    let read = std::panic::catch_unwind(|| bare(body).is_some()).unwrap_or(false);
    read && feed::parse(body, None, Some(base)).is_ok_and(|document| !document.repaired)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let files = paths.into_iter().flat_map(|path| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    });
    files.collect()
}
