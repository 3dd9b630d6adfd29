//! A second copy of a program is refused in one sentence, and the first goes on.

use super::{QUIET, arrived, ask, causes, copies, enqueue, spread, verified};
use std::net::TcpListener;
use std::time::Duration;
use watchalert_tests::feeds::{FeedServer, Reply};
use watchalert_tests::programs::{BOUND, Place, Program, until};
use watchalert_tests::proof::Proof;

#[test]
fn a_second_sender_is_refused_and_the_first_goes_on() {
    let place = Place::new(QUIET);
    let mut first = place.start_sender(&[]);
    until("the first sends", || first.said().contains("sending"));

    let second = place.run(Program::Sender, &["run"]);
    let said = format!(
        "a sender is already running on {}",
        place.database().display()
    );
    assert_eq!(second.refused(5), said);
    let drained = place.run(Program::Sender, &["run", "--until-empty"]);
    assert_eq!(drained.refused(5), said);

    assert!(first.runs());
    enqueue(&place, ["1".to_owned()].into_iter(), 0);
    until("the first delivers", || copies(&place.printed(), "1") == 1);
    first.terminate();
    first.ended(BOUND).well();
    assert_eq!(verified(&place)["audit"]["repeats_marked"], 0);
}

#[test]
fn a_second_tick_is_refused_and_the_first_goes_on() {
    let server = FeedServer::start();
    let item = "<item><guid>1</guid><title>One</title><link>https://example.org/1</link></item>";
    let text = format!("<rss version=\"2.0\"><channel><title>t</title>{item}</channel></rss>");
    server.set("/slow", Reply::feed(text).delayed(Duration::from_secs(3)));
    let url = server.url("/slow");
    let place = Place::new(&format!(
        "[ingest]\nallow_private = true\n[[feed]]\nurl = \"{url}\"\n[channel.screen]\nkind = \"console\"\n"
    ));
    let first = place.start(place.command(Program::Ingest, &["--alert-existing"]));
    until("the first reads", || !server.requests().is_empty());

    let second = place.run(Program::Ingest, &[]);
    let said = format!(
        "a tick is already running on {}",
        place.database().display()
    );
    assert_eq!(second.refused(5), said);

    first.ended(BOUND).well();
    assert_eq!(server.requests().len(), 1, "the second asked nothing");
    let last = place.start_sender(&["run", "--until-empty"]);
    last.ended(BOUND).well();
    assert!(place.printed().contains("\n    https://example.org/1\n"));
    verified(&place);
}

#[test]
fn an_address_that_another_program_has_keeps_no_alert_back() {
    let other = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = other.local_addr().expect("its address");
    let place = Place::new(&format!("[status]\naddress = \"{address}\"\n{QUIET}"));
    let sender = place.start_sender(&[]);
    let told = format!("/healthz and /metrics are not served: cannot listen on {address}");
    until("it says so", || sender.said().contains(&told));
    enqueue(&place, ["1".to_owned()].into_iter(), 0);
    until("it delivers", || copies(&place.printed(), "1") == 1);
    sender.terminate();
    sender.ended(BOUND).well();
}

/// Somebody removes the lock, so that a second sender comes to run beside the first: the epoch keeps them
/// apart. The first ends as soon as it would write, and what was in flight just then is a marked repeat.
#[test]
fn without_the_lock_the_first_of_two_senders_ends_and_nothing_is_lost() {
    const ROWS: usize = 400;
    let place = Place::new(QUIET);
    place.run(Program::Sender, &["migrate"]).well();
    enqueue(&place, (0..ROWS).map(|row| row.to_string()), 20);
    spread(&place, 8);
    let rows = || place.printed().matches(" row ").count();
    let mut first = place.start_sender(&[]);
    until("the first is at work", || rows() >= 20);
    std::fs::remove_file(place.path("state/state.db.sender")).expect("removed");
    let second = place.start_sender(&[]);

    // It notices when it would write.
    let mut rows_in_all = ROWS;
    until("the first has ended", || {
        enqueue(&place, [rows_in_all.to_string()].into_iter(), 0);
        rows_in_all += 1;
        !first.runs()
    });
    let ended = first.ended(BOUND);
    let said = ended.refused(4);
    assert!(said.starts_with("another sender has taken over"), "{said}");
    let owed = "SELECT count(*) FROM outbox WHERE state<>'sent'";
    until("the second delivers the rest", || ask(&place, owed) == "0");
    second.terminate();
    second.ended(BOUND).well();
    let printed = place.printed();
    let mut again = 0;
    for row in 0..rows_in_all {
        again += arrived(printed.split("\n\n"), &format!(" row {row} end"));
    }
    verified(&place);
    Proof {
        what: "two senders without the lock",
        how: "the first ends when it would write".to_owned(),
        accepted: rows_in_all,
        delivered: rows_in_all,
        repeats: again,
        cause: &causes(&place),
        ..Proof::default()
    }
    .tell();
}
