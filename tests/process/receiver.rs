//! The real receiver: killed at any moment it keeps what it has answered; while somebody holds the database
//! it answers all the same; signals end it when what is being received has been.

use super::{ask, verified};
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use watchalert_tests::posting::{self, github};
use watchalert_tests::programs::{BOUND, Place, Program, Running, long, pause, seed, tell, until};
use watchalert_tests::proof::Proof;
use watchalert_tests::world::stranger;

const SECRET: &str = "a secret of the tests";

pub(crate) struct Scene {
    pub(crate) place: Place,
    address: SocketAddr,
}

impl Scene {
    pub(crate) fn new() -> Self {
        // Whoever else takes it meanwhile makes this test fail, and no other.
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr());
        let address = free.expect("a free port");
        let place = Place::new(&format!(
            "[channel.screen]\nkind = \"console\"\n[listen]\naddress = \"{address}\"\n\
             [[webhook]]\nname = \"infra\"\nkind = \"github\"\nsecret_file = \"secret\"\n\
             [[heartbeat]]\nname = \"backup\"\nevery = \"1h\"\n"
        ));
        let secret = place.path("secret");
        fs::write(&secret, SECRET).expect("written");
        fs::set_permissions(&secret, Permissions::from_mode(0o600)).expect("locked up");
        place.run(Program::Sender, &["migrate"]).well();
        Self { place, address }
    }

    fn start(&self) -> Running {
        let command = self.place.command(Program::Ingest, &["listen"]);
        self.place.start(command)
    }

    pub(super) fn answers(&self) {
        until("it answers", || {
            github(self.address, "infra", SECRET, "ping", "ping", b"{}").is_ok()
        });
    }

    pub(crate) fn is_open(&self) -> bool {
        TcpStream::connect(self.address).is_ok()
    }

    /// An issue that was opened; whether it was answered with 2xx.
    pub(crate) fn post(&self, number: usize) -> bool {
        let body = format!(
            "{{\"action\":\"opened\",\"issue\":{{\"id\":{number},\"number\":{number},\"title\":\"row {number} end\"}},\
              \"repository\":{{\"full_name\":\"ada/engine\"}},\"sender\":{{\"login\":\"ada\"}}}}"
        );
        let delivery = format!("d{number}");
        let answer = github(
            self.address,
            "infra",
            SECRET,
            "issues",
            &delivery,
            body.as_bytes(),
        );
        answer.is_ok_and(|(status, _)| matches!(status, 200 | 202))
    }

    /// A heartbeat that calls; whether it was answered with 2xx.
    pub(crate) fn call(&self) -> bool {
        let call = b"GET /heartbeat/backup HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n";
        let answer = posting::ask(self.address, call);
        answer.is_ok_and(|(status, _)| matches!(status, 200 | 202))
    }

    /// When it last called, in Unix seconds, as far as is known.
    pub(crate) fn called_at(&self) -> f64 {
        let seen = ask(&self.place, "SELECT seen_at FROM beat WHERE name='backup'");
        seen.parse().unwrap_or(0.0)
    }

    /// The numbers of the issues that are told, each once.
    pub(crate) fn told(&self) -> BTreeSet<usize> {
        let db = stranger(&self.place.database());
        let mut statement = db
            .prepare("SELECT payload->>'title' FROM outbox WHERE kind='alert'")
            .expect("a statement");
        let titles = statement
            .query_map([], |row| row.get::<_, String>(0))
            .expect("rows");
        let mut told = BTreeSet::new();
        for title in titles {
            let title = title.expect("a title");
            let number = title
                .split("row ")
                .nth(1)
                .and_then(|rest| rest.split(' ').next());
            let number = number
                .and_then(|number| number.parse().ok())
                .expect("a number");
            assert!(told.insert(number), "{title} twice");
        }
        told
    }

    /// A sender prints what is owed: the numbers of the issues, each once.
    pub(crate) fn delivered(&self) -> BTreeSet<usize> {
        let sender = self.place.start_sender(&["run", "--until-empty"]);
        sender.ended(BOUND).well();
        let printed = self.place.printed();
        let numbers = printed.split("row ").skip(1).filter_map(|rest| {
            let (number, rest) = rest.split_once(' ')?;
            rest.starts_with("end").then(|| number.parse().ok())?
        });
        let mut delivered = BTreeSet::new();
        for number in numbers {
            assert!(delivered.insert(number), "row {number} twice");
        }
        delivered
    }

    pub(crate) fn spooled(&self) -> usize {
        fs::read_dir(self.place.path("state/state.db.spool")).map_or(0, Iterator::count)
    }
}

/// Says so at the end, however that comes: else a test that fails would never end.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn what_was_answered_survives_every_kill_and_is_told_once() {
    let kills = if long() { 500 } else { 12 };
    let seed = seed("kills-receiver");
    let mut chance = fastrand::Rng::with_seed(seed);
    let scene = Scene::new();
    let (over, answered) = (AtomicBool::new(false), Mutex::new(BTreeSet::new()));
    let mut posted = 0;
    std::thread::scope(|scope| {
        let (scene, over, answered) = (&scene, &over, &answered);
        let client = scope.spawn(move || {
            let mut number = 0;
            while !over.load(Ordering::Acquire) {
                if scene.post(number) {
                    answered.lock().expect("a lock").insert(number);
                }
                number += 1;
            }
            number
        });
        let end = Ends(over);
        for _ in 0..kills {
            let receiver = scene.start();
            pause(Duration::from_millis(chance.u64(20..300)));
            // A third of them while somebody holds the database, so that the spool takes it.
            if chance.u8(..3) == 0 {
                let db = stranger(&scene.place.database());
                let held = db.execute_batch("BEGIN IMMEDIATE").is_ok();
                pause(Duration::from_millis(chance.u64(50..900)));
                assert!(receiver.kill(), "it ended by itself");
                if held {
                    db.execute_batch("COMMIT").expect("let go");
                }
            } else {
                assert!(receiver.kill(), "it ended by itself");
            }
        }
        drop(end);
        posted = client.join().expect("a client");
    });
    let last = scene.start();
    scene.answers();
    let answered = answered.into_inner().expect("a lock");
    until("all that was answered is told", || {
        scene.told().is_superset(&answered)
    });
    until("the spool is empty", || scene.spooled() == 0);
    last.terminate();
    last.ended(BOUND).well();
    let told = scene.told();
    assert!(!answered.is_empty());
    verified(&scene.place);
    Proof {
        what: "the receiver, killed",
        how: format!("{kills} kill -9 amid {posted} posts"),
        seed: Some(seed),
        accepted: answered.len(),
        delivered: answered.intersection(&scene.delivered()).count(),
        ..Proof::default()
    }
    .tell();
    tell(&format!(
        "kills-receiver: seed {seed}, {kills} kill -9, {posted} posts, {} answered, {} told: each answered one, once",
        answered.len(),
        told.len()
    ));
}

#[test]
fn two_hundred_bodies_are_answered_while_the_database_is_held_for_a_minute() {
    let hold = Duration::from_secs(if long() { 60 } else { 4 });
    let scene = Scene::new();
    let receiver = scene.start();
    scene.answers();
    let db = stranger(&scene.place.database());
    db.execute_batch("BEGIN IMMEDIATE").expect("held");
    let answered = std::thread::scope(|scope| {
        let posting = scope.spawn(|| (0..200).filter(|number| scene.post(*number)).count());
        pause(hold);
        db.execute_batch("COMMIT").expect("let go");
        posting.join().expect("a client")
    });
    assert_eq!(answered, 200);
    until("all are told", || scene.told().len() == 200);
    receiver.terminate();
    receiver.ended(BOUND).well();
    assert_eq!(
        ask(&scene.place, "SELECT count(*) FROM arrival"),
        "201",
        "and a ping"
    );
    verified(&scene.place);
    Proof {
        what: "the receiver, while the database is held",
        how: format!("for {hold:?}"),
        accepted: answered,
        delivered: scene.delivered().len(),
        ..Proof::default()
    }
    .tell();
    tell(&format!(
        "receiver: 200 signed bodies while the database was held for {hold:?}: all answered 2xx, each told once"
    ));
}

#[test]
fn signals_end_it_well_and_a_busy_address_is_named() {
    let scene = Scene::new();
    for signal in ["TERM", "INT", "HUP"] {
        let receiver = scene.start();
        scene.answers();
        assert!(scene.post(1));
        until("it is told", || scene.told() == BTreeSet::from([1]));
        if signal == "TERM" {
            let second = scene.place.run(Program::Ingest, &["listen"]);
            let why = second.refused(1);
            assert!(why.contains("cannot listen on"), "{why}");
        }
        receiver.signal(signal);
        receiver.ended(BOUND).well();
    }
    assert_eq!(ask(&scene.place, "SELECT count(*) FROM outbox"), "1");
}

#[test]
fn a_socket_that_systemd_opened_is_taken() {
    if Command::new("systemd-socket-activate")
        .arg("--version")
        .output()
        .is_err()
    {
        tell("SKIPPED: systemd-socket-activate is not installed (Debian: systemd)");
        return;
    }
    let scene = Scene::new();
    let command = scene.place.command(Program::Ingest, &["listen"]);
    let mut activated = Command::new("systemd-socket-activate");
    activated.arg("-l").arg(scene.address.to_string());
    activated
        .arg(command.get_program())
        .args(command.get_args());
    // What the program needs from its environment.
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            activated.env(name, value);
        }
    }
    let receiver = scene.place.start(activated);
    scene.answers();
    assert!(scene.post(7));
    until("it is told", || scene.told() == BTreeSet::from([7]));
    receiver.terminate();
    // The tool that passes the socket says so on standard error.
    assert_eq!(receiver.ended(BOUND).code, Some(0));
}
