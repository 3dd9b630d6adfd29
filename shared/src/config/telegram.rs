//! `[channel.NAME]` with `kind = "telegram"`: a bot, the chat it writes to, and how.

use super::Surroundings;
use super::reader::{Read, Section, described};
use super::secret::{self, Program, Secret, SecretFile};
use super::value::{one_of, text};
use crate::model::Priority;
use toml::de::DeValue;
use url::{Host, Url};

/// A bot, and the chat that it writes to when a row names no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Telegram {
    /// `https`, or `http` on this machine; no query, no credentials.
    pub api_url: Url,
    pub token: SecretFile,
    /// A number, or `@` and the public name of a channel or group.
    pub chat_id: String,
    /// The topic inside that chat.
    pub thread: Option<i64>,
    /// Sent without a sound.
    pub silent: Vec<Priority>,
}

pub(super) fn read(section: &mut Section<'_>, around: &Surroundings<'_>) -> Option<Telegram> {
    let api_url = if section.has("api_url") {
        section.get("api_url", api_url)
    } else {
        Url::parse("https://api.telegram.org").ok()
    };
    let missing = "is missing; write the name of a file that holds the token from @BotFather";
    if !section.has("token_file") && !section.has("token") {
        section.refuse("token_file", missing);
    }
    let token = secret::read(section, "token_file", Program::Sender, around);
    if let Some(file) = &token
        && around.program.needs_what_is_for(Program::Sender)
        && file.resolve().is_ok_and(|secret| !is_token(&secret))
    {
        let what = "that file holds no bot token (a number, a colon, letters and digits); \
                    copy the one from @BotFather into it";
        section.refuse("token_file", what);
    }
    let missing = "is missing; write the chat's number, or \"@name\"";
    let chat_id = section.need("chat_id", missing, chat_id);
    let thread = section.get("message_thread_id", thread);
    let empty = "is an empty list; remove it, or write [\"low\"]";
    let silent = section.filled_list("silent", empty, one_of("priority", Priority::ALL));
    Some(Telegram {
        api_url: api_url?,
        token: token?,
        chat_id: chat_id?,
        thread,
        silent: silent.unwrap_or_default(),
    })
}

/// What can be a bot's token; anything else would change the address that is asked.
pub fn is_token(secret: &Secret) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    secret.expose().split_once(':').is_some_and(|(id, key)| {
        !id.is_empty()
            && id.chars().all(|c| c.is_ascii_digit())
            && !key.is_empty()
            && key.chars().all(plain)
    })
}

fn api_url(value: &DeValue<'_>) -> Read<Url> {
    let text = text(value)?;
    // Nothing of it is shown before this: it may hold the token.
    let like = "write one like \"https://api.telegram.org\"";
    if text.contains('@') || holds_token(&text) {
        return Err(format!(
            "holds a user name or a token; {like}, and put the token into token_file"
        ));
    }
    let url = Url::parse(&text).map_err(|why| format!("{text:?} is not a URL ({why}); {like}"))?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("{text:?} holds a query or a fragment; {like}"));
    }
    match url.scheme() {
        "https" if url.has_host() => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        "http" => Err(format!(
            "{text:?} would send the token unencrypted; write https, or the address of a server \
             on this machine"
        )),
        scheme => Err(format!("the scheme {scheme:?} is not supported; {like}")),
    }
}

/// `…/bot123456:…`, as it is written in examples, or a token and nothing else.
fn holds_token(text: &str) -> bool {
    let mut rests = text.split("bot").skip(1);
    rests.any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains(':'))
        || is_token(&Secret::from(text.to_owned()))
}

pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        // Names below it are asked of the DNS on some machines.
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

fn integer(value: &DeValue<'_>) -> Option<i64> {
    let DeValue::Integer(number) = value else {
        return None;
    };
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn chat_id(value: &DeValue<'_>) -> Read<String> {
    let like = "write the chat's number without quotes, or \"@name\"";
    match value {
        DeValue::Integer(number) => match integer(value) {
            Some(number) if number != 0 => Ok(number.to_string()),
            _ => Err(format!("{number} is no chat; {like}")),
        },
        DeValue::String(_) => {
            let name = text(value)?;
            let rest = name.strip_prefix('@').unwrap_or_default();
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if (4..=32).contains(&rest.len()) && rest.chars().all(plain) {
                return Ok(name);
            }
            Err(match name.parse::<i64>() {
                Ok(number) => format!("{name:?} is text; write {number} without quotes"),
                Err(_) => format!("{name:?} is no chat; {like}"),
            })
        }
        other => Err(format!(
            "must be a number, not {}; {like}",
            described(other)
        )),
    }
}

fn thread(value: &DeValue<'_>) -> Read<i64> {
    match integer(value) {
        Some(1) => Err("1 is the General topic, which has no number; remove it".to_owned()),
        Some(number) if number > 1 => Ok(number),
        _ => Err("must be the number of a topic; write one without quotes".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_a_number_a_colon_and_plain_letters() {
        let takes = |text: &str| is_token(&Secret::from(text.to_owned()));
        assert!(takes("123456:AAE-x_9"));
        for bad in [
            "",
            ":",
            "123456:",
            ":AAE",
            "bot123456:AAE",
            "123456:AAE/getMe?x",
            "123456:AA E",
            "AAE",
        ] {
            assert!(!takes(bad), "{bad}");
        }
    }
}
