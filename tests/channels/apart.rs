//! Two bots, two chats of one of them, a phone and a mailbox: whatever befalls one of these five, the
//! others get their alerts at the same moments as on a day without it.

use super::{CHAT, GROUP, House, MINUTE, READER, SECOND, TOPIC, screen};
use shared::model::{Destination, Priority};
use shared::store::Db;
use shared::store::outbox::{self, Addressee, Fallback};
use std::ops::Range;
use std::time::Duration;
use watchalert_tests::life::{Home, Life};
use watchalert_tests::ntfy;
use watchalert_tests::programs::tell;
use watchalert_tests::smtp::{Act, At};
use watchalert_tests::telegram::Fault;
use watchalert_tests::world::{START, owed, to};

/// Of the first bot too.
const SECOND_CHAT: &str = "7002";
/// The places, and the other places that share a bot with them.
const PLACES: [(&str, &str); 5] = [
    ("ops", CHAT),
    ("ops", SECOND_CHAT),
    ("team", GROUP),
    ("phone", TOPIC),
    ("mail", READER),
];
/// So many at once for each place, and then one every so often.
const AT_ONCE: usize = 4;
const EACH: Duration = Duration::from_secs(30);
/// Long enough for a mail server that says nothing to be given up.
const DAY: Duration = Duration::from_secs(480);
const GIVEN_UP: Duration = Duration::from_secs(300);
/// Of a bot: a request that nobody answers, and the question after it whether the bot is well.
const SILENCE: Duration = Duration::from_secs(30);
/// The longest pause of a bot after a 429 for one of its chats, in seconds: whatever is in flight reports
/// first, before anybody is told whom it means.
const PAUSE: f64 = 2.0;
/// Between two moments that are the same: the runtime's timers count in whole milliseconds, and a few
/// of them may lie between a sender's waking and its claim.
const SAME: f64 = 0.025;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// Nobody answers as they should.
    Down,
    /// Nobody answers at all.
    Hangs,
    /// It asks for a pause each time.
    TooMany,
    /// It does not know us, or this chat does not want us.
    Refused,
}

use Trouble::{Down, Hangs, Refused, TooMany};

fn place(at: usize) -> Destination {
    to(PLACES[at].0, PLACES[at].1)
}

/// Everything that is sent to these places meets it, for as long as the day lasts.
fn befall(house: &House, troubled: &[usize], trouble: Trouble) {
    match troubled {
        [3] => {
            let fault = match trouble {
                Down => ntfy::Fault::Page(502),
                Hangs => ntfy::Fault::Hang,
                TooMany => ntfy::Fault::Code(42_901),
                Refused => ntfy::Fault::Code(40_101),
            };
            house.ntfy.weather(Some(fault));
        }
        [4] => {
            let (domain, at, said) = match trouble {
                Down => ("", At::Greeting, "421 4.3.2 closing"),
                Hangs => ("sender.test", At::Mail, ""),
                TooMany => ("sender.test", At::Rcpt, "450 4.2.1 too many, later"),
                Refused => ("sender.test", At::Auth, "535 5.7.8 no"),
            };
            let act = match trouble {
                Hangs => Act::Hang,
                _ => Act::SayAndClose(said.to_owned()),
            };
            house.mail.set(domain, at, act);
        }
        _ => {
            let fault = match trouble {
                Down => Fault::page(502),
                Hangs => Fault::hang(),
                TooMany => Fault::flood(45),
                Refused if *troubled == [0] => Fault::refuse("blocked"),
                Refused => Fault::refuse("unauthorized"),
            };
            let fault = match troubled {
                [0] => fault.in_chat(CHAT.parse().expect("a chat")),
                _ => fault,
            };
            let of_ops = troubled.contains(&0);
            let bot = if of_ops { &house.ops } else { &house.team };
            bot.script([fault.lasting(DAY)]);
        }
    }
    if let (Hangs, [at @ (3 | 4)]) = (trouble, troubled) {
        house.silent.set(Some(PLACES[*at].1));
    }
}

/// These of each place, elsewhere too when they are late. In one commit: what is told of a trouble takes its turn
/// after them all.
async fn commit(life: &Life<'_, House>, numbers: Range<usize>, falls_back: bool) {
    let now = life.now();
    life.write(move |db: &Db| {
        let all = numbers
            .clone()
            .flat_map(|number| (0..PLACES.len()).map(move |at| (number, at)));
        for (number, at) in all {
            let key = format!("{at}-{number:03}.");
            let mut owed = owed(&key, &place(at), Priority::High);
            owed.to = vec![Addressee {
                fallback: falls_back.then(|| Fallback {
                    to: screen(),
                    after: MINUTE,
                }),
                ..place(at).into()
            }];
            outbox::enqueue(db, &owed, now)?;
        }
        Ok(())
    })
    .await;
}

/// A day with some of them in trouble, or with nobody.
fn live(trouble: Option<(&[usize], Trouble)>, falls_back: bool) -> House {
    let house = House::new();
    if let Some((troubled, trouble)) = trouble {
        befall(&house, troubled, trouble);
    }
    house.live(async |life| {
        commit(life, 0..AT_ONCE, falls_back).await;
        let end = START + DAY;
        let moments = (1..).map(|number| START + EACH * number);
        for (number, at) in moments.take_while(|at| *at < end.minus(EACH)).enumerate() {
            life.pass_until(at, || false).await;
            let number = AT_ONCE + number;
            commit(life, number..number + 1, falls_back).await;
        }
        life.pass_until(end, || false).await;
    });
    house.world.all_invariants_hold();
    house
}

/// For each alert of a place how long it waited until it was acknowledged there, in its order.
fn waits(house: &House, at: usize) -> Vec<f64> {
    let db = house.world.stranger();
    let sql = "SELECT ended_at-created_at FROM outbox JOIN attempt ON outbox_id=id AND outcome='ok' \
               WHERE kind='alert' AND channel=?1 AND chat_id=?2 ORDER BY id";
    let mut statement = db.prepare(sql).expect("prepared");
    let found = statement.query_map(PLACES[at], |row| row.get(0));
    found.and_then(Iterator::collect).expect("rows")
}

/// At the same moments; `more`: or so many seconds later.
fn is_same(with: &[f64], without: &[f64], more: f64) -> bool {
    let later = |(with, without): (&f64, &f64)| {
        let later = with - without;
        later >= -SAME && later <= more + SAME
    };
    with.len() == without.len() && with.iter().zip(without).all(later)
}

/// The longest wait, and how many arrived.
fn told(waits: &[f64]) -> String {
    let longest = waits.iter().copied().fold(0.0, f64::max);
    format!("{longest:.2} s ({})", waits.len())
}

fn others_wait_no_longer(troubled: &[usize], kinds: &[Trouble], falls_back: bool) {
    let quiet = live(None, falls_back);
    let all = 0..PLACES.len();
    let without: Vec<Vec<f64>> = all.clone().map(|at| waits(&quiet, at)).collect();
    let count = without[0].len();
    assert!(count > AT_ONCE && without.iter().all(|waits| waits.len() == count));
    let names: Vec<String> = all.clone().map(|at| place(at).to_string()).collect();
    tell(&format!(
        "apart: the longest wait (and how many) at {}",
        names.join(", ")
    ));
    let line: Vec<String> = without.iter().map(|waits| told(waits)).collect();
    tell(&format!("apart: nobody in trouble: {}", line.join(", ")));
    for trouble in kinds {
        let house = live(Some((troubled, *trouble)), falls_back);
        let with: Vec<Vec<f64>> = all.clone().map(|at| waits(&house, at)).collect();
        let line: Vec<String> = with.iter().map(|waits| told(waits)).collect();
        let whom: Vec<String> = troubled.iter().map(|at| place(*at).to_string()).collect();
        let what = format!("{} {trouble:?}", whom.join(" and "));
        tell(&format!("apart: {what}: {}", line.join(", ")));
        for at in all.clone().filter(|at| !troubled.contains(at)) {
            let is_the_other_chat = at == 1 && *trouble == TooMany && *troubled == [0];
            let more = if is_the_other_chat { PAUSE } else { 0.0 };
            let (with, without) = (&with[at], &without[at]);
            let whose = format!("{what}: {}", place(at));
            assert!(
                is_same(with, without, more),
                "{whose}: {with:?}, else {without:?}"
            );
        }
        for at in troubled {
            assert!(with[*at].len() < count, "{what} is no trouble");
            let most = match (at, trouble) {
                (4, Hangs) => GIVEN_UP,
                (0..=2, Hangs) => MINUTE + SILENCE,
                _ => MINUTE,
            };
            let most = falls_back.then_some(most);
            let dead = comes_to_its_end(&house, *at, count, most);
            // A chat that is silent while its bot is well may have got each of three copies.
            let may_have_come = *troubled == [0] && *trouble == Hangs;
            assert!(
                dead == 0 || (may_have_come && !falls_back),
                "{what}: {dead} dead"
            );
        }
    }
}

/// When the trouble is over, everything has arrived: there, or where it falls back to, as soon as it was
/// late and at most `falls_back` had gone by, at the look of the next minute.
/// Returns how many were given up there, which was told.
fn comes_to_its_end(house: &House, at: usize, count: usize, falls_back: Option<Duration>) -> usize {
    let (channel, chat) = PLACES[at];
    let there = format!("kind='alert' AND channel='{channel}' AND chat_id='{chat}'");
    let states = || {
        let of = |state: &str| house.count(&format!("{there} AND state='{state}'"));
        (of("sent") + of("moved"), of("moved"), of("dead"))
    };
    let moved = states().1;
    assert_eq!(moved > 0, falls_back.is_some(), "{channel} {chat}");
    if let Some(most) = falls_back {
        let late: f64 = house
            .world
            .ask(&format!(
                "SELECT max(updated_at-created_at) FROM outbox WHERE {there} AND state='moved'"
            ))
            .parse()
            .expect("a time");
        let most = (most + MINUTE + SECOND).as_secs_f64();

        assert!(late <= most, "{channel} {chat}: elsewhere after {late}");
    }
    house.ntfy.weather(None);
    house.mail.recover();
    house.world.advance(SECOND);
    house.drain_within(8 * 60 * MINUTE);
    let elsewhere = "kind='alert' AND channel='screen' AND state<>'sent'";
    assert_eq!(house.count(elsewhere), 0);
    let (arrived, _, dead) = states();
    assert_eq!(arrived + dead, count, "{channel} {chat}");
    dead
}

/// Without and with a fallback.
fn nobody_else_sees_it(troubled: &[usize], kinds: &[Trouble]) {
    others_wait_no_longer(troubled, kinds, false);
    others_wait_no_longer(troubled, kinds, true);
}

#[test]
fn what_befalls_one_chat_delays_nobody_else() {
    nobody_else_sees_it(&[0], &[Hangs, TooMany, Refused]);
}

#[test]
fn what_befalls_a_bot_with_both_of_its_chats_delays_nobody_else() {
    nobody_else_sees_it(&[0, 1], &[Down, Hangs, Refused]);
}

#[test]
fn what_befalls_another_bot_delays_nobody_else() {
    nobody_else_sees_it(&[2], &[Down, Hangs, TooMany, Refused]);
}

#[test]
fn what_befalls_ntfy_delays_nobody_else() {
    nobody_else_sees_it(&[3], &[Down, Hangs, TooMany, Refused]);
}

#[test]
fn what_befalls_mail_delays_nobody_else() {
    nobody_else_sees_it(&[4], &[Down, Hangs, TooMany, Refused]);
}
