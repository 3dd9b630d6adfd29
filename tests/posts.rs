//! What webhooks bring: each delivery once, and the end of something where its beginning was told.

use shared::config::{Config, Program, Surroundings};
use shared::model::{Category, DedupKey, Entry, Rating, Severity, Timestamp};
use shared::store::posts::{self, Arrival, Post, Received, Repeats, Thread};
use shared::store::{Db, items};
use std::path::Path;
use std::time::Duration;
use watchalert_ingest::classify;
use watchalert_ingest::classify::facts::Facts;
use watchalert_ingest::enqueue;
use watchalert_tests::world::{START, World};

const HOUR: Duration = Duration::from_secs(3_600);

const CONFIG: &str = "\
default_channel = 'screen'
[channel.screen]
kind = 'console'
[channel.other]
kind = 'console'
[[route]]
severity = ['critical', 'high']
to = ['other']
[[rule]]
match = { title = 'boring' }
drop = true
[[webhook]]
name = 'infra'
kind = 'github'
secret_file = 'secret'
";

fn config() -> Config {
    let around = Surroundings {
        directory: Path::new("/nowhere"),
        credentials: None,
        program: Program::Sender,
    };
    Config::parse(CONFIG, &around).expect("a good configuration")
}

fn post(title: &str, severity: Severity) -> Post {
    Post {
        entry: Entry {
            title: title.to_owned(),
            rating: Some(Rating {
                severity,
                category: Category::Operations,
            }),
            ..Entry::default()
        },
        key: DedupKey::new(format!(
            "{:032x}",
            title.bytes().map(u64::from).sum::<u64>()
        )),
        thread: None,
        is_end: false,
    }
}

fn of_thread(post: Post, thread: &str, is_end: bool) -> Post {
    Post {
        thread: Some(DedupKey::new(thread.to_owned())),
        is_end,
        ..post
    }
}

fn arrival(delivery: &str, body: &str, posts: Vec<Post>) -> Arrival {
    Arrival {
        name: "infra".to_owned(),
        delivery: Some(delivery.to_owned()).filter(|delivery| !delivery.is_empty()),
        body: body.to_owned(),
        repeats: Repeats::Within(HOUR),
        posts,
    }
}

fn receive(world: &World, arrival: Arrival) -> Received {
    let now = world.clock.now();
    world
        .write(move |db| posts::receive(db, &arrival, now))
        .expect("received")
}

/// Every item without a verdict gets one, by the rules, in its order; how many did.
fn judge(world: &World) -> usize {
    let (config, now) = (config(), world.clock.now());
    let facts = Facts::of(&config);
    let pending = world.read(|db| items::pending(db, 0, 100));
    let mut judged = 0;
    for item in pending {
        let about = facts.about(&item);
        let verdict = classify::rule(&item.entry, &about, &config.rules).verdict;
        let decision = enqueue::decide(&item, &about, verdict, &config, now);
        let store = move |db: &Db| enqueue::store(db, &decision, now);
        judged += usize::from(world.write(store).expect("stored").is_some());
    }
    judged
}

/// Of each row: channel, priority, title.
fn rows(world: &World) -> String {
    world.ask("SELECT group_concat(channel||' '||priority||' '||(payload->>'title'),'; ') FROM outbox ORDER BY id")
}

#[test]
fn a_delivery_is_taken_once_by_its_number_and_by_its_body() {
    let world = World::new();
    let first = || vec![post("a push", Severity::Normal)];
    let new = Received::Stored { new: 1, known: 0 };
    assert_eq!(receive(&world, arrival("1", "b1", first())), new);
    world.advance(HOUR / 2);
    let again = Received::Repeated(START);
    assert_eq!(receive(&world, arrival("1", "other", first())), again);
    assert_eq!(receive(&world, arrival("2", "b1", first())), again);
    // Who posts without numbers may say the same again, later.
    world.advance(HOUR);
    let known = Received::Stored { new: 0, known: 1 };
    assert_eq!(receive(&world, arrival("", "b1", first())), known);
    let other = vec![post("another push", Severity::Normal)];
    assert_eq!(receive(&world, arrival("", "b2", other.clone())), new);
    // What was spooled long before comes in after it, and is no repeat of what came later.
    let spooled = arrival("", "b2", other);
    let at = START.minus(HOUR);
    let earlier = world.write(move |db| posts::receive(db, &spooled, at));
    assert_eq!(earlier.expect("received"), known);
    assert_eq!(
        world.ask("SELECT count(*)||' '||sum(items) FROM arrival"),
        "4 4"
    );
    world.all_invariants_hold();
}

#[test]
fn what_is_said_twice_with_something_else_between_is_said_twice() {
    let world = World::new();
    let minute = Duration::from_secs(60);
    let said = |number: &str, body: &str| Arrival {
        repeats: Repeats::InARow(minute),
        ..arrival("", body, vec![post(number, Severity::Normal)])
    };
    let new = Received::Stored { new: 1, known: 0 };
    assert_eq!(receive(&world, said("down", "firing")), new);
    world.advance(Duration::from_secs(20));
    let again = Received::Repeated(START);
    assert_eq!(receive(&world, said("down, tried again", "firing")), again);
    assert_eq!(receive(&world, said("up", "ok")), new);
    world.advance(Duration::from_secs(20));
    assert_eq!(receive(&world, said("down again", "firing")), new);
    world.all_invariants_hold();
}

#[test]
fn what_its_source_says_is_what_it_is() {
    let world = World::new();
    let posts = vec![
        post("a leak", Severity::High),
        post("a push", Severity::Low),
        post("boring", Severity::Critical),
        post("CVE-2026-1001 is actively exploited", Severity::Low),
        post("nothing", Severity::Ignore),
    ];
    receive(&world, arrival("1", "b", posts));
    assert_eq!(judge(&world), 5);
    let judges = world.ask("SELECT group_concat(judge||' '||severity,', ') FROM item ORDER BY id");
    assert_eq!(
        judges,
        "source high, source low, rule ignore, floor critical, source ignore"
    );
    assert_eq!(
        rows(&world),
        "other 1 a leak; screen 3 a push; other 0 CVE-2026-1001 is actively exploited"
    );
    world.all_invariants_hold();
}

#[test]
fn an_end_goes_where_its_beginning_went_and_only_then() {
    let world = World::new();
    let down = of_thread(post("down", Severity::Critical), "t1", false);
    let up = of_thread(post("up again", Severity::Low), "t1", true);
    let early = of_thread(post("up before", Severity::Low), "t1", true);
    let late = of_thread(post("up and up", Severity::Low), "t1", true);
    let dull = of_thread(post("boring", Severity::High), "t2", false);
    let dull_end = of_thread(post("it is over", Severity::Low), "t2", true);
    let posts = vec![early, down, up, late, dull, dull_end];
    receive(&world, arrival("1", "b", posts));
    assert_eq!(judge(&world), 6);
    assert_eq!(rows(&world), "other 0 down; other 2 up again");
    let told =
        world.ask("SELECT severity||': '||reason||', '||route FROM item WHERE title='up again'");
    let id = world.ask("SELECT substr(dedup_key,1,6) FROM item WHERE title='down'");
    assert_eq!(
        told,
        format!("normal: the end of #{id}, where #{id} was told")
    );
    let others =
        world.ask("SELECT count(*)||' '||min(reason) FROM item WHERE is_end AND severity='ignore'");
    assert_eq!(others, "3 nothing that was told ends with it");
    world.all_invariants_hold();
}

#[test]
fn an_end_waits_while_its_beginning_has_no_verdict() {
    let world = World::new();
    let down = of_thread(post("down", Severity::High), "t", false);
    let up = of_thread(post("up again", Severity::Low), "t", true);
    receive(&world, arrival("1", "b", vec![down, up]));
    let second = world.read(|db| items::pending(db, 0, 9)).remove(1);
    assert!(second.is_end && second.is_posted());
    let thread = world.read(move |db| posts::thread(db, second.id));
    assert_eq!(thread, Thread::Undecided);
    assert_eq!(judge(&world), 2);
    let thread = world.read(move |db| posts::thread(db, second.id));
    assert!(matches!(thread, Thread::Open(beginning) if beginning.severity == Severity::High));
    world.all_invariants_hold();
}

#[test]
fn old_deliveries_are_forgotten_and_their_items_are_not() {
    let world = World::new();
    receive(
        &world,
        arrival("1", "b", vec![post("a push", Severity::Low)]),
    );
    let prune = |world: &World| {
        let now = world.clock.now();
        world
            .write(move |db| posts::prune(db, now))
            .expect("pruned")
    };
    world.advance(29 * 24 * HOUR);
    assert_eq!(prune(&world), 0);
    world.advance(48 * HOUR);
    assert_eq!((prune(&world), prune(&world)), (1, 0));
    let known = Received::Stored { new: 0, known: 1 };
    let again = arrival("1", "b", vec![post("a push", Severity::Low)]);
    assert_eq!(receive(&world, again), known);
    world.all_invariants_hold();
}

#[test]
fn time_in_which_nobody_looked_is_excused_once() {
    let world = World::new();
    let minute = Duration::from_secs(60);
    let look = || {
        let now = world.clock.now();
        let look = move |db: &_| posts::look(db, 6 * minute, now);
        world.write(look).expect("looked");
    };
    let now = world.clock.now();
    let expect = move |db: &_| posts::expect(db, "infra", now);
    world.write(expect).expect("expected");
    let silent_for = || {
        let since: f64 = world
            .ask("SELECT seeded_at FROM feed")
            .parse()
            .expect("a time");
        world
            .clock
            .now()
            .since(Timestamp::from_unix_seconds(since))
            .as_secs()
            / 60
    };
    look();
    for _ in 0..10 {
        world.advance(5 * minute);
        look();
    }
    assert_eq!(silent_for(), 50);
    world.advance(HOUR);
    for _ in 0..3 {
        look();
    }
    assert_eq!(silent_for(), 50, "of the hour nothing counts");
    world.advance(5 * minute);
    look();
    assert_eq!(silent_for(), 55);
}
