//! The real programs against what befalls them on a machine: kills, second copies, signals, the
//! sqlite3 prompt, held and damaged files, full disks. Each test starts the built binaries.

#[path = "process/beginning.rs"]
mod beginning;
#[path = "process/broadcast.rs"]
mod broadcast;
#[path = "process/clock_set.rs"]
mod clock_set;
#[path = "process/crashes.rs"]
mod crashes;
#[path = "process/damage.rs"]
mod damage;
#[path = "process/disk.rs"]
mod disk;
#[path = "process/faults.rs"]
mod faults;
#[path = "process/io_errors/mod.rs"]
mod io_errors;
#[path = "process/kills.rs"]
mod kills;
#[path = "process/kills_channels.rs"]
mod kills_channels;
#[path = "process/kills_telegram.rs"]
mod kills_telegram;
#[path = "process/notify.rs"]
mod notify;
#[path = "process/operator.rs"]
mod operator;
#[path = "process/output.rs"]
mod output;
#[path = "process/power/mod.rs"]
mod power;
#[path = "process/prompt.rs"]
mod prompt;
#[path = "process/receiver.rs"]
mod receiver;
#[path = "process/revoked.rs"]
mod revoked;
#[path = "process/second.rs"]
mod second;
#[path = "process/soak.rs"]
mod soak;
#[path = "process/stop.rs"]
mod stop;
#[path = "process/town.rs"]
mod town;

use serde_json::Value;
use watchalert_tests::programs::{Place, Program};

/// One console, nothing to read.
const QUIET: &str = "[ingest]\nallow_file = true\n[channel.screen]\nkind = \"console\"\n";

/// Rows as a stranger would enqueue them, with so many letters of text each.
fn enqueue(place: &Place, names: impl Iterator<Item = String>, letters: usize) {
    let db = watchalert_tests::world::stranger(&place.database());
    let insert = "INSERT INTO outbox (chat_id, payload, next_attempt, created_at) \
                  VALUES ('-', json_object('text', ?1), unixepoch(), unixepoch())";
    db.execute_batch("BEGIN IMMEDIATE")
        .expect("a free database");
    for name in names {
        let text = format!("row {name} end {}", "x".repeat(letters));
        db.execute(insert, [text]).expect("inserted");
    }
    db.execute_batch("COMMIT").expect("committed");
}

/// Parts the waiting rows among so many chats, so that as many are in flight at once.
fn spread(place: &Place, chats: i64) {
    let db = watchalert_tests::world::stranger(&place.database());
    db.execute("UPDATE outbox SET chat_id=id%?1", [chats])
        .expect("moved");
}

/// How often each of the rows of [`enqueue`] stands in the output.
fn copies(printed: &str, name: &str) -> usize {
    printed.matches(&format!(" row {name} end")).count()
}

/// One value, asked by a stranger.
fn ask(place: &Place, sql: &str) -> String {
    watchalert_tests::world::ask(&watchalert_tests::world::stranger(&place.database()), sql)
}

/// `verify` finds all accounted for; returns what it counted.
fn verified(place: &Place) -> Value {
    let said = place.run(Program::Sender, &["verify"]).well().out;
    assert!(
        said.ends_with("invariants  12 of 12 hold\nunaccounted 0\n"),
        "{said}"
    );
    json(&place.run(Program::Sender, &["verify", "--json"]).well().out)
}

/// Why something may have come before: of attempts whose end the sender does not know, how many and of which kind.
fn causes(place: &Place) -> String {
    let noted = "SELECT coalesce(group_concat(n||' '||outcome,', '),'-') FROM (SELECT count(*) AS n,outcome \
                 FROM attempt WHERE outcome IN('interrupted','unknown') GROUP BY outcome ORDER BY outcome)";
    ask(place, noted)
}

/// How many of `texts` hold `name`: at least one, and of those without a mark at most one. Returns how
/// many there are beyond the first.
fn arrived<'t>(texts: impl Iterator<Item = &'t str>, name: &str) -> usize {
    let copies: Vec<&str> = texts.filter(|text| text.contains(name)).collect();
    assert!(!copies.is_empty(), "{name} is lost");
    let bare = copies
        .iter()
        .filter(|copy| !copy.contains("(possible repeat)"));
    assert!(bare.count() <= 1, "{name}: a repeat without its mark");
    copies.len() - 1
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
