//! When beats are due.

use super::super::{Config, Surroundings};
use super::*;
use proptest::prelude::*;
use std::path::Path;

fn at(text: &str) -> Timestamp {
    let at: jiff::Timestamp = text.parse().expect("a time");
    Timestamp::from_unix_millis(at.as_millisecond())
}

fn beat(schedule: &str) -> Beat {
    let text = format!(
        "timezone = 'Europe/Berlin'\n[[heartbeat]]\nname = 'backup'\n{schedule}\n[channel.screen]\nkind = 'console'\n"
    );
    let around = Surroundings {
        directory: Path::new("/nowhere"),
        credentials: None,
        program: Program::Sender,
    };
    let config = Config::parse(&text, &around).expect("a good configuration");
    config.beats.into_iter().next().expect("a beat")
}

#[test]
fn a_call_counts_for_the_time_it_came_shortly_before() {
    for (schedule, after, due) in [
        // In Berlin; in winter 02:00 is 01:00Z.
        (
            "cron = '0 2 * * *'",
            "2026-11-30T00:59:00Z",
            "2026-12-01T01:00:00Z",
        ),
        (
            "cron = '0 2 * * *'",
            "2026-11-30T00:55:00Z",
            "2026-12-01T01:00:00Z",
        ),
        (
            "cron = '0 2 * * *'",
            "2026-11-30T00:54:59Z",
            "2026-11-30T01:00:00Z",
        ),
        (
            "cron = '0 2 * * *'",
            "2026-11-30T01:00:00Z",
            "2026-12-01T01:00:00Z",
        ),
        (
            "cron = '0 2 * * *'",
            "2026-11-30T14:00:00Z",
            "2026-12-01T01:00:00Z",
        ),
        // A quarter of five minutes.
        (
            "cron = '*/5 * * * *'",
            "2026-11-30T00:58:44Z",
            "2026-11-30T01:00:00Z",
        ),
        (
            "cron = '*/5 * * * *'",
            "2026-11-30T00:58:45Z",
            "2026-11-30T01:05:00Z",
        ),
        (
            "cron = '0 2 * * *'\ntimezone = 'UTC'",
            "2026-11-30T01:00:00Z",
            "2026-11-30T02:00:00Z",
        ),
        (
            "every = '5m'",
            "2026-11-30T01:00:00Z",
            "2026-11-30T01:05:00Z",
        ),
    ] {
        assert_eq!(
            beat(schedule).due(at(after)),
            Some(at(due)),
            "{schedule} {after}"
        );
    }
}

#[test]
fn when_the_clocks_change_a_job_of_the_night_is_due_once() {
    for (schedule, after, due) in [
        // 02:30 is left out: cron runs it at 03:00, which is 01:00Z.
        (
            "cron = '30 2 * * *'",
            "2026-03-28T01:30:00Z",
            "2026-03-29T01:00:00Z",
        ),
        (
            "cron = '30 2 * * *'",
            "2026-03-29T01:00:01Z",
            "2026-03-30T00:30:00Z",
        ),
        // 02:30 comes twice, and is meant the first time.
        (
            "cron = '30 2 * * *'",
            "2026-10-24T00:30:00Z",
            "2026-10-25T00:30:00Z",
        ),
        (
            "cron = '30 2 * * *'",
            "2026-10-25T00:30:00Z",
            "2026-10-26T01:30:00Z",
        ),
        (
            "cron = '0 * * * *'",
            "2026-10-25T00:00:00Z",
            "2026-10-25T01:00:00Z",
        ),
        (
            "cron = '0 * * * *'",
            "2026-10-25T01:00:00Z",
            "2026-10-25T02:00:00Z",
        ),
        // A day of 25 hours, and one of 23, on which a job may keep to UTC.
        (
            "every = '24h'",
            "2026-10-24T10:00:00Z",
            "2026-10-25T11:00:00Z",
        ),
        (
            "every = '24h'",
            "2026-03-28T10:00:00Z",
            "2026-03-29T10:00:00Z",
        ),
        (
            "every = '12h'",
            "2026-10-24T20:00:00Z",
            "2026-10-25T08:00:00Z",
        ),
    ] {
        assert_eq!(
            beat(schedule).due(at(after)),
            Some(at(due)),
            "{schedule} {after}"
        );
    }
}

#[test]
fn grace_and_longest_run_have_defaults_that_fit_the_schedule() {
    let minutes = |beat: &Beat| (beat.grace.as_secs() / 60, beat.longest_run.as_secs() / 60);
    assert_eq!(minutes(&beat("every = '5m'")), (5, 5));
    assert_eq!(minutes(&beat("every = '24h'")), (60, 60));
    assert_eq!(minutes(&beat("cron = '@daily'")), (60, 60));
    assert_eq!(minutes(&beat("cron = '@daily'\ngrace = '2h'")), (120, 120));
    assert_eq!(
        minutes(&beat("every = '24h'\ngrace = '10m'\nlongest_run = '3h'")),
        (10, 180)
    );
    assert_eq!(beat("every = '5m'").severity, Severity::High);
}

proptest! {
    #[test]
    fn the_next_time_lies_ahead_and_never_further_than_two_periods_and_what_the_clocks_do(
        seconds in 1_700_000_000_i64..1_900_000_000, which in 0_usize..5,
    ) {
        let (schedule, longest) = [
            ("cron = '*/5 * * * *'", 3_600 + 600),
            ("cron = '17 * * * *'", 4 * 3_600),
            ("cron = '30 2 * * *'", 2 * 86_400 + 7_200),
            ("every = '90m'", 5_400),
            ("every = '2d'", 2 * 86_400 + 3_600),
        ][which];
        let after = Timestamp::from_unix_millis(seconds * 1_000);
        let due = beat(schedule).due(after).expect("due");
        prop_assert!(due > after, "{schedule}");
        prop_assert!(due.since(after).as_secs() <= longest, "{schedule}: {:?}", due.since(after));
        // A later call never makes it due earlier.
        let later = beat(schedule).due(after + Duration::from_secs(61)).expect("due");
        prop_assert!(later >= due, "{schedule}");
    }
}

#[test]
fn a_token_must_fit_an_address_and_be_one_beats_own() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a folder");
    for (name, content) in [
        ("good", "abcdefghijklmnop-Q_7"),
        ("same", "abcdefghijklmnop-Q_7"),
        ("short", "hunter2"),
        ("slash", "hunter2/hunter2/hunter2"),
    ] {
        let path = dir.path().join(name);
        std::fs::write(&path, content).expect("written");
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path, mode).expect("set");
    }
    let mut text = "[channel.screen]\nkind = 'console'\n".to_owned();
    for file in ["good", "same", "short", "slash"] {
        text += "[[heartbeat]]\nname = 'NAME'\nevery = '1h'\ntoken_file = 'NAME'\n"
            .replace("NAME", file)
            .as_str();
    }
    let parse = |program| {
        let around = Surroundings {
            directory: dir.path(),
            credentials: None,
            program,
        };
        Config::parse(&text, &around)
    };
    let problems = parse(Program::Ingest).expect_err("three are refused");
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].starts_with("heartbeat[2].token_file (line 10): holds what another"));
    assert!(told[1].starts_with("heartbeat[3].token_file (line 14): holds no token that can end"));
    assert!(told[2].starts_with("heartbeat[4].token_file"), "{told:?}");
    assert!(!told.concat().contains("hunter2") && !told.concat().contains("Q_7"));
    assert!(
        parse(Program::Sender).is_ok(),
        "the sender needs none of them"
    );
}
