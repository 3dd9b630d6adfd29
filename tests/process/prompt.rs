//! The distribution's sqlite3 prompt beside both programs: it reads, it enqueues, and it may sit on
//! an open transaction without costing a tick, a heartbeat or an alert.

use super::{QUIET, copies, enqueue, json, spread, verified};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use watchalert_tests::feeds::{FeedServer, Reply};
use watchalert_tests::programs::{BOUND, Place, Program, long, now, tell, until};
use watchalert_tests::proof::Proof;

/// What the CLI needs against a program that is just writing.
const WAIT: [&str; 2] = ["-cmd", ".timeout 5000"];

fn sqlite3(place: &Place, sql: &str) -> String {
    let mut command = Command::new("sqlite3");
    let ran = command.args(WAIT).arg(place.database()).arg(sql).output();
    let ran = ran.expect("sqlite3 is installed (scripts/test does it)");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.is_empty(), "{sql}: {said}");
    String::from_utf8(ran.stdout)
        .expect("text")
        .trim_end()
        .to_owned()
}

fn feed(entries: usize) -> Reply {
    let items = (0..entries).map(|entry| {
        let link = format!("https://example.org/news/{entry}.");
        format!(
            "<item><guid>{entry}</guid><link>{link}</link><title>CVE-2026-{}</title></item>",
            20_000 + entry
        )
    });
    let items: String = items.collect();
    Reply::feed(format!(
        "<rss version=\"2.0\"><channel><title>News</title>{items}</channel></rss>"
    ))
}

fn config(server: &FeedServer, ingest: &str) -> String {
    let url = server.url("/news");
    format!(
        "[ingest]\nallow_private = true\n{ingest}\n[[feed]]\nurl = \"{url}\"\n[channel.screen]\nkind = \"console\"\n"
    )
}

#[test]
fn the_prompt_reads_every_view_while_both_programs_run() {
    let server = FeedServer::start();
    let place = Place::new(&config(&server, ""));
    server.set("/news", feed(3));
    let sender = place.start_sender(&[]);
    until("the sender runs", || sender.said().contains("sending"));
    place.run(Program::Ingest, &["--alert-existing"]).well();
    let rows = "INSERT INTO outbox(chat_id,payload,next_attempt,created_at) VALUES\
        ('-','{\"v\":99,\"title\":\"from the future\"}',0,unixepoch()),\
        ('-','{\"text\":\"later\"}',unixepoch()+3600,unixepoch())";
    sqlite3(&place, rows);
    until("dead and delivered", || {
        sqlite3(
            &place,
            "SELECT (SELECT count(*) FROM dead_letters),(SELECT count(*) FROM recent)",
        ) == "1|3"
    });

    server.set("/news", feed(4).delayed(Duration::from_secs(1)));
    let mut tick = place.start(place.command(Program::Ingest, &["--now"]));
    let mut looks = 0;
    while tick.runs() {
        for (view, row) in [
            (
                "SELECT priority,text,state FROM queue WHERE text='later'",
                "normal|later|ready",
            ),
            (
                "SELECT text,channel FROM dead_letters",
                "from the future|screen",
            ),
            (
                "SELECT count(*)>=3 AND min(finished GLOB '20??-??-?? ??:??:??') FROM recent",
                "1",
            ),
            ("SELECT title,health FROM feeds", "News|ok"),
            ("SELECT source,items>=3 FROM sources", "News|1"),
        ] {
            assert_eq!(sqlite3(&place, view), row, "{view}");
        }
        looks += 1;
    }
    tick.ended(BOUND).well();
    assert!(looks > 0);
    until("the new one is printed", || {
        place.printed().contains("/news/3.")
    });
    verified(&place);
    tell(&format!("views: read {looks} times each during a tick"));
}

#[test]
fn what_the_article_inserts_is_delivered_within_about_a_second() {
    let place = Place::new(QUIET);
    let sender = place.start_sender(&[]);
    until("the sender runs", || sender.said().contains("sending"));
    let mut longest = Duration::ZERO;
    for name in ["a", "b", "c"] {
        let insert = format!(
            "INSERT INTO outbox (chat_id, payload, next_attempt, created_at) VALUES \
             (-1001234567890, '{{\"chat_id\": -1001234567890, \"text\": \"*row {name} end*\", \"parse_mode\": \"Markdown\"}}', \
              unixepoch(), unixepoch())"
        );
        sqlite3(&place, &insert);
        let start = now();
        until("it is printed", || {
            copies(&place.printed(), name) == 1
                || place.printed().contains(&format!("row {name} end"))
        });
        longest = longest.max(start.elapsed());
    }
    tell(&format!(
        "inserts: printed within {} ms",
        longest.as_millis()
    ));
    assert!(longest < Duration::from_secs(20), "{longest:?}");
    sender.terminate();
    sender.ended(BOUND).well();
    assert_eq!(verified(&place)["audit"]["outbox"]["sent"], 3);
}

/// A prompt with an open transaction.
struct Holder(Child);

impl Holder {
    fn begin(place: &Place) -> Self {
        Self::saying(place, "BEGIN IMMEDIATE; SELECT 'held';")
    }

    /// Sees from now on what is there now.
    fn reading(place: &Place) -> Self {
        let look = "BEGIN; SELECT substr('held',1,4+0*count(*)) FROM outbox;";
        Self::saying(place, look)
    }

    fn saying(place: &Place, sql: &str) -> Self {
        let mut command = Command::new("sqlite3");
        command.args(WAIT).arg(place.database());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = Self(command.spawn().expect("sqlite3 is installed"));
        holder.say(sql);
        let mut line = String::new();
        let said = holder.0.stdout.as_mut().expect("its output");
        BufReader::new(said)
            .read_line(&mut line)
            .expect("an answer");
        assert_eq!(line, "held\n");
        holder
    }

    fn say(&mut self, sql: &str) {
        let prompt = self.0.stdin.as_mut().expect("its input");
        writeln!(prompt, "{sql}").expect("it reads");
    }

    fn commit(mut self) {
        self.say("COMMIT;");
        drop(self.0.stdin.take());
        assert!(self.0.wait().is_ok_and(|ended| ended.success()));
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn status(place: &Place) -> Value {
    json(&place.run(Program::Sender, &["status", "--json"]).well().out)
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn a_prompt_that_sits_on_a_transaction_stops_no_tick_and_loses_nothing() {
    const DEADLINE: Duration = Duration::from_secs(4);
    // Four waits of two seconds for the file, beside its deadline; and what a busy machine adds.
    const PATIENCE: Duration = Duration::from_secs(30);
    const ROWS: usize = 150;
    let hold = Duration::from_secs(if long() { 60 } else { 8 });
    let server = FeedServer::start();
    server.set("/news", feed(1));
    let place = Place::new(&config(&server, "deadline = \"4s\"\ninterval = \"1m\""));
    place.run(Program::Ingest, &[]).well();
    enqueue(&place, (0..ROWS).map(|row| row.to_string()), 20);
    spread(&place, 4);
    let mut sender = place.start_sender(&[]);
    until("the sender is at work", || {
        copies(&place.printed(), "9") == 1
    });

    let mut holder = Holder::begin(&place);
    let since = now();
    let mut ticks = 0;
    let mut longest = Duration::ZERO;
    while since.elapsed() < hold {
        ticks += 1;
        server.set("/news", feed(1 + ticks));
        let before = number(&status(&place)["now"]);
        let tick = place.run(Program::Ingest, &["--now"]).well();
        longest = longest.max(tick.took);
        let seen = status(&place);
        assert!(number(&seen["last_tick"]["started"]) >= before, "{seen}");
        assert_eq!(seen["sender"]["process"], sender.id());
    }
    let waiting = copies_of_rows(&place, ROWS);
    holder.say("INSERT INTO outbox(chat_id,payload,next_attempt,created_at) VALUES('-','{\"text\":\"row held end\"}',0,unixepoch());");
    holder.commit();
    assert!(longest < PATIENCE, "{longest:?}");

    let released = now();
    place.run(Program::Ingest, &["--now"]).well();
    until("every row is printed", || {
        copies_of_rows(&place, ROWS) == ROWS
    });
    until("the prompt's own too", || {
        copies(&place.printed(), "held") == 1
    });
    let last = format!("/news/{ticks}.");
    until("the news of all ticks too", || {
        place.printed().contains(&last)
    });
    assert!(sender.runs());
    proof_of_the_hold(since.elapsed(), ticks, ROWS + 1);
    tell(&format!(
        "held: {ticks} ticks in {:.0} s, the longest {:.1} s (deadline {DEADLINE:?}); {waiting} of {ROWS} rows sent by then, the rest and the news {:.1} s after",
        since.elapsed().as_secs_f64(),
        longest.as_secs_f64(),
        released.elapsed().as_secs_f64()
    ));
    for entry in 1..=ticks {
        assert_eq!(
            place.printed().matches(&format!("/news/{entry}.")).count(),
            1
        );
    }
    sender.terminate();
    sender.ended(BOUND).well();
    assert_eq!(verified(&place)["audit"]["repeats_marked"], 0);
}

fn proof_of_the_hold(hold: Duration, ticks: usize, rows: usize) {
    Proof {
        what: "the database held by the sqlite3 prompt, under both programs",
        how: format!("for {:.0} s: {ticks} ticks", hold.as_secs_f64()),
        accepted: rows + ticks,
        delivered: rows + ticks,
        ..Proof::default()
    }
    .tell();
}

/// How many of the rows stand in the output; none may stand there twice.
fn copies_of_rows(place: &Place, rows: usize) -> usize {
    let printed = place.printed();
    let counts = (0..rows).map(|row| copies(&printed, &row.to_string()));
    counts.inspect(|count| assert!(*count < 2)).sum()
}

/// Somebody reads, and goes on reading: nothing waits for that, and the log, which cannot begin anew
/// meanwhile, does so afterwards.
#[test]
fn a_reader_that_stays_for_a_whole_drain_stops_nobody() {
    const ROWS: usize = 300;
    let server = FeedServer::start();
    server.set("/news", feed(1));
    let place = Place::new(&config(&server, ""));
    place.run(Program::Ingest, &[]).well();
    enqueue(&place, (0..ROWS).map(|row| row.to_string()), 200);
    spread(&place, 4);
    let reader = Holder::reading(&place);
    let sender = place.start_sender(&[]);
    server.set("/news", feed(2));
    place.run(Program::Ingest, &["--now"]).well();
    until("every row is printed", || {
        copies_of_rows(&place, ROWS) == ROWS
    });
    until("and the news", || place.printed().contains("/news/1."));
    let log = || fs::metadata(place.path("state/state.db-wal")).map_or(0, |found| found.len());
    let longest = log();
    reader.commit();
    enqueue(&place, (ROWS..2 * ROWS).map(|row| row.to_string()), 200);
    until("as many again are printed", || {
        copies_of_rows(&place, 2 * ROWS) == 2 * ROWS
    });
    let after = log();
    assert!(
        after < longest + longest / 2,
        "it grows still: {longest}, {after}"
    );
    sender.terminate();
    sender.ended(BOUND).well();
    assert_eq!(verified(&place)["audit"]["repeats_marked"], 0);
    tell(&format!(
        "long reader: {ROWS} rows and a tick beside it, the log grew to {} KiB, and to {} KiB with as many rows after it",
        longest / 1024,
        after / 1024
    ));
}

#[test]
fn without_its_doorbell_a_running_sender_delivers_within_its_poll() {
    let place = Place::new(QUIET);
    let mut sender = place.start_sender(&[]);
    until("the sender runs", || sender.said().contains("sending"));
    fs::remove_file(place.path("state/state.db.bell")).expect("removed");
    let mut longest = Duration::ZERO;
    for name in ["a", "b", "c"] {
        let text = format!("row {name} end");
        place.run(Program::Sender, &["queue", "add", &text]).well();
        let start = now();
        until("it is printed", || copies(&place.printed(), name) == 1);
        longest = longest.max(start.elapsed());
    }
    assert!(longest < Duration::from_secs(20), "{longest:?}");
    assert!(sender.runs());
    sender.terminate();
    sender.ended(BOUND).well();
    assert_eq!(verified(&place)["audit"]["repeats_marked"], 0);
    tell(&format!(
        "no doorbell: printed within {} ms",
        longest.as_millis()
    ));
}
