//! Where a request wants to go, read strictly: one spelling for each host.

use std::fmt;
use std::net::IpAddr;

/// The longest name that the domain name system knows.
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) host: Host,
    pub(super) port: u16,
}

/// A host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    /// A name, in small letters.
    Name(String),
    /// An address, written as such.
    Address(IpAddr),
}

impl Host {
    /// Reads a name, an IPv4 address in its usual form, or an IPv6 address in brackets. The other ways to write an address
    /// (`0x7f.1`, `2130706433`, `0177.0.0.1`) are refused, since not everybody reads them alike.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        if let Some(inner) = text.strip_prefix('[') {
            let address = inner.strip_suffix(']').and_then(|inner| inner.parse().ok());
            return address
                .map(|address| Self::Address(IpAddr::V6(address)))
                .ok_or("it is not an IPv6 address");
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(IpAddr::V4(address)));
        }
        let name = text.to_ascii_lowercase();
        let labels = || name.split('.');
        if name.len() > MAX_NAME || !labels().all(is_label) {
            return Err("it is not the name of a host");
        }
        if labels().next_back().is_some_and(is_number) {
            return Err("it is an address in an unusual form");
        }
        Ok(Self::Name(name))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(formatter),
            Self::Address(IpAddr::V6(address)) => write!(formatter, "[{address}]"),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.host, self.port)
    }
}

fn is_label(label: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_edge = |byte: Option<&u8>| byte.is_some_and(|byte| *byte != b'-');
    let bytes = label.as_bytes();
    bytes.len() <= MAX_LABEL
        && bytes.iter().copied().all(is_inner)
        && is_edge(bytes.first())
        && is_edge(bytes.last())
}

/// Whether what stands last makes the whole an address for some who read it.
fn is_number(label: &str) -> bool {
    label.bytes().all(|byte| byte.is_ascii_digit()) || label.starts_with("0x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_one_spelling() {
        for (text, shown) in [
            ("PyPI.org", "pypi.org"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("1.1.1.1", "1.1.1.1"),
            ("[2606:4700:0:0::1111]", "[2606:4700::1111]"),
            ("3com.example", "3com.example"),
        ] {
            assert_eq!(Host::parse(text).unwrap().to_string(), shown);
        }
        let long = format!("{}.example", "a".repeat(64));
        for text in [
            "",
            ".",
            "pypi.org.",
            "a..example",
            "-a.example",
            "bücher.example",
            "a b.example",
            "2130706433",
            "0x7f000001",
            "0x7f.0.0.1",
            "127.0.0.0x1",
            "0177.0.0.1",
            "127.1",
            "1.1.1.1.1",
            "256.1.1.1",
            "::1",
            "[::1",
            "[fe80::1%eth0]",
            "[127.0.0.1]",
            "a.example\r\nx",
            "user@a.example",
            long.as_str(),
        ] {
            assert!(Host::parse(text).is_err(), "{text:?}");
        }
    }
}
