//! The steps: everything that may happen to the file, by value. Each can be taken in any state: what it
//! speaks of is counted around what is there, so a sequence without some of its steps is a sequence too, and
//! a failure shrinks.

use proptest::collection::vec;
use proptest::prelude::*;
use shared::model::{Blame, Hold};

#[derive(Clone, Debug)]
pub enum Step {
    Enqueue(Story),
    /// What a webhook brings, and the verdicts on it.
    Post {
        thread: u8,
        is_end: bool,
        severity: u8,
        number: u8,
        judge: bool,
    },
    Insert(Insert),
    /// What no tool may do to the file.
    Breach {
        which: u8,
        row: u8,
    },
    /// The sender looks, claims and sends, at most so many at once.
    Send {
        most: u8,
    },
    Land {
        flight: u8,
        answer: Answer,
    },
    /// The sender is gone from one moment to the next; what had arrived by then, and whether that was written
    /// down.
    Crash {
        arrived: u8,
        is_kept: bool,
    },
    /// A sender that was fenced comes to itself.
    Late {
        what: u8,
        answer: Answer,
    },
    Pass {
        millis: i64,
    },
    /// The clock is set, and the sender follows; or it is away meanwhile.
    Turn {
        millis: i64,
        is_away: bool,
    },
    Minute,
    Retry(u8),
    Discard(u8),
    Silence {
        pattern: u8,
        secs: i64,
    },
    EndSilence(u8),
    Pause {
        place: u8,
        secs: i64,
    },
}

#[derive(Clone, Debug)]
pub struct Story {
    pub key: u8,
    /// Places, as bits.
    pub to: u8,
    pub priority: u8,
    pub quiet: bool,
    /// A place, and after so many seconds.
    pub fallback: Option<(u8, u8)>,
    /// How many stories of the kind at once.
    pub count: u8,
}

#[derive(Clone, Debug)]
pub struct Insert {
    pub form: Form,
    pub place: u8,
    pub priority: u8,
    pub secs: i64,
}

#[derive(Clone, Copy, Debug)]
pub enum Form {
    Article,
    Float,
    Keyed,
    NotBefore,
    NextAttempt,
    Expires,
    Fallback,
    OwnId,
}

/// What comes back from a channel.
#[derive(Clone, Debug)]
pub enum Answer {
    Delivered,
    Begun(u8),
    /// Nothing came back; whether it had arrived, nobody knows but the other side.
    Lost {
        arrived: bool,
    },
    Deferred {
        blame: Blame,
        hold: Option<Hold>,
        retry_after: Option<u32>,
    },
    Rejected {
        blame: Blame,
    },
    Released,
}

const SECOND: i64 = 1_000;
const DAY: i64 = 86_400 * SECOND;

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 10..70)
}

fn step() -> impl Strategy<Value = Step> {
    let send = (1..6_u8).prop_map(|most| Step::Send { most });
    let land = (any::<u8>(), answer()).prop_map(|(flight, answer)| Step::Land { flight, answer });
    let breach = (any::<u8>(), any::<u8>()).prop_map(|(which, row)| Step::Breach { which, row });
    let crash = (any::<u8>(), any::<bool>())
        .prop_map(|(arrived, is_kept)| Step::Crash { arrived, is_kept });
    let late = (any::<u8>(), answer()).prop_map(|(what, answer)| Step::Late { what, answer });
    let turn =
        (span(), any::<bool>(), any::<bool>()).prop_map(|(millis, back, is_away)| Step::Turn {
            millis: if back { -millis } else { millis },
            is_away,
        });
    let silence =
        (any::<u8>(), 60..100_000_i64).prop_map(|(pattern, secs)| Step::Silence { pattern, secs });
    let pause = (any::<u8>(), 1..10_000_i64).prop_map(|(place, secs)| Step::Pause { place, secs });
    prop_oneof![
        14 => story().prop_map(Step::Enqueue),
        4 => post(),
        8 => insert().prop_map(Step::Insert),
        6 => breach,
        22 => send,
        24 => land,
        5 => crash,
        5 => late,
        10 => pass().prop_map(|millis| Step::Pass { millis }),
        4 => turn,
        7 => Just(Step::Minute),
        3 => any::<u8>().prop_map(Step::Retry),
        2 => any::<u8>().prop_map(Step::Discard),
        2 => silence,
        1 => any::<u8>().prop_map(Step::EndSilence),
        1 => pause,
    ]
}

fn story() -> impl Strategy<Value = Story> {
    let fallback = prop::option::weighted(0.4, (any::<u8>(), 1..200_u8));
    let count = prop_oneof![3 => Just(1_u8), 1 => 4..8_u8];
    (
        0..40_u8,
        1..64_u8,
        0..4_u8,
        prop::bool::weighted(0.15),
        fallback,
        count,
    )
        .prop_map(|(key, to, priority, quiet, fallback, count)| Story {
            key,
            to,
            priority,
            quiet,
            fallback,
            count,
        })
}

fn post() -> impl Strategy<Value = Step> {
    (0..3_u8, any::<bool>(), 0..4_u8, 0..20_u8, any::<bool>()).prop_map(
        |(thread, is_end, severity, number, judge)| Step::Post {
            thread,
            is_end,
            severity,
            number,
            judge,
        },
    )
}

fn insert() -> impl Strategy<Value = Insert> {
    use Form::*;
    let form = prop::sample::select(vec![
        Article,
        Float,
        Keyed,
        NotBefore,
        NextAttempt,
        Expires,
        Fallback,
        OwnId,
    ]);
    (form, any::<u8>(), 0..4_u8, -100..40_000_i64).prop_map(|(form, place, priority, secs)| {
        Insert {
            form,
            place,
            priority,
            secs,
        }
    })
}

fn answer() -> impl Strategy<Value = Answer> {
    let hold = prop::sample::select(vec![
        None,
        None,
        Some(Hold::RateLimited),
        Some(Hold::Suspended),
        Some(Hold::Stopped),
        Some(Hold::Down),
    ]);
    let blame = prop::sample::select(vec![Blame::Destination, Blame::Channel]);
    let deferred =
        (blame, hold, prop::option::of(1..40_000_u32)).prop_map(|(blame, hold, retry_after)| {
            Answer::Deferred {
                blame,
                hold,
                retry_after,
            }
        });
    let rejected = prop::sample::select(vec![Blame::Message, Blame::Ours]);
    prop_oneof![
        8 => Just(Answer::Delivered),
        2 => (1..3_u8).prop_map(Answer::Begun),
        5 => any::<bool>().prop_map(|arrived| Answer::Lost { arrived }),
        7 => deferred,
        3 => rejected.prop_map(|blame| Answer::Rejected { blame }),
        1 => Just(Answer::Released),
    ]
}

fn pass() -> impl Strategy<Value = i64> {
    prop_oneof![
        3 => 1..3 * SECOND,
        3 => 3 * SECOND..120 * SECOND,
        2 => 120 * SECOND..DAY,
        1 => DAY..100 * DAY,
    ]
}

fn span() -> impl Strategy<Value = i64> {
    prop_oneof![1 => 60 * SECOND..3_600 * SECOND, 1 => 3_600 * SECOND..30 * DAY]
}
