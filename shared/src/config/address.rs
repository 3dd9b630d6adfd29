//! Which feeds are not on the public internet, as far as their URL says.

use crate::policy::address::is_public;
use core::net::IpAddr;
use url::{Host, Url};

/// True when the host is written as a private address, or is `localhost`; other names are
/// judged when they are resolved.
pub(super) fn names_private_host(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => !is_public(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => !is_public(IpAddr::V6(address)),
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
