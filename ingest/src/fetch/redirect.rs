//! Redirects: which answers are one, where they lead, and what may travel along.

use super::fault::{FaultKind, FetchFault, shown};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, LOCATION};
use std::fmt;
use url::Url;

/// How many redirects one request follows.
const MOST_HOPS: usize = 5;

/// The hops of one request, in order.
#[derive(Debug, Default)]
pub(super) struct Chain(Vec<Hop>);

#[derive(Debug)]
pub(super) struct Hop {
    from: Url,
    status: u16,
    pub(super) to: Url,
}

impl Hop {
    /// The hop that an answer from `from` asks for; `None` when it is no redirect.
    pub(super) fn of(
        from: &Url,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Result<Option<Self>, FetchFault> {
        let status = status.as_u16();
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        let location = headers
            .get(LOCATION)
            .and_then(|value| std::str::from_utf8(value.as_bytes()).ok())
            .and_then(|text| from.join(text).ok());
        let Some(to) = location else {
            let detail = format!("HTTP {status} without a Location that can be followed");
            return Err(FetchFault::new(FaultKind::Redirects, detail));
        };
        let from = from.clone();
        Ok(Some(Self { from, status, to }))
    }

    fn is_permanent(&self) -> bool {
        matches!(self.status, 301 | 308)
    }

    pub(super) fn keeps_authorization(&self) -> bool {
        keeps_authorization(&self.from, &self.to)
    }
}

impl Chain {
    pub(super) fn push(&mut self, hop: Hop) -> Result<(), FetchFault> {
        let full = self.0.len() >= MOST_HOPS;
        self.0.push(hop);
        if full {
            let detail = format!("more than {MOST_HOPS} redirects");
            return Err(FetchFault::new(FaultKind::Redirects, detail));
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where the unbroken row of permanent hops at the start leads: what comes after the first
    /// temporary one says nothing about where the feed lives.
    pub(super) fn permanent(&self) -> Option<Url> {
        let permanent = self.0.iter().take_while(|hop| hop.is_permanent());
        permanent.last().map(|hop| hop.to.clone())
    }
}

/// `http://a/feed -301-> https://a/feed -302-> https://b/login`
impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(first) = self.0.first() {
            f.write_str(&shown(&first.from))?;
        }
        for hop in &self.0 {
            write!(f, " -{}-> {}", hop.status, shown(&hop.to))?;
        }
        Ok(())
    }
}

/// A secret stays with its host and port; the one step it may take is from http to https there.
fn keeps_authorization(from: &Url, to: &Url) -> bool {
    let step_up = from.scheme() == "http"
        && to.scheme() == "https"
        && from.port_or_known_default() == Some(80)
        && to.port_or_known_default() == Some(443);
    let same_origin =
        from.scheme() == to.scheme() && from.port_or_known_default() == to.port_or_known_default();
    from.host() == to.host() && (same_origin || step_up)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(from: &str, status: u16, location: &str) -> Hop {
        let headers = HeaderMap::from_iter([(LOCATION, location.parse().unwrap())]);
        let status = StatusCode::from_u16(status).unwrap();
        Hop::of(&from.parse().unwrap(), status, &headers)
            .unwrap()
            .unwrap()
    }

    fn chain(statuses: &[u16]) -> Chain {
        let mut chain = Chain::default();
        for (at, status) in statuses.iter().enumerate() {
            chain
                .push(hop("http://a/start", *status, &format!("/{at}")))
                .unwrap();
        }
        chain
    }

    #[test]
    fn only_the_permanent_hops_at_the_start_move_a_feed() {
        for (statuses, moved_to) in [
            (&[][..], None),
            (&[301], Some("http://a/0")),
            (&[308, 301], Some("http://a/1")),
            (&[301, 302, 301], Some("http://a/0")),
            (&[302, 301], None),
            (&[303], None),
            (&[307], None),
        ] {
            let permanent = chain(statuses).permanent();
            assert_eq!(permanent.as_ref().map(Url::as_str), moved_to);
        }
    }

    #[test]
    fn a_secret_stays_with_its_host() {
        for (from, to, kept) in [
            ("https://a/x", "https://a/y", true),
            ("http://a/x", "https://a/x", true),
            ("https://a/x", "http://a/x", false),
            ("https://a/x", "https://b/x", false),
            ("https://a/x", "https://www.a/x", false),
            ("https://a/x", "https://a:8443/x", false),
            ("http://a:8080/x", "https://a/x", false),
        ] {
            assert_eq!(
                hop(from, 302, to).keeps_authorization(),
                kept,
                "{from} to {to}"
            );
        }
    }

    #[test]
    fn a_chain_is_told_without_passwords_and_queries() {
        let mut chain = Chain::default();
        let first = hop("http://me:secret@a/x?token=1", 301, "https://b/y?token=2");
        chain.push(first).unwrap();
        assert_eq!(chain.to_string(), "http://a/x?… -301-> https://b/y?…");
    }
}
