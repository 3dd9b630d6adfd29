//! Whatever feeds and models write, what we make of it keeps Telegram's rules for HTML: a strict
//! reader of our own says so here, and Telegram's own parser in `scripts/check-telegram-html`.

use shared::model::{Alert, Category, Judge, Severity};
use std::fs::File;
use std::io::{BufWriter, Write};
use watchalert_sender::render::link::is_invisible;
use watchalert_sender::render::telegram::{PARTS, REPEAT, render};

const ALERTS: usize = 10_000;
const SEED: u64 = 1_796_025_600;

/// What a message is to Telegram, after parsing.
#[derive(Debug, Default)]
struct Seen {
    text: String,
    /// Start and end in `text`, with the URL of a link.
    entities: Vec<(usize, usize, Option<String>)>,
}

impl Seen {
    /// Reads as Telegram does, and refuses all that we never write.
    fn read(html: &str) -> Result<Self, String> {
        let mut seen = Self::default();
        let mut open: Vec<(&str, usize, Option<String>)> = Vec::new();
        let mut rest = html;
        while let Some(c) = rest.chars().next() {
            match c {
                '<' => {
                    let (tag, after) = rest[1..].split_once('>').ok_or("a tag never ends")?;
                    rest = after;
                    if let Some(name) = tag.strip_prefix('/') {
                        let (opened, start, url) = open.pop().ok_or("an end without a start")?;
                        if opened != name {
                            return Err(format!("<{opened}> ended by </{name}>"));
                        }
                        let end = seen.text.len();
                        if start == end {
                            return Err(format!("<{name}> holds nothing"));
                        }
                        seen.entities.push((start, end, url));
                        continue;
                    }
                    if !open.is_empty() {
                        return Err(format!("<{tag}> inside another"));
                    }
                    let start = seen.text.len();
                    open.push(match tag {
                        "b" | "i" | "code" => (tag, start, None),
                        _ => ("a", start, Some(href(tag)?)),
                    });
                }
                '>' => return Err("a bare >".to_owned()),
                '&' => {
                    let (c, after) = reference(rest)?;
                    seen.text.push(c);
                    rest = after;
                }
                c => {
                    seen.text.push(c);
                    rest = &rest[c.len_utf8()..];
                }
            }
        }
        match open.pop() {
            Some((tag, ..)) => Err(format!("<{tag}> never ends")),
            None => Ok(seen),
        }
    }

    fn keeps_the_limits(&self, html: &str) -> Result<(), String> {
        let units = self.text.encode_utf16().count();
        let code_points = self.text.chars().count();
        let inside = self.entities.iter().map(|(start, end, url)| {
            let url = url.as_ref().map_or(0, |url| url.chars().count());
            self.text[*start..*end].chars().count() + url
        });
        let payload: usize = inside.sum();
        let figures = [
            ("code points", code_points, 4_096),
            ("units", units, 4_096),
            ("entities", self.entities.len(), 90),
            ("characters of entities", payload, 9_000),
            ("bytes", html.len(), 32_768),
        ];
        for (what, count, most) in figures {
            if count > most {
                return Err(format!("{count} {what}"));
            }
        }
        let hides = |c: char| (c.is_control() && c != '\n') || is_invisible(c);
        if let Some(c) = self.text.chars().find(|c| hides(*c)) {
            return Err(format!("shows {c:?}"));
        }
        if self.text.trim().is_empty() {
            return Err("shows nothing".to_owned());
        }
        Ok(())
    }
}

/// The URL of `a href="…"`, with nothing else in the tag.
fn href(tag: &str) -> Result<String, String> {
    let quoted = tag
        .strip_prefix("a href=\"")
        .and_then(|q| q.strip_suffix('"'));
    let mut rest = quoted.ok_or_else(|| format!("<{tag}>"))?;
    let mut url = String::new();
    while let Some(c) = rest.chars().next() {
        match c {
            '&' => {
                let (c, after) = reference(rest)?;
                url.push(c);
                rest = after;
            }
            '"' | '<' => return Err(format!("a bare {c} in href")),
            c => {
                url.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    let scheme = url.to_ascii_lowercase();
    if scheme.starts_with("http://") || scheme.starts_with("https://") {
        Ok(url)
    } else {
        Err(format!("a link to {url}"))
    }
}

fn reference(rest: &str) -> Result<(char, &str), String> {
    let known = [
        ("&amp;", '&'),
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&quot;", '"'),
    ];
    known
        .iter()
        .find_map(|(name, c)| Some((*c, rest.strip_prefix(name)?)))
        .ok_or_else(|| "a bare &".to_owned())
}

/// Pieces that have broken somebody's messages.
const PIECES: &[&str] = &[
    "<",
    ">",
    "&",
    "\"",
    "'",
    "&amp;",
    "&lt",
    "&#0;",
    "&#60;",
    "&nbsp;",
    "<b>",
    "</b>",
    "</",
    "<a href=\"x\">",
    "<!--",
    "]]>",
    "*",
    "_",
    "`",
    "[x](y)",
    "\\",
    "(< 10% left)",
    "a_b",
    "Words of a sentence. ",
    " ",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "\u{1b}[31m",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "\u{202e}",
    "\u{2066}",
    "\u{200f}",
    "\u{200b}",
    "\u{200d}",
    "\u{feff}",
    "\u{61c}",
    "\u{e0041}",
    "\u{fffd}",
    "\u{ffff}",
    "\u{10ffff}",
    "\u{1f600}",
    "👨\u{200d}👩\u{200d}👧",
    "🇩🇪",
    "👍🏽",
    "e\u{301}",
    "\u{301}\u{302}\u{303}",
    "שלום",
    "مرحبا",
    "漢字",
    "한글",
    "ไทย",
    "नमस्ते",
    "@name",
    "#tag",
    "/command",
    "https://example.org/?a=b&c",
    "CVE-2026-1234",
];

fn text(chance: &mut fastrand::Rng, pieces: usize) -> String {
    let mut text = String::new();
    for _ in 0..pieces {
        match chance.u8(..8) {
            0 => text.push(chance.char(..)),
            1 => text.push(chance.char('\0'..'\u{ff}')),
            2 => text.push_str("word "),
            _ => text.push_str(chance.choice(PIECES).expect("pieces")),
        }
    }
    text
}

fn link(chance: &mut fastrand::Rng) -> Option<String> {
    let tail = text(chance, 3);
    let path: String = tail.chars().filter(char::is_ascii_graphic).collect();
    Some(match chance.u8(..10) {
        0 => return None,
        1 => tail,
        2 => format!("javascript:{tail}"),
        3 => format!("https://example.org/{tail}"),
        4 => format!("https://user@example.org/{path}"),
        5 => format!("http://{}/", text(chance, 1)),
        6 => format!(
            "https://example.org/?{}",
            "&x=1".repeat(chance.usize(..600))
        ),
        7 => format!("https://localhost:{}/", chance.u32(..70_000)),
        8 => format!("https://münchen.example/{path}"),
        _ => format!("https://sub-domain.example.org:8443/{path}?a=b&c=%20#f"),
    })
}

fn alert(chance: &mut fastrand::Rng) -> Alert {
    // Most are short; a few reach 50 kB and more.
    let length = |chance: &mut fastrand::Rng| match chance.u8(..40) {
        0 => chance.usize(..9_000),
        1..=4 => chance.usize(..1_200),
        _ => chance.usize(..25),
    };
    Alert {
        v: Alert::VERSION,
        short_id: format!("{:06x}", chance.u32(..0x100_0000)),
        severity: *chance.choice(Severity::ALL).expect("severities"),
        category: *chance.choice(Category::ALL).expect("categories"),
        title: {
            let pieces = length(chance);
            text(chance, pieces)
        },
        summary: {
            let pieces = length(chance);
            text(chance, pieces)
        },
        link: link(chance),
        source: text(chance, 4),
        also: Vec::new(),
        reason: text(chance, 6),
        judge: Judge::Builtin,
        published: None,
    }
}

/// Where `scripts/check-telegram-html` wants the messages.
#[expect(
    clippy::disallowed_methods,
    reason = "the script that checks the samples says where"
)]
fn samples() -> Option<BufWriter<File>> {
    let path = std::env::var("WATCHALERT_SAMPLES").ok()?;
    Some(BufWriter::new(
        File::create(path).expect("a file for the samples"),
    ))
}

#[test]
fn whatever_is_written_becomes_messages_that_telegram_takes() {
    let mut chance = fastrand::Rng::with_seed(SEED);
    let mut samples = samples();
    let (mut messages, mut cut) = (0, 0);
    for number in 0..ALERTS {
        let alert = alert(&mut chance);
        let posts = render(&alert);
        assert!(
            (1..=PARTS).contains(&posts.len()),
            "{number}: {} parts",
            posts.len()
        );
        if number % 10 == 0 {
            assert_eq!(posts, render(&alert), "{number}: not deterministic");
        }
        for post in &posts {
            // As the channel marks what may have arrived before.
            let mark = if number % 3 == 0 { REPEAT } else { "" };
            let html = &format!("{mark}{}", post.html);
            let seen = Seen::read(html).and_then(|seen| {
                seen.keeps_the_limits(html)?;
                Ok(seen)
            });
            let seen = match seen {
                Ok(seen) => seen,
                Err(why) => panic!("alert {number}, seed {SEED}: {why}\n{alert:?}\n{html}"),
            };
            assert!(
                seen.text.contains(&alert.short_id) || posts.len() > 1,
                "{number}"
            );
            cut += usize::from(seen.text.contains("[cut here, "));
            messages += 1;
            if let Some(samples) = &mut samples {
                let entities: Vec<Option<&String>> =
                    seen.entities.iter().map(|(.., url)| url.as_ref()).collect();
                let line = serde_json::json!({"html": html, "text": seen.text, "links": entities});
                writeln!(samples, "{line}").expect("written");
            }
        }
    }
    println!("proof {ALERTS} alerts became {messages} messages, {cut} of them cut short");
    assert!(cut > 10, "too few long ones: {cut}");
}

#[test]
fn the_strict_reader_refuses_what_telegram_would_refuse() {
    for bad in [
        "<x>a</x>",
        "<b>a",
        "a</b>",
        "<b>a</i>",
        "<b></b>",
        "a < b",
        "a > b",
        "a & b",
        "&nbsp;",
        "<a href=\"javascript:x\">a</a>",
        "<a href=x>a</a>",
        "<b><i>a</i></b>",
        "<a>a</a>",
        "<b",
    ] {
        assert!(Seen::read(bad).is_err(), "{bad}");
    }
    let seen = Seen::read("<b>x &amp; y</b> <a href=\"https://a.example/?b&amp;c\">z</a>");
    let seen = seen.expect("good");
    assert_eq!(seen.text, "x & y z");
    assert_eq!(
        seen.entities[1].2.as_deref(),
        Some("https://a.example/?b&c")
    );
    let long = "x".repeat(4_097);
    assert!(
        Seen::read(&long)
            .expect("text")
            .keeps_the_limits(&long)
            .is_err()
    );
    for hidden in ["a\u{202e}", "a\0", " \n"] {
        assert!(
            Seen::read(hidden)
                .expect("text")
                .keeps_the_limits(hidden)
                .is_err()
        );
    }
}
