//! Which addresses are not on the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::{Host, Url};

/// True for addresses that lead into this machine or its own network, or nowhere: loopback,
/// private, link-local, shared (RFC 6598), unspecified, broadcast, multicast and reserved ones,
/// and IPv6 forms that carry such an IPv4 address. Source: the IANA special-purpose registries.
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    let shared = first == 100 && second & 0b1100_0000 == 64;
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || shared
        || first == 0
        // Multicast, reserved, broadcast.
        || first >= 224
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let carried = match address.segments() {
        // Mapped, compatible, NAT64.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some((high, low))
        }
        // 6to4.
        [0x2002, high, low, ..] => Some((high, low)),
        _ => None,
    };
    let carried = carried.map(|(high, low)| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    carried.is_some_and(is_private_v4)
        || address.is_loopback()
        || address.is_unspecified()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        || address.is_multicast()
}

/// The same for a URL whose host is written as an address, or is `localhost`; other names are
/// judged when they are resolved.
pub fn names_private_host(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => is_private_v4(address),
        Some(Host::Ipv6(address)) => is_private_v6(address),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_apart() {
        let private = [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
            "::",
            "::1",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
        ];
        let public = [
            "1.1.1.1",
            "172.32.0.1",
            "192.169.0.1",
            "100.128.0.1",
            "99.64.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2002:101:101::",
        ];
        for address in private {
            assert!(is_private(address.parse().unwrap()), "{address}");
        }
        for address in public {
            assert!(!is_private(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn a_host_is_private_however_it_is_written() {
        for url in [
            "http://localhost/",
            "http://LOCALHOST./",
            "http://a.localhost/",
            "http://[::1]:80/",
            "http://127.1/",
            "http://0x7f000001/",
            "http://2130706433/",
            "http://0177.0.0.1/",
        ] {
            assert!(names_private_host(&Url::parse(url).unwrap()), "{url}");
        }
        assert!(!names_private_host(
            &Url::parse("http://localhost.example/").unwrap()
        ));
    }
}
