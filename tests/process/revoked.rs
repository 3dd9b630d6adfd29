//! The real sender with one channel, whose token is revoked: what the log and `status` say, and that a
//! new sender brings everything when the token is right.

use super::{ask, json, verified};
use std::fs::{self, Permissions};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use watchalert_tests::posting;
use watchalert_tests::programs::{BOUND, Place, Program, until};
use watchalert_tests::telegram::{Options, Telegram};
use watchalert_tests::world::stranger;

/// The status, and what is said.
fn healthz(address: SocketAddr) -> (u16, String) {
    let request = "GET /healthz HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n";
    posting::ask(address, request.as_bytes()).expect("an answer")
}

const WRONG: &str = "123456:of-yesterday";

#[test]
fn a_revoked_token_of_the_only_channel_is_told_in_the_log_and_a_new_sender_brings_everything() {
    let telegram = Telegram::start(Options::default());
    let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr());
    let health = free.expect("a free port");
    let place = Place::new(&format!(
        "[status]\naddress = \"{health}\"\n[channel.ops]\nkind = \"telegram\"\napi_url = \"{}\"\ntoken_file = \"token\"\nchat_id = 7001\n",
        telegram.url()
    ));
    let keep = |token: &str| {
        fs::write(place.path("token"), token).expect("written");
        fs::set_permissions(place.path("token"), Permissions::from_mode(0o600)).expect("locked up");
    };
    keep(WRONG);
    for text in ["one", "two", "three"] {
        place.run(Program::Sender, &["queue", "add", text]).well();
    }
    let sender = place.start_sender(&["run"]);
    let told = "nothing gets through, and there is no other channel to tell it on";
    until("the log tells it", || sender.said().contains(told));
    assert_eq!(sender.said().matches(told).count(), 1);
    // The log is a moment ahead of the commit.
    until("/healthz tells it", || healthz(health).0 == 503);
    let (_, problems) = healthz(health);
    assert!(problems.contains("the bot of ops is refused"), "{problems}");
    let status = place.run(Program::Sender, &["status"]);
    assert_eq!(status.code, Some(1), "{status:#?}");
    assert!(
        status.out.contains("refused        the bot of ops since"),
        "{}",
        status.out
    );
    let status = place.run(Program::Sender, &["status", "--json"]);
    assert_eq!(
        (status.code, &json(&status.out)["needs_a_person"]),
        (Some(1), &true.into())
    );
    // A terminal that is closed, or somebody who hopes that it reloads: it ends well.
    sender.signal("HUP");
    let ended = sender.ended(BOUND);
    assert!(!ended.err.contains(WRONG));
    assert_eq!(
        (
            ended.code,
            ask(&place, "SELECT count(*) FROM outbox WHERE state='ready'")
        ),
        (Some(0), "3".to_owned())
    );

    keep(telegram.token());
    // A minute later.
    let db = stranger(&place.database());
    db.execute("UPDATE gate SET blocked_until=unixepoch()-1", [])
        .expect("written");
    drop(db);
    let sender = place.start_sender(&["run"]);
    let waits = "SELECT count(*) FROM outbox WHERE state<>'sent'";
    until("all arrive", || ask(&place, waits) == "0");
    let well = (200, "{\"ok\":true,\"problems\":[]}".to_owned());
    assert_eq!(healthz(health), well);
    sender.terminate();
    sender.ended(BOUND).well();
    assert_eq!(telegram.accepted_count(), 3);
    place.run(Program::Sender, &["status"]).well();
    assert_eq!(verified(&place)["audit"]["outbox"]["sent"], 3);
}
