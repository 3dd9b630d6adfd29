//! Real feeds, as they were fetched from real sites: every one is read, none panics, and what is
//! no feed is refused with the sentence that fits. Skipped where the corpus is not at hand.

use std::io;
use std::path::{Path, PathBuf};
use watchalert_ingest::feed::{self, Document, ParseError};

const REAL_WORLD: [&str; 5] = ["feed-rs", "RSParser", "rss-parser", "miniflux", "security"];

/// Files of those folders that are no feeds, by a part of their path, and what to say of them.
const REFUSED: &[(&str, &str)] = &[
    (".html", "this is a web page, not a feed"),
    (".opml", "this is an OPML list of feeds, not a feed"),
    (
        "rss-parser/test/input/unrecognized.rss",
        "this is a web page, not a feed",
    ),
    ("LICENSE", "this is neither XML nor JSON, so not a feed"),
    ("checksum.txt", "this is JSON, but not a JSON Feed"),
    ("ScriptingNews.json", "this is JSON, but not a JSON Feed"),
    (
        "allthis-partial.json",
        "the feed is broken beyond repair: its JSON cannot be read",
    ),
    (
        "rss_2.0_invalid_1.xml",
        "the feed is broken beyond repair: it breaks off before its first entry ends",
    ),
    ("golden/", "this is JSON, but not a JSON Feed"),
    (
        "fixtures/jvndb_detail",
        "this is XML, but not a feed: its root is <vuldef-document>",
    ),
    (
        "fixtures/myjvn_product",
        "this is XML, but not a feed: its root is <result>",
    ),
    (
        "testdata/iso88591",
        "this is XML, but not a feed: its root is <note>",
    ),
    (
        "xml_sample_",
        "this is XML, but not a feed: its root is <catalog>",
    ),
    ("serde.json", "this is JSON, but not a JSON Feed"),
];

#[expect(
    clippy::disallowed_methods,
    reason = "where the corpus lies is known to the caller of the tests alone"
)]
fn corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
    let corpus = std::env::var_os("WATCHALERT_CORPUS").map_or(beside, PathBuf::from);
    let feeds = corpus.join("feeds");
    feeds.is_dir().then_some(feeds)
}

const SKIPPED: &str = "skipped: no corpus beside the repository, nor at $WATCHALERT_CORPUS";

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> io::Result<Result<Document, ParseError>> {
    Ok(feed::parse(&std::fs::read(path)?, None, None))
}

#[test]
fn every_real_feed_is_read_and_nothing_else_is() -> io::Result<()> {
    let Some(feeds) = corpus() else {
        println!("{SKIPPED}");
        return Ok(());
    };
    let (mut read_count, mut wrong) = (0, Vec::new());
    for folder in REAL_WORLD {
        for path in files(&feeds.join(folder))? {
            let name = path.display().to_string();
            let refusal = REFUSED.iter().find(|(part, _)| name.contains(part));
            match (read(&path)?, refusal) {
                (Ok(_), None) => read_count += 1,
                (Err(error), Some((_, sentence))) if error.to_string().starts_with(sentence) => {}
                (Ok(_), Some(_)) => wrong.push(format!("{name} was read")),
                (Err(error), _) => wrong.push(format!("{name}: {error}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        read_count > 100,
        "only {read_count} feeds were there to read"
    );
    Ok(())
}

#[test]
fn nothing_in_the_corpus_panics() -> io::Result<()> {
    let Some(feeds) = corpus() else {
        println!("{SKIPPED}");
        return Ok(());
    };
    let mut read_count = 0;
    for path in files(&feeds)? {
        match read(&path)? {
            Ok(_) => read_count += 1,
            Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
        }
    }
    assert!(read_count > 1000, "only {read_count} files were read");
    Ok(())
}
