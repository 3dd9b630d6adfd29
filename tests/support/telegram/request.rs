//! A request to the Bot API, taken apart: token, method, and parameters from query, form or JSON.

use super::super::feeds::Request;
use serde_json::Value;

/// The parameters of a call, all as text; an object is its JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut named = self.0.iter().filter(|(known, _)| known == name);
        named.next().map(|(_, value)| value.as_str())
    }

    pub fn is_true(&self, name: &str) -> bool {
        let value = self.get(name).unwrap_or_default();
        ["true", "yes", "1"]
            .iter()
            .any(|yes| value.eq_ignore_ascii_case(yes))
    }

    pub(super) fn bytes(&self) -> usize {
        self.0
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum()
    }
}

pub(super) struct Call<'a> {
    pub(super) token: &'a str,
    /// As it came; Telegram does not mind the case.
    pub(super) method: &'a str,
    /// None when a string is not UTF-8 or the JSON none.
    pub(super) parameters: Result<Parameters, &'static str>,
}

impl<'a> Call<'a> {
    /// None for a path that is not `/bot<TOKEN>/<method>`, with a token of the right shape.
    pub(super) fn of(request: &'a Request) -> Option<Self> {
        let (path, query) = match request.path.split_once('?') {
            Some((path, query)) => (path, query),
            None => (request.path.as_str(), ""),
        };
        let (token, method) = path.strip_prefix("/bot")?.split_once('/')?;
        let (number, secret) = token.split_once(':')?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        (is_number && !secret.is_empty()).then(|| Self {
            token,
            method,
            parameters: parameters(request, query),
        })
    }
}

fn parameters(request: &Request, query: &str) -> Result<Parameters, &'static str> {
    const NOT_UTF8: &str = "strings must be encoded in UTF-8";
    let mut list = form(query).ok_or(NOT_UTF8)?;
    let kind = request.header("content-type").unwrap_or_default();
    let body = str::from_utf8(&request.body).map_err(|_| NOT_UTF8)?;
    if kind.starts_with("application/json") && !body.is_empty() {
        let Ok(Value::Object(object)) = serde_json::from_str(body) else {
            return Err("can't parse JSON object");
        };
        let text = |value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let given = object.into_iter().filter(|(_, value)| !value.is_null());
        list.extend(given.map(|(name, value)| (name, text(value))));
    } else if kind.starts_with("application/x-www-form-urlencoded") {
        list.extend(form(body).ok_or(NOT_UTF8)?);
    }
    Ok(Parameters(list))
}

fn form(text: &str) -> Option<Vec<(String, String)>> {
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(name)?, decoded(value)?))
        })
        .collect()
}

/// None when it is not UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let pair = behind.get(..2).and_then(|pair| str::from_utf8(pair).ok());
        let escaped = pair.filter(|pair| pair.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let value = escaped.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        rest = behind;
        match (first, value) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            (b'+', _) => bytes.push(b' '),
            (byte, _) => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).ok()
}
