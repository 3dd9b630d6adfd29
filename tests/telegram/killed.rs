//! 200 alerts at once to one chat, in the middle a minute in which Telegram answers nothing as it
//! should, and through all of it a sender that is killed again and again.

use super::{GROUP, PERSON, Room};
use shared::model::{Destination, Priority, Timestamp};
use shared::store::outbox::{self, Claim};
use shared::store::{Db, verify};
use std::cell::{Cell, RefCell};
use std::time::Duration;
use watchalert_sender::channel::Channels;
use watchalert_sender::run::Scene;
use watchalert_tests::programs::{long, seed, tell};
use watchalert_tests::storm::{self, Account};
use watchalert_tests::telegram::{Fault, Limits};
use watchalert_tests::world::{START, to};

const CHAT: i64 = 7001;

/// What is going on while senders come and go.
struct Day {
    room: Room,
    alerts: usize,
    kills: usize,
    chance: RefCell<fastrand::Rng>,
    seed: u64,
    /// When the minute of faults began.
    began: Cell<Option<Timestamp>>,
    /// What comes at the end of the minute was scripted.
    ending: Cell<bool>,
}

impl Day {
    fn new(alerts: usize, kills: usize, seed: u64) -> Self {
        let room = Room::new();
        for number in 0..alerts {
            let key = format!("alert {number:03}");
            let priority = storm::priority(seed, number);
            let chat = to("ops", PERSON);
            room.world.enqueue(&key, &chat, priority);
        }
        Self {
            room,
            alerts,
            kills,
            chance: RefCell::new(fastrand::Rng::with_seed(seed)),
            seed,
            began: Cell::new(None),
            ending: Cell::new(false),
        }
    }

    /// The minute begins when half has arrived.
    fn weather(&self) {
        let (telegram, now) = (&self.room.telegram, self.room.world.clock.now());
        match self.began.get() {
            None if telegram.accepted_count() >= self.alerts / 2 => {
                self.began.set(Some(now));
                telegram.script(storm::refusals(CHAT));
                let mut storm = storm::of_every_kind(self.seed, now);
                storm.faults.push(Fault::page(429));
                telegram.storm(storm);
            }
            // What closes a gate for long comes last, or it would be all that is seen.
            Some(began) if now.since(began) >= storm::MINUTE * 5 / 6 && !self.ending.get() => {
                self.ending.set(true);
                telegram.script([
                    Fault::page(502).lasting(Duration::from_secs(3)),
                    Fault::refuse("unauthorized").lasting(Duration::from_secs(3)),
                    Fault::refuse("blocked").in_chat(CHAT),
                    Fault::refuse("chat-not-found").in_chat(CHAT),
                ]);
            }
            _ => {}
        }
    }

    /// A sender lives for some requests, and for some of the turns in which it sends, hears the
    /// answer, and writes down what became of it.
    fn live_and_die(&self) {
        let mut chance = self.chance.borrow_mut();
        let asked = self.room.telegram.request_count() + chance.usize(1..=8);
        let longest = Duration::from_millis(chance.u64(1..=12_000));
        let turns = chance.usize(..60);
        self.room.live(async |life| {
            let is_over = || {
                self.weather();
                self.room.telegram.request_count() >= asked
            };
            life.pass_until(life.now() + longest, is_over).await;
            life.turns(turns).await;
        });
    }

    fn play(&self) {
        for _ in 0..self.kills {
            self.live_and_die();
        }
        self.room.live(async |life| {
            let is_over = || {
                self.weather();
                self.room.telegram.accepted_count() >= self.alerts
                    && self.room.state("sent") == self.alerts.to_string()
            };
            let two_hours = life.now() + Duration::from_secs(2 * 3600);
            life.pass_until(two_hours, is_over).await;
        });
    }

    /// Nothing lost, every repeat marked and explained, no limit broken; the figures.
    fn account(&self) -> Account {
        let room = &self.room;
        assert_eq!(room.state("sent"), self.alerts.to_string());
        let account = Account::of(&room.world.stranger(), &room.telegram, "alert ");
        assert_eq!(account.alerts, self.alerts);
        let floods = room.telegram.answers_429();
        let own: Vec<_> = floods
            .iter()
            .filter(|flood| flood.limit.is_some())
            .collect();
        assert!(own.is_empty(), "refused for breaking a limit: {own:?}");
        assert_eq!(room.telegram.breaches(Limits::strict()), []);
        assert_eq!(room.world.read(verify::audit).unaccounted, 0);
        room.world.all_invariants_hold();
        account
    }
}

/// Claimed by a sender of which nobody knows when it wrote its request, before it was killed.
fn claim_and_die(room: &Room, to: &Destination) {
    let epoch = room.world.take_over();
    room.past.set(epoch).expect("the first sender");
    let Scene {
        config,
        output,
        style,
        ..
    } = room.scene();
    let channels = Channels::open(&config.channels, &output, style);
    let (to, now) = (to.clone(), room.world.clock.now());
    let claim = move |db: &Db| outbox::claim(db, epoch, &to, &channels, now);
    let claimed = room.world.write(claim).expect("a claim");
    assert!(matches!(claimed, Claim::Leased(_)), "{claimed:?}");
}

#[test]
fn what_was_under_way_at_a_kill_may_have_arrived_just_before_and_the_limits_count_from_then() {
    let restart = Duration::from_millis(900);
    for (chat, most) in [(PERSON, 25), (GROUP, 19)] {
        let room = Room::new();
        room.enqueue(25, chat, Priority::High);
        claim_and_die(&room, &to("ops", chat));
        room.world.advance(restart);
        room.live(async |life| life.drain(Duration::from_secs(25)).await);
        let arrivals = room.arrivals();
        let rested = restart.as_secs_f64() + 1.0;
        assert!(arrivals[0] >= rested, "{chat}: {arrivals:?}");
        let count = arrivals.len();
        assert!(
            (19..=most).contains(&count),
            "{chat}: {count} and the one before"
        );
    }
}

/// Plays a day and says what came of it.
fn survives(alerts: usize, kills: usize, seed: u64) {
    let day = Day::new(alerts, kills, seed);
    day.play();
    let account = day.account();
    let took = day.room.world.clock.now().since(START);
    tell(&format!(
        "telegram, killed in process: seed {seed}, {alerts} alerts, {kills} kills, {account}; {} s on its clock",
        took.as_secs()
    ));
}

#[test]
fn a_minute_of_every_fault_and_kills_lose_nothing_and_every_repeat_is_marked() {
    survives(30, 15, 1);
}

#[test]
fn nor_do_they_when_all_is_critical() {
    survives(30, 15, 2);
}

#[test]
fn nor_do_50_kills_while_200_alerts_pass() {
    if !long() {
        tell("SKIPPED: 200 alerts and 50 kills take ten seconds; WATCHALERT_LONG=1 plays them");
        return;
    }
    let seed = seed("killed");
    survives(200, 50, seed);
    survives(200, 50, seed + 1);
}

/// Also what hurries, and so repeats itself at once, has a copy left when the minute is over.
#[test]
fn a_minute_of_lost_requests_uses_up_no_alert_of_any_priority() {
    let room = Room::new();
    for priority in Priority::ALL {
        room.world
            .enqueue(priority.name(), &to("ops", PERSON), *priority);
    }
    let lost = Fault::reset_before().in_chat(CHAT).lasting(storm::MINUTE);
    room.telegram.script([lost]);
    room.live(async |life| life.drain(storm::MINUTE * 5).await);
    assert_eq!(
        (room.state("sent"), room.state("dead")),
        ("4".to_owned(), "0".to_owned())
    );
    assert_eq!(room.telegram.accepted_count(), 4);
}
