//! What a mail server's answer means: by the stage at which it came, its code, its enhanced code, and
//! where those say nothing, its words.
//!
//! Sources: RFC 5321 4.2 and 4.5.3 (classes, 552 for too many recipients), RFC 3463 (enhanced codes),
//! RFC 4954 6 (refusals of a login), and what servers were seen to write in public threads.

use shared::model::{Blame, Fault, Hold, Outcome, Receipt};
use shared::policy::text::{one_line, shorten};
use std::fmt;
use std::time::Duration;

/// The first wait of a mail that is not taken for now; it doubles (DELIVERY C5).
const FIRST_WAIT: Duration = Duration::from_secs(60);
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);
/// A server that does not know us takes a mail when it is brought again after some minutes.
const GREYLISTED: Duration = Duration::from_secs(300);
const GREYLISTED_AGAIN: Duration = Duration::from_secs(900);
/// Characters of a server's words that are kept for a person.
const DETAIL: usize = 200;

/// How far a conversation has come: what was answered, or waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Connection, greeting and EHLO.
    Greeting,
    StartTls,
    Auth,
    /// MAIL FROM: who writes.
    Mail,
    /// RCPT TO: to whom.
    Rcpt,
    /// DATA: whether the text may come.
    Data,
    /// After the dot that ends the text.
    Text,
}

impl Stage {
    pub const ALL: [Self; 7] = [
        Self::Greeting,
        Self::StartTls,
        Self::Auth,
        Self::Mail,
        Self::Rcpt,
        Self::Data,
        Self::Text,
    ];
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Greeting => "the greeting",
            Self::StartTls => "STARTTLS",
            Self::Auth => "the login",
            Self::Mail => "the sender",
            Self::Rcpt => "the recipient",
            Self::Data => "DATA",
            Self::Text => "the text",
        })
    }
}

/// What came back last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Reply(Reply),
    /// It cannot be begun as it is configured; a sentence about what to change.
    Misconfigured(String),
    /// No answer, at a stage at which nothing can have been taken.
    NotSent(String),
    /// The whole text went out and no answer came: it may have arrived.
    Lost(String),
}

/// A reply, its lines joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub stage: Stage,
    pub code: u16,
    pub text: String,
}

/// What an answer means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    pub outcome: Outcome,
    /// It was too long: shortened it may pass at once.
    pub is_too_long: bool,
}

/// Judges. `failures` of this mail in a row, this one not counted; `receipt` is its name if it was taken.
pub fn classify(answer: &Answer, failures: u32, receipt: &str) -> Ruling {
    let outcome = match answer {
        Answer::Reply(reply) => return of_reply(reply, failures, receipt),
        Answer::Misconfigured(what) => {
            Outcome::Deferred(held(Blame::Channel, Hold::Stopped, what.clone()))
        }
        Answer::NotSent(why) => {
            let fault = held(Blame::Channel, Hold::Down, why.clone());
            Outcome::Deferred(later(fault, failures))
        }
        Answer::Lost(why) => Outcome::Deferred(Fault {
            maybe_delivered: true,
            ..fault(Blame::Channel, why.clone())
        }),
    };
    Ruling {
        outcome,
        is_too_long: false,
    }
}

/// Who has to change, in which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fact {
    Taken,
    /// Nobody who keeps to the protocol says that here, and it may have been taken.
    Unclear,
    /// The whole server, for now.
    Down,
    /// This mail alone, for now.
    Later,
    /// It does not know us yet.
    Greylisted,
    /// Login, sender or server are not as we are configured.
    Stopped,
    /// This recipient, until somebody does something about it.
    Suspended,
    TooLong,
    /// This text, for good.
    Message,
    /// A refusal that may be about the text, about us, or about a bug of ours.
    Unknown,
}

fn of_reply(reply: &Reply, failures: u32, receipt: &str) -> Ruling {
    let said = said(reply);
    let fact = fact(reply);
    let outcome = match fact {
        Fact::Taken => Outcome::Delivered(Receipt {
            message_id: receipt.to_owned(),
        }),
        Fact::Unclear => Outcome::Deferred(Fault {
            maybe_delivered: true,
            ..fault(Blame::Ours, said)
        }),
        Fact::Down => {
            let fault = held(Blame::Channel, Hold::Down, said);
            Outcome::Deferred(later(fault, failures))
        }
        Fact::Later => Outcome::Deferred(later(fault(Blame::Destination, said), failures)),
        Fact::Greylisted => {
            let least = if failures == 0 {
                GREYLISTED
            } else {
                GREYLISTED_AGAIN
            };
            let mut fault = later(fault(Blame::Destination, said), failures);
            fault.retry_after = fault.retry_after.max(Some(least));
            Outcome::Deferred(fault)
        }
        Fact::Stopped => Outcome::Deferred(held(Blame::Channel, Hold::Stopped, said)),
        Fact::Suspended => Outcome::Deferred(held(Blame::Destination, Hold::Suspended, said)),
        Fact::TooLong | Fact::Message => Outcome::Rejected(fault(Blame::Message, said)),
        Fact::Unknown => Outcome::Rejected(later(fault(Blame::Ours, said), failures)),
    };
    Ruling {
        outcome,
        is_too_long: fact == Fact::TooLong,
    }
}

/// Subject and detail of an enhanced code, as in `5.7.1`; they mean the same in both classes.
type Enhanced = (u16, u16);

fn fact(reply: &Reply) -> Fact {
    let enhanced = enhanced(&reply.text);
    match (reply.code / 100, reply.stage) {
        (2, Stage::Text) => Fact::Taken,
        // Of a server that closes: whatever it was asked, it did not do it.
        (4, _) if reply.code == 421 => Fact::Down,
        (4, stage) => transient(stage, reply, enhanced),
        (5, stage) => permanent(stage, reply, enhanced),
        (_, Stage::Text) => Fact::Unclear,
        // Not the answer that this question can have: the conversation is out of step.
        _ => Fact::Down,
    }
}

fn transient(stage: Stage, reply: &Reply, enhanced: Option<Enhanced>) -> Fact {
    match (stage, enhanced) {
        (Stage::Greeting | Stage::StartTls | Stage::Auth, _) => Fact::Down,
        (Stage::Rcpt | Stage::Data | Stage::Text, Some((2, 2))) => Fact::Suspended,
        (Stage::Rcpt, None) if reply.code == 452 && speaks_of_quota(reply) => Fact::Suspended,
        (_, Some((7, _))) => Fact::Greylisted,
        _ if says(reply, &["greylist", "graylist", "grey-list", "grey list"]) => Fact::Greylisted,
        (Stage::Mail, _) => Fact::Down,
        _ => Fact::Later,
    }
}

fn permanent(stage: Stage, reply: &Reply, enhanced: Option<Enhanced>) -> Fact {
    let code = reply.code;
    match (stage, enhanced) {
        // A server that does not want us now says so before anything was asked of it.
        (Stage::Greeting, _) => Fact::Down,
        (Stage::StartTls | Stage::Auth, _) => Fact::Stopped,
        _ if matches!(code, 530 | 534 | 535 | 538) => Fact::Stopped,
        (_, Some((3, 4))) => Fact::TooLong,
        (Stage::Rcpt | Stage::Data | Stage::Text, Some((2, 2))) => Fact::Suspended,
        (Stage::Mail | Stage::Data | Stage::Text, _) if matches!(code, 523 | 552) => {
            if speaks_of_quota(reply) {
                Fact::Suspended
            } else {
                Fact::TooLong
            }
        }
        // RFC 5321 4.5.3.1.10: what ought to be 452, too many recipients; or a full mailbox in old words.
        (Stage::Rcpt, _) if code == 552 => {
            if speaks_of_quota(reply) {
                Fact::Suspended
            } else {
                Fact::Later
            }
        }
        // Commands that are not known, or not in that order: a bug, or a server that is none.
        (Stage::Mail | Stage::Data, _) if matches!(code, 500 | 502..=504) => Fact::Unknown,
        (Stage::Mail, _) => Fact::Stopped,
        (Stage::Rcpt, _) if matches!(code, 500 | 502..=504) => Fact::Unknown,
        (Stage::Rcpt, _) => Fact::Suspended,
        (Stage::Text, Some((6, _))) => Fact::Message,
        // The recipient was taken before: what is refused now is most often the text, and one text
        // must not close the way for all others.
        _ => Fact::Unknown,
    }
}

fn speaks_of_quota(reply: &Reply) -> bool {
    says(
        reply,
        &[
            "mailbox full",
            "mailbox is full",
            "quota",
            "over storage",
            "overquota",
        ],
    )
}

fn says(reply: &Reply, words: &[&str]) -> bool {
    let text = reply.text.to_lowercase();
    words.iter().any(|word| text.contains(word))
}

/// `5.7.1 …` at the beginning.
fn enhanced(text: &str) -> Option<Enhanced> {
    let first = text.split_whitespace().next()?;
    let mut parts = first.split('.').map(|part| part.parse::<u16>().ok());
    match (parts.next()??, parts.next()??, parts.next()??, parts.next()) {
        (2 | 4 | 5, subject, detail, None) => Some((subject, detail)),
        _ => None,
    }
}

fn said(reply: &Reply) -> String {
    let words = shorten(&one_line(&reply.text), DETAIL);
    let answer = format!("{} {words}", reply.code);
    format!("at {} the server said: {}", reply.stage, answer.trim_end())
}

/// With the wait before the next try.
fn later(fault: Fault, failures: u32) -> Fault {
    let doubled = FIRST_WAIT.saturating_mul(1 << failures.min(16));
    Fault {
        retry_after: Some(doubled.min(LONGEST_WAIT)),
        ..fault
    }
}

fn held(blame: Blame, hold: Hold, detail: String) -> Fault {
    Fault {
        hold: Some(hold),
        ..fault(blame, detail)
    }
}

pub fn fault(blame: Blame, detail: String) -> Fault {
    Fault {
        blame,
        hold: None,
        retry_after: None,
        maybe_delivered: false,
        detail,
    }
}

#[cfg(test)]
mod tests;
