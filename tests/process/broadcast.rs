//! A broadcast of the promised size with the real programs, in real time, at Telegram's limits: 5,000
//! chats, of which 200 have blocked us, 20 are gone and one was upgraded; 50 critical alerts meanwhile.

use super::{ask, verified};
use shared::platform::clock::Clock;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;
use watchalert_tests::programs::{BOUND, Place, Program, long, now, pause, tell, within};
use watchalert_tests::proof::Proof;
use watchalert_tests::telegram::{Fault, Limits, Options, Telegram};

const CHATS: i64 = 5_000;
const BLOCKED: i64 = 200;
const GONE: i64 = 20;
const CRITICAL: usize = 50;
/// Of the critical alerts, and not one of the broadcast's.
const PERSON: i64 = 7_001;
/// A group of the broadcast that was upgraded.
const OLD: i64 = -100;
const NEW: i64 = -1_001_000_000_100;
/// 200 s at 25 a second; nothing may take ten minutes.
const PATIENCE: Duration = Duration::from_secs(600);

fn place(telegram: &Telegram) -> Place {
    let place = Place::new(&format!(
        "default_channel = \"ops\"\n[channel.screen]\nkind = \"console\"\n[channel.ops]\n\
         kind = \"telegram\"\napi_url = \"{}\"\ntoken_file = \"token\"\nchat_id = {PERSON}\n",
        telegram.url()
    ));
    let token = place.path("token");
    fs::write(&token, telegram.token()).expect("written");
    fs::set_permissions(&token, Permissions::from_mode(0o600)).expect("locked up");
    place.run(Program::Sender, &["migrate"]).well();
    place
}

fn gone_and_blocked() -> impl Iterator<Item = Fault> {
    let blocked = (1..=BLOCKED).map(|chat| Fault::refuse("blocked").in_chat(chat));
    let gone = (1..=GONE).map(|chat| Fault::refuse("chat-not-found").in_chat(BLOCKED + chat));
    let faults = blocked.chain(gone);
    faults.map(|fault| fault.lasting(Duration::from_secs(36_000)))
}

/// The file of all chats.
fn chats(place: &Place) -> PathBuf {
    let chats = (1..CHATS).chain([OLD]).map(|chat| format!("{chat}\n"));
    let file = place.path("chats.txt");
    fs::write(&file, chats.collect::<String>()).expect("written");
    file
}

/// One each three seconds.
fn add_graves(place: &Place) {
    for number in 0..CRITICAL {
        pause(Duration::from_secs(3));
        let text = format!("grave {number:02}.");
        let grave = ["queue", "add", &text, "--priority", "critical"];
        place.run(Program::Sender, &grave).well();
    }
}

fn proof(reached: usize, dead: usize) {
    Proof {
        what: "a broadcast, with critical alerts amid it",
        how: format!("to {CHATS} chats, said twice; {BLOCKED} have blocked us, {GONE} are gone"),
        accepted: usize::try_from(CHATS).expect("a count") + CRITICAL,
        delivered: reached + CRITICAL,
        dead,
        ..Proof::default()
    }
    .tell();
}

#[test]
fn a_broadcast_to_5000_chats_keeps_the_rate_gives_way_and_is_said_once() {
    if !long() {
        tell("SKIPPED: 5,000 chats at 25 a second take four minutes; scripts/prove broadcast");
        return;
    }
    let telegram = Telegram::start(Options {
        clock: Clock::system(),
        limits: Limits::strict(),
        ..Options::default()
    });
    telegram.script(gone_and_blocked().chain([Fault::upgraded(OLD, NEW)]));
    let place = place(&telegram);
    let file = chats(&place);
    let file = file.to_str().expect("text");
    let arguments = [
        "queue", "add", "to all", "--chats", file, "--key", "news-7", "--yes",
    ];

    let sender = place.start_sender(&["run"]);
    let start = now();
    let said = place.run(Program::Sender, &arguments).well().out;
    assert!(said.contains("5000 new, 0 known"), "{said}");
    add_graves(&place);
    let waits = "SELECT count(*) FROM outbox WHERE state IN('ready','leased') AND kind='raw'";
    let done = within(PATIENCE, || ask(&place, waits) == "0");
    assert!(done, "within {PATIENCE:?}: {}", sender.said());
    let took = start.elapsed();
    let before = telegram.accepted_count();
    let said = place.run(Program::Sender, &arguments).well().out;
    assert!(said.contains("0 new, 5000 known"), "{said}");
    pause(Duration::from_secs(3));
    sender.terminate();
    sender.ended(BOUND).well();
    assert_eq!(telegram.accepted_count(), before, "it was said once");

    let reached = usize::try_from(CHATS - BLOCKED - GONE).expect("a count");
    let accepted = telegram.accepted();
    let told = accepted.iter().filter(|one| one.text == "to all");
    let times: Vec<_> = told.clone().map(|one| one.at).collect();
    assert_eq!(times.len(), reached);
    assert_eq!(told.filter(|one| one.chat_id == NEW).count(), 1);
    assert_eq!(telegram.breaches(Limits::strict()), []);
    let graves = accepted.iter().filter(|one| one.text.contains("grave "));
    assert_eq!(graves.count(), CRITICAL);
    let waits = "SELECT max(started_at-created_at) FROM outbox JOIN attempt ON outbox_id=id AND n=1 WHERE priority=0";
    let longest: f64 = ask(&place, waits).parse().expect("seconds");
    let span = times[times.len() - 1].since(times[0]).as_secs_f64();
    let rate = f64::from(u32::try_from(reached).expect("a count")) / span;
    let dead = (BLOCKED + GONE).to_string();
    assert_eq!(
        ask(&place, "SELECT count(*) FROM outbox WHERE state='dead'"),
        dead
    );
    let notices: usize = ask(&place, "SELECT count(*) FROM outbox WHERE kind='notice'")
        .parse()
        .expect("a count");
    assert!((1..=8).contains(&notices), "{notices}");
    verified(&place);
    proof(reached, dead.parse().expect("a count"));
    tell(&format!(
        "broadcast: {reached} of {CHATS} chats at {rate:.1} a second, no limit broken, in {:.0} s; {CRITICAL} critical alerts \
         meanwhile, the longest {longest:.3} s from commit to request; {dead} dead in {notices} notices; said again: nothing sent",
        took.as_secs_f64()
    ));
}
