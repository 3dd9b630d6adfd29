//! From a mail to the bytes that go over the wire: the same delivery always makes the same, whatever is
//! sent in its place later is marked in its subject alone.

use crate::render::email::{Extent, Mail, of_alert, of_digest, of_raw};
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message, MultiPart, SinglePart};
use lettre::{Address, address::Envelope};
use sha2::{Digest, Sha256};
use shared::model::{Alert, Content, Delivery, Timestamp};
use std::time::{Duration, SystemTime};

/// Stands first in the subject of what may have arrived before.
const REPEAT: &str = "(possible repeat) ";
/// What marks the end of a part; no line of ours begins so.
const BOUNDARY: &str = "=_watchalert_";

/// A mail in its envelope: one recipient, so that each has an outcome of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    pub envelope: Envelope,
    /// RFC 5322, lines ended by CRLF, ASCII, no line longer than 998 characters.
    pub bytes: Vec<u8>,
    /// Its Message-ID, the same in each copy.
    pub name: String,
}

/// Writes the letter.
///
/// # Errors
/// Why it cannot be written: a payload that cannot be understood, a recipient that is no address.
pub fn write(delivery: &Delivery, from: &str, extent: Extent) -> Result<Letter, String> {
    let to = &delivery.destination.chat_id;
    let is_address = shared::config::is_address(to);
    let (sender, recipient) = match (from.parse::<Address>(), to.parse::<Address>()) {
        (Ok(sender), Ok(recipient)) if is_address => (sender, recipient),
        (Err(_), _) => return Err("the sender's address is none that mail knows".to_owned()),
        _ => return Err(format!("{to:?} is no mail address")),
    };
    let mail = mail(delivery, extent)?;
    let mark = if delivery.possible_repeat { REPEAT } else { "" };
    let hash = fingerprint(delivery);
    let name = format!("<watchalert.{}.{hash}@{}>", delivery.id, sender.domain());
    let envelope = Envelope::new(Some(sender.clone()), vec![recipient.clone()]);
    let builder = Message::builder()
        .from(Mailbox::new(Some("watchalert".to_owned()), sender))
        .to(Mailbox::new(None, recipient))
        .subject(format!("{mark}{}", mail.subject))
        .date(date(delivery.owed_since))
        .message_id(Some(name.clone()))
        // RFC 3834: nobody's holiday notice answers it.
        .raw_header(HeaderValue::new(
            HeaderName::new_from_ascii_str("Auto-Submitted"),
            "auto-generated".to_owned(),
        ));
    let message = match mail.html {
        None => builder.singlepart(SinglePart::plain(mail.text)),
        Some(html) => builder.multipart(
            MultiPart::alternative()
                .boundary(format!("{BOUNDARY}{hash}"))
                .singlepart(SinglePart::plain(mail.text))
                .singlepart(
                    SinglePart::builder()
                        .header(ContentType::TEXT_HTML)
                        .body(html),
                ),
        ),
    };
    let message = message.map_err(|why| format!("no mail can be made of it: {why}"))?;
    Ok(Letter {
        envelope: envelope.map_err(|why| format!("no envelope: {why}"))?,
        bytes: message.formatted(),
        name,
    })
}

fn mail(delivery: &Delivery, extent: Extent) -> Result<Mail, String> {
    Ok(match &delivery.content {
        Content::Alert(alert) => {
            let published = alert.published.map(date).map(httpdate::fmt_http_date);
            of_alert(alert, published.as_deref(), extent)
        }
        Content::Digest(alerts) => of_digest(alerts, extent),
        Content::Raw { text, body } => {
            let text = text.as_deref().unwrap_or(body);
            of_raw(text, delivery.priority, extent)
        }
        Content::Unreadable(why) => return Err(why.clone()),
    })
}

/// Tells apart what two databases may have given the same number; the same in each copy, though a
/// story that other feeds bring too names them in the next one.
fn fingerprint(delivery: &Delivery) -> String {
    let place = &delivery.destination;
    let mut told: Vec<&str> = vec![&place.channel, &place.chat_id];
    match &delivery.content {
        Content::Alert(alert) => told.extend(identity(alert)),
        Content::Digest(alerts) => told.extend(alerts.iter().flat_map(identity)),
        Content::Raw { body, .. } => told.push(body),
        Content::Unreadable(why) => told.push(why),
    }
    let digest = Sha256::digest(told.join("\0"));
    let first = digest.first_chunk().copied().map(u64::from_be_bytes);
    format!("{:016x}", first.unwrap_or_default())
}

fn identity(alert: &Alert) -> [&str; 2] {
    [&alert.short_id, &alert.title]
}

/// As far as the four digits of a year go.
fn date(at: Timestamp) -> SystemTime {
    const YEAR_9999: u64 = 253_370_764_800;
    let seconds = at.unix_millis().div_euclid(1_000);
    let seconds = u64::try_from(seconds).unwrap_or_default().min(YEAR_9999);
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

#[cfg(test)]
mod tests;
