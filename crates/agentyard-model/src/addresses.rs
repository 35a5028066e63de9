//! Which addresses are of the public network.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is not one of the public network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReservedAddress {
    /// It means no place at all, or every one of this machine.
    Unspecified,
    /// It leads back to this machine.
    Loopback,
    /// It is of an inner network.
    Private,
    /// It is of the wire itself, where cloud providers answer with credentials.
    LinkLocal,
    /// It is of a carrier's inner network.
    Carrier,
    /// It means many machines.
    Multicast,
    /// It is for documentation, measurements, relays or a future.
    Reserved,
}

impl ReservedAddress {
    /// What keeps an address from being public; `None` when it is. An IPv4 address inside an IPv6 one is looked at as what
    /// it leads to.
    #[must_use]
    pub fn of(address: IpAddr) -> Option<Self> {
        match address {
            IpAddr::V4(address) => reserved_v4(address),
            IpAddr::V6(address) => reserved_v6(address),
        }
    }

    /// As the end of a sentence: an address that is …
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Loopback => "this machine's own",
            Self::Private => "private",
            Self::LinkLocal => "link-local",
            Self::Carrier => "of a carrier's inner network",
            Self::Multicast => "multicast",
            Self::Reserved => "reserved",
        }
    }
}

impl fmt::Display for ReservedAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

fn reserved_v4(address: Ipv4Addr) -> Option<ReservedAddress> {
    use ReservedAddress::{Carrier, LinkLocal, Loopback, Multicast, Private, Reserved, Unspecified};

    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (0, ..) => Some(Unspecified),
        (127, ..) => Some(Loopback),
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => Some(Private),
        (169, 254, _) => Some(LinkLocal),
        (100, 64..=127, _) => Some(Carrier),
        (192, 0, 0 | 2) | (198, 51, 100) | (203, 0, 113) | (192, 88, 99) => Some(Reserved),
        (198, 18 | 19, _) => Some(Reserved),
        (224..=239, ..) => Some(Multicast),
        (240..=255, ..) => Some(Reserved),
        _ => None,
    }
}

fn reserved_v6(address: Ipv6Addr) -> Option<ReservedAddress> {
    use ReservedAddress::{LinkLocal, Loopback, Multicast, Private, Reserved, Unspecified};

    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        reserved_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some(Unspecified),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some(Loopback),
        // An IPv4 address in IPv6: mapped, translated, or compatible.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => embedded(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x64, 0xff9b, 1, ..] => Some(Private),
        [0x2002, high, low, ..] => embedded(high, low),
        [0xfc00..=0xfdff, ..] => Some(Private),
        [0xfe80..=0xfebf, ..] => Some(LinkLocal),
        [0xfec0..=0xfeff, ..] => Some(Private),
        [0xff00..=0xffff, ..] => Some(Multicast),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] | [0x100, 0, 0, 0, ..] => Some(Reserved),
        [0x2001, 0..=0x1ff, ..] => Some(Reserved),
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
            assert!(ReservedAddress::of(text.parse().unwrap()).is_some(), "{text}");
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
            assert_eq!(ReservedAddress::of(text.parse().unwrap()), None, "{text}");
        }
    }
}
