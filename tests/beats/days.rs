//! Whole days of heartbeats.

use super::*;

/// In Berlin: a backup of the night, a dump that says when it begins, a job each day, and one that is
/// always there.
const CONFIG: &str = "\
timezone = 'Europe/Berlin'
[channel.screen]
kind = 'console'
[[heartbeat]]
name = 'backup'
cron = '30 2 * * *'
grace = '1h'
[[heartbeat]]
name = 'dump'
cron = '0 4 * * *'
grace = '30m'
longest_run = '3h'
[[heartbeat]]
name = 'daily'
every = '24h'
grace = '30m'
[[heartbeat]]
name = 'alive'
every = '5m'
grace = '5m'
";

/// What comes when, by the clock on a wall in Berlin, and the ticks around it.
fn play(
    watch: &Watch,
    from: &str,
    until: &str,
    skips_alive: &[(&str, &str)],
    calls: &[(&str, &str, Signal)],
) {
    let zone = jiff::tz::TimeZone::get("Europe/Berlin").expect("a zone");
    let wall = |text: &str| {
        let time: jiff::civil::DateTime = text.parse().expect("a time");
        let zoned = time.to_zoned_datetime(zone.clone()).expect("in Berlin");
        Timestamp::from_unix_millis(zoned.timestamp().as_millisecond())
    };
    let (mut now, end) = (wall(from), wall(until));
    let mut calls: Vec<_> = calls
        .iter()
        .map(|(time, name, signal)| (wall(time), *name, *signal))
        .collect();
    calls.sort_by_key(|(time, ..)| *time);
    let mut calls = calls.into_iter().peekable();
    let mut minute = 0;
    while now < end {
        watch.world.clock.set_to(now);
        while let Some((_, name, signal)) = calls.next_if(|(time, ..)| *time <= now) {
            watch.hear(name, signal);
        }
        let is_silent = skips_alive
            .iter()
            .any(|(from, until)| (wall(from)..wall(until)).contains(&now));
        if minute % 5 == 0 && !is_silent {
            watch.hear("alive", Signal::Success);
        }
        if minute % 2 == 0 {
            watch.look().expect("looked");
        }
        (now, minute) = (now + MINUTE, minute + 1);
    }
    watch.world.clock.set_to(end);
}

#[test]
fn a_day_in_which_the_clocks_go_forward() {
    let watch = Watch::new("2026-03-28T11:00:00Z", CONFIG);
    let calls = [
        ("2026-03-28T12:01:00", "daily", Signal::Success),
        // 02:30 is left out: cron runs it at 03:00.
        ("2026-03-29T03:00:00", "backup", Signal::Start),
        ("2026-03-29T03:20:00", "backup", Signal::Success),
        // A clock that is a minute ahead.
        ("2026-03-29T03:59:00", "dump", Signal::Start),
        ("2026-03-29T06:30:00", "dump", Signal::Status(0)),
        ("2026-03-29T12:01:00", "daily", Signal::Success),
    ];
    play(
        &watch,
        "2026-03-28T12:00:00",
        "2026-03-29T20:00:00",
        &[],
        &calls,
    );
    assert_eq!(watch.told(), [""; 0]);
    watch.ends_well();
}

#[test]
fn a_day_in_which_the_clocks_go_back() {
    let watch = Watch::new("2026-10-24T10:00:00Z", CONFIG);
    let calls = [
        ("2026-10-24T12:01:00", "daily", Signal::Success),
        // The first 02:30 of two.
        ("2026-10-25T02:30:00", "backup", Signal::Start),
        ("2026-10-25T02:50:00", "backup", Signal::Success),
        ("2026-10-25T04:00:00", "dump", Signal::Success),
        // 25 hours after the last, which is the next day by the wall.
        ("2026-10-25T12:01:00", "daily", Signal::Success),
        ("2026-10-26T02:29:00", "backup", Signal::Success),
        ("2026-10-26T04:00:30", "dump", Signal::Success),
    ];
    play(
        &watch,
        "2026-10-24T12:00:00",
        "2026-10-26T05:00:00",
        &[],
        &calls,
    );
    assert_eq!(watch.told(), [""; 0]);
    watch.ends_well();
}

#[test]
fn a_bad_day() {
    let watch = Watch::new("2026-11-30T11:00:00Z", CONFIG);
    let calls = [
        ("2026-11-30T12:01:00", "daily", Signal::Success),
        // By hand, at noon: that is no backup of the night.
        ("2026-11-30T13:00:00", "backup", Signal::Success),
        // It comes an hour and a half late.
        ("2026-12-01T04:10:00", "backup", Signal::Success),
        // It begins, and does not end before noon.
        ("2026-12-01T04:00:00", "dump", Signal::Start),
        ("2026-12-01T11:58:00", "dump", Signal::Success),
        // It fails, is started again, and then works.
        ("2026-12-01T12:01:00", "daily", Signal::Status(2)),
        ("2026-12-01T12:20:00", "daily", Signal::Fail),
        ("2026-12-01T13:00:00", "daily", Signal::Start),
        ("2026-12-01T13:10:00", "daily", Signal::Success),
        ("2026-12-02T02:31:00", "backup", Signal::Success),
        ("2026-12-02T04:20:00", "dump", Signal::Success),
    ];
    let silent = [
        ("2026-11-30T18:00:00", "2026-11-30T18:20:00"),
        ("2026-11-30T20:00:00", "2026-11-30T20:05:00"),
    ];
    play(
        &watch,
        "2026-11-30T12:00:00",
        "2026-12-02T06:00:00",
        &silent,
        &calls,
    );
    assert_eq!(
        watch.told(),
        [
            // In UTC; 17:55 was its last call in Berlin, and it is told by the tick after ten minutes.
            "30 17:06 Heartbeat alive is missing",
            "30 17:20 Heartbeat alive is back",
            "01 02:30 Heartbeat backup is missing",
            "01 03:10 Heartbeat backup is back",
            "01 06:00 Heartbeat dump does not end",
            "01 10:58 Heartbeat dump is back",
            "01 11:01 Heartbeat daily failed (exit status 2)",
            "01 12:10 Heartbeat daily is back",
        ]
    );
    watch.ends_well();
}

#[test]
fn our_own_programs_were_off_over_the_night() {
    let watch = Watch::new("2026-11-30T11:00:00Z", CONFIG);
    let before = [
        ("2026-11-30T12:01:00", "daily", Signal::Success),
        ("2026-11-30T12:01:00", "dump", Signal::Success),
        ("2026-11-30T12:01:00", "backup", Signal::Success),
    ];
    play(
        &watch,
        "2026-11-30T12:00:00",
        "2026-11-30T22:00:00",
        &[],
        &before,
    );
    // Nobody heard the backup and the dump. What is always there shows itself at once; the dump and the
    // backup get their grace from now on, and then somebody must look whether they ran.
    let after = [("2026-12-01T12:01:00", "daily", Signal::Success)];
    play(
        &watch,
        "2026-12-01T08:00:00",
        "2026-12-01T20:00:00",
        &[],
        &after,
    );
    assert_eq!(
        watch.told(),
        [
            "01 07:30 Heartbeat dump is missing",
            "01 08:00 Heartbeat backup is missing",
        ]
    );
    let summary = "SELECT payload->>'summary' FROM alert WHERE title LIKE '%backup%'";
    let said = watch.world.ask(summary);
    assert!(said.ends_with("it may have come unheard."), "{said}");
    watch.ends_well();
}

#[test]
fn a_clock_that_is_set_tells_nothing_that_is_not_so() {
    let watch = Watch::new("2026-11-30T11:00:00Z", CONFIG);
    let all = || {
        for name in ["backup", "dump", "daily"] {
            watch.hear(name, Signal::Success);
        }
    };
    // What always comes goes on doing so.
    let passes = |minutes: u64| {
        for minute in 0..minutes {
            if minute % 5 == 0 {
                watch.hear("alive", Signal::Success);
            }
            if minute % 2 == 0 {
                watch.look().expect("looked");
            }
            watch.world.advance(MINUTE);
        }
    };
    all();
    passes(60);
    // A day and an hour ahead for a quarter of an hour.
    watch.world.clock.turn_to(watch.now() + 25 * HOUR);
    passes(14);
    watch.world.clock.turn_to(watch.now().minus(25 * HOUR));
    passes(60);
    assert_eq!(watch.told(), [""; 0]);
    // A year back, and right again after a while: a board without a battery.
    let right = watch.now();
    watch.world.clock.turn_to(right.minus(365 * 24 * HOUR));
    passes(10);
    watch.world.clock.turn_to(right + 10 * MINUTE);
    passes(60);
    assert_eq!(watch.told(), [""; 0]);
    // And what is really silent is found out all the same.
    watch.ticks(20 * MINUTE);
    assert_eq!(watch.told().len(), 1, "{:?}", watch.told());
    watch.ends_well();
}
