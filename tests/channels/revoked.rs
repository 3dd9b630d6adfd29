//! The one channel there is, its token revoked: nothing dies of that, `status` ends with 1 until the token
//! is right again, and then everything arrives once.

use super::{CHAT, House, MINUTE};
use clap::Parser;
use serde_json::Value;
use shared::model::Priority;
use shared::platform::environment::Environment;
use shared::platform::exit::Exit;
use std::fs;
use std::io;
use watchalert_sender::args::Args;
use watchalert_sender::channel::console::Output;
use watchalert_sender::command;
use watchalert_tests::world::{runtime, to};

const WRONG: &str = "123456:of-yesterday";

/// What `status` says, and how it ends.
fn status(house: &House, arguments: &[&str]) -> (String, Exit) {
    let file = house.world.dir.path().join("config.toml");
    fs::write(&file, house.config()).expect("written");
    let path = file.to_str().expect("UTF-8");
    let args = ["watchalert-sender", "--config", path, "status"];
    let args = args.iter().chain(arguments).copied();
    let outside = command::World {
        terminal: false,
        environment: Environment::default(),
        clock: house.world.clock.clone(),
        chance: fastrand::Rng::with_seed(7),
        output: Output::new(io::sink()),
    };
    let args = Args::try_parse_from(args).expect("it parses");
    let mut out = Vec::new();
    let ran = command::execute(args, outside, std::future::pending(), &mut out);
    let exit = runtime().block_on(ran).expect("it looks");
    (String::from_utf8(out).expect("UTF-8"), exit)
}

#[test]
fn a_revoked_token_of_the_only_channel_kills_nothing_in_days_and_status_says_who_must_act() {
    let house = House {
        alone: true,
        ..House::new()
    };
    house.keep("ops-token", WRONG);
    for number in 0..5 {
        let key = format!("story {number}.");
        house
            .world
            .enqueue(&key, &to("ops", CHAT), Priority::ALL[number % 4]);
    }
    assert_eq!(status(&house, &[]).1, Exit::Success, "nobody has tried it");
    house.send();
    let (said, exit) = status(&house, &[]);
    assert_eq!(exit, Exit::Unexpected);
    let line = said.lines().find(|line| line.starts_with("refused "));
    let line = line.expect("a line of its own");
    assert!(
        line.contains("the bot of ops since 0") && line.contains("401"),
        "{line}"
    );
    assert!(!said.contains(WRONG), "{said}");
    let (said, exit) = status(&house, &["--json"]);
    let said: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(
        (exit, &said["needs_a_person"]),
        (Exit::Unexpected, &Value::Bool(true))
    );
    assert_eq!(said["gates"][0]["refused_since"], said["now"]);

    house.drain_within(3 * 60 * MINUTE);
    let asked = house.ops.request_count();
    assert!(asked < 2 * 3 * 4 + 20, "each quarter of an hour: {asked}");
    for _ in 0..6 {
        house.world.advance(24 * 60 * MINUTE);
        house.send();
    }
    let rows = (house.count("state='ready'"), house.count("state='dead'"));
    assert_eq!(rows, (5, 0));
    assert_eq!(status(&house, &[]).1, Exit::Unexpected, "still");

    // No sender is told: the file is read each time.
    house.keep("ops-token", house.ops.token());
    house.drain_within(60 * MINUTE);
    let arrived = house.ops.accepted();
    for number in 0..5 {
        let title = format!("Title of story {number}.");
        let copies = arrived
            .iter()
            .filter(|message| message.text.contains(&title));
        assert_eq!(copies.count(), 1, "{title}");
    }
    assert!(
        arrived
            .iter()
            .all(|message| !message.text.contains("possible repeat"))
    );
    let (said, exit) = status(&house, &[]);
    assert_eq!(exit, Exit::Success, "{said}");
    assert!(
        said.contains("dead letters   0") && !said.contains("refused"),
        "{said}"
    );
    house.world.all_invariants_hold();
}
