//! Throws mutilated feeds and webhooks' bodies at their readers, and mutilated answers at the reader of what models say: no
//! panic, no hang, one line for each refusal, and nothing in an entry that its type rules out. Run it
//! by `scripts/fuzz`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a bench talks, takes the time, and may end at its own faults"
)]

#[path = "fuzz/answer.rs"]
mod answer;
#[path = "fuzz/bodies.rs"]
mod bodies;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use url::Url;
use watchalert_ingest::feed::{self, Document};

/// A mutilated document has no more bytes than this.
const LARGEST: usize = 256 * 1024;
/// Far more than any document of that size takes.
const SLOW: Duration = Duration::from_secs(2);

/// What is thrown, and at whom.
struct Target {
    attack: fn(&[u8]),
    samples: Vec<Vec<u8>>,
    pieces: &'static [&'static str],
}

/// What breaks readers: pieces of every format and of none.
const PIECES: &[&str] = &[
    "<item>",
    "</item>",
    "<entry>",
    "</entry>",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "<!DOCTYPE x [",
    "<!ENTITY a \"b\">",
    "&a;",
    "&amp;",
    "&#x0;",
    "&#xD800;",
    "&nbsp;",
    "&",
    "<",
    ">",
    "\"",
    "'",
    "\0",
    "\u{feff}",
    "\u{202e}",
    "<title type='xhtml'>",
    "<title>",
    "</title>",
    "<link href='",
    "<guid>",
    "<rss version='2.0'>",
    "<feed xmlns='http://www.w3.org/2005/Atom'>",
    "xml:base='http://[bad'",
    "<author>\u{65e5}a@example.com</author>",
    "<pubDate>",
    "9999-99-99T99:99:99+99:99",
    "-0",
    "<itunes:duration>99999999999</itunes:duration>",
    "99999999999999999999",
    "{\"items\":[",
    "\\ud800",
    "<?xml version='1.0' encoding='",
    "utf-16",
    "?>",
    "xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd'",
    "<itunes:category text='x'>",
    "<content type='",
    "mode='base64'",
    "<ttl>",
    "<media:content url='",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let [target, minutes, seeds @ ..] = arguments.as_slice() else {
        eprintln!("usage: fuzz TARGET MINUTES FOLDER… [--seed N]");
        return ExitCode::from(2);
    };
    let Ok(minutes) = minutes.parse::<f64>() else {
        eprintln!("{minutes} is no number of minutes");
        return ExitCode::from(2);
    };
    let seed = seeds.iter().position(|word| word == "--seed");
    let (folders, seed) = match seed {
        Some(at) => (
            &seeds[..at],
            seeds.get(at + 1).and_then(|seed| seed.parse().ok()),
        ),
        None => (seeds, None),
    };
    let seed = seed.unwrap_or_else(|| fastrand::u64(..1_000_000_000));
    println!("fuzz {target}: --seed {seed}");
    let target = match target.as_str() {
        "parse" => Target {
            attack: parse,
            samples: feeds(folders),
            pieces: PIECES,
        },
        "answer" => Target {
            attack: answer::attack,
            samples: answer::samples(),
            pieces: answer::PIECES,
        },
        "github" => of_bodies(bodies::github, folders),
        "sentry" => of_bodies(bodies::sentry, folders),
        "alertmanager" => of_bodies(bodies::alertmanager, folders),
        "generic" => of_bodies(bodies::generic, folders),
        other => {
            eprintln!(
                "there is no target {other}; there are: parse, answer, github, sentry, alertmanager, generic"
            );
            return ExitCode::from(2);
        }
    };
    println!("{} samples", target.samples.len());
    run(&target, seed, Duration::from_secs_f64(minutes * 60.0))
}

fn of_bodies(attack: fn(&[u8]), folders: &[String]) -> Target {
    Target {
        attack,
        samples: bodies::samples(folders),
        pieces: bodies::PIECES,
    }
}

/// Ends with 1 at the first finding, which is left in a file beside.
fn run(target: &Target, seed: u64, time: Duration) -> ExitCode {
    let mut chance = fastrand::Rng::with_seed(seed);
    let (start, mut count, mut told) = (Instant::now(), 0_u64, Duration::ZERO);
    while start.elapsed() < time {
        let body = mutilated(target, &mut chance);
        if let Some(what) = finding(target, &body) {
            let path = format!("fuzz-finding-{seed}-{count}");
            drop(std::fs::write(&path, &body));
            println!("finding after {count} executions: {what}, left in {path}");
            return ExitCode::FAILURE;
        }
        count += 1;
        if start.elapsed().saturating_sub(told) > Duration::from_secs(30) {
            told = start.elapsed();
            println!("{count} executions in {told:.0?}");
            drop(io::stdout().flush());
        }
    }
    println!("{count} executions in {:.0?}, no finding", start.elapsed());
    ExitCode::SUCCESS
}

/// A panic, or what is slow each time: a machine that had other things to do is no finding.
fn finding(target: &Target, body: &[u8]) -> Option<String> {
    let mut took = Duration::MAX;
    for _ in 0..3 {
        let began = Instant::now();
        if std::panic::catch_unwind(|| (target.attack)(body)).is_err() {
            return Some("a panic".to_owned());
        }
        took = took.min(began.elapsed());
        if took <= SLOW {
            return None;
        }
    }
    Some(format!("{took:?}, three times"))
}

fn parse(body: &[u8]) {
    let base = Url::parse("https://example.org/feeds/all.xml").expect("a URL");
    let charset = match body.first() {
        Some(byte) if byte % 8 == 0 => Some("iso-2022-jp"),
        Some(byte) if byte % 8 == 1 => Some("utf-16"),
        _ => None,
    };
    match feed::parse(body, charset, Some(&base)) {
        Ok(document) => is_sound(&document, body, charset, &base),
        Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
    }
}

fn is_sound(document: &Document, body: &[u8], charset: Option<&str>, base: &Url) {
    for entry in &document.entries {
        let lines = [&entry.title, &entry.summary];
        assert!(
            lines.iter().all(|text| !text.chars().any(char::is_control)),
            "{entry:?}"
        );
        assert!(entry.title.chars().count() <= 500 && entry.summary.chars().count() <= 2_000);
        assert!(entry.tags.len() <= 20);
        assert!(entry.guid.as_ref().is_none_or(|guid| !guid.is_empty()));
        let web = |link: &String| link.starts_with("http://") || link.starts_with("https://");
        assert!(entry.link.as_ref().is_none_or(web), "{entry:?}");
    }
    // Read again, nothing differs but the summaries that are known.
    let known = shared::model::Prints::of(document.prints.clone());
    let again = feed::parse_again(body, charset, Some(base), &known).expect("read once already");
    assert_eq!(
        (again.entries.len(), &again.prints),
        (document.entries.len(), &document.prints)
    );
    for (one, other) in document.entries.iter().zip(&again.entries) {
        assert_eq!(
            (&one.guid, &one.link, &one.title),
            (&other.guid, &other.link, &other.title)
        );
    }
}

fn mutilated(target: &Target, chance: &mut fastrand::Rng) -> Vec<u8> {
    let Target {
        samples, pieces, ..
    } = target;
    let mut body = samples[chance.usize(..samples.len())].clone();
    body.truncate(LARGEST);
    for _ in 0..=chance.usize(..6) {
        let at = chance.usize(..=body.len());
        let end = (at + chance.usize(..64)).min(body.len());
        match chance.u8(..8) {
            0 if at < body.len() => body[at] ^= 1 << chance.u8(..8),
            1 => drop(body.drain(at..end)),
            2 => {
                let copy = body[at..end].repeat(1 + chance.usize(..20));
                body.splice(at..at, copy);
            }
            3 => body.truncate(at),
            4 => {
                let other = &samples[chance.usize(..samples.len())];
                let from = chance.usize(..=other.len());
                let to = (from + chance.usize(..2_000)).min(other.len());
                body.splice(at..end, other[from..to].iter().copied());
            }
            5 => drop(body.splice(at..at, chance.u8(..).to_le_bytes())),
            _ => {
                let piece = pieces[chance.usize(..pieces.len())];
                body.splice(at..at, piece.bytes());
            }
        }
    }
    body.truncate(LARGEST);
    body
}

fn feeds(folders: &[String]) -> Vec<Vec<u8>> {
    let folders = folders.iter().map(Path::new);
    let found: Vec<Vec<u8>> = folders.flat_map(samples).collect();
    if found.is_empty() {
        return vec![
            b"<rss version='2.0'><channel><item><title>a</title></item></channel></rss>".to_vec(),
        ];
    }
    found
}

fn samples(folder: &Path) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
        {
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(body) = std::fs::read(&path)
                && body.len() <= LARGEST
            {
                found.push(body);
            }
        }
    }
    found.sort();
    found
}
