//! Prints what the reader makes of feed files, one JSON object a line; scripts/compare-feeds
//! compares that with another reader.

use serde_json::{Value, json};
use std::io::{self, BufRead, Write};
use url::Url;
use watchalert_ingest::feed;

/// Takes paths on standard input, one a line, and as its argument the address that relative
/// links are resolved to.
fn main() -> io::Result<()> {
    let base = std::env::args()
        .nth(1)
        .and_then(|base| Url::parse(&base).ok());
    let mut out = io::stdout().lock();
    for path in io::stdin().lock().lines() {
        let path = path?;
        let body = std::fs::read(&path)?;
        writeln!(out, "{}", dump(&path, &body, base.as_ref()))?;
    }
    Ok(())
}

fn dump(path: &str, body: &[u8], base: Option<&Url>) -> Value {
    let document = match feed::parse(body, None, base) {
        Ok(document) => document,
        Err(error) => return json!({ "path": path, "error": error.to_string() }),
    };
    let entries = document.entries.iter().map(|entry| {
        json!({
            "guid": entry.guid,
            "link": entry.link,
            "title": entry.title,
            "published": entry.published.map(shared::model::Timestamp::unix_seconds),
        })
    });
    json!({
        "path": path,
        "title": document.title,
        "repaired": document.repaired,
        "entries": entries.collect::<Vec<_>>(),
    })
}
