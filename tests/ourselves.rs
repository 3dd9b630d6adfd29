//! The tick's watch over the rest of us, and the outside ping that hears of it.

#[path = "ourselves/ping.rs"]
mod ping;

use shared::model::{Blame, Priority, Settlement, Timestamp};
use shared::platform::lock::{Held, LockFile};
use shared::store::beside;
use shared::store::posts::{self, Arrival, Repeats};
use std::time::Duration;
use watchalert_tests::desk::Desk;
use watchalert_tests::feeds::Reply;
use watchalert_tests::world::{fault, receipt, to};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// A desk whose ticks call `/start`, `/ok` and `/fail` of its own server.
pub(crate) fn desk() -> Desk {
    let desk = Desk::new();
    for path in ["/start", "/ok", "/fail"] {
        desk.server.set(path, Reply::status(200));
    }
    let url = |path| desk.server.url(path);
    let ping = format!(
        "[ping]\nstart = \"{}\"\nsuccess = \"{}\"\nfail = \"{}\"",
        url("/start"),
        url("/ok"),
        url("/fail")
    );
    desk.configure(&[], &ping);
    desk
}

/// How often success was told, and the reasons of each failure.
pub(crate) fn pinged(desk: &Desk) -> (usize, Vec<String>) {
    let failed = desk.server.requests_for("/fail").into_iter();
    let reasons = failed.map(|request| String::from_utf8(request.body).expect("text"));
    (desk.server.requests_for("/ok").len(), reasons.collect())
}

/// As a sender that runs holds it.
fn sender_lock(desk: &Desk) -> Held {
    let lock = LockFile::open(&beside(&desk.world.database(), ".sender")).expect("opened");
    lock.take().expect("asked").expect("free")
}

fn ticks(desk: &Desk, count: usize) {
    for _ in 0..count {
        desk.tick();
    }
}

#[test]
fn a_sender_that_is_gone_is_told_once_on_its_return_and_meanwhile_to_the_outside() {
    let desk = desk();
    // Who has never had a sender lacks none.
    ticks(&desk, 5);
    assert_eq!((pinged(&desk), desk.notices().len()), ((5, Vec::new()), 0));
    let running = sender_lock(&desk);
    desk.world.take_over();
    ticks(&desk, 5);
    assert_eq!(pinged(&desk), (10, Vec::new()));
    drop(running);
    // A restart of two ticks is nothing.
    ticks(&desk, 2);
    let running = sender_lock(&desk);
    ticks(&desk, 2);
    drop(running);
    ticks(&desk, 6);
    assert_eq!(desk.notices(), ["Nothing was sent: no sender runs"]);
    let (well, failed) = pinged(&desk);
    assert_eq!((well, failed), (17, vec!["no sender runs".to_owned(); 3]));
    let running = sender_lock(&desk);
    desk.world.take_over();
    ticks(&desk, 3);
    assert_eq!(desk.notices()[1..], ["The sender drains again"]);
    assert_eq!(pinged(&desk).0, 20);
    drop(running);
}

#[test]
fn a_sender_that_runs_and_sends_nothing_is_told() {
    let desk = desk();
    let running = sender_lock(&desk);
    let epoch = desk.world.take_over();
    let (screen, stranger) = (to("screen", "-"), to("unknown", "-"));
    // What waits for a person is no sign of it.
    desk.world.enqueue("nobody's", &stranger, Priority::High);
    ticks(&desk, 10);
    assert_eq!(desk.notices().len(), 0);
    desk.world.enqueue("one", &screen, Priority::High);
    ticks(&desk, 7);
    assert_eq!(
        desk.notices(),
        [
            "Nothing was sent: the sender does not drain: something is due for 12 min, and nothing moves"
        ]
    );
    assert_eq!(pinged(&desk).1.len(), 1);
    let lease = desk.world.lease(epoch, &screen);
    desk.world
        .settle(lease, receipt("m"), None)
        .expect("settled");
    ticks(&desk, 2);
    assert_eq!(desk.notices()[1..], ["The sender drains again"]);
    // A closed gate is why a row waits: the sender tells of that itself.
    desk.world.enqueue("two", &screen, Priority::High);
    let until = (desk.world.clock.now() + HOUR).unix_seconds();
    let close = format!(
        "INSERT INTO gate(scope,key,blocked_until,blocked_for) VALUES('chat','screen/-',{until},3600)"
    );
    desk.world.stranger().execute_batch(&close).expect("closed");
    ticks(&desk, 10);
    assert_eq!(desk.notices().len(), 2, "{:?}", desk.notices());
    // It opened, and still nothing moves.
    desk.world.advance(HOUR);
    ticks(&desk, 7);
    assert_eq!(desk.notices().len(), 3);
    drop(running);
}

#[test]
fn a_machine_that_was_off_accuses_nobody() {
    let desk = desk();
    let running = sender_lock(&desk);
    let epoch = desk.world.take_over();
    let screen = to("screen", "-");
    desk.world.enqueue("one", &screen, Priority::High);
    drop(running);
    ticks(&desk, 2);
    desk.world.advance(10 * HOUR);
    ticks(&desk, 2);
    let running = sender_lock(&desk);
    let lease = desk.world.lease(epoch, &screen);
    desk.world
        .settle(lease, receipt("m"), None)
        .expect("settled");
    ticks(&desk, 5);
    assert_eq!((desk.notices().len(), pinged(&desk).1.len()), (0, 0));
    drop(running);
}

#[test]
fn a_clock_that_is_set_is_told_once_with_its_size() {
    let desk = desk();
    ticks(&desk, 2);
    let turn = |millis: i64| {
        let now = desk.world.clock.now().unix_millis();
        let to = Timestamp::from_unix_millis(now + millis);
        desk.world.clock.turn_to(to);
        ticks(&desk, 3);
    };
    turn(59_000);
    assert_eq!(desk.notices().len(), 0);
    turn(7_500_000);
    turn(-86_400_000);
    assert_eq!(
        desk.notices(),
        [
            "This machine's clock was set ahead by 2 h 5 min",
            "This machine's clock was set back by 1 d"
        ]
    );
    assert_eq!(
        desk.world
            .ask("SELECT group_concat(DISTINCT priority) FROM outbox"),
        "3"
    );
    assert_eq!(pinged(&desk), (11, Vec::new()), "that is no failure");
    // A laptop that slept: no clock was set.
    desk.world.advance(10 * HOUR);
    ticks(&desk, 2);
    assert_eq!(desk.notices().len(), 2);
}

#[test]
fn what_no_channel_could_tell_the_outside_hears() {
    let desk = desk();
    let running = sender_lock(&desk);
    let epoch = desk.world.take_over();
    let screen = to("screen", "-");
    desk.world.enqueue("one", &screen, Priority::High);
    let lease = desk.world.lease(epoch, &screen);
    let bury = Settlement::Bury("no".to_owned(), fault(Blame::Message, false));
    desk.world.settle(lease, bury, None).expect("settled");
    ticks(&desk, 2);
    let reason = "1 dead letters that no channel could tell";
    assert_eq!(pinged(&desk), (0, vec![reason.to_owned(); 2]));
    let now = desk.world.clock.now();
    let dead = desk.world.ask("SELECT id FROM outbox WHERE state='dead'");
    let dead: i64 = dead.parse().expect("a row");
    let discard = move |db: &shared::store::Db| {
        shared::store::outbox::operator::discard(db, dead, now).map(drop)
    };
    desk.world.write(discard).expect("discarded");
    let alarm = "INSERT INTO alarm(name,since) VALUES('late',1)";
    desk.world.stranger().execute_batch(alarm).expect("written");
    ticks(&desk, 1);
    assert_eq!(
        pinged(&desk).1[2],
        "the alarm \"late\", which no channel could tell"
    );
    let over = "DELETE FROM alarm";
    desk.world.stranger().execute_batch(over).expect("deleted");
    ticks(&desk, 1);
    assert_eq!(pinged(&desk).0, 1);
    drop(running);
    desk.world.advance(MINUTE);
}

#[test]
fn a_webhook_that_is_not_called_any_more_is_told_once_and_so_is_its_next_call() {
    let mut desk = desk();
    std::fs::write(desk.path("hook"), "hunter2").expect("written");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(desk.path("hook"), private).expect("set");
    desk.configure(&[], "[[webhook]]\nname = \"infra\"\nkind = \"github\"\nsecret_file = \"hook\"\nquiet_after = \"3d\"");
    let config = std::fs::read_to_string(desk.path("config.toml")).expect("read");
    let rarely = config + "interval = \"3h\"\n";
    std::fs::write(desk.path("config.toml"), rarely).expect("written");
    let day = 24 * HOUR;
    let pass = |desk: &mut Desk, days: u32| {
        for _ in 0..days * 8 {
            desk.tick();
            desk.world.advance(day / 8);
        }
    };
    // It is expected from the first tick on.
    pass(&mut desk, 2);
    assert_eq!(desk.notices(), [""; 0]);
    // Nobody listened then.
    desk.world.advance(20 * day);
    pass(&mut desk, 1);
    assert_eq!(desk.notices(), [""; 0]);
    pass(&mut desk, 3);
    assert_eq!(desk.notices(), ["The webhook infra was not called for 3 d"]);
    let now = desk.world.clock.now();
    let call = Arrival {
        name: "infra".to_owned(),
        delivery: None,
        body: "b".to_owned(),
        repeats: Repeats::Within(HOUR),
        posts: Vec::new(),
    };
    desk.world
        .write(move |db| posts::receive(db, &call, now))
        .expect("received");
    pass(&mut desk, 2);
    assert_eq!(desk.notices()[1..], ["The webhook infra is called again"]);
    pass(&mut desk, 3);
    assert_eq!(desk.notices().len(), 3, "{:?}", desk.notices());
}
