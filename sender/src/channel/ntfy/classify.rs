//! What an ntfy server's answer means, by its own codes, and by the status where something else answers.
//!
//! The codes are those of the server's source (`server/errors.go`); what they are worth was read from
//! the same (`server/server.go`, `server/visitor.go`) and from public threads.

pub use crate::channel::http::{Answer, Reply};
use serde_json::Value;
use shared::model::{Blame, Fault, Hold, Outcome, Receipt, Timestamp};
use shared::policy::text::{one_line, shorten};
use std::time::Duration;

/// Characters of a description that are kept for a person.
const DETAIL: usize = 200;
/// A server that was told of a wrong password too often forgives one in this time.
const FORGIVEN: Duration = Duration::from_secs(60);
/// The quota of a day begins anew at 00:00 UTC; that nobody's clock is a little early.
const PAST_MIDNIGHT: Duration = Duration::from_secs(5);
const DAY: i64 = 86_400_000;
/// No wait of a proxy's is longer.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// What an answer means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// When there is nothing to repair, or no more.
    pub outcome: Outcome,
    /// Nothing was published, and changed like this it may pass at once.
    pub repair: Option<Repair>,
    /// The sequence id that an acceptance repeats; older servers do not.
    pub sequence_id: Option<String>,
}

/// What can be changed about a notification that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Nothing but topic and message: title and link go into that.
    Bare,
    /// A message that is surely short enough.
    Shorter,
    /// No sequence id.
    NoSequence,
}

/// What a code says.
#[derive(Clone, Copy)]
enum Fact {
    Fix(Repair),
    /// The message cannot pass.
    Message,
    /// Nothing passes to this topic before somebody changes something there.
    Topic,
    /// Nobody believes who we are, or there is no ntfy at this address.
    Login,
    /// The same, and too often.
    LoginTooOften,
    /// Too many requests of this visitor, who gets another each 5 s.
    Requests,
    /// Too many messages of this day.
    Messages,
}

const FACTS: &[(u64, Fact)] = &[
    (40_007, Fact::Fix(Repair::Bare)),    // priority
    (40_009, Fact::Topic),                // no name of a topic
    (40_010, Fact::Topic),                // a reserved name
    (40_011, Fact::Message),              // not UTF-8
    (40_013, Fact::Fix(Repair::Bare)),    // attachment URL
    (40_014, Fact::Fix(Repair::Shorter)), // no attachments: the message was too long to be one
    (40_015, Fact::Fix(Repair::Shorter)), // the same, with a delay
    (40_017, Fact::Fix(Repair::Bare)),    // JSON of the message
    (40_018, Fact::Fix(Repair::Bare)),    // actions
    (40_021, Fact::Fix(Repair::Bare)),    // icon
    (40_024, Fact::Fix(Repair::Bare)),    // JSON
    (40_049, Fact::Fix(Repair::NoSequence)),
    (40_101, Fact::Login),
    (40_301, Fact::Topic), // known, and not allowed to write there
    (40_401, Fact::Login), // an address that is none of ntfy's
    (41_301, Fact::Fix(Repair::Shorter)), // attachment too large
    (41_303, Fact::Fix(Repair::Shorter)), // JSON too large
    (42_901, Fact::Requests),
    (42_904, Fact::Topic), // the server has no room for another topic
    (42_905, Fact::Fix(Repair::Shorter)), // bandwidth of attachments
    (42_908, Fact::Messages),
    (42_909, Fact::LoginTooOften),
    (50_701, Fact::Topic), // a topic of UnifiedPush that nobody subscribes to
];

/// The meaning of an answer to a publication, which came at `now`. Never more than the answer proves:
/// what is neither surely published nor surely refused may have arrived. A failure of the server's is
/// none of the message's: subscribers get it before it is stored.
pub fn classify(answer: &Answer, now: Timestamp) -> Ruling {
    match answer {
        Answer::Reply(reply) => of_reply(reply, now),
        Answer::NotSent(why) => down(why.clone()),
        Answer::Lost(why) => unknown(why.clone()),
    }
}

fn of_reply(reply: &Reply, now: Timestamp) -> Ruling {
    let body = object(reply);
    if reply.status == 200 {
        return accepted(reply, body.as_ref());
    }
    let refusal = body.and_then(|body| {
        let said = body.get("error")?.as_str()?.to_owned();
        let code = body.get("code").and_then(Value::as_u64);
        Some((code.unwrap_or_default(), said))
    });
    match refusal {
        // Something in between that repeats another answer's code is not believed.
        Some((code, said)) if code == 0 || code / 100 == u64::from(reply.status) => {
            let said = shorten(&one_line(&said), DETAIL);
            let status = u64::from(reply.status);
            let shown = if code == 0 { status } else { code };
            of_refusal(reply, code, format!("ntfy answered {shown}: {said}"), now)
        }
        _ => of_page(reply, now),
    }
}

/// The reply's JSON object, when it is one; what calls itself HTML is not looked into.
pub(super) fn object(reply: &Reply) -> Option<Value> {
    let is_page = |kind: &str| kind.to_ascii_lowercase().contains("html");
    if reply.content_type.as_deref().is_some_and(is_page) {
        return None;
    }
    let value: Value = serde_json::from_slice(&reply.body).ok()?;
    value.is_object().then_some(value)
}

fn accepted(reply: &Reply, body: Option<&Value>) -> Ruling {
    let text = |field: &str| body?.get(field)?.as_str().map(str::to_owned);
    let is_page = reply
        .content_type
        .as_deref()
        .is_some_and(|kind| kind.contains("html"));
    match text("id") {
        Some(id) if !id.is_empty() && text("event").as_deref() == Some("message") => Ruling {
            sequence_id: text("sequence_id"),
            ..delivered(id)
        },
        None if body.is_none() && !is_page => match beginning_of_success(&reply.body) {
            Some(id) => delivered(id),
            None => unknown("an ok without a message".to_owned()),
        },
        // Anybody can say "ok"; who took a message says which one it is now.
        _ => unknown("an ok without a message".to_owned()),
    }
}

/// An acceptance whose end did not reach us: the id of the message, twelve letters and digits, stands in
/// front.
fn beginning_of_success(body: &[u8]) -> Option<String> {
    let rest = body.strip_prefix(b"{\"id\":\"")?;
    let (id, rest) = rest.split_at_checked(12)?;
    let is_id = id.iter().all(u8::is_ascii_alphanumeric);
    let id = String::from_utf8(id.to_vec()).ok()?;
    (is_id && rest.starts_with(b"\",\"")).then_some(id)
}

fn of_refusal(reply: &Reply, code: u64, detail: String, now: Timestamp) -> Ruling {
    let fact = FACTS.iter().find(|(known, _)| *known == code);
    match fact.map(|(_, fact)| *fact) {
        Some(Fact::Fix(repair)) => Ruling {
            repair: Some(repair),
            ..rejected(Blame::Message, detail)
        },
        Some(Fact::Message) => rejected(Blame::Message, detail),
        Some(Fact::Topic) => held(Blame::Destination, Hold::Suspended, None, detail),
        Some(Fact::Login) => held(Blame::Channel, Hold::Stopped, None, detail),
        Some(Fact::LoginTooOften) => held(Blame::Channel, Hold::Stopped, Some(FORGIVEN), detail),
        Some(Fact::Requests) => waits(retry_after(reply), detail),
        Some(Fact::Messages) => waits(Some(until_midnight(reply, now)), detail),
        None => of_status(reply, detail),
    }
}

/// A refusal in ntfy's form with a code that we do not know.
fn of_status(reply: &Reply, detail: String) -> Ruling {
    match reply.status {
        401 => held(Blame::Channel, Hold::Stopped, None, detail),
        408 | 425 | 300..=399 => down(detail),
        413 => Ruling {
            repair: Some(Repair::Shorter),
            ..rejected(Blame::Message, detail)
        },
        429 => waits(retry_after(reply), detail),
        400..=499 => Ruling {
            repair: Some(Repair::Bare),
            ..rejected(Blame::Ours, detail)
        },
        _ => unknown(detail),
    }
}

/// An answer that is not ntfy's: from something in between, or cut off.
fn of_page(reply: &Reply, now: Timestamp) -> Ruling {
    let status = reply.status;
    let detail = format!("{status} without an answer of ntfy's");
    match status {
        300..=399 => down(format!("{detail}: a redirect")),
        // A wrong address, or a proxy that wants something of us: as bad for every message.
        401 | 403 | 404 | 407 | 421 => held(Blame::Channel, Hold::Stopped, None, detail),
        413 | 431 => Ruling {
            repair: Some(Repair::Shorter),
            ..rejected(Blame::Message, detail)
        },
        429 => match beginning_of_refusal(&reply.body) {
            Some(42_908) => waits(Some(until_midnight(reply, now)), detail),
            _ => waits(retry_after(reply), detail),
        },
        // It says nothing about the message: whoever answered is not ntfy.
        400..=499 => down(detail),
        _ => unknown(detail),
    }
}

/// The code of a refusal that broke off; it stands in front.
fn beginning_of_refusal(body: &[u8]) -> Option<u64> {
    let rest = body.strip_prefix(b"{\"code\":")?;
    let (code, rest) = rest.split_at_checked(5)?;
    let code = std::str::from_utf8(code).ok()?.parse().ok();
    code.filter(|_| rest.starts_with(b","))
}

/// ntfy itself says none; a proxy may.
fn retry_after(reply: &Reply) -> Option<Duration> {
    let seconds = reply.retry_after.as_deref()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_WAIT))
}

/// By the server's own clock, where it tells the time: it is that one which ends the day.
fn until_midnight(reply: &Reply, now: Timestamp) -> Duration {
    let told = reply.date.as_deref();
    let told = told.and_then(|date| httpdate::parse_http_date(date.trim()).ok());
    let told = told.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let seconds = told.map(|since| since.as_secs_f64());
    let now = seconds.map_or(now, Timestamp::from_unix_seconds);
    let left = DAY - now.unix_millis().rem_euclid(DAY);
    Duration::from_millis(left.unsigned_abs()) + PAST_MIDNIGHT
}

fn delivered(message_id: String) -> Ruling {
    ruling(Outcome::Delivered(Receipt { message_id }))
}

/// It may have arrived, and whoever answers like this is not well.
fn unknown(detail: String) -> Ruling {
    ruling(Outcome::Deferred(Fault {
        hold: Some(Hold::Down),
        maybe_delivered: true,
        ..fault(Blame::Channel, detail)
    }))
}

/// It did not arrive, for nobody took it.
fn down(detail: String) -> Ruling {
    held(Blame::Channel, Hold::Down, None, detail)
}

/// The whole visitor waits, whatever the topic; without a told wait the gate decides, 15 s at first.
fn waits(wait: Option<Duration>, detail: String) -> Ruling {
    held(Blame::Channel, Hold::RateLimited, wait, detail)
}

fn rejected(blame: Blame, detail: String) -> Ruling {
    ruling(Outcome::Rejected(fault(blame, detail)))
}

fn held(blame: Blame, hold: Hold, retry_after: Option<Duration>, detail: String) -> Ruling {
    ruling(Outcome::Deferred(Fault {
        hold: Some(hold),
        retry_after,
        ..fault(blame, detail)
    }))
}

fn ruling(outcome: Outcome) -> Ruling {
    Ruling {
        outcome,
        repair: None,
        sequence_id: None,
    }
}

/// A fault that is the row's own.
pub(super) fn fault(blame: Blame, detail: String) -> Fault {
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
