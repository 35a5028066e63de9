//! Hosts and origins as they stand in headers. They are compared as they are written: a
//! browser writes them in one way only, and every other spelling is somebody trying.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The longest name that DNS knows.
const MAX_NAME_LENGTH: usize = 253;

/// A host with the port that was written behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostPort {
    /// A name or an address; an IPv6 address with its brackets.
    pub(super) name: String,
    pub(super) port: Option<u16>,
}

impl HostPort {
    /// Reads `name`, `name:port`, `[address]` or `[address]:port`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (name, rest) = match text.strip_prefix('[') {
            Some(inner) => {
                let end = inner.find(']')?;
                inner[..end].parse::<Ipv6Addr>().ok()?;
                // Both brackets belong to the name.
                text.split_at(end + 2)
            }
            None => text.split_at(text.find(':').unwrap_or(text.len())),
        };
        let port = match rest.strip_prefix(':') {
            Some(digits) => Some(parse_port(digits)?),
            None if rest.is_empty() => None,
            None => return None,
        };
        is_host_name(name).then(|| Self {
            name: name.to_owned(),
            port,
        })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

/// A host that is ours.
#[derive(Debug, Clone)]
pub(super) struct AllowedHost {
    name: String,
    /// Any, when there is none.
    port: Option<u16>,
}

impl AllowedHost {
    pub(super) fn any_port(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            port: None,
        }
    }

    /// The address on which we listen, unless it stands for all addresses: that is nobody's
    /// name, and a browser that asks for it was sent by somebody else's page.
    pub(super) fn listening(address: SocketAddr) -> Option<Self> {
        let name = match address.ip() {
            ip if ip.is_unspecified() => return None,
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        Some(Self {
            name,
            port: Some(address.port()),
        })
    }

    pub(super) fn configured(text: &str) -> Option<Self> {
        let host = HostPort::parse(&text.to_ascii_lowercase())?;
        let plain = !host.name.starts_with('.') && !host.name.ends_with('.');
        plain.then_some(Self {
            name: host.name,
            port: host.port,
        })
    }

    pub(super) fn matches(&self, host: &HostPort) -> bool {
        // Clients leave out the port that their scheme implies.
        let same_port = |port| {
            host.port
                .map_or(matches!(port, 80 | 443), |written| written == port)
        };
        self.name == host.name && self.port.is_none_or(same_port)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub(super) fn port_of(self, host: &HostPort) -> u16 {
        host.port.unwrap_or(match self {
            Self::Http => 80,
            Self::Https => 443,
        })
    }
}

/// The origin of a web page.
#[derive(Debug, Clone)]
pub(super) struct WebOrigin {
    pub(super) scheme: Scheme,
    pub(super) host: HostPort,
}

impl WebOrigin {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (scheme, host) = text.split_once("://")?;
        let scheme = match scheme {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return None,
        };
        let host = HostPort::parse(host)?;
        Some(Self { scheme, host })
    }
}

/// An origin of the configuration, as a browser would write it. Other schemes than the web's
/// are taken as they are: editors and desktop programs have their own.
pub(super) fn configured_origin(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let (scheme, host) = text.split_once("://")?;
    let plain_scheme = scheme.starts_with(|first: char| first.is_ascii_lowercase())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.'));
    let host = HostPort::parse(host)?;
    let default_port = match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    };
    let shown = if host.port == default_port {
        &host.name
    } else {
        &host.to_string()
    };
    plain_scheme.then(|| format!("{scheme}://{shown}"))
}

fn parse_port(digits: &str) -> Option<u16> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|port| plain && *port > 0)
}

fn is_host_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    // What stands in brackets has been read as an address already.
    let bracketed = name.starts_with('[');
    !name.is_empty() && name.len() <= MAX_NAME_LENGTH && (bracketed || name.bytes().all(plain))
}
