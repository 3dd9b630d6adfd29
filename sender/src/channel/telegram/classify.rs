//! What Telegram's answer means, from its text: the same fact may come as 400 or as 403, so a code
//! alone decides only where the text says nothing.
//!
//! The catalogue is that of the Bot API server's own source (tdlib/telegram-bot-api `Client.cpp`,
//! tdlib/td `MessagesManager.cpp`) and of refusals seen in public threads.

pub use crate::channel::http::{Answer, Reply};
use serde_json::Value;
use shared::model::{Blame, Fault, Hold, Outcome, Receipt};
use shared::policy::text::{one_line, shorten};
use std::time::Duration;

/// No flood wait is longer (tdlib `NetQueryDelayer.cpp`).
const LONGEST_WAIT: Duration = Duration::from_hours(14 * 24);
/// Characters of a description that are kept for a person.
const DETAIL: usize = 200;

/// What an answer means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// When nothing follows, or what follows cannot be done.
    pub outcome: Outcome,
    pub follows: Follows,
}

/// What follows beyond the message itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    Nothing,
    /// Nothing was sent, and changed like this the message may pass at once.
    Repair(Repair),
    /// This chat lets us in again when a person has changed something there.
    Suspend,
    /// The bot is refused as a whole: its messages are kept, and a person is told.
    StopBot,
    /// Too many requests; the wait stands in the fault, if it was told.
    Wait(Told),
}

/// What can be changed about a message that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// No formatting: links are spelled out.
    Plain,
    /// Several messages in place of one.
    Split,
    /// Something in place of a text that shows nothing.
    Fill,
    /// No keyboard: its links go into the text.
    DropMarkup,
    DropThread,
    DropReply,
    DropEffect,
    /// The group has a new id.
    Migrate(i64),
}

/// Where the length of a wait was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Body,
    Header,
    Text,
    Nowhere,
}

/// What a refusal says.
#[derive(Clone, Copy)]
enum Fact {
    Fix(Repair),
    /// The message cannot pass.
    Message,
    Chat,
    Bot,
}

/// In the order in which they are looked for; `^` binds to the beginning. Lower case.
const FACTS: &[(&str, Fact)] = &[
    // These quote the message, so they come before all that a message may contain.
    ("can't parse entities", Fact::Fix(Repair::Plain)),
    ("can't parse messageentity", Fact::Fix(Repair::Plain)),
    ("unsupported parse_mode", Fact::Fix(Repair::Plain)),
    (
        "can't parse reply keyboard markup",
        Fact::Fix(Repair::DropMarkup),
    ),
    ("can't parse inline keyboard", Fact::Fix(Repair::DropMarkup)),
    ("inline keyboard button", Fact::Fix(Repair::DropMarkup)),
    ("button_url_invalid", Fact::Fix(Repair::DropMarkup)),
    ("button_data_invalid", Fact::Fix(Repair::DropMarkup)),
    ("button_type_invalid", Fact::Fix(Repair::DropMarkup)),
    ("reply_markup_invalid", Fact::Fix(Repair::DropMarkup)),
    ("reply markup is too long", Fact::Fix(Repair::DropMarkup)),
    ("entity_bounds_invalid", Fact::Fix(Repair::Plain)),
    ("entities too long", Fact::Fix(Repair::Plain)),
    ("entities_too_long", Fact::Fix(Repair::Plain)),
    ("after decoding html entities", Fact::Fix(Repair::Plain)),
    ("message is too long", Fact::Fix(Repair::Split)),
    ("message_too_long", Fact::Fix(Repair::Split)),
    ("text is too long", Fact::Fix(Repair::Split)),
    ("request entity too large", Fact::Fix(Repair::Split)),
    ("request header fields too large", Fact::Fix(Repair::Split)),
    ("message text is empty", Fact::Fix(Repair::Fill)),
    ("text must be non-empty", Fact::Fix(Repair::Fill)),
    ("message_empty", Fact::Fix(Repair::Fill)),
    ("must be encoded in utf-8", Fact::Message),
    ("message thread not found", Fact::Fix(Repair::DropThread)),
    ("topic_deleted", Fact::Fix(Repair::DropThread)),
    ("topic_closed", Fact::Fix(Repair::DropThread)),
    (
        "message to be replied not found",
        Fact::Fix(Repair::DropReply),
    ),
    ("message to reply not found", Fact::Fix(Repair::DropReply)),
    ("reply_message_id_invalid", Fact::Fix(Repair::DropReply)),
    ("quote_text_invalid", Fact::Fix(Repair::DropReply)),
    ("effect_id_invalid", Fact::Fix(Repair::DropEffect)),
    // Without the new id these are of no use but to say that the chat is gone.
    ("upgraded to a supergroup", Fact::Chat),
    ("migrated to a supergroup", Fact::Chat),
    ("chat not found", Fact::Chat),
    ("peer_id_invalid", Fact::Chat),
    ("chat_id is empty", Fact::Chat),
    ("not enough rights to send", Fact::Chat),
    ("have no rights to send", Fact::Chat),
    ("need administrator rights", Fact::Chat),
    ("have no write access", Fact::Chat),
    ("chat_write_forbidden", Fact::Chat),
    ("chat_send_plain_forbidden", Fact::Chat),
    ("chat_restricted", Fact::Chat),
    ("user_banned_in_channel", Fact::Chat),
    ("chat_guest_send_forbidden", Fact::Chat),
    ("chat_admin_required", Fact::Chat),
    ("allow_payment_required", Fact::Chat),
    ("group is deactivated", Fact::Chat),
    ("blocked by the user", Fact::Chat),
    ("user_is_blocked", Fact::Chat),
    ("user is deactivated", Fact::Chat),
    ("input_user_deactivated", Fact::Chat),
    ("can't initiate conversation", Fact::Chat),
    ("can't send messages to bots", Fact::Chat),
    ("can't send messages to the bot", Fact::Chat),
    ("bot was kicked from", Fact::Chat),
    ("bot is not a member of", Fact::Chat),
    ("group chat was deleted", Fact::Chat),
    ("channel_private", Fact::Chat),
    ("logged out", Fact::Bot),
    ("frozen_method_invalid", Fact::Bot),
    ("misdirected request", Fact::Bot),
    ("^unauthorized", Fact::Bot),
    ("^not found", Fact::Bot),
];

/// The meaning of an answer to `sendMessage`. Never more than the answer proves: what is neither
/// surely sent nor surely refused may have arrived.
pub fn classify(answer: &Answer) -> Ruling {
    match answer {
        Answer::Reply(reply) => of_reply(reply),
        Answer::NotSent(why) => down(why.clone()),
        Answer::Lost(why) => unknown(why.clone()),
    }
}

fn of_reply(reply: &Reply) -> Ruling {
    let Some(body) = of_bot_api(reply) else {
        return of_page(reply);
    };
    if body.get("ok") == Some(&Value::Bool(true)) {
        let id = body.pointer("/result/message_id").and_then(Value::as_i64);
        return match (reply.status, id) {
            (200, Some(id)) => delivered(id.to_string()),
            // Anybody can say "ok"; who took a message says which one it is now.
            (200, None) => unknown("an ok without a message".to_owned()),
            (status, _) => unknown(format!("an ok under the status {status}")),
        };
    }
    let text = body.get("description").and_then(Value::as_str);
    let text = text.unwrap_or_default();
    let code = body.get("error_code").and_then(Value::as_u64);
    let code = code.unwrap_or(u64::from(reply.status));
    let said = shorten(&one_line(text), DETAIL);
    let detail = format!("Telegram answered {code}: {said}");
    let text = text.to_lowercase();
    if code == 429 || is_flood(&text) {
        let (wait, told) = wait(&body, reply, &text);
        return waits(Blame::Destination, wait, told, detail);
    }
    if code >= 500 {
        return of_failure(&text, detail);
    }
    if code < 400 {
        // Nothing that we know; a redirect at least was not obeyed.
        return match code {
            300.. => down(detail),
            _ => unknown(detail),
        };
    }
    let new_id = body.pointer("/parameters/migrate_to_chat_id");
    if let Some(id) = new_id.and_then(Value::as_i64) {
        let outcome = suspended(detail).outcome;
        let follows = Follows::Repair(Repair::Migrate(id));
        return Ruling { outcome, follows };
    }
    of_refusal(code, &text, detail)
}

/// The reply's JSON object, when it is one; what calls itself HTML is not looked into.
pub(super) fn of_bot_api(reply: &Reply) -> Option<Value> {
    let is_page = |kind: &str| kind.to_ascii_lowercase().contains("html");
    if reply.content_type.as_deref().is_some_and(is_page) {
        return None;
    }
    let value: Value = serde_json::from_slice(&reply.body).ok()?;
    value.get("ok")?.as_bool().map(|_| value)
}

fn is_flood(text: &str) -> bool {
    let said = text.strip_prefix("bad request: ").unwrap_or(text);
    let signs = ["too many requests", "flood_wait_", "slowmode_wait_"];
    signs.iter().any(|sign| said.starts_with(sign))
}

/// A server's own trouble.
fn of_failure(text: &str, detail: String) -> Ruling {
    // Another bot or an administrator was faster than the answer (`Client.cpp`).
    if text.contains("sent message was immediately deleted") {
        return delivered("sent, then deleted".to_owned());
    }
    unknown(detail)
}

fn of_refusal(code: u64, text: &str, detail: String) -> Ruling {
    let says = |sign: &str| match sign.strip_prefix('^') {
        Some(beginning) => text.starts_with(beginning),
        None => text.contains(sign),
    };
    let fact = FACTS.iter().find(|(sign, _)| says(sign));
    match fact.map(|(_, fact)| *fact) {
        Some(Fact::Fix(repair)) => Ruling {
            // Without a thread to drop, the chat itself is closed.
            outcome: match repair {
                Repair::DropThread => suspended(detail).outcome,
                _ => rejected(Blame::Message, detail).outcome,
            },
            follows: Follows::Repair(repair),
        },
        Some(Fact::Message) => rejected(Blame::Message, detail),
        Some(Fact::Chat) => suspended(detail),
        Some(Fact::Bot) => stopped(detail),
        // No message and no chat can be the cause of this one.
        None if code == 401 => stopped(detail),
        None if matches!(code, 408 | 425) => down(detail),
        None => rejected(Blame::Ours, detail),
    }
}

/// An answer that is no JSON of the Bot API: from something in between, or cut off.
fn of_page(reply: &Reply) -> Ruling {
    let status = reply.status;
    if let (200, Some(id)) = (status, beginning_of_success(&reply.body)) {
        return delivered(id);
    }
    let detail = format!("{status} without an answer of the Bot API");
    match status {
        300..=399 => down(format!("{detail}: a redirect")),
        // A wrong address, or a proxy that wants something of us: as bad for every message.
        401 | 403 | 404 | 407 | 421 => stopped(detail),
        413 | 431 => Ruling {
            outcome: rejected(Blame::Message, detail).outcome,
            follows: Follows::Repair(Repair::Split),
        },
        429 => {
            let (wait, told) = wait(&Value::Null, reply, "");
            waits(Blame::Channel, wait, told, detail)
        }
        // It says nothing about the message: whoever answered is not the Bot API.
        400..=499 => down(detail),
        _ => unknown(detail),
    }
}

/// A success whose end did not reach us, as a long text's may: the message id stands in front.
fn beginning_of_success(body: &[u8]) -> Option<String> {
    let start = body.strip_prefix(b"{\"ok\":true,\"result\":{\"message_id\":")?;
    let digits = start.iter().take_while(|byte| byte.is_ascii_digit());
    let id: String = digits.map(|byte| char::from(*byte)).collect();
    // The last digit is only known to be the last when something follows.
    (!id.is_empty() && id.len() < start.len()).then_some(id)
}

/// Body, then header, then text.
fn wait(body: &Value, reply: &Reply, text: &str) -> (Option<Duration>, Told) {
    let in_body = body.pointer("/parameters/retry_after");
    let in_body = in_body.and_then(|seconds| match seconds {
        Value::String(text) => text.trim().parse().ok(),
        number => number.as_f64(),
    });
    let in_text = || {
        let signs = ["retry after ", "flood_wait_", "slowmode_wait_"];
        let rest = signs.iter().find_map(|sign| text.split_once(sign))?.1;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<u32>().ok().map(f64::from)
    };
    // "NaN" is a number to whoever parses it, and no wait.
    let in_body = in_body.filter(|seconds| !f64::is_nan(*seconds));
    let told = in_body
        .map(|seconds| (seconds, Told::Body))
        .or_else(|| Some((in_header(reply)?, Told::Header)))
        .or_else(|| Some((in_text()?, Told::Text)));
    let Some((seconds, told)) = told else {
        return (None, Told::Nowhere);
    };
    let seconds = seconds.clamp(0.0, LONGEST_WAIT.as_secs_f64());
    (Some(Duration::from_secs_f64(seconds)), told)
}

/// The seconds of `Retry-After`, or the date in its place (RFC 9110, 10.2.3), counted from the date of
/// the reply: both are of the server's own clock.
fn in_header(reply: &Reply) -> Option<f64> {
    let told = reply.retry_after.as_deref()?.trim();
    if let Ok(seconds) = told.parse::<u32>() {
        return Some(f64::from(seconds));
    }
    let until = httpdate::parse_http_date(told).ok()?;
    let now = httpdate::parse_http_date(reply.date.as_deref()?.trim()).ok()?;
    let wait = until.duration_since(now).unwrap_or_default();
    Some(wait.as_secs_f64())
}

fn delivered(message_id: String) -> Ruling {
    Ruling {
        outcome: Outcome::Delivered(Receipt { message_id }),
        follows: Follows::Nothing,
    }
}

/// It may have arrived, and whoever answers like this is not well.
fn unknown(detail: String) -> Ruling {
    let outcome = Outcome::Deferred(Fault {
        maybe_delivered: true,
        ..held(Blame::Channel, Hold::Down, None, detail)
    });
    Ruling {
        outcome,
        follows: Follows::Nothing,
    }
}

/// It did not arrive, for nobody took it.
fn down(detail: String) -> Ruling {
    Ruling {
        outcome: Outcome::Deferred(held(Blame::Channel, Hold::Down, None, detail)),
        follows: Follows::Nothing,
    }
}

fn rejected(blame: Blame, detail: String) -> Ruling {
    Ruling {
        outcome: Outcome::Rejected(fault(blame, detail)),
        follows: Follows::Nothing,
    }
}

fn suspended(detail: String) -> Ruling {
    let fault = held(Blame::Destination, Hold::Suspended, None, detail);
    Ruling {
        outcome: Outcome::Deferred(fault),
        follows: Follows::Suspend,
    }
}

fn stopped(detail: String) -> Ruling {
    Ruling {
        outcome: Outcome::Deferred(held(Blame::Channel, Hold::Stopped, None, detail)),
        follows: Follows::StopBot,
    }
}

/// How long after a 429 that does not say so, the gate decides.
fn waits(blame: Blame, wait: Option<Duration>, told: Told, detail: String) -> Ruling {
    Ruling {
        outcome: Outcome::Deferred(held(blame, Hold::RateLimited, wait, detail)),
        follows: Follows::Wait(told),
    }
}

/// A fault that closes a gate; how long, the gate's own rules say, but never less than was asked.
fn held(blame: Blame, hold: Hold, retry_after: Option<Duration>, detail: String) -> Fault {
    Fault {
        hold: Some(hold),
        retry_after,
        ..fault(blame, detail)
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
mod properties;
#[cfg(test)]
mod tests;
