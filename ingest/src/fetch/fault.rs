//! Why a fetch failed: a kind for the program, one clear line for a person, never a secret.

use super::guard::PrivateAddress;
use super::redirect::Chain;
use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;
use url::Url;

/// What a caller can tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The name did not resolve.
    Dns,
    /// No connection: refused, unreachable, or dropped before TLS was done.
    Refused,
    /// A connect time-out or the request's deadline.
    Timeout,
    /// The certificate is not trusted, or the other side does not speak TLS.
    Tls,
    /// Any answer but a document, a 304, and those that have a kind of their own.
    Status(u16),
    /// 410: its owner took the feed down for good.
    Gone,
    /// 429.
    RateLimited,
    /// A page that wants a browser, from Cloudflare.
    Challenge,
    /// A page with a password form in the feed's place, or 401.
    Login,
    /// More bytes than the cap, as announced, as received or as unpacked.
    TooLarge,
    /// The host is not on the public internet.
    Private,
    /// Too many redirects, or one that leads nowhere.
    Redirects,
    /// A scheme that is not fetched, or not allowed.
    Scheme,
    /// The connection broke, or what came cannot be unpacked.
    Body,
    /// The file of a `file:` URL cannot be read.
    File,
    /// What the configuration gives for this feed does not fit into a request.
    Request,
}

/// One failed fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchFault {
    pub kind: FaultKind,
    /// The least time to leave the server alone, from now; at most 24 h.
    pub retry_after: Option<Duration>,
    /// One line, with the final status and the redirects that led there.
    pub detail: String,
}

impl fmt::Display for FetchFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl FetchFault {
    pub(super) fn new(kind: FaultKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            retry_after: None,
            detail: detail.into(),
        }
    }

    pub(super) fn deadline(deadline: Duration) -> Self {
        let deadline = humantime::format_duration(deadline);
        Self::new(
            FaultKind::Timeout,
            format!("no full answer within {deadline}"),
        )
    }

    pub(super) fn too_large(cap: usize) -> Self {
        Self::new(
            FaultKind::TooLarge,
            format!("the document is larger than {cap} bytes"),
        )
    }

    /// The same fault, at the end of these redirects.
    pub(super) fn after(mut self, chain: &Chain) -> Self {
        if !chain.is_empty() {
            self.detail = format!("{} (redirected: {chain})", self.detail);
        }
        self
    }

    /// From an error of the connection; what it says of the URL is dropped, for a URL can hold
    /// a secret.
    pub(super) fn of_transport(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let cause = root_cause(&error);
        if let Some(private) = find::<PrivateAddress>(&error) {
            return Self::new(FaultKind::Private, private.to_string());
        }
        if error.is_timeout() {
            let what = if error.is_connect() {
                "no connection in time"
            } else {
                "no answer in time"
            };
            return Self::new(FaultKind::Timeout, what);
        }
        if let Some(tls) = find::<rustls::Error>(&error) {
            return Self::new(FaultKind::Tls, of_tls(tls));
        }
        if error.is_dns() {
            return Self::new(
                FaultKind::Dns,
                format!("the name does not resolve: {cause}"),
            );
        }
        if error.is_connect() {
            return Self::new(FaultKind::Refused, format!("no connection: {cause}"));
        }
        if error.is_decode() {
            return Self::new(
                FaultKind::Body,
                format!("the answer cannot be unpacked: {cause}"),
            );
        }
        Self::new(FaultKind::Body, format!("the connection broke: {cause}"))
    }
}

fn of_tls(error: &rustls::Error) -> String {
    use rustls::CertificateError::{Other, UnknownIssuer};
    let hint = match error {
        rustls::Error::InvalidCertificate(UnknownIssuer) => {
            "; the server sends no chain to a trusted root: perhaps a missing intermediate \
             certificate, perhaps one of its own making"
        }
        rustls::Error::InvalidCertificate(Other(_)) if is_of_an_authority(error) => {
            "; it is an authority's: make the server one without CA:TRUE"
        }
        rustls::Error::InvalidMessage(_) => "; does this port speak https?",
        _ => "",
    };
    format!("TLS: {error}{hint}")
}

/// What webpki says of it has no type that we could name.
fn is_of_an_authority(error: &rustls::Error) -> bool {
    error.to_string().contains("CaUsedAsEndEntity")
}

/// The URL as a person may see it: without user name and password, and without the query, where
/// private feeds keep their keys.
pub fn shown(url: &Url) -> String {
    let mut bare = url.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    let more = if url.query().is_some() { "?…" } else { "" };
    format!("{}{more}", without_userinfo(bare))
}

pub(super) fn without_userinfo(mut url: Url) -> Url {
    let cleared = url.set_username("").and_then(|()| url.set_password(None));
    if cleared.is_err() {
        tracing::trace!("a URL without a host holds no password");
    }
    url
}

fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

fn root_cause(error: &reqwest::Error) -> String {
    let last = causes(error).last();
    last.map(ToString::to_string).unwrap_or_default()
}

/// The error and what it stems from, also what an [`io::Error`] wraps: as its source that one
/// names the source of what it wraps.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        match error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(wrapped) => Some(wrapped),
            None => (*error).source(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_issuer_hints_at_the_missing_intermediate() {
        let error = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let wrapped = io::Error::other(io::Error::other(error));
        let found: &rustls::Error = find(&wrapped).unwrap();
        assert!(of_tls(found).contains("missing intermediate certificate"));
        let expired = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
        assert!(!of_tls(&expired).contains("intermediate"));
    }

    #[test]
    fn a_url_is_shown_without_its_secrets() {
        for (url, line) in [
            (
                "https://me:secret@a.example/x?token=1#y",
                "https://a.example/x?…",
            ),
            ("http://a.example:8080/feed", "http://a.example:8080/feed"),
        ] {
            assert_eq!(shown(&url.parse().unwrap()), line);
        }
    }
}
