//! The final answer of a server: its status decides before anything of the body is believed.

use super::conditional::validators_of;
use super::fault::{FaultKind, FetchFault};
use super::page::{self, Page};
use super::room::{Body, Room};
use super::schedule;
use reqwest::header::{
    AGE, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, RETRY_AFTER,
};
use reqwest::{Response, StatusCode};
use shared::model::{Timestamp, Validators};
use std::time::Duration;

/// A challenge is not solved by asking again soon; it may be lifted some day.
const CHALLENGE_PAUSE: Duration = Duration::from_hours(1);

/// How every file of gzip begins (RFC 1952, 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

const RATELIMIT_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// A whole document under the cap.
pub(super) struct Document {
    pub(super) body: Body,
    pub(super) charset: Option<String>,
    pub(super) validators: Validators,
    pub(super) max_age: Option<Duration>,
}

/// The document in `response`, or why there is none.
pub(super) async fn document(
    mut response: Response,
    most_bytes: usize,
    room: &Room,
    now: Timestamp,
) -> Result<Document, FetchFault> {
    let status = response.status();
    if !matches!(status.as_u16(), 200 | 203) {
        return Err(refusal(response, now).await);
    }
    refuse_unasked_coding(response.headers())?;
    let body = read_capped(&mut response, most_bytes, room).await?;
    if let Some(page) = page::recognise(&body) {
        return Err(of_page(page, status));
    }
    if body.starts_with(&GZIP) {
        let detail = "the document is packed (gzip) once more than its headers say";
        return Err(FetchFault::new(FaultKind::Body, detail));
    }
    Ok(Document {
        body,
        max_age: max_age(response.headers()),
        charset: charset(response.headers()),
        validators: validators_of(response.headers()),
    })
}

/// Never more than the cap in memory, however little was announced or sent for it, and never more
/// than there is room for. A length is announced of what is not packed alone, and kept to by the
/// connection.
async fn read_capped(response: &mut Response, cap: usize, room: &Room) -> Result<Body, FetchFault> {
    let announced = response.content_length().map(usize::try_from);
    let most = match announced {
        Some(Ok(length)) if length <= cap => length,
        Some(_) => return Err(FetchFault::too_large(cap)),
        None => cap,
    };
    let mut body = Body::default();
    while let Some(chunk) = response.chunk().await.map_err(FetchFault::of_transport)? {
        if chunk.len() > cap.saturating_sub(body.len()) {
            return Err(FetchFault::too_large(cap));
        }
        let length = body.len() + chunk.len();
        room.admit(&mut body, length, most).await;
        body.extend(&chunk);
    }
    room.settle(&mut body);
    Ok(body)
}

/// What reqwest unpacked no longer names its coding. A compression that is still named was not
/// asked for and cannot be read; any other name is a server's slip, often a character set, and
/// the body is taken as it is.
fn refuse_unasked_coding(headers: &HeaderMap) -> Result<(), FetchFault> {
    let Some(coding) = text(headers, &CONTENT_ENCODING) else {
        return Ok(());
    };
    let mut names = coding
        .split(',')
        .map(|name| name.trim().to_ascii_lowercase());
    let is_compression = |name: &str| {
        matches!(
            name,
            "gzip" | "x-gzip" | "deflate" | "compress" | "br" | "zstd"
        )
    };
    if names.any(|name| is_compression(&name)) {
        let detail = format!("the answer is packed as {coding:?}, which was not asked for");
        return Err(FetchFault::new(FaultKind::Body, detail));
    }
    tracing::warn!(%coding, "a feed names a content coding that is none; read as it came");
    Ok(())
}

/// Any status but a document's.
async fn refusal(response: Response, now: Timestamp) -> FetchFault {
    let status = response.status();
    let asked = matches!(status.as_u16(), 429 | 503).then(|| {
        let headers = response.headers();
        let reset = text(headers, &RATELIMIT_RESET);
        schedule::retry_after(text(headers, &RETRY_AFTER), reset, now)
    });
    if page::is_challenge(response.headers()) {
        return of_page(Page::Challenge, status);
    }
    if let Some(page) = page_in(response).await {
        return of_page(page, status);
    }
    FetchFault {
        kind: match status.as_u16() {
            401 => FaultKind::Login,
            410 => FaultKind::Gone,
            429 => FaultKind::RateLimited,
            other => FaultKind::Status(other),
        },
        retry_after: asked.flatten(),
        detail: format!("HTTP {status}{}", meaning(status)),
    }
}

fn meaning(status: StatusCode) -> &'static str {
    match status.as_u16() {
        304 => ": nothing was asked that this could answer",
        401 => ": the server asks for a login",
        403 => ": the server refuses us",
        404 => ": there is no feed at this address",
        410 => ": the feed was taken down for good",
        429 => ": the server wants to be asked less often",
        511 => ": this network wants a login before it lets anything through",
        500.. => ": the server is in trouble",
        _ => "",
    }
}

/// Only these come with pages of interest; whatever else their bodies do is not our concern.
async fn page_in(mut response: Response) -> Option<Page> {
    let is_html = text(response.headers(), &CONTENT_TYPE)
        .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/html"));
    if !is_html || !matches!(response.status().as_u16(), 403 | 429 | 503) {
        return None;
    }
    let mut start = Vec::new();
    while start.len() < page::LOOKED_AT {
        let Ok(Some(chunk)) = response.chunk().await else {
            break;
        };
        start.extend_from_slice(&chunk);
    }
    page::recognise(&start)
}

fn of_page(page: Page, status: StatusCode) -> FetchFault {
    let (kind, retry_after, what) = match page {
        Page::Challenge => (
            FaultKind::Challenge,
            Some(CHALLENGE_PAUSE),
            "a challenge (Cloudflare or the like), which only a browser passes; ask the site to let \
             feed readers in",
        ),
        Page::Portal => (
            FaultKind::Login,
            None,
            "a captive portal's page: this network wants a login before it lets anything through",
        ),
        Page::Login => (FaultKind::Login, None, "a login page, not a feed"),
    };
    FetchFault {
        kind,
        retry_after,
        detail: format!("HTTP {status}: {what}"),
    }
}

/// `max-age` less the time that caches on the way have held the answer (RFC 9111, 4.2).
fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let directives = text(headers, &CACHE_CONTROL)?.to_ascii_lowercase();
    let mut directives = directives.split(',').map(str::trim);
    let seconds: u32 = directives
        .find_map(|directive| directive.strip_prefix("max-age="))?
        .trim_matches('"')
        .parse()
        .ok()?;
    let age = text(headers, &AGE).and_then(|age| age.trim().parse().ok());
    Some(Duration::from_secs(
        seconds.saturating_sub(age.unwrap_or(0)).into(),
    ))
}

/// The `charset` parameter of `Content-Type`, unquoted.
fn charset(headers: &HeaderMap) -> Option<String> {
    let parameters = text(headers, &CONTENT_TYPE)?.split(';').skip(1);
    let mut named = parameters.filter_map(|parameter| parameter.split_once('='));
    let (_, value) = named.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    let value = value.trim().trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| value.to_owned())
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    fn headers(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn the_charset_is_found_in_the_content_type() {
        for (content_type, expected) in [
            ("text/xml; charset=utf-8", Some("utf-8")),
            ("text/xml;CHARSET=\"ISO-8859-1\"", Some("ISO-8859-1")),
            (
                "application/rss+xml; boundary=x; charset='koi8-r'",
                Some("koi8-r"),
            ),
            ("text/xml; charset=", None),
            ("text/xml", None),
            ("charset=utf-8", None),
        ] {
            let found = charset(&headers(CONTENT_TYPE, content_type));
            assert_eq!(found.as_deref(), expected, "{content_type}");
        }
    }

    #[test]
    fn a_document_is_fresh_for_what_is_left_of_its_age() {
        for (control, age, seconds) in [
            ("public, Max-Age=300", "", Some(300)),
            ("max-age=300", "120", Some(180)),
            ("max-age=300", "900", Some(0)),
            ("s-maxage=300", "", None),
            ("max-age=soon", "", None),
            ("no-cache", "", None),
        ] {
            let mut headers = headers(CACHE_CONTROL, control);
            headers.insert(AGE, HeaderValue::from_static(age));
            let fresh = max_age(&headers).map(|age| age.as_secs());
            assert_eq!(fresh, seconds, "{control}");
        }
    }

    #[test]
    fn a_compression_nobody_asked_for_is_refused_and_a_slip_is_not() {
        for (coding, refused) in [
            ("br", true),
            ("zstd", true),
            ("GZIP", true),
            ("gzip, gzip", true),
            ("utf-8", false),
            ("identity", false),
        ] {
            let outcome = refuse_unasked_coding(&headers(CONTENT_ENCODING, coding));
            assert_eq!(outcome.is_err(), refused, "{coding}");
        }
    }
}
