//! Which addresses are of the public network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is not a public one; `None` when it is.
pub(super) fn reserved(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => reserved_v4(address),
        IpAddr::V6(address) => reserved_v6(address),
    }
}

fn reserved_v4(address: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (0, ..) => Some("unspecified"),
        (127, ..) => Some("this machine's own"),
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => Some("private"),
        (169, 254, _) => Some("link-local"),
        (100, 64..=127, _) => Some("of a carrier's inner network"),
        (192, 0, 0 | 2) | (198, 51, 100) | (203, 0, 113) | (192, 88, 99) => Some("reserved"),
        (198, 18 | 19, _) => Some("reserved"),
        (224..=239, ..) => Some("multicast"),
        (240..=255, ..) => Some("reserved"),
        _ => None,
    }
}

fn reserved_v6(address: Ipv6Addr) -> Option<&'static str> {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        reserved_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("unspecified"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("this machine's own"),
        // An IPv4 address in IPv6: mapped, translated, or compatible.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => embedded(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x64, 0xff9b, 1, ..] => Some("private"),
        [0x2002, high, low, ..] => embedded(high, low),
        [0xfc00..=0xfdff, ..] => Some("private"),
        [0xfe80..=0xfebf, ..] => Some("link-local"),
        [0xfec0..=0xfeff, ..] => Some("private"),
        [0xff00..=0xffff, ..] => Some("multicast"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] | [0x100, 0, 0, 0, ..] => Some("reserved"),
        [0x2001, 0..=0x1ff, ..] => Some("reserved"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "127.255.255.254",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "192.0.2.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:7f00:1::",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
        ] {
            assert!(reserved(text.parse().unwrap()).is_some(), "{text}");
        }
        for text in [
            "1.1.1.1",
            "140.82.121.4",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "192.169.0.1",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:1.1.1.1",
        ] {
            assert_eq!(reserved(text.parse().unwrap()), None, "{text}");
        }
    }
}
