//! From an alert's commit to its request on the wire: while a flood waits and other chats hang, and
//! with an idle sender.

use super::super::figures::{Bar, Sample, Table, short};
use super::super::protocol::alert;
use super::super::running::PATIENCE;
use super::super::sender::report_latency;
use super::super::{Pace, Scale};
use super::{Room, chat};
use shared::model::{Priority, Severity};
use shared::platform::clock::Clock;
use shared::store::outbox::Owed;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use watchalert_tests::telegram::{Asked, Fault, Options, Telegram};
use watchalert_tests::world::{ask, stranger};

/// Waiting for one chat.
const FLOOD: usize = 1_000;
const FLOODED: i64 = 10;
/// Chats whose server holds each request for 30 s, or for good.
const HANGING: [i64; 3] = [1, 2, 3];
const HELD: Duration = Duration::from_secs(30);
/// The sender gives an exchange up after 40 s and then asks whether the bot is well.
const GIVEN_UP: Duration = Duration::from_secs(46);
/// Between two urgent alerts; the bot's own rate is a message each 40 ms.
const APART: Duration = Duration::from_millis(150);
/// Between two alerts to an idle sender: less often than the bot's rate, each chat less often than
/// once a second.
const REST: Duration = Duration::from_millis(45);
const CHATS: usize = 64;

/// What the stand-in has read since the measurement began. It tells by a plain function, so this is
/// the one place for it.
static READ: Mutex<Vec<Seen>> = Mutex::new(Vec::new());
static CAME: Notify = Notify::const_new();

struct Seen {
    at: Instant,
    text: String,
}

fn see(asked: &Asked) {
    let at = Instant::now();
    let text = asked.parameters.get("text").unwrap_or_default().to_owned();
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    read.push(Seen { at, text });
    CAME.notify_one();
}

/// When a request with these words was read; what was read before is forgotten.
async fn seen(words: &str) -> Instant {
    let look = async {
        loop {
            if let Some(at) = read(words) {
                return at;
            }
            CAME.notified().await;
        }
    };
    timeout(PATIENCE, look)
        .await
        .expect("the alert on the wire")
}

fn read(words: &str) -> Option<Instant> {
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let all = std::mem::take(&mut *read);
    let found = all.into_iter().find(|seen| seen.text.contains(words));
    found.map(|seen| seen.at)
}

fn telegram() -> Telegram {
    Telegram::start(Options {
        tell: Some(see),
        ..Options::strict(&Clock::system())
    })
}

/// Urgent alerts for idle chats while the flood waits: with three chats that hang, and, in the long
/// form, again after the sender has given three exchanges up.
pub async fn behind_a_flood(table: &mut Table, dir: &Path, program: &Path, scale: Scale) {
    let held = HANGING.map(|id| {
        Fault::hold(HELD)
            .in_chat(id)
            .lasting(Duration::from_hours(1))
    });
    let what = "urgent behind 1,000, three chats hang";
    one_flood(table, dir, program, scale, (what, held, Duration::ZERO)).await;
    if scale.pace == Pace::Real {
        let silent = HANGING.map(|id| Fault::hang().in_chat(id).lasting(Duration::from_hours(1)));
        let what = "the same, three exchanges were given up";
        one_flood(table, dir, program, scale, (what, silent, GIVEN_UP)).await;
    }
}

async fn one_flood(
    table: &mut Table,
    dir: &Path,
    program: &Path,
    scale: Scale,
    (what, faults, after): (&str, [Fault; 3], Duration),
) {
    let telegram = telegram();
    telegram.script(faults);
    let room = Room::new(dir, what, &telegram.url());
    let sender = room.start(program).await;
    let flood = |number| alert(&format!("flood-{number}."), &chat(FLOODED));
    let stuck = |id: i64| [1, 2].map(|number| alert(&format!("stuck-{id}-{number}."), &chat(id)));
    let mut owed: Vec<Owed> = HANGING.into_iter().flat_map(stuck).collect();
    owed.extend((0..FLOOD).map(flood));
    let now = Clock::system().now();
    room.enqueue(&owed, now).await;
    seen("flood-1.").await;
    sleep(after).await;
    let given_up = "SELECT count(*) FROM attempt WHERE outcome='unknown'";
    let expected = if after.is_zero() { "0" } else { "3" };
    assert_eq!(ask(&stranger(room.store.path()), given_up), expected);

    let sync = table.sync_latency();
    let mut took = Vec::new();
    for number in 0..scale.urgent {
        sleep(APART).await;
        took.push(urgent(&room, number).await);
    }
    drop(sender);
    let floods = telegram.accepted_in(FLOODED).len();
    assert!(floods < FLOOD, "the flood waits until the end");
    let took = Sample::new(took);
    let (middle, worst) = (took.median(), took.percentile(100));
    let bar = Bar {
        text: "100 ms",
        reached: worst < Duration::from_millis(100),
    };
    let figure = format!("p50 {}, most {}", short(middle), short(worst));
    let ratio = middle.as_secs_f64() / sync.as_secs_f64();
    table.line(what, &figure, &format!("takes {ratio:.2}"), Some(bar));
    tell_refused(&telegram);
}

/// A machine that is busy with other things may stretch and squeeze what the limiter measured out.
fn tell_refused(telegram: &Telegram) {
    for flooded in telegram.answers_429() {
        println!(
            "(a 429: chat {:?}, {:?} too early)",
            flooded.chat_id, flooded.wait
        );
    }
}

async fn urgent(room: &Room, number: usize) -> Duration {
    let id = 1_000 + i64::try_from(number).unwrap_or_default();
    let words = format!("urgent-{number}.");
    let mut owed = alert(&words, &chat(id));
    (owed.priority, owed.alert.severity) = (Priority::Critical, Severity::Critical);
    let committed = room.enqueue(&[owed], Clock::system().now()).await;
    seen(&words).await - committed
}

/// With nothing else to do; then what that costs, and the first alert after the rest, when the
/// connection has been closed meanwhile.
pub async fn when_idle(table: &mut Table, dir: &Path, program: &Path, scale: Scale) {
    let telegram = telegram();
    let room = Room::new(dir, "idle", &telegram.url());
    let sender = room.start(program).await;
    let sync = table.sync_latency();
    let mut took = Vec::new();
    for number in 0..scale.alerts {
        sleep(REST).await;
        took.push(alert_after_rest(&room, number).await);
    }
    let what = "an alert's commit to its request on the wire, sender idle";
    report_latency(table, what, &Sample::new(took), sync);

    sleep(Duration::from_secs(1)).await;
    let idle = sender.idle(scale.idle).await;
    idle.report(table, "the idle sender with a bot");
    let first = alert_after_rest(&room, scale.alerts).await;
    let figure = format!("{} (once)", short(first));
    let ratio = first.as_secs_f64() / sync.as_secs_f64();
    table.line(
        "the first alert after that rest",
        &figure,
        &format!("takes {ratio:.2}"),
        None,
    );
    tell_refused(&telegram);
}

async fn alert_after_rest(room: &Room, number: usize) -> Duration {
    let id = 1 + i64::try_from(number % CHATS).unwrap_or_default();
    let words = format!("benchmark-{number}.");
    let owed = alert(&words, &chat(id));
    let committed = room.enqueue(&[owed], Clock::system().now()).await;
    seen(&words).await - committed
}
