//! Addresses reduced to what they lead to, so that two spellings of one are equal.

use shared::config::SameHosts;
use url::Url;

/// Parameters that say where a reader came from, not what is read. `utm_*` is matched by prefix.
const TRACKING: &[&str] = &[
    "at_campaign",
    "at_medium",
    "cmpid",
    "dclid",
    "fbclid",
    "gbraid",
    "gclid",
    "gclsrc",
    "igshid",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "msclkid",
    "ncid",
    "oly_anon_id",
    "oly_enc_id",
    "s_cid",
    "twclid",
    "vero_id",
    "wbraid",
    "wt_mc",
    "yclid",
    "_hsenc",
    "_hsmi",
];

/// A link in the one form in which it is compared; never shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    host: String,
    /// `host[:port]/path?query`, and a fragment that routes.
    page: String,
    /// Any other fragment: a place on the page.
    place: Option<String>,
}

impl Address {
    /// `None` for what is not http(s).
    pub(super) fn parse(link: &str) -> Option<Self> {
        let url = Url::parse(link.trim()).ok()?;
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        let host = url.host_str()?.trim_end_matches('.').to_owned();
        let mut page = host.clone();
        if let Some(port) = url.port().filter(|port| !matches!(port, 80 | 443)) {
            page.push(':');
            page.push_str(&port.to_string());
        }
        page.push_str(url.path().trim_end_matches('/'));
        if let Some(query) = url.query() {
            append_query(&mut page, query);
        }
        let fragment = url.fragment().filter(|fragment| !fragment.is_empty());
        let (route, place) = match fragment {
            Some(route) if route.starts_with(['!', '/']) => (Some(route), None),
            other => (None, other.map(str::to_owned)),
        };
        if let Some(route) = route {
            page.push('#');
            page.push_str(route);
        }
        Some(Self { host, page, place })
    }

    /// The same page under another host name.
    fn under(&self, host: &str) -> Self {
        let rest = self.page.strip_prefix(&self.host).unwrap_or_default();
        Self {
            host: host.to_owned(),
            page: format!("{host}{rest}"),
            place: self.place.clone(),
        }
    }

    /// Under each other name that its host has.
    pub(super) fn elsewhere(&self, hosts: &SameHosts) -> Vec<Self> {
        let others = hosts.others(&self.host);
        others.map(|host| self.under(host)).collect()
    }

    /// Under the one name that stands for its host: equal for all names of one page.
    pub(super) fn standing(&self, hosts: &SameHosts) -> Self {
        self.under(hosts.first(&self.host))
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Whether it looks like the page of one article, and not of a site or a list: its last part, or
    /// its query, holds a number, or several words.
    pub(super) fn is_of_an_article(&self) -> bool {
        let page = self.page.split_once(['/', '?']);
        let last = page.and_then(|(_host, path)| path.rsplit('/').next());
        last.is_some_and(|last| {
            last.contains(|c: char| c.is_ascii_digit()) || last.matches(['-', '_']).count() >= 2
        })
    }

    pub(super) fn page(&self) -> &str {
        &self.page
    }

    /// Page and place.
    pub(super) fn whole(&self) -> String {
        match &self.place {
            Some(place) => format!("{}#{place}", self.page),
            None => self.page.clone(),
        }
    }
}

fn append_query(page: &mut String, query: &str) {
    let kept = query.split('&').filter(|pair| {
        let name = pair
            .split('=')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        !pair.is_empty() && !name.starts_with("utm_") && !TRACKING.contains(&&*name)
    });
    for (at, pair) in kept.enumerate() {
        page.push(if at == 0 { '?' } else { '&' });
        page.push_str(pair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(link: &str) -> String {
        Address::parse(link).unwrap().whole()
    }

    #[test]
    fn spellings_of_one_address_are_equal() {
        for spelling in [
            "http://Example.org:80/News/1/",
            "https://example.org:443/News/1?utm_source=rss&fbclid=x",
            "https://EXAMPLE.org./News/./1?&gclid=1&mc_cid=2",
        ] {
            assert_eq!(page(spelling), "example.org/News/1", "{spelling}");
        }
    }

    #[test]
    fn what_leads_elsewhere_differs() {
        for (one, other) in [
            ("https://example.org/a", "https://example.org/A"),
            ("https://example.org/?id=1", "https://example.org/?id=2"),
            ("https://example.org/#!/1", "https://example.org/#!/2"),
            ("https://example.org:8080/", "https://example.org/"),
            ("https://www.example.org/", "https://example.org/"),
            ("https://example.org/log#v1", "https://example.org/log#v2"),
        ] {
            assert_ne!(page(one), page(other), "{one}");
        }
        let places = ["https://example.org/log#v1", "https://example.org/log#v2"];
        let [one, other] = places.map(|link| Address::parse(link).unwrap());
        assert_eq!(one.page(), other.page());
        let routes = ["https://example.org/#!/1", "https://example.org/#/2"];
        let [one, other] = routes.map(|link| Address::parse(link).unwrap());
        assert_eq!((one.page(), &one.place), ("example.org#!/1", &None));
        assert_eq!(other.page(), "example.org#/2", "another page of one site");
    }

    #[test]
    fn what_is_not_on_the_web_has_no_address() {
        for link in ["", "mailto:a@example.org", "/news", "urn:x:1"] {
            assert_eq!(Address::parse(link), None, "{link}");
        }
    }
}
