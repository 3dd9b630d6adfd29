//! Conditional requests: which validators are kept from an answer, and which are sent back.

use reqwest::header::{
    ETAG, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
};
use shared::model::{Timestamp, Validators};
use std::time::{Duration, UNIX_EPOCH};

/// A server whose cache is stale, or that confuses its validators, answers 304 for weeks: at
/// least this often the feed is asked for in full.
const FULL_EVERY: Duration = Duration::from_hours(24);

/// The validators of an answer.
pub(super) fn validators_of(headers: &HeaderMap) -> Validators {
    Validators {
        etag: text(headers, &ETAG),
        last_modified: text(headers, &LAST_MODIFIED),
    }
}

/// After a 304: what it says replaces what is stored, what it leaves out stays.
pub(super) fn updated(stored: &Validators, headers: &HeaderMap) -> Validators {
    let new = validators_of(headers);
    Validators {
        etag: new.etag.or_else(|| stored.etag.clone()),
        last_modified: new.last_modified.or_else(|| stored.last_modified.clone()),
    }
}

/// The headers that make a request conditional; none when the feed has not come in full for a
/// day, or is said to have come in the future (the clock went back).
///
/// A `Last-Modified` in the future would be "not modified" until then, so it is not sent. One
/// that is no date is: its server may know what it means.
pub(super) fn conditions(
    validators: &Validators,
    last_full: Option<Timestamp>,
    now: Timestamp,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let fresh = last_full.is_some_and(|last| last <= now && now.since(last) < FULL_EVERY);
    if !fresh {
        return headers;
    }
    if let Some(value) = validators.etag.as_deref().and_then(header_value) {
        headers.insert(IF_NONE_MATCH, value);
    }
    let last_modified = validators.last_modified.as_deref();
    let usable = last_modified.filter(|text| !is_future(text, now));
    if let Some(value) = usable.and_then(header_value) {
        headers.insert(IF_MODIFIED_SINCE, value);
    }
    headers
}

fn is_future(http_date: &str, now: Timestamp) -> bool {
    let Ok(date) = httpdate::parse_http_date(http_date) else {
        return false;
    };
    let since_epoch = date.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::EPOCH + since_epoch > now
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let value = headers.get(name)?;
    let text = std::str::from_utf8(value.as_bytes()).ok()?;
    (!text.is_empty()).then(|| text.to_owned())
}

fn header_value(text: &str) -> Option<HeaderValue> {
    HeaderValue::from_bytes(text.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-30T12:00:00Z
    const NOW: Timestamp = Timestamp::from_unix_millis(1_796_040_000_000);
    const HOUR: Duration = Duration::from_hours(1);

    fn validators(etag: &str, last_modified: &str) -> Validators {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Validators {
            etag: some(etag),
            last_modified: some(last_modified),
        }
    }

    fn sent(validators: &Validators, last_full: Option<Timestamp>) -> (String, String) {
        let headers = conditions(validators, last_full, NOW);
        let get = |name| {
            headers
                .get(name)
                .map_or("", |value: &HeaderValue| value.to_str().unwrap())
        };
        (
            get(IF_NONE_MATCH).to_owned(),
            get(IF_MODIFIED_SINCE).to_owned(),
        )
    }

    #[test]
    fn validators_go_back_verbatim_and_both() {
        for (etag, last_modified) in [
            ("W/\"a b\"", "Mon, 30 Nov 2026 11:00:00 GMT"),
            ("unquoted", "yesterday, about tea time"),
            ("\"only\"", ""),
            ("", "Mon, 30 Nov 2026 12:00:00 GMT"),
        ] {
            let sent = sent(&validators(etag, last_modified), Some(NOW.minus(HOUR)));
            assert_eq!(sent, (etag.to_owned(), last_modified.to_owned()));
        }
    }

    #[test]
    fn a_last_modified_in_the_future_is_not_used() {
        let stored = validators("\"1\"", "Thu, 31 Jan 2041 00:00:00 GMT");
        let sent = sent(&stored, Some(NOW.minus(HOUR)));
        assert_eq!(sent, ("\"1\"".to_owned(), String::new()));
    }

    #[test]
    fn once_a_day_a_feed_is_asked_for_in_full() {
        let stored = validators("\"1\"", "");
        for (last_full, conditional) in [
            (None, false),
            (Some(NOW.minus(HOUR * 24)), false),
            (Some(NOW.minus(HOUR * 23)), true),
            (Some(NOW), true),
            (Some(NOW + HOUR), false),
        ] {
            assert_eq!(
                !sent(&stored, last_full).0.is_empty(),
                conditional,
                "{last_full:?}"
            );
        }
    }

    #[test]
    fn a_304_replaces_only_what_it_names() {
        let stored = validators("\"old\"", "Mon, 30 Nov 2026 11:00:00 GMT");
        let headers = HeaderMap::from_iter([(ETAG, HeaderValue::from_static("\"new\""))]);
        let expected = validators("\"new\"", "Mon, 30 Nov 2026 11:00:00 GMT");
        assert_eq!(updated(&stored, &headers), expected);
        assert_eq!(updated(&stored, &HeaderMap::new()), stored);
    }

    #[test]
    fn an_empty_validator_is_none() {
        let headers = HeaderMap::from_iter([(ETAG, HeaderValue::from_static(""))]);
        assert_eq!(validators_of(&headers), Validators::NONE);
    }
}
