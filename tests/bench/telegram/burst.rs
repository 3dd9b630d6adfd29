//! Many alerts at once, against a server that keeps Telegram's limits to the letter: how long until
//! the last one is there, against the least that the limits allow, and whether any was refused.

use super::super::figures::{Bar, Table};
use super::super::protocol::alert;
use super::super::{Pace, Scale};
use super::{Room, chat};
use shared::model::Timestamp;
use shared::platform::clock::Clock;
use shared::store::outbox::Owed;
use std::future::pending;
use std::path::Path;
use std::time::Duration;
use tokio::time::sleep;
use watchalert_sender::drain::Until;
use watchalert_sender::run::run;
use watchalert_tests::telegram::{Limits, Options, Telegram};
use watchalert_tests::world::{START, ask, stranger};

/// The bar: so many times the limits' own minimum.
const MOST: f64 = 1.06;

/// So many alerts at once for each of these chats.
struct Burst {
    what: String,
    chats: Vec<i64>,
    each: usize,
    /// Between the first and the last when every chat goes as fast as its limit lets it.
    least: Duration,
}

/// To one private chat, to ten, and to a group, which takes twenty in a minute.
fn bursts(scale: Scale) -> [Burst; 3] {
    let many = scale.burst;
    [
        Burst {
            what: format!("{many} at once to a private chat"),
            chats: vec![7],
            each: many,
            least: Duration::from_secs(many as u64 - 1),
        },
        Burst {
            what: "20 at once to each of ten private chats".to_owned(),
            chats: (1..=10).collect(),
            each: 20,
            least: Duration::from_secs(19),
        },
        Burst {
            what: "60 at once to a group".to_owned(),
            chats: vec![-7],
            each: 60,
            least: Duration::from_secs(2 * 60 + 19),
        },
    ]
}

/// In real time all three at the same time, each with a sender, a database and a bot of its own.
pub async fn measure(table: &mut Table, dir: &Path, program: Option<&Path>, scale: Scale) {
    let [one, ten, group] = bursts(scale);
    match (scale.pace, program) {
        (Pace::Real, Some(program)) => {
            let longest = one.least.max(group.least).as_secs();
            println!("(three bursts beside each other in real time: {longest} s at least)");
            let came = tokio::join!(
                in_real_time(dir, program, &one),
                in_real_time(dir, program, &ten),
                in_real_time(dir, program, &group)
            );
            for (burst, came) in [(&one, came.0), (&ten, came.1), (&group, came.2)] {
                came.report(table, &format!("{}, real time", burst.what), burst.least);
            }
        }
        (Pace::Real, None) => println!("(no --sender: the bursts in real time are left out)"),
        (Pace::Set, _) => {
            for burst in [&one, &ten, &group] {
                let came = by_a_set_clock(dir, burst).await;
                came.report(table, &format!("{}, set clock", burst.what), burst.least);
            }
        }
    }
}

/// Folded into digests, by a set clock: until every alert is told, each with its own link.
pub async fn folded(table: &mut Table, dir: &Path, scale: Scale) {
    let [burst, ..] = bursts(scale);
    let clock = Clock::set(START);
    let telegram = Telegram::start(Options::strict(&clock));
    let room = Room::with(dir, "folded", &telegram.url(), "");
    room.enqueue(&alerts(&burst), START).await;
    let waits = "SELECT count(*) FROM outbox WHERE state IN('ready','leased')";
    while ask(&stranger(room.store.path()), waits) != "0" {
        let sent = run(room.scene(&clock), Until::Empty, pending()).await;
        sent.expect("a clean end");
        clock.set_to(next_moment(&room, clock.now()));
        let waited = clock.now().since(START);
        assert!(waited < burst.least, "{} folded hangs", burst.what);
    }
    let messages = telegram.accepted();
    let links = messages.iter().flat_map(|message| &message.entities);
    let links = links.filter(|one| !one.detail.is_empty()).count();
    assert_eq!(links, burst.each, "each with its own link");
    let took = Came::of(&telegram, START).took.as_secs_f64();
    let bar = Bar {
        text: "45 s",
        reached: took <= 45.0 && telegram.answers_429().is_empty(),
    };
    let figure = format!("{took:.1} s, {} messages", messages.len());
    let what = format!("{}, folded, set clock", burst.what);
    table.line(&what, &figure, "", Some(bar));
}

/// What came of a burst.
struct Came {
    /// From the commit until the last was there.
    took: Duration,
    refused: usize,
}

impl Came {
    /// By the stand-in's own records.
    fn of(telegram: &Telegram, began: Timestamp) -> Self {
        let messages = telegram.accepted();
        let last = messages.last().map_or(began, |message| message.at);
        Self {
            took: last.since(began),
            refused: telegram.answers_429().len() + telegram.breaches(Limits::strict()).len(),
        }
    }

    fn report(&self, table: &mut Table, what: &str, least: Duration) {
        let (took, least) = (self.took.as_secs_f64(), least.as_secs_f64());
        let ratio = took / least;
        let bar = Bar {
            text: "1.06, no 429",
            reached: ratio <= MOST && self.refused == 0,
        };
        let figure = format!("{took:.1} / {least:.0} s = {ratio:.3}");
        table.line(what, &figure, &format!("429s: {}", self.refused), Some(bar));
    }
}

fn alerts(burst: &Burst) -> Vec<Owed> {
    let numbered = |number: usize| {
        let to = |id: &i64| alert(&format!("{id}-{number}"), &chat(*id));
        burst.chats.iter().map(to).collect::<Vec<_>>()
    };
    (0..burst.each).flat_map(numbered).collect()
}

/// The real program, and the machine's clock on both sides.
async fn in_real_time(dir: &Path, program: &Path, burst: &Burst) -> Came {
    let clock = Clock::system();
    let telegram = Telegram::start(Options::strict(&clock));
    let room = Room::new(dir, &burst.what, &telegram.url());
    let sender = room.start(program).await;
    let (owed, began) = (alerts(burst), clock.now());
    room.enqueue(&owed, began).await;
    let bound = burst.least * 2;
    while telegram.accepted_count() < owed.len() {
        sleep(Duration::from_millis(200)).await;
        assert!(clock.now().since(began) < bound, "{} hangs", burst.what);
    }
    // Whatever was sent too often would come now.
    sleep(Duration::from_secs(1)).await;
    drop(sender);
    assert_eq!(telegram.accepted_count(), owed.len(), "each arrived once");
    Came::of(&telegram, began)
}

/// A clock that both sides go by, and a new sender after each wait: the time is the limits' and the
/// limiter's, not the machine's.
async fn by_a_set_clock(dir: &Path, burst: &Burst) -> Came {
    let clock = Clock::set(START);
    let telegram = Telegram::start(Options::strict(&clock));
    let room = Room::new(dir, &burst.what, &telegram.url());
    let owed = alerts(burst);
    room.enqueue(&owed, START).await;
    while telegram.accepted_count() < owed.len() {
        let sent = run(room.scene(&clock), Until::Empty, pending()).await;
        sent.expect("a clean end");
        clock.set_to(next_moment(&room, clock.now()));
        let waited = clock.now().since(START);
        assert!(waited < burst.least * 2, "{} hangs", burst.what);
    }
    Came::of(&telegram, START)
}

/// When a gate opens next; a second later when only a group's minute is waited for.
fn next_moment(room: &Room, now: Timestamp) -> Timestamp {
    let next = ask(
        &stranger(room.store.path()),
        &format!(
            "SELECT min(next_at) FROM gate WHERE next_at>{}",
            now.unix_seconds()
        ),
    );
    next.parse()
        .map_or(now + Duration::from_secs(1), Timestamp::from_unix_seconds)
}
