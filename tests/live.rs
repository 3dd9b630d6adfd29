//! `check --live` and `test` against a Telegram at the socket: every trouble is told at once, with the key to
//! look at; a closed gate is told and not passed; nothing is sent that nobody asked for.

#[path = "live/ntfy.rs"]
mod ntfy;

use clap::Parser;
use serde_json::json;
use shared::Failure;
use shared::platform::environment::Environment;
use shared::platform::exit::Exit;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use watchalert_sender::args::Args;
use watchalert_sender::channel::console::Output;
use watchalert_sender::command::{self, World as Outside};
use watchalert_tests::telegram::{Chat, ChatKind, Fault, Options, TOKEN, Telegram};
use watchalert_tests::world::{START, World, runtime, skip_waits_once};

/// A folder with a configuration, a database and a bot's token.
struct Room {
    world: World,
    telegram: Telegram,
    /// Nobody answers: what waits for that need not wait.
    hangs: bool,
}

impl Room {
    fn new(chats: Option<Vec<Chat>>) -> Self {
        let world = World::new();
        let telegram = Telegram::start(Options {
            clock: world.clock.clone(),
            chats,
            ..Options::default()
        });
        let room = Self {
            world,
            telegram,
            hangs: false,
        };
        room.secret("token", TOKEN);
        room
    }

    fn secret(&self, name: &str, secret: &str) {
        let file = self.world.dir.path().join(name);
        fs::write(&file, secret).expect("written");
        fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("locked up");
    }

    /// `channels` are names with the keys that matter; the rest is filled in.
    fn configure(&self, channels: &[(&str, &str)]) {
        let mut text = format!(
            "default_channel = \"{}\"\nstate.path = \"state.db\"\n",
            channels[0].0
        );
        for (name, keys) in channels {
            text += &format!("[channel.{name}]\n{keys}\n");
            if keys.contains("chat_id") {
                text += "kind = \"telegram\"\n";
                if !keys.contains("token_file") {
                    text += "token_file = \"token\"\n";
                }
                if !keys.contains("api_url") {
                    text += &format!("api_url = \"{}\"\n", self.telegram.url());
                }
            }
        }
        fs::write(self.world.dir.path().join("config.toml"), text).expect("written");
    }

    /// What a command prints, and how it ends.
    fn run(&self, command: &[&str]) -> (String, Result<Exit, Failure>) {
        let config = self.world.dir.path().join("config.toml");
        let start = [
            "watchalert-sender",
            "--config",
            config.to_str().expect("UTF-8"),
        ];
        let args = Args::try_parse_from(start.iter().chain(command)).expect("it parses");
        let outside = Outside {
            environment: Environment::default(),
            clock: self.world.clock.clone(),
            chance: fastrand::Rng::with_seed(7),
            output: Output::new(io::sink()),
            terminal: false,
        };
        let mut out = Vec::new();
        let executed = command::execute(args, outside, std::future::pending(), &mut out);
        let silent = || self.hangs && !self.asked().is_empty();
        let ended = runtime().block_on(async {
            tokio::select! {
                ended = executed => ended,
                () = async { skip_waits_once(silent).await; std::future::pending().await } => unreachable!(),
            }
        });
        let out = String::from_utf8(out).expect("UTF-8");
        assert!(!out.contains("stand-in-token"), "{out}");
        assert!(!out.contains('\u{1b}'), "{out:?}");
        (out, ended)
    }

    /// The lines about channels, each with single spaces, and whether all work.
    fn look(&self) -> (Vec<String>, Exit) {
        let (out, ended) = self.run(&["check", "--live"]);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines = out
            .lines()
            .filter(|line| line.trim().starts_with("channel."));
        (lines.map(words).collect(), ended.expect("it looks"))
    }

    fn asked(&self) -> Vec<String> {
        let requests = self.telegram.requests().into_iter();
        requests.map(|asked| asked.method).collect()
    }
}

const OPS: i64 = -1_000_000_000_008;
const NEWS: i64 = -1_000_000_000_007;

#[test]
fn every_channel_is_named_with_its_bot_and_its_chat_and_a_bot_is_asked_once() {
    let room = Room::new(Some(vec![
        Chat::new(42, ChatKind::Private).titled("Ada"),
        Chat::new(OPS, ChatKind::Supergroup).titled("Ops\u{1b}[2J\u{202e}\r\nof night"),
        Chat::new(NEWS, ChatKind::Channel)
            .titled("News")
            .named("our_news"),
    ]));
    room.configure(&[
        ("ada", "chat_id = 42"),
        ("news", "chat_id = \"@our_news\""),
        ("ops", "chat_id = -1000000000008\nmessage_thread_id = 9"),
        ("screen", "kind = \"console\""),
    ]);
    let (lines, exit) = room.look();
    assert_eq!(
        lines,
        [
            "channel.ada yes @stand_in_bot to the private \"Ada\"",
            "channel.news yes @stand_in_bot in the channel \"News\"",
            "channel.ops yes @stand_in_bot in the supergroup \"Ops [2J of night\"; whether the topic 9 is there, only a message can tell",
            "channel.screen yes prints to standard output; there is nothing to try",
        ]
    );
    assert_eq!(exit, Exit::Success);
    let asked = room.asked();
    let count = |method: &str| asked.iter().filter(|asked| *asked == method).count();
    assert_eq!((count("getMe"), count("getChat")), (1, 3), "{asked:?}");
    assert_eq!(room.telegram.accepted_count(), 0, "nothing is sent");
}

#[test]
fn every_trouble_is_told_at_once_with_the_key_to_look_at() {
    let there = |chat: Chat, member| chat.where_the_bot_is(member);
    let group = |id| Chat::new(id, ChatKind::Group).titled("G");
    let news = |id| Chat::new(id, ChatKind::Channel).titled("N");
    let room = Room::new(Some(vec![
        there(group(-1), json!({"status": "left"})),
        there(group(-2), json!({"status": "kicked"})),
        there(
            group(-3),
            json!({"status": "restricted", "is_member": true, "can_send_messages": false}),
        ),
        group(-4).closed(),
        there(group(-5).closed(), json!({"status": "administrator"})),
        there(
            news(-6),
            json!({"status": "administrator", "can_post_messages": false}),
        ),
        there(news(-7), json!({"status": "member"})),
    ]));
    room.secret("other", "123456:wrong-token-of-nobody");
    room.secret("none", "123456:wrong-stand-in-token");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let closed = listener.local_addr().expect("an address");
    drop(listener);
    let unreachable = format!("chat_id = 1\napi_url = \"http://{closed}\"");
    let astray = format!(
        "chat_id = 1\napi_url = \"{}/elsewhere\"",
        room.telegram.url()
    );
    room.configure(&[
        ("a", "chat_id = -1"),
        ("b", "chat_id = -2"),
        ("c", "chat_id = -3"),
        ("d", "chat_id = -4"),
        ("e", "chat_id = -5"),
        ("f", "chat_id = -6"),
        ("g", "chat_id = -7"),
        ("h", "chat_id = -8"),
        ("i", "chat_id = -5\ntoken_file = \"other\""),
        ("j", &unreachable),
        ("k", &astray),
    ]);
    let (lines, exit) = room.look();
    assert_eq!(
        lines,
        [
            "channel.a.chat_id NO @stand_in_bot is not in the group \"G\"",
            "channel.b.chat_id NO @stand_in_bot was removed from the group \"G\"",
            "channel.c.chat_id NO @stand_in_bot may not write in the group \"G\"",
            "channel.d.chat_id NO @stand_in_bot must be an administrator to write in the group \"G\"",
            "channel.e yes @stand_in_bot in the group \"G\"",
            "channel.f.chat_id NO @stand_in_bot is an administrator without the right to post in the channel \"N\"",
            "channel.g.chat_id NO @stand_in_bot must be an administrator to post in the channel \"N\"",
            "channel.h.chat_id NO Telegram answered 400: Bad Request: chat not found",
            "channel.i.token_file NO Telegram answered 401: Unauthorized",
            "channel.j.api_url NO no connection: Connection refused (os error 111)",
            "channel.k.token_file NO Telegram answered 404: Not Found",
        ]
    );
    assert_eq!(exit, Exit::Unexpected);
    let (out, _) = room.run(&["check", "--live"]);
    assert!(
        out.ends_with("\n10 channels do not work; nothing was sent\n"),
        "{out}"
    );
    assert!(out.starts_with("warning: no feed is configured"), "{out}");
}

#[test]
fn pages_floods_and_upgraded_groups_are_told_in_words() {
    let room = Room::new(None);
    room.configure(&[("ops", "chat_id = -5")]);
    let told = |faults: &[Fault]| {
        room.telegram.script(faults.iter().cloned());
        let (lines, exit) = room.look();
        assert_eq!(exit, Exit::Unexpected);
        lines.join("; ")
    };
    assert_eq!(
        told(&[Fault::page(502)]),
        "channel.ops.api_url NO 502 without an answer of the Bot API"
    );
    assert_eq!(
        told(&[Fault::refuse("restart")]),
        "channel.ops.api_url NO Telegram answered 500: Internal Server Error: restart"
    );
    assert_eq!(
        told(&[Fault::flood(7)]),
        "channel.ops NO Telegram answered 429: Too Many Requests: retry after 7"
    );
    room.world.advance(Duration::from_secs(8));
    let (_, sent) = room.run(&["test", "ops"]);
    assert_eq!(sent.expect("it was taken"), Exit::Success);
    room.telegram
        .script([Fault::upgraded(-5, -1_000_000_000_005)]);
    drop(room.run(&["test", "ops"]));
    assert_eq!(
        told(&[]),
        "channel.ops.chat_id NO the group was upgraded; write chat_id = -1000000000005"
    );
}

#[test]
fn a_server_that_says_nothing_is_waited_for_once_and_not_for_ever() {
    let mut room = Room::new(None);
    room.hangs = true;
    let chats = [
        ("a", "chat_id = 1"),
        ("b", "chat_id = 2"),
        ("c", "chat_id = 3"),
    ];
    room.configure(&chats);
    room.telegram.script([Fault::hang().times(99)]);
    let (lines, exit) = room.look();
    let silent = |name: &str| format!("channel.{name}.api_url NO no answer within 10 s");
    assert_eq!(lines, ["a", "b", "c"].map(silent));
    assert_eq!((exit, room.asked().len()), (Exit::Unexpected, 1));
}

#[test]
fn the_plain_check_asks_nobody_and_says_that_it_did_not() {
    let room = Room::new(None);
    room.configure(&[("ops", "chat_id = -5")]);
    let (out, ended) = room.run(&["check"]);
    assert_eq!(ended.expect("good"), Exit::Success);
    assert!(out.ends_with("watchalert-sender check --live)\n"), "{out}");
    assert_eq!(room.asked().len(), 0);
}

#[test]
fn a_test_does_not_pass_a_closed_gate_unless_told_to() {
    let room = Room::new(None);
    room.configure(&[("ops", "chat_id = 7001"), ("other", "chat_id = 7002")]);
    let bot = format!(
        "{} of {}/",
        room.world.dir.path().join("token").display(),
        room.telegram.url()
    );
    let close = |scope: &str, key: &str, seconds: u32, reason: &str| {
        let sql =
            "INSERT INTO gate(scope,key,blocked_until,breaker,reason) VALUES(?1,?2,?3,'open',?4)";
        let until = (START + Duration::from_secs(seconds.into())).unix_seconds();
        let values = rusqlite::params![scope, key, until, reason];
        room.world.stranger().execute(sql, values).expect("closed");
    };
    close(
        "chat",
        &format!("{bot}/7001"),
        43_838,
        "Telegram answered 429: \u{1b}[2Jretry after 43838",
    );
    close("method", &format!("{bot}/sendMessage"), 0, "over");
    let (_, refused) = room.run(&["test", "ops"]);
    assert_eq!(
        refused.expect_err("closed").to_string(),
        "the channel ops is closed for 12 h 10 min (until 2026-11-30 20:10:38): Telegram answered 429: \
         [2Jretry after 43838; with --anyway the message is sent all the same"
    );
    assert_eq!(room.asked().len(), 0);
    assert_eq!(room.run(&["test", "other"]).1.expect("sent"), Exit::Success);
    assert_eq!(
        room.run(&["test", "ops", "--anyway"]).1.expect("sent"),
        Exit::Success
    );
    close("bot", &bot, 60, "Telegram answered 401: Unauthorized");
    let refused = room
        .run(&["test", "other"])
        .1
        .expect_err("closed")
        .to_string();
    assert!(
        refused.starts_with("the channel other is closed for 1 min ("),
        "{refused}"
    );
    assert_eq!(room.telegram.accepted_count(), 2);
}

#[test]
fn a_test_needs_no_database() {
    let room = Room::new(None);
    room.configure(&[("ops", "chat_id = 7001")]);
    fs::remove_file(room.world.database()).expect("removed");
    assert_eq!(room.run(&["test", "ops"]).1.expect("sent"), Exit::Success);
    fs::write(room.world.database(), "no database").expect("written");
    room.world.advance(Duration::from_secs(2));
    assert_eq!(room.run(&["test", "ops"]).1.expect("sent"), Exit::Success);
    assert_eq!(room.telegram.accepted_count(), 2);
}
