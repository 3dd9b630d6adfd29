//! Which addresses may be fetched from: public ones, unless the configuration allows all.
//!
//! A feed list is often somebody else's, and a redirect or a DNS answer is always somebody
//! else's: none of them may reach the services of the machine or network that ingest runs in.
//! Names are judged by what they resolve to, inside the resolver that the connection uses, so
//! that no second look-up can give another answer; literal addresses never reach a resolver
//! and are judged in each URL.

use super::fault::{FaultKind, FetchFault};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use shared::config::Family;
use shared::policy::address::is_public;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use url::{Host, Url};

/// Judges URLs before they are asked for, and addresses before they are connected to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    pub(super) allow_private: bool,
    /// The only kind of address that a name is reached by.
    pub(super) family: Option<Family>,
}

/// A host that leads to no public address.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PrivateAddress {
    host: String,
    address: IpAddr,
}

impl Guard {
    /// Whether a request to `url` may be made at all; called for every hop.
    pub(super) fn admit(self, url: &Url) -> Result<(), FetchFault> {
        if !matches!(url.scheme(), "http" | "https") {
            let detail = format!("{}: is not fetched; only http and https are", url.scheme());
            return Err(FetchFault::new(FaultKind::Scheme, detail));
        }
        let address = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            Some(Host::Domain(_)) | None => return Ok(()),
        };
        match self.permitted(&address.to_string(), vec![SocketAddr::new(address, 0)]) {
            Ok(_) => Ok(()),
            Err(private) => Err(FetchFault::new(FaultKind::Private, private.to_string())),
        }
    }

    fn of_family(self, mut found: Vec<SocketAddr>) -> io::Result<Vec<SocketAddr>> {
        let Some(family) = self.family else {
            return Ok(found);
        };
        found.retain(|address| address.is_ipv4() == (family == Family::Ipv4));
        if found.is_empty() {
            let what = "it has no address of the only kind that family = \"…\" allows";
            return Err(io::Error::other(what));
        }
        Ok(found)
    }

    /// The addresses of `host` that may be connected to.
    fn permitted(
        self,
        host: &str,
        mut found: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, PrivateAddress> {
        let first = found.first().map(SocketAddr::ip);
        found.retain(|address| {
            let address = address.ip().to_canonical();
            !is_metadata(address) && (self.allow_private || is_public(address))
        });
        match first {
            Some(address) if found.is_empty() => Err(PrivateAddress {
                host: host.to_owned(),
                address,
            }),
            _ => Ok(found),
        }
    }
}

/// Where clouds keep the credentials of a machine: no feed lives there, whatever is allowed.
fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address == Ipv4Addr::new(169, 254, 169, 254),
        IpAddr::V6(address) => address == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = *self;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let found = guard.of_family(found.collect())?;
            let permitted = guard.permitted(name.as_str(), found)?;
            let addresses: Addrs = Box::new(permitted.into_iter());
            Ok(addresses)
        })
    }
}

impl std::error::Error for PrivateAddress {}

impl fmt::Display for PrivateAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, address } = self;
        let verb = if *host == address.to_string() {
            "is"
        } else {
            "resolves to"
        };
        write!(
            f,
            "{host} {verb} a private address ({address}); set ingest.allow_private = true to allow it"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(url: &str, allow_private: bool) -> Result<(), FaultKind> {
        let guard = Guard {
            allow_private,
            family: None,
        };
        guard
            .admit(&url.parse().unwrap())
            .map_err(|fault| fault.kind)
    }

    #[test]
    fn a_literal_address_is_judged_however_it_is_spelt() {
        for url in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://0x7f000001/",
            "http://2130706433/",
            "http://0177.0.0.1/",
            "https://[::1]/",
            "https://[::ffff:7f00:1]/",
        ] {
            assert_eq!(admitted(url, false), Err(FaultKind::Private), "{url}");
            assert_eq!(admitted(url, true), Ok(()), "{url}");
        }
        for url in [
            "http://169.254.169.254/latest/meta-data",
            "http://[::ffff:169.254.169.254]/",
            "http://[fd00:ec2::254]/",
        ] {
            assert_eq!(admitted(url, true), Err(FaultKind::Private), "{url}");
        }
        assert_eq!(admitted("https://1.1.1.1/", false), Ok(()));
    }

    #[test]
    fn only_the_web_is_fetched_from_whatever_is_allowed() {
        for url in [
            "ftp://a/",
            "gopher://a/",
            "data:text/xml,x",
            "file:///etc/passwd",
        ] {
            assert_eq!(admitted(url, true), Err(FaultKind::Scheme), "{url}");
        }
    }

    #[test]
    fn a_name_is_reached_by_its_public_addresses_only() {
        let addresses = |list: &[&str]| -> Vec<SocketAddr> {
            let parsed = list.iter().map(|text| text.parse().unwrap());
            parsed.collect()
        };
        let guard = Guard {
            allow_private: false,
            family: None,
        };
        let mixed = addresses(&["10.0.0.1:0", "1.1.1.1:0", "[::1]:0"]);
        assert_eq!(
            guard.permitted("mixed", mixed),
            Ok(addresses(&["1.1.1.1:0"]))
        );
        let refused = guard.permitted("feeds.lan", addresses(&["10.0.0.1:0"]));
        assert_eq!(
            refused.unwrap_err().to_string(),
            "feeds.lan resolves to a private address (10.0.0.1); \
             set ingest.allow_private = true to allow it"
        );
    }
    #[test]
    fn a_name_is_reached_by_one_kind_of_address_where_only_one_is_allowed() {
        let addresses = |list: &[&str]| -> Vec<SocketAddr> {
            let parsed = list.iter().map(|text| text.parse().unwrap());
            parsed.collect()
        };
        for (family, list, reached) in [
            (
                None,
                &["1.1.1.1:0", "[2606:4700::1]:0"][..],
                "1.1.1.1 2606:4700::1",
            ),
            (
                Some(Family::Ipv4),
                &["[2606:4700::1]:0", "1.1.1.1:0"],
                "1.1.1.1",
            ),
            (
                Some(Family::Ipv6),
                &["1.1.1.1:0", "[2606:4700::1]:0"],
                "2606:4700::1",
            ),
            (Some(Family::Ipv6), &["1.1.1.1:0"], ""),
            (Some(Family::Ipv4), &["[2606:4700::1]:0"], ""),
        ] {
            let guard = Guard {
                allow_private: false,
                family,
            };
            let found = guard.of_family(addresses(list)).unwrap_or_default();
            let ips: Vec<String> = found.iter().map(|found| found.ip().to_string()).collect();
            assert_eq!(ips.join(" "), reached, "{family:?}");
        }
    }
}
