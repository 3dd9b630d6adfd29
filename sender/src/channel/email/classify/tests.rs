//! Every row of the table, and what holds for all of them.

use super::*;
use Stage::{Auth, Data, Greeting, Mail, Rcpt, StartTls, Text};
use proptest::prelude::*;

fn reply(stage: Stage, line: &str) -> Answer {
    let (code, text) = line.split_once(' ').unwrap_or((line, ""));
    Answer::Reply(Reply {
        stage,
        code: code.parse().expect("a code"),
        text: text.to_owned(),
    })
}

/// A ruling in a few words.
fn ruled(answer: &Answer, failures: u32) -> String {
    let ruling = classify(answer, failures, "<7@x.y>");
    let shown = |kind: &str, fault: &Fault| {
        let held = fault.hold.map(|hold| format!(" {hold:?}"));
        let wait = fault
            .retry_after
            .map(|wait| format!(" {} s", wait.as_secs()));
        let maybe = if fault.maybe_delivered { " maybe" } else { "" };
        let long = if ruling.is_too_long { " shorten" } else { "" };
        format!(
            "{kind} {:?}{}{}{maybe}{long}",
            fault.blame,
            held.unwrap_or_default(),
            wait.unwrap_or_default()
        )
    };
    match &ruling.outcome {
        Outcome::Delivered(receipt) => format!("taken as {}", receipt.message_id),
        Outcome::Begun(..) => "begun".to_owned(),
        Outcome::Deferred(fault) => shown("later", fault),
        Outcome::Rejected(fault) => shown("never", fault),
    }
}

const DOWN: &str = "later Channel Down 60 s";
const LATER: &str = "later Destination 60 s";
const GREY: &str = "later Destination 300 s";
const STOPPED: &str = "later Channel Stopped";
const SUSPENDED: &str = "later Destination Suspended";
const SHORTEN: &str = "never Message shorten";
const UNKNOWN: &str = "never Ours 60 s";

const TABLE: &[(Stage, &str, &str)] = &[
    (Text, "250 2.0.0 Ok: queued as 4Xy", "taken as <7@x.y>"),
    (Text, "250", "taken as <7@x.y>"),
    (Text, "354 go ahead", "later Ours maybe"),
    // A server that closes, whenever.
    (Greeting, "421 4.3.2 too many connections", DOWN),
    (Mail, "421 4.4.2 idle too long", DOWN),
    (Rcpt, "421 4.7.0 try again later", DOWN),
    (Text, "421 4.3.0 shutting down", DOWN),
    (Greeting, "554 5.7.1 no service for you", DOWN),
    (Greeting, "450 busy", DOWN),
    (Greeting, "550 no", DOWN),
    // TLS and login.
    (StartTls, "454 4.7.0 TLS not available", DOWN),
    (StartTls, "502 what", STOPPED),
    (Auth, "454 4.7.0 temporary failure", DOWN),
    (Auth, "535 5.7.8 bad credentials", STOPPED),
    (Auth, "534 5.7.9 application password required", STOPPED),
    (Auth, "538 5.7.11 encryption required", STOPPED),
    (Auth, "504 5.5.4 mechanism", STOPPED),
    (Auth, "250 out of step", DOWN),
    (Mail, "530 5.7.0 authentication required", STOPPED),
    (Rcpt, "530 5.7.1 log in first", STOPPED),
    (Text, "535 5.7.8 session expired", STOPPED),
    // Who writes.
    (Mail, "451 4.3.0 try later", DOWN),
    (Mail, "452 4.3.1 no space", DOWN),
    (Mail, "451 4.7.1 greylisted", GREY),
    (Mail, "550 5.7.1 not your address", STOPPED),
    (Mail, "553 5.1.8 sender unknown", STOPPED),
    (Mail, "501 5.1.7 bad sender", STOPPED),
    (Mail, "552 5.3.4 too big", SHORTEN),
    (Mail, "503 5.5.1 order", UNKNOWN),
    // To whom.
    (Rcpt, "450 4.2.1 busy", LATER),
    (Rcpt, "451 try later", LATER),
    (Rcpt, "451 4.7.1 Greylisted, please try again later", GREY),
    (Rcpt, "450 Greylisting in action", GREY),
    (Rcpt, "452 4.5.3 too many recipients", LATER),
    (Rcpt, "452 4.2.2 mailbox full", SUSPENDED),
    (Rcpt, "452 over quota", SUSPENDED),
    (Rcpt, "552 too many recipients", LATER),
    (Rcpt, "552 5.2.2 mailbox full", SUSPENDED),
    (Rcpt, "552 mailbox full", SUSPENDED),
    (Rcpt, "550 5.2.2 Mailbox full", SUSPENDED),
    (Rcpt, "550 5.1.1 no such user", SUSPENDED),
    (Rcpt, "550 relay not permitted", SUSPENDED),
    (Rcpt, "550 5.7.1 policy", SUSPENDED),
    (Rcpt, "554 5.7.1 reputation", SUSPENDED),
    (Rcpt, "553 bad name", SUSPENDED),
    (Rcpt, "501 5.1.3 bad address", SUSPENDED),
    (Rcpt, "503 order", UNKNOWN),
    (Rcpt, "354 out of step", DOWN),
    // The text.
    (Data, "250 out of step", DOWN),
    (Data, "451 4.3.0 later", LATER),
    (Data, "554 5.5.1 no valid recipients", UNKNOWN),
    (Text, "451 4.3.0 later", LATER),
    (Text, "451 4.7.1 greylisted", GREY),
    (Text, "452 4.2.2 full", SUSPENDED),
    (Text, "552 5.2.2 full", SUSPENDED),
    (Text, "552 5.3.4 too big", SHORTEN),
    (Text, "552 Message size exceeds maximum permitted", SHORTEN),
    (Text, "523 5.3.4 too big", SHORTEN),
    (Text, "554 5.3.4 too big", SHORTEN),
    (Text, "550 5.6.0 no subject", "never Message"),
    (Text, "550 5.7.1 looks like spam", UNKNOWN),
    (Text, "554 transaction failed", UNKNOWN),
];

#[test]
fn every_reply_has_its_meaning() {
    for &(stage, line, meaning) in TABLE {
        assert_eq!(ruled(&reply(stage, line), 0), meaning, "{stage:?} {line}");
    }
}

#[test]
fn what_is_no_reply_has_its_meaning_too() {
    let text = String::new;
    assert_eq!(ruled(&Answer::NotSent(text()), 0), DOWN);
    assert_eq!(ruled(&Answer::Lost(text()), 0), "later Channel maybe");
    assert_eq!(ruled(&Answer::Misconfigured(text()), 0), STOPPED);
}

#[test]
fn a_wait_doubles_from_a_minute_to_an_hour_and_greylisting_gets_its_minutes() {
    let waits = |line: &str| {
        [0, 1, 2, 5, 6, 40].map(|failures| {
            let said = ruled(&reply(Rcpt, line), failures);
            let words: Vec<&str> = said.split(' ').collect();
            words[2].parse::<u64>().expect("seconds")
        })
    };
    assert_eq!(waits("450 busy"), [60, 120, 240, 1_920, 3_600, 3_600]);
    assert_eq!(
        waits("451 4.7.1 grey"),
        [300, 900, 900, 1_920, 3_600, 3_600]
    );
}

#[test]
fn a_person_is_told_where_and_what() {
    let Outcome::Deferred(fault) =
        classify(&reply(Rcpt, "550 5.1.1 no\nsuch \u{1b}[31muser"), 0, "").outcome
    else {
        panic!("it waits");
    };
    assert_eq!(
        fault.detail,
        "at the recipient the server said: 550 5.1.1 no such [31muser"
    );
}

proptest! {
    /// Only the last answer delivers, only with 2yz, and only after the text is anything unclear.
    #[test]
    fn nothing_but_a_last_2yz_is_a_delivery(
        at in 0..Stage::ALL.len(), code in 200_u16..=599, text in ".{0,40}", failures in 0_u32..40,
    ) {
        let stage = Stage::ALL[at];
        let answer = Answer::Reply(Reply { stage, code, text });
        match classify(&answer, failures, "r").outcome {
            Outcome::Delivered(_) => prop_assert!(stage == Text && code / 100 == 2),
            Outcome::Begun(..) => prop_assert!(false, "a mail has one part"),
            Outcome::Deferred(fault) | Outcome::Rejected(fault) => {
                prop_assert!(!(stage == Text && code / 100 == 2));
                prop_assert_eq!(fault.maybe_delivered, stage == Text && code / 100 == 3);
                prop_assert!(fault.retry_after.is_none_or(|wait| wait >= FIRST_WAIT && wait <= LONGEST_WAIT));
                prop_assert!(!fault.detail.contains('\n') && fault.detail.chars().count() < 260);
            }
        }
    }
}
