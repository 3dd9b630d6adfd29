//! A page that is damaged in the midst of a good file: whoever meets it says so and ends with 4, writes
//! nothing over it, and what it holds is delivered when it is mended.

use super::{QUIET, ask, causes, enqueue, verified};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use watchalert_tests::feeds::{FeedServer, Reply};
use watchalert_tests::programs::{BOUND, Place, Program};
use watchalert_tests::proof::Proof;

const PAGE: usize = 4096;
const ROWS: usize = 300;

/// A leaf in the middle of a table, and what stood there.
struct Damage {
    at: u64,
    good: Vec<u8>,
}

impl Damage {
    /// Nobody has the database open, so all of it is in the one file.
    fn to(place: &Place, table: &str) -> Self {
        let root = format!("SELECT rootpage FROM sqlite_schema WHERE name='{table}'");
        let root: u64 = ask(place, &root).parse().expect("a page");
        let page = read(place, (root - 1) * PAGE as u64);
        // <https://sqlite.org/fileformat.html>, "B-tree pages": an interior page of a table, how many
        // cells it has, where each is; a cell begins with the number of the page below.
        assert_eq!(page[0], 5, "{table} has several pages");
        let two = |at: usize| usize::from(u16::from_be_bytes([page[at], page[at + 1]]));
        let cell = two(12 + 2 * (two(3) / 2));
        let below = u32::from_be_bytes(page[cell..cell + 4].try_into().expect("four bytes"));
        let at = u64::from(below - 1) * PAGE as u64;
        let good = read(place, at);
        assert_eq!(good[0], 13, "a leaf");
        write(place, at, &[0xaa; PAGE]);
        Self { at, good }
    }

    fn mend(self, place: &Place) {
        assert!(
            read(place, self.at) == [0xaa; PAGE],
            "somebody wrote over it"
        );
        write(place, self.at, &self.good);
    }
}

fn read(place: &Place, at: u64) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    let file = fs::File::open(place.database()).expect("the file");
    file.read_exact_at(&mut page, at).expect("a page");
    page
}

fn write(place: &Place, at: u64, page: &[u8]) {
    let file = OpenOptions::new().write(true).open(place.database());
    file.and_then(|file| file.write_all_at(page, at))
        .expect("written");
}

/// The last sentence of a program that met it.
fn says_that_it_is_damaged(place: &Place, sentence: &str) {
    let start = format!("the database {} is damaged", place.database().display());
    assert!(sentence.starts_with(&start), "{sentence}");
    assert!(sentence.contains("restore a backup"), "{sentence}");
}

#[test]
fn a_sender_that_meets_a_damaged_page_says_so_and_ends_and_goes_on_when_it_is_mended() {
    let place = Place::new(QUIET);
    place.run(Program::Sender, &["migrate"]).well();
    enqueue(&place, (0..ROWS).map(|row| row.to_string()), 500);
    let damage = Damage::to(&place, "outbox");

    // Twice: a service is started again.
    for _ in 0..2 {
        let sender = place.start_sender(&["run", "--until-empty"]);
        says_that_it_is_damaged(&place, sender.ended(BOUND).refused(4));
    }
    let before = place.printed().matches(" row ").count();
    assert!(before < ROWS);
    damage.mend(&place);

    let last = place.start_sender(&["run", "--until-empty"]);
    last.ended(BOUND).well();
    let printed = place.printed();
    let mut again = 0;
    for row in 0..ROWS {
        let copies = printed.matches(&format!(" row {row} end")).count();
        assert!(copies > 0, "{row} is lost");
        again += copies - 1;
    }
    let marked = printed.matches("(possible repeat) ").count();
    assert_eq!(again, marked, "each copy is marked");
    verified(&place);
    Proof {
        what: "a sender that meets a damaged page",
        how: format!("{before} sent around it, the others when it is mended"),
        accepted: ROWS,
        delivered: ROWS,
        repeats: again,
        cause: &causes(&place),
        ..Proof::default()
    }
    .tell();
}

#[test]
fn a_tick_that_meets_a_damaged_page_says_so_and_ends_and_goes_on_when_it_is_mended() {
    let server = FeedServer::start();
    let show = |entries: usize| {
        let items = (0..entries).map(|entry| {
            format!("<item><guid>{entry}</guid><title>CVE-2026-{}</title><link>https://example.org/{entry}.</link></item>", 30_000 + entry)
        });
        let items: String = items.collect();
        let text =
            format!("<rss version=\"2.0\"><channel><title>News</title>{items}</channel></rss>");
        server.set("/news", Reply::feed(text));
    };
    show(200);
    let place = Place::new(&format!(
        "[ingest]\nallow_private = true\n[[feed]]\nurl = \"{}\"\n[channel.screen]\nkind = \"console\"\n",
        server.url("/news")
    ));
    place.run(Program::Ingest, &[]).well();
    let damage = Damage::to(&place, "item");

    show(202);
    for _ in 0..2 {
        let ended = place.run(Program::Ingest, &["--now"]);
        says_that_it_is_damaged(&place, ended.refused(4));
    }
    damage.mend(&place);
    place.run(Program::Ingest, &["--now"]).well();
    let last = place.start_sender(&["run", "--until-empty"]);
    last.ended(BOUND).well();
    for (entry, copies) in [(199, 0), (200, 1), (201, 1)] {
        let link = format!("https://example.org/{entry}.\n");
        assert_eq!(place.printed().matches(&link).count(), copies, "{entry}");
    }
    verified(&place);
    Proof {
        what: "a tick that meets a damaged page",
        how: "twice; the next one when it is mended".to_owned(),
        accepted: 2,
        delivered: 2,
        ..Proof::default()
    }
    .tell();
}
