//! Cookies of one request's redirects: some servers answer only who brings back what they just gave.
//! They are forgotten with the request.

use reqwest::header::{COOKIE, HeaderMap, HeaderValue, SET_COOKIE};
use url::{Host, Url};

/// More than any server sets on the way to a feed.
const MOST: usize = 20;
const LONGEST: usize = 4096;

/// Each with the host that set it and that alone gets it back.
#[derive(Debug, Default)]
pub(super) struct Cookies(Vec<Cookie>);

#[derive(Debug)]
struct Cookie {
    host: Option<Host<String>>,
    is_secure: bool,
    name: String,
    value: String,
}

impl Cookies {
    /// Keeps what an answer from `url` sets; one of the same name is replaced.
    pub(super) fn keep(&mut self, url: &Url, headers: &HeaderMap) {
        for set in headers.get_all(SET_COOKIE) {
            if let Ok(text) = set.to_str()
                && let Some(cookie) = read(text, url)
            {
                self.0
                    .retain(|known| known.host != cookie.host || known.name != cookie.name);
                if self.0.len() < MOST {
                    self.0.push(cookie);
                }
            }
        }
    }

    /// Adds those of the host that `url` leads to, behind what the configuration gives.
    pub(super) fn add_to(&self, headers: &mut HeaderMap, url: &Url) {
        let host = url.host().map(|host| host.to_owned());
        let theirs = self
            .0
            .iter()
            .filter(|cookie| cookie.host == host && (!cookie.is_secure || url.scheme() == "https"));
        let configured = headers.get(COOKIE).and_then(|value| value.to_str().ok());
        let pairs = theirs.map(|cookie| format!("{}={}", cookie.name, cookie.value));
        let all: Vec<String> = configured
            .map(str::to_owned)
            .into_iter()
            .chain(pairs)
            .collect();
        if let Ok(mut value) = HeaderValue::from_str(&all.join("; "))
            && !all.is_empty()
        {
            value.set_sensitive(true);
            headers.insert(COOKIE, value);
        }
    }
}

fn read(text: &str, url: &Url) -> Option<Cookie> {
    let mut parts = text.split(';').map(str::trim);
    let (name, value) = parts.next()?.split_once('=')?;
    let mut attributes: Vec<String> = parts.map(str::to_ascii_lowercase).collect();
    attributes.retain(|attribute| !attribute.is_empty());
    let ended = |attribute: &String| attribute == "max-age=0" || attribute.starts_with("max-age=-");
    let is_kept = text.len() <= LONGEST && !attributes.iter().any(ended);
    is_kept.then(|| Cookie {
        host: url.host().map(|host| host.to_owned()),
        is_secure: attributes.iter().any(|attribute| attribute == "secure"),
        name: name.trim().to_owned(),
        value: value.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(set: &[(&str, &str)], to: &str) -> String {
        let mut cookies = Cookies::default();
        for (from, text) in set {
            let headers = HeaderMap::from_iter([(SET_COOKIE, text.parse().unwrap())]);
            cookies.keep(&from.parse().unwrap(), &headers);
        }
        let mut headers = HeaderMap::new();
        cookies.add_to(&mut headers, &to.parse().unwrap());
        let value = headers.get(COOKIE).map(|value| value.to_str().unwrap());
        value.unwrap_or_default().to_owned()
    }

    #[test]
    fn a_cookie_goes_back_to_its_host_alone() {
        let set = [
            ("https://a.example/1", "one=1; Path=/; HttpOnly"),
            ("https://a.example/2", "two=2; Secure"),
            ("https://b.example/", "three=3"),
            ("https://a.example/3", "one=4"),
            ("https://a.example/4", "gone=5; Max-Age=0"),
        ];
        assert_eq!(sent(&set, "https://a.example/x"), "two=2; one=4");
        assert_eq!(sent(&set, "http://a.example/x"), "one=4");
        assert_eq!(sent(&set, "https://b.example/"), "three=3");
        assert_eq!(sent(&set, "https://www.a.example/"), "");
    }
}
