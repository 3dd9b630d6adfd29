//! Which addresses may be fetched from: public ones, unless the configuration allows all.
//!
//! A feed list is often somebody else's, and a redirect or a DNS answer is always somebody
//! else's: none of them may reach the services of the machine or network that ingest runs in.
//! Names are judged by what they resolve to, inside the resolver that the connection uses, so
//! that no second look-up can give another answer; literal addresses never reach a resolver
//! and are judged in each URL.

use super::fault::{FaultKind, FetchFault};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use url::{Host, Url};

/// Judges URLs before they are asked for, and addresses before they are connected to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    pub(super) allow_private: bool,
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

    /// The addresses of `host` that may be connected to.
    fn permitted(
        self,
        host: &str,
        mut found: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, PrivateAddress> {
        let first = found.first().map(SocketAddr::ip);
        found.retain(|address| self.allow_private || is_public(address.ip()));
        match first {
            Some(address) if found.is_empty() => Err(PrivateAddress {
                host: host.to_owned(),
                address,
            }),
            _ => Ok(found),
        }
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = *self;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let permitted = guard.permitted(name.as_str(), found.collect())?;
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

/// Whether an address is one of the public internet: not loopback, private, link-local, shared
/// (CGNAT), multicast, reserved, for documentation, nor a cloud's metadata service; and not an
/// IPv6 form that carries such an IPv4 address. After the IANA special-purpose registries.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    /// Azure's machine-local service, the one metadata address outside the reserved blocks.
    const AZURE_WIRE_SERVER: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);
    let reserved = match address.octets() {
        [0 | 10 | 127 | 224..=255, ..]
        | [169, 254, ..]
        | [192, 168, ..]
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _] => true,
        [100, second, ..] => (64..128).contains(&second),
        [172, second, ..] => (16..32).contains(&second),
        _ => false,
    };
    !reserved && address != AZURE_WIRE_SERVER
}

/// Only `2000::/3` is handed out as global unicast, so what is not in it needs no list.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // v4-mapped, and the well-known prefix by which NAT64 reaches IPv4
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            is_public_v4(embedded(high, low))
        }
        // 6to4
        [0x2002, high, low, ..] => is_public_v4(embedded(high, low)),
        // 2001::/23 is for protocols (Teredo, ORCHID), the other two are for documentation
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

fn embedded(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIVATE: &str = "0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 \
        100.127.255.255 127.0.0.1 127.255.0.1 168.63.129.16 169.254.0.1 169.254.169.254 172.16.0.1 \
        172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 \
        198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 \
        :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 64:ff9b::a00:1 \
        64:ff9b:1::1 100::1 2001::1 2001:10::1 2001:db8::1 2002:7f00:1::1 2002:c0a8:1::1 3fff::1 \
        fc00::1 fd00:ec2::254 fdff::1 fe80::1 febf::1 fec0::1 ff02::1 4000::1";

    const PUBLIC: &str = "1.1.1.1 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.0 126.0.0.1 \
        128.0.0.1 169.253.0.1 172.15.255.255 172.32.0.1 192.0.1.1 192.167.0.1 192.169.0.1 \
        198.17.0.1 198.20.0.1 223.255.255.255 2606:4700::1111 2a00:1450::1 2001:200::1 \
        2001:4860:4860::8888 ::ffff:1.1.1.1 64:ff9b::101:101 2002:101:101::1 3fff:1000::1";

    #[test]
    fn only_public_addresses_are_public() {
        for (list, public) in [(PRIVATE, false), (PUBLIC, true)] {
            for address in list.split_whitespace() {
                assert_eq!(is_public(address.parse().unwrap()), public, "{address}");
            }
        }
    }

    fn admitted(url: &str, allow_private: bool) -> Result<(), FaultKind> {
        let guard = Guard { allow_private };
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
            "http://169.254.169.254/latest/meta-data",
        ] {
            assert_eq!(admitted(url, false), Err(FaultKind::Private), "{url}");
            assert_eq!(admitted(url, true), Ok(()), "{url}");
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
}
