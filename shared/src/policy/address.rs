//! Which addresses are on the public internet.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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
                assert_eq!(
                    is_public(address.parse().expect("an address")),
                    public,
                    "{address}"
                );
            }
        }
    }
}
