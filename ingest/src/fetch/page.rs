//! Web pages that stand in a feed's place: told apart here, so that a person reads what is wrong.

use reqwest::header::HeaderMap;

/// How much of a page is looked at, in bytes.
pub(super) const LOOKED_AT: usize = 16 * 1024;

/// What kind of page came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    /// Cloudflare, or another of its trade, asks the visitor to prove that it is a browser.
    Challenge,
    /// A form that asks for a password.
    Login,
    /// The network's own page, in place of every other.
    Portal,
}

/// By what the pages of Cloudflare, DDoS-Guard, Anubis, Imperva and Sucuri are known.
const CHALLENGES: &[&str] = &[
    "<title>just a moment",
    "_cf_chl_opt",
    "<title>attention required! | cloudflare",
    "checking your browser before accessing",
    "<title>ddos-guard",
    "making sure you&#39;re not a bot",
    "_incapsula_resource",
    "sucuri_cloudproxy_js",
];

/// Cloudflare names its own challenges (developers.cloudflare.com, "Detect a Challenge Page").
pub(super) fn is_challenge(headers: &HeaderMap) -> bool {
    headers
        .get("cf-mitigated")
        .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"challenge"))
}

/// Looks at the start of a body. Only what begins as a web page is judged: a feed may well talk
/// about password forms. A page that advertises its feeds is left to autodiscovery.
pub(super) fn recognise(body: &[u8]) -> Option<Page> {
    let start = String::from_utf8_lossy(body.get(..LOOKED_AT).unwrap_or(body)).to_ascii_lowercase();
    let start = start.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if !start.starts_with("<!doctype html") && !start.starts_with("<html") {
        return None;
    }
    let has_any = |signs: &[&str]| signs.iter().any(|sign| start.contains(sign));
    if has_any(CHALLENGES) {
        return Some(Page::Challenge);
    }
    if has_any(&[
        "wispaccessgatewayparam",
        "captive portal",
        "captiveportal",
        "captive-portal",
    ]) {
        return Some(Page::Portal);
    }
    let asks_for_password = has_any(&["type=\"password\"", "type='password'", "type=password"]);
    let shows_feeds = has_any(&["application/rss+xml", "application/atom+xml"]);
    (asks_for_password && !shows_feeds).then_some(Page::Login)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_in_a_feeds_place_are_named() {
        for (body, page) in [
            (
                "<!DOCTYPE html><html><head><title>Just a moment...</title>",
                Some(Page::Challenge),
            ),
            (
                "\u{feff}\n<html><script>window._cf_chl_opt={}",
                Some(Page::Challenge),
            ),
            (
                "<!doctype html><form><input type=\"password\">",
                Some(Page::Login),
            ),
            (
                "<html><link type='application/rss+xml'><input type='password'>",
                None,
            ),
            (
                "<html><title>Attention Required! | Cloudflare</title>",
                Some(Page::Challenge),
            ),
            (
                "<HTML><!-- <WISPAccessGatewayParam> --><input type='password'>",
                Some(Page::Portal),
            ),
            ("<!DOCTYPE html><p>Down for maintenance", None),
            (
                "<rss><title>Why &lt;input type=password&gt; leaks</title>type=password",
                None,
            ),
            ("", None),
        ] {
            assert_eq!(recognise(body.as_bytes()), page, "{body}");
        }
    }
}
