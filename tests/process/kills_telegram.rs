//! The sender, killed with `kill -9` fifty times while it brings 200 alerts to one chat at Telegram's
//! real limits and in real time, with a minute in the middle in which Telegram answers nothing as it
//! should.

use super::verified;
use shared::model::Timestamp;
use shared::platform::clock::Clock;
use shared::store::outbox;
use shared::store::{Db, Store};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use watchalert_tests::programs::{
    BOUND, Place, Program, Running, long, now, pause, seed, tell, within,
};
use watchalert_tests::proof::Proof;
use watchalert_tests::storm::{self, Account};
use watchalert_tests::telegram::{Flooded, Limits, Options, Telegram};
use watchalert_tests::world::{owed, runtime, stranger, to};

const CHAT: i64 = 7001;
const ALERTS: usize = 200;
const KILLS: usize = 50;
/// No run may take longer; about six minutes are usual.
const PATIENCE: Duration = Duration::from_secs(20 * 60);

/// A sender's installation, and the Telegram that it knows.
struct Day {
    place: Place,
    telegram: Telegram,
    chance: fastrand::Rng,
    seed: u64,
    /// The minute of faults.
    began: bool,
    kills: Vec<Timestamp>,
}

impl Day {
    fn new(seed: u64) -> Self {
        let telegram = Telegram::start(Options {
            clock: Clock::system(),
            limits: Limits::strict(),
            ..Options::default()
        });
        let place = Place::new(&format!(
            "default_channel = \"ops\"\n[digest]\nenabled = false\n[channel.screen]\nkind = \"console\"\n[channel.ops]\n\
             kind = \"telegram\"\napi_url = \"{}\"\ntoken_file = \"token\"\nchat_id = {CHAT}\n",
            telegram.url()
        ));
        let token = place.path("token");
        fs::write(&token, telegram.token()).expect("written");
        fs::set_permissions(&token, Permissions::from_mode(0o600)).expect("locked up");
        Self {
            place,
            telegram,
            chance: fastrand::Rng::with_seed(seed),
            seed,
            began: false,
            kills: Vec::new(),
        }
    }

    /// All of them in one transaction.
    fn enqueue(&self) {
        let store = Store::open(&self.place.database()).expect("a fresh database");
        let now = Clock::system().now();
        let seed = self.seed;
        let enqueue = move |db: &Db| {
            for number in 0..ALERTS {
                let priority = storm::priority(seed, number);
                let chat = to("ops", &CHAT.to_string());
                let owed = owed(&format!("alert {number:03}"), &chat, priority);
                outbox::enqueue(db, &owed, now)?;
            }
            Ok(())
        };
        let written = runtime().block_on(store.write(enqueue));
        written.expect("enqueued");
    }

    /// The minute begins when half has arrived.
    fn weather(&mut self) {
        if !self.began && self.telegram.accepted_count() >= ALERTS / 2 {
            self.began = true;
            self.telegram.script(storm::refusals(CHAT));
            let now = Clock::system().now();
            self.telegram.storm(storm::of_every_kind(self.seed, now));
        }
    }

    /// A sender lives for some requests, at most for some seconds, and dies in the midst of the last
    /// one or a little later. `true` when a request was under way, or just answered.
    fn live_and_die(&mut self) -> bool {
        let before = self.telegram.request_count();
        let asked = before + self.chance.usize(1..=10);
        let longest = Duration::from_millis(self.chance.u64(300..=16_000));
        let most_after = if self.chance.bool() { 3_000 } else { 800_000 };
        let after = Duration::from_micros(self.chance.u64(0..most_after));
        let sender = self.start();
        let came = within(longest, || {
            self.weather();
            self.telegram.request_count() >= asked
        });
        pause(after);
        assert!(sender.kill(), "it ended by itself");
        self.kills.push(Clock::system().now());
        came && most_after == 3_000
    }

    fn start(&self) -> Running {
        self.place.start_sender(&["run"])
    }

    /// The requests, kills and attempts of the two seconds before a refusal that should not have been.
    fn before(&self, refused: &Flooded) -> String {
        let is_near =
            |at: Timestamp| at <= refused.at && refused.at.since(at) <= Duration::from_secs(2);
        let ago = |at: Timestamp| refused.at.since(at);
        let requests = self.telegram.requests().into_iter();
        let requests = requests.filter(|asked| is_near(asked.at));
        let requests: Vec<String> = requests.map(|asked| asked.to_string()).collect();
        let kills = self.kills.iter().filter(|at| is_near(**at));
        let kills: Vec<Duration> = kills.map(|at| ago(*at)).collect();
        let attempts = format!(
            "SELECT group_concat(printf('%d: begun %.3f s before, ended %.3f s before, %s',outbox_id,
                {0}-started_at,{0}-ended_at,outcome),'; ') FROM attempt WHERE started_at BETWEEN {0}-2 AND {0}",
            refused.at.unix_seconds()
        );
        let attempts = super::ask(&self.place, &attempts);
        format!(
            "{refused:?}\nrequests: {requests:#?}\nkilled {kills:?} before\nattempts: {attempts}"
        )
    }

    fn is_done(&self) -> bool {
        let sent = "SELECT count(*) FROM outbox WHERE state='sent'";
        self.telegram.accepted_count() >= ALERTS
            && super::ask(&self.place, sent) == ALERTS.to_string()
    }
}

#[test]
fn a_minute_of_every_fault_and_50_kills_lose_none_of_200_and_every_repeat_is_marked() {
    if !long() {
        tell("SKIPPED: 200 alerts in real time take six minutes; scripts/prove kills-telegram");
        return;
    }
    let seed = seed("kills-telegram");
    let start = now();
    let mut day = Day::new(seed);
    day.enqueue();
    let in_flight = (0..KILLS).filter(|_| day.live_and_die()).count();
    let killed = start.elapsed();
    let last = day.start();
    let done = within(PATIENCE.saturating_sub(killed), || {
        day.weather();
        day.is_done()
    });
    assert!(done, "within {PATIENCE:?}: {}", last.said());
    last.terminate();
    last.ended(BOUND).well();

    let account = Account::of(&stranger(&day.place.database()), &day.telegram, "alert ");
    assert_eq!(account.alerts, ALERTS);
    let floods = day.telegram.answers_429();
    let own = floods.iter().filter(|flood| flood.limit.is_some());
    let own: Vec<String> = own.map(|flood| day.before(flood)).collect();
    assert!(own.is_empty(), "for breaking a limit: {}", own.join("\n"));
    let audit = verified(&day.place);
    assert_eq!(audit["audit"]["outbox"]["sent"], ALERTS);
    assert_eq!(audit["audit"]["outbox"]["dead"], 0);
    let status = day.place.run(Program::Sender, &["status"]).well().out;
    assert!(status.contains("waiting        nothing"), "{status}");
    let cause = format!(
        "{} after kills, {} after answers that never came",
        account.after_kills, account.after_unknown
    );
    Proof {
        what: "a sender amid a minute of every fault, killed",
        how: format!("{KILLS} kill -9"),
        seed: Some(seed),
        accepted: ALERTS,
        delivered: account.alerts,
        repeats: account.repeats,
        cause: &cause,
        ..Proof::default()
    }
    .tell();
    tell(&format!(
        "kills-telegram: seed {seed}, {ALERTS} alerts, {KILLS} kill -9 ({in_flight} within 3 ms of a request), {} requests, {} scripted 429, none for a limit; {account}; kills over {:.0} s, all in {:.0} s",
        day.telegram.request_count(),
        floods.len(),
        killed.as_secs_f64(),
        start.elapsed().as_secs_f64()
    ));
}
