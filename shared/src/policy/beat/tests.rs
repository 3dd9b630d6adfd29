//! A beat over a time that is set, looked at every two minutes.

use super::*;
use proptest::prelude::*;

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
/// 2026-11-30T08:00:00Z
const START: Timestamp = Timestamp::from_unix_millis(1_796_025_600_000);
/// Three ticks.
const APART: Duration = Duration::from_mins(6);

/// Comes every hour, with ten minutes of grace; a run takes half an hour at most.
struct Watch {
    pulse: Pulse,
    now: Timestamp,
    /// Since a trouble was told.
    has_succeeded: bool,
    /// Phases, each once, and what was told.
    seen: Vec<String>,
}

impl Watch {
    fn new() -> Self {
        Self {
            pulse: Pulse {
                known_at: START,
                ..Pulse::default()
            },
            now: START,
            has_succeeded: false,
            seen: Vec::new(),
        }
    }

    fn terms(&self) -> Terms {
        Terms {
            due: comes_after(&self.pulse) + HOUR,
            grace: 10 * MINUTE,
            longest_run: 30 * MINUTE,
            critical_after: None,
        }
    }

    fn settle(&mut self) {
        let phase = phase(&self.pulse, &self.terms(), self.now);
        let minutes = self.now.since(START).as_secs() / 60;
        let said = phase.name().to_owned();
        if self.seen.last().is_none_or(|last| !last.ends_with(&said)) {
            self.seen.push(format!("{minutes} {said}"));
        }
        match news(&self.pulse, &self.terms(), phase, self.now) {
            None | Some(News::Lasts(_)) => {}
            Some(News::Begun(trouble)) => {
                self.seen.push(format!("{minutes} TOLD {trouble}"));
                self.pulse.told = Some(told(trouble, &self.terms(), self.now));
                self.has_succeeded = false;
                self.seen.push(said);
            }
            Some(News::Over(_)) => {
                assert!(self.has_succeeded, "{:?}", self.seen);
                self.seen.push(format!("{minutes} TOLD back"));
                self.pulse.told = None;
                self.seen.push(said);
            }
        }
    }

    fn tick(&mut self) {
        self.pulse = look(&self.pulse, &self.terms(), APART, self.now);
        self.settle();
        self.now = self.now + 2 * MINUTE;
    }

    fn ticks(&mut self, minutes: u64) -> &mut Self {
        for _ in 0..minutes / 2 {
            self.tick();
        }
        self
    }

    fn hear(&mut self, signal: Signal) -> &mut Self {
        self.has_succeeded |= matches!(signal, Signal::Success | Signal::Status(0));
        self.pulse = hear(&self.pulse, signal, None, self.now, self.now);
        self.settle();
        self
    }

    fn told(&self) -> Vec<&str> {
        let told = self.seen.iter().filter(|line| line.contains("TOLD"));
        told.map(String::as_str).collect()
    }
}

#[test]
fn a_beat_that_never_came_is_missed_like_one_that_stopped() {
    let mut watch = Watch::new();
    watch.ticks(300);
    assert_eq!(watch.told(), ["70 TOLD missed"]);
    assert_eq!(watch.seen[..3], ["0 new", "60 late", "70 missed"]);
    watch.hear(Signal::Success).ticks(60);
    assert_eq!(watch.told(), ["70 TOLD missed", "300 TOLD back"]);
}

#[test]
fn a_run_is_waited_for_and_holds_off_what_is_due() {
    let mut watch = Watch::new();
    watch.hear(Signal::Success).ticks(60).hear(Signal::Start);
    watch.ticks(20).hear(Signal::Success).ticks(58);
    assert_eq!(watch.told(), [""; 0]);
    watch
        .hear(Signal::Start)
        .ticks(10)
        .hear(Signal::Start)
        .ticks(100);
    assert_eq!(watch.told(), ["168 TOLD overrun"], "of its first start");
    watch.hear(Signal::Start).ticks(10).hear(Signal::Status(0));
    assert_eq!(watch.told()[1..], ["258 TOLD back"]);
}

#[test]
fn a_failure_is_told_at_once_and_once_and_only_success_ends_it() {
    let mut watch = Watch::new();
    watch.hear(Signal::Success).ticks(4).hear(Signal::Status(2));
    watch
        .ticks(200)
        .hear(Signal::Fail)
        .hear(Signal::Start)
        .ticks(60);
    assert_eq!(watch.told(), ["4 TOLD failed"]);
    assert_eq!(watch.pulse.status, None, "the last one told none");
    watch.hear(Signal::Success);
    assert_eq!(watch.told()[1..], ["264 TOLD back"]);
}

#[test]
fn after_a_time_in_which_nobody_listened_a_beat_has_its_grace_again() {
    let mut watch = Watch::new();
    watch.hear(Signal::Success).ticks(10);
    watch.now = watch.now + 10 * HOUR;
    watch.ticks(8);
    assert_eq!(watch.told(), [""; 0]);
    watch.hear(Signal::Success).ticks(20);
    assert_eq!(watch.told(), [""; 0]);
    watch.now = watch.now + 10 * HOUR;
    watch.ticks(30);
    assert_eq!(watch.told().len(), 1, "{:?}", watch.seen);
    // And whoever restarts all the time hides nothing for ever.
    let mut watch = Watch::new();
    watch.hear(Signal::Success);
    for _ in 0..10 {
        watch.now = watch.now + HOUR;
        watch.ticks(6);
    }
    assert_eq!(watch.told().len(), 1, "{:?}", watch.seen);
}

#[test]
fn a_clock_that_is_set_makes_nothing_missed_at_once_and_nobody_blind() {
    let mut watch = Watch::new();
    watch.hear(Signal::Success).ticks(10);
    // A day ahead for four minutes, in which it comes.
    watch.now = watch.now + 24 * HOUR;
    watch.ticks(4).hear(Signal::Success);
    watch.now = watch.now.minus(24 * HOUR);
    watch.ticks(40);
    assert_eq!(watch.told(), [""; 0]);
    // Nobody comes any more: an hour until the clock is believed, an hour until due, and its grace.
    watch.ticks(200);
    assert_eq!(watch.told().len(), 1, "{:?}", watch.seen);
    let at: u64 = watch.told()[0].split(' ').next().unwrap().parse().unwrap();
    assert!((130..=160).contains(&at), "{at}");
}

#[test]
fn a_clock_that_goes_back_ends_no_trouble_and_another_schedule_does() {
    let mut watch = Watch::new();
    watch.ticks(80);
    assert_eq!(watch.told(), ["70 TOLD missed"]);
    watch.now = watch.now.minus(40 * MINUTE);
    watch.ticks(20);
    watch.now = watch.now.minus(48 * HOUR);
    watch.ticks(300);
    assert_eq!(watch.told().len(), 1, "{:?}", watch.seen);
    watch.hear(Signal::Success);
    assert_eq!(watch.told().len(), 2, "{:?}", watch.seen);
    let mut watch = Watch::new();
    watch.ticks(80);
    let weekly = Terms {
        due: watch.terms().due + 167 * HOUR,
        ..watch.terms()
    };
    let phase = phase(&watch.pulse, &weekly, watch.now);
    assert!(matches!(
        news(&watch.pulse, &weekly, phase, watch.now),
        Some(News::Over(_))
    ));
    assert_eq!(state(&watch.pulse, &watch.terms(), START), "missed");
}

#[test]
fn what_comes_late_out_of_a_file_does_not_undo_what_came_after() {
    let mut watch = Watch::new();
    watch.ticks(30).hear(Signal::Status(3));
    let early = START + 10 * MINUTE;
    watch.pulse = hear(&watch.pulse, Signal::Success, None, early, watch.now);
    assert!(watch.pulse.is_failed);
    assert_eq!(
        (watch.pulse.seen_at, watch.pulse.status),
        (Some(early), Some(3))
    );
    watch.pulse = hear(&watch.pulse, Signal::Start, None, early, watch.now);
    assert_eq!(watch.pulse.started_at, None, "it has ended");
}

fn signal() -> impl Strategy<Value = Option<Signal>> {
    prop_oneof![
        8 => Just(None),
        1 => Just(Some(Signal::Start)),
        3 => Just(Some(Signal::Success)),
        1 => Just(Some(Signal::Fail)),
        1 => any::<u8>().prop_map(|status| Some(Signal::Status(status))),
    ]
}

proptest! {
    /// Whatever comes, in whatever order, under whatever clock: told and ended alternate; who is
    /// silent is told at last; who is well again is told so.
    #[test]
    fn every_trouble_is_told_once_and_ends_once(
        steps in prop::collection::vec((signal(), prop_oneof![20 => Just(2_i64), 1 => -300_i64..300]), 1..200),
    ) {
        let mut watch = Watch::new();
        for (signal, minutes) in steps {
            if let Some(signal) = signal {
                watch.hear(signal);
            }
            watch.pulse = look(&watch.pulse, &watch.terms(), APART, watch.now);
            watch.settle();
            let millis = watch.now.unix_millis() + minutes * 60_000;
            watch.now = Timestamp::from_unix_millis(millis);
        }
        for (index, told) in watch.told().iter().enumerate() {
            prop_assert_eq!(told.ends_with("back"), index % 2 == 1, "{:?}", &watch.seen);
        }
        // Four hours of silence: whatever the clock did, it is told, an hour late at most.
        watch.ticks(600);
        prop_assert!(watch.pulse.told.is_some(), "{:?}", &watch.seen);
        watch.hear(Signal::Success);
        prop_assert!(watch.pulse.told.is_none());
    }
}
