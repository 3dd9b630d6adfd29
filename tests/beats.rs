//! Heartbeats on a set clock: exactly the alerts that a careful admin would want, each once.

#[path = "beats/days.rs"]
mod days;
#[path = "beats/killed.rs"]
mod killed;

use shared::config::{Config, Program, Surroundings};
use shared::model::{Heard, Signal, Timestamp};
use shared::store::{Store, StoreError, beats as stored};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use watchalert_ingest::beats::{self, Changed};
use watchalert_ingest::listen::beat::receive;
use watchalert_tests::desk::Desk;
use watchalert_tests::world::World;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

pub(crate) fn at(text: &str) -> Timestamp {
    let at: jiff::Timestamp = text.parse().expect("a time");
    Timestamp::from_unix_millis(at.as_millisecond())
}

/// Ticks and calls on one set clock.
pub(crate) struct Watch {
    pub(crate) world: World,
    store: Arc<Store>,
    config: Config,
}

impl Watch {
    pub(crate) fn new(start: &str, config: &str) -> Self {
        let world = World::in_memory();
        world.clock.turn_to(at(start));
        let store = Arc::new(Store::open_existing(&world.database()).expect("open"));
        Self {
            config: parse(config),
            world,
            store,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.world.clock.now()
    }

    pub(crate) fn look(&self) -> Result<Changed, StoreError> {
        let looked = beats::look(&self.store, &self.config, self.now());
        self.world.block_on(looked)
    }

    /// Ticks every two minutes until then.
    pub(crate) fn ticks_until(&self, end: Timestamp) {
        while self.now() < end {
            self.look().expect("looked");
            self.world.advance(2 * MINUTE);
        }
    }

    pub(crate) fn ticks(&self, time: Duration) {
        self.ticks_until(self.now() + time);
    }

    pub(crate) fn hear(&self, name: &str, signal: Signal) {
        self.hear_with(name, signal, None);
    }

    fn hear_with(&self, name: &str, signal: Signal, note: Option<&str>) {
        self.receive(Heard {
            name: name.to_owned(),
            signal,
            note: note.map(str::to_owned),
            at: self.now(),
        });
    }

    fn receive(&self, heard: Heard) {
        let received = receive(&self.store, &self.config, heard, self.now());
        self.world.block_on(received).expect("received");
    }

    /// Time (UTC) and title of each alert, in order.
    pub(crate) fn told(&self) -> Vec<String> {
        let told = self.world.ask(
            "SELECT coalesce(group_concat(line,'|'),'') FROM (SELECT strftime('%d %H:%M',created_at,'unixepoch')||' '||title AS line FROM alert ORDER BY id)",
        );
        let lines = told.split('|').filter(|line| !line.is_empty());
        lines.map(str::to_owned).collect()
    }

    /// Channel, priority and title of each row.
    fn rows(&self) -> String {
        self.world.ask("SELECT coalesce(group_concat(channel||' '||priority||' '||(payload->>'title'),'; '),'') FROM outbox ORDER BY id")
    }

    pub(crate) fn state(&self, name: &str) -> String {
        self.world.ask(&format!(
            "SELECT coalesce(told,'nothing') FROM beat WHERE name='{name}'"
        ))
    }

    pub(crate) fn ends_well(&self) {
        self.world.all_invariants_hold();
    }
}

fn parse(text: &str) -> Config {
    let around = Surroundings {
        directory: Path::new("/nowhere"),
        credentials: None,
        program: Program::Sender,
    };
    Config::parse(text, &around).expect("a good configuration")
}

const ROUTED: &str = "\
default_channel = 'screen'
[channel.screen]
kind = 'console'
[channel.backups]
kind = 'console'
[channel.night]
kind = 'console'
[[route]]
tag = ['backup']
severity = ['critical', 'high']
to = ['backups', 'night']
[[heartbeat]]
name = 'db'
every = '1h'
grace = '10m'
tags = ['backup']
[[heartbeat]]
name = 'log'
every = '1h'
grace = '10m'
severity = 'low'
";

#[test]
fn a_missed_one_goes_the_way_of_its_tags_and_its_return_to_those_who_heard() {
    let mut watch = Watch::new("2026-12-01T08:00:00Z", ROUTED);
    watch.ticks(80 * MINUTE);
    assert_eq!(
        watch.rows(),
        "backups 1 Heartbeat db is missing; night 1 Heartbeat db is missing; screen 3 Heartbeat log is missing"
    );
    let payload = "SELECT payload FROM alert WHERE title LIKE '%db%'";
    let alert: serde_json::Value = serde_json::from_str(&watch.world.ask(payload)).expect("JSON");
    assert_eq!(alert["category"], "operations");
    assert_eq!(alert["source"], "heartbeat db");
    assert_eq!(
        alert["summary"],
        "It was due 2026-12-01 09:00:00, and not later than 10 min after that. It has never come."
    );
    // Meanwhile the route leads elsewhere.
    watch.config = parse(&ROUTED.replace("to = ['backups', 'night']", "to = ['screen']"));
    watch.hear("db", Signal::Success);
    watch.hear("log", Signal::Status(0));
    let rows = watch.rows();
    let later = rows.split("; ").skip(3).collect::<Vec<_>>();
    assert_eq!(
        later,
        [
            "backups 2 Heartbeat db is back",
            "night 2 Heartbeat db is back",
            "screen 3 Heartbeat log is back"
        ]
    );
    watch.ends_well();
}

#[test]
fn what_lasts_is_told_a_second_time_as_critical_and_its_end_to_all_who_heard() {
    let lasting = ROUTED.replace(
        "severity = 'low'",
        "severity = 'low'\ncritical_after = '6h'",
    );
    let nightly = "[[route]]\nseverity = ['critical']\nto = ['night']\n";
    let watch = Watch::new("2026-12-01T08:00:00Z", &format!("{lasting}{nightly}"));
    watch.hear("log", Signal::Success);
    watch.hear("db", Signal::Success);
    watch.ticks(6 * HOUR);
    watch.hear_with("log", Signal::Fail, Some("not that either"));
    watch.ticks(12 * HOUR);
    let told = watch.told();
    assert_eq!(
        told,
        [
            "01 09:10 Heartbeat db is missing",
            "01 09:10 Heartbeat log is missing",
            "01 15:10 Heartbeat log is still missing",
        ],
        "once, and nothing of the one that does not ask for it"
    );
    let summary = "SELECT payload->>'summary' FROM alert WHERE severity='critical'";
    assert_eq!(
        watch.world.ask(summary),
        "That was told 6 h ago. Its last success came 2026-12-01 08:00:00."
    );
    watch.hear("log", Signal::Success);
    let of_log = watch.rows();
    let of_log = of_log.split("; ").filter(|row| row.contains("log"));
    assert_eq!(
        of_log.collect::<Vec<_>>(),
        [
            "screen 3 Heartbeat log is missing",
            "night 0 Heartbeat log is still missing",
            "screen 3 Heartbeat log is back",
            "night 3 Heartbeat log is back",
        ]
    );
    watch.ends_well();
}

#[test]
fn a_failure_is_told_by_the_call_itself_with_what_the_job_says() {
    let watch = Watch::new("2026-12-01T08:00:00Z", ROUTED);
    watch.hear_with("db", Signal::Status(28), Some("no space left on device"));
    assert_eq!(
        watch.told(),
        ["01 08:00 Heartbeat db failed (exit status 28)"]
    );
    assert_eq!(
        watch.world.ask("SELECT payload->>'summary' FROM alert"),
        "no space left on device"
    );
    watch.hear("db", Signal::Fail);
    watch.ticks(3 * HOUR);
    let of_db = || {
        watch
            .told()
            .iter()
            .filter(|line| line.contains("db"))
            .count()
    };
    assert_eq!(of_db(), 1, "one trouble, one alert");
    watch.hear("db", Signal::Success);
    assert_eq!(of_db(), 2);
    watch.ends_well();
}

#[test]
fn what_could_not_be_stored_whole_is_told_by_the_next_tick_and_nothing_is_told_twice() {
    let watch = Watch::new("2026-12-01T08:00:00Z", ROUTED);
    watch.ticks(68 * MINUTE);
    let stranger = watch.world.stranger();
    let refuse = "CREATE TRIGGER no BEFORE INSERT ON outbox BEGIN SELECT RAISE(ABORT,'no'); END";
    stranger.execute_batch(refuse).expect("a trigger");
    watch.world.advance(4 * MINUTE);
    assert!(watch.look().is_err());
    assert_eq!(
        (watch.told().len(), watch.state("db").as_str()),
        (0, "nothing")
    );
    stranger.execute_batch("DROP TRIGGER no").expect("dropped");
    watch.look().expect("looked");
    assert_eq!(
        (watch.told().len(), watch.state("db").as_str()),
        (2, "missed")
    );
    // The same moment again, as after a crash behind the COMMIT.
    assert_eq!(watch.look().expect("looked").rows, 0);
    assert_eq!(watch.told().len(), 2);
    watch.ends_well();
}

#[test]
fn a_call_that_waited_in_a_file_counts_for_its_own_time_and_may_come_twice() {
    let watch = Watch::new("2026-12-01T08:00:00Z", ROUTED);
    let heard = |signal, at| Heard {
        name: "db".to_owned(),
        signal,
        note: None,
        at,
    };
    watch.hear("db", Signal::Success);
    watch.hear("log", Signal::Success);
    watch.ticks(56 * MINUTE);
    let kept = heard(Signal::Success, watch.now());
    watch.ticks(4 * MINUTE);
    // Carried in late, it holds off what would be due now, and no longer.
    for _ in 0..2 {
        watch.receive(kept.clone());
    }
    watch.hear("log", Signal::Success);
    watch.ticks(64 * MINUTE);
    assert_eq!(watch.told(), [""; 0]);
    watch.hear("log", Signal::Success);
    watch.ticks(4 * MINUTE);
    assert_eq!(watch.told(), ["01 10:06 Heartbeat db is missing"]);
    // A failure that a success has overtaken is still told, once.
    let failed = heard(Signal::Status(2), watch.now());
    watch.world.advance(MINUTE);
    watch.hear("db", Signal::Success);
    for _ in 0..2 {
        watch.receive(failed.clone());
    }
    assert_eq!(
        watch.told()[1..],
        [
            "01 10:09 Heartbeat db is back",
            "01 10:09 Heartbeat db had failed (exit status 2)"
        ]
    );
    watch.ends_well();
}

#[test]
fn a_held_database_takes_no_call_and_says_so() {
    let watch = Watch::new("2026-12-01T08:00:00Z", ROUTED);
    let stranger = watch.world.stranger();
    stranger.execute_batch("BEGIN IMMEDIATE").expect("held");
    let heard = Heard {
        name: "db".to_owned(),
        signal: Signal::Success,
        note: None,
        at: watch.now(),
    };
    let received = receive(&watch.store, &watch.config, heard.clone(), watch.now());
    let refused = watch.world.block_on(received);
    assert!(
        matches!(refused, Err(StoreError::Locked { .. })),
        "{refused:?}"
    );
    stranger.execute_batch("ROLLBACK").expect("free");
    watch.receive(heard);
    assert_eq!(
        watch.world.ask("SELECT count(*) FROM beat WHERE seen_at>0"),
        "1"
    );
    watch.ends_well();
}

#[test]
fn what_is_no_heartbeat_any_more_is_forgotten_and_a_call_of_it_changes_nothing() {
    let mut watch = Watch::new("2026-12-01T08:00:00Z", ROUTED);
    watch.hear("db", Signal::Success);
    watch.config = parse(&ROUTED.replace("name = 'db'", "name = 'db2'"));
    watch.ticks(4 * MINUTE);
    watch.hear("db", Signal::Fail);
    let names = watch.world.read(stored::all);
    let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["db2", "log"]);
    assert_eq!(watch.told(), [""; 0]);
    watch.ends_well();
}

#[test]
fn a_tick_looks_and_a_person_sees() {
    let desk = Desk::new();
    desk.configure(&[], "[[heartbeat]]\nname = 'db'\nevery = '4m'\ngrace = '2m'\n[[heartbeat]]\nname = 'log'\ncron = '0 2 * * *'");
    desk.tick();
    for _ in 0..4 {
        desk.tick();
    }
    let told = "SELECT group_concat(title) FROM alert";
    assert_eq!(desk.world.ask(told), "Heartbeat db is missing");
    let said = desk.said(&["beats"]);
    let seen = "SELECT group_concat(name||' '||state) FROM beats";
    assert_eq!(desk.world.ask(seen), "db missed,log new");
    let id = desk.world.ask("SELECT payload->>'short_id' FROM alert");
    let why = desk.said(&["explain", &format!("#{id}")]);
    assert!(why.contains("Heartbeat db is missing"), "{why}");
    let lines: Vec<Vec<&str>> = said
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines[1],
        [
            "db",
            "missed",
            "every",
            "4m",
            "never",
            "2026-11-30",
            "08:04:00"
        ]
    );
    assert_eq!(lines[2][..3], ["log", "new", "cron"]);
    let json: serde_json::Value =
        serde_json::from_str(&desk.said(&["beats", "--json"])).expect("JSON");
    assert_eq!(json["heartbeats"][0]["state"], "missed");
    assert_eq!(json["heartbeats"][1]["due"], 1_796_090_400.0);
}
