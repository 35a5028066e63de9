//! The hosts from which packages come.

use super::InvalidEgress;
use super::destination::{Destination, Host};
use crate::command::Network;

/// Where package managers look when they are told nothing else.
pub(crate) const WELL_KNOWN: &[&str] = &[
    // Python.
    "pypi.org",
    "files.pythonhosted.org",
    "conda.anaconda.org",
    "repo.anaconda.com",
    // JavaScript.
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    // Rust.
    "crates.io",
    "index.crates.io",
    "static.crates.io",
    "static.rust-lang.org",
    // Go.
    "proxy.golang.org",
    "sum.golang.org",
    // Ruby.
    "rubygems.org",
    "index.rubygems.org",
    // Java.
    "repo.maven.apache.org",
    "repo1.maven.org",
    // Debian and Ubuntu.
    "deb.debian.org",
    "security.debian.org",
    "archive.ubuntu.com",
    "security.ubuntu.com",
    "ports.ubuntu.com",
];

/// How a request reaches its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// A tunnel, in which hopefully TLS is spoken.
    Tunnel,
    /// A request in plain text.
    Plain,
}

impl Way {
    fn usual_port(self) -> u16 {
        match self {
            Self::Tunnel => 443,
            Self::Plain => 80,
        }
    }
}

/// How far a destination is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// Anybody may have chosen it.
    Stranger,
    /// It is a registry; whoever owns its name decides where it is, as long as that is public.
    Registry,
    /// It is one that everybody knows by its name, and proves by TLS that it is that one, so it may be wherever a network
    /// says: many have a mirror of their own that answers for it.
    WellKnown,
    /// Whoever runs the server has named it in full, and may mean a machine in the same network.
    Named,
}

impl Trust {
    /// How far it is when reached this way: in plain text nobody proves anything.
    fn by(self, way: Way) -> Self {
        match (self, way) {
            (Self::WellKnown, Way::Plain) => Self::Registry,
            (trust, _) => trust,
        }
    }

    /// Whether it may have an address in the network of this machine.
    pub(super) fn may_be_near(self) -> bool {
        matches!(self, Self::WellKnown | Self::Named)
    }

    /// Whether it must be whom it was asked for as, since others share its addresses.
    pub(super) fn must_be_itself(self) -> bool {
        matches!(self, Self::Registry | Self::WellKnown)
    }
}

/// The hosts from which packages come, each with its port where it has one.
#[derive(Debug)]
pub(super) struct Registries(Vec<Registry>);

#[derive(Debug)]
struct Registry {
    host: Pattern,
    port: Option<u16>,
    trust: Trust,
}

/// A host, or many that are called alike.
#[derive(Debug)]
pub(super) enum Pattern {
    Host(Host),
    /// All names that end like this; it starts with a dot.
    Below(String),
}

impl Registries {
    /// The well-known ones and these.
    pub(super) fn new(named: &[String]) -> Result<Self, InvalidEgress> {
        // What is named comes first: it may repeat a well-known one to say that it is near.
        let named = named.iter().map(|text| Registry::parse(text, Trust::Named));
        let well_known = WELL_KNOWN
            .iter()
            .map(|text| Registry::parse(text, Trust::WellKnown));
        Ok(Self(named.chain(well_known).collect::<Result<_, _>>()?))
    }

    /// Whether a destination may be asked for at all, and how far it is trusted; otherwise why it may not.
    pub(super) fn permit(
        &self,
        network: Network,
        destination: &Destination,
        way: Way,
    ) -> Result<Trust, String> {
        let host = &destination.host;
        let of_host = || self.0.iter().filter(|registry| registry.host.covers(host));
        let found = of_host()
            .find(|registry| destination.port == registry.port.unwrap_or(way.usual_port()))
            .map(|registry| registry.trust.by(way));
        match (network, found) {
            (Network::None, _) => Err("this command has no network".to_owned()),
            (Network::Registry | Network::Full, Some(trust)) => Ok(trust),
            (Network::Full, None) => Ok(Trust::Stranger),
            (Network::Registry, None) if of_host().next().is_some() => Err(format!(
                "{host} is a package registry, but is reached at its usual port only ({})",
                way.usual_port()
            )),
            (Network::Registry, None) => Err(format!(
                "this command may reach package registries only, and {host} is not among them; use a known registry, ask for \
                 network `full` where that is granted, or let whoever runs the server add it to `sandbox.registries`"
            )),
        }
    }
}

impl Registry {
    fn parse(text: &str, trust: Trust) -> Result<Self, InvalidEgress> {
        let invalid = |reason| InvalidEgress {
            text: text.to_owned(),
            reason,
        };
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !text.ends_with(']') => {
                let port = port.parse().ok().filter(|port| *port != 0);
                (
                    host,
                    Some(port.ok_or_else(|| invalid("its port is not a number"))?),
                )
            }
            _ => (text, None),
        };
        let host = Pattern::parse(host).map_err(invalid)?;
        let trust = match host {
            // Below a name anybody may own a name; only what is named in full may be near.
            Pattern::Below(_) => Trust::Registry,
            Pattern::Host(_) => trust,
        };
        Ok(Self { host, port, trust })
    }
}

impl Pattern {
    /// Reads `name.example`, and `*.example` for all below it.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        match text.strip_prefix("*.").map(Host::parse).transpose()? {
            Some(Host::Name(parent)) => Ok(Self::Below(format!(".{parent}"))),
            Some(Host::Address(_)) => Err("an address has nothing below it"),
            None => Host::parse(text).map(Self::Host),
        }
    }

    pub(super) fn covers(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Host(own), host) => own == host,
            (Self::Below(parent), Host::Name(name)) => name.ends_with(parent.as_str()),
            (Self::Below(_), Host::Address(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permit(network: Network, host: &str, port: u16, way: Way) -> Option<Trust> {
        let named = ["Near.example", "*.corp.example", "10.0.0.5:8081", "pypi.org"].map(str::to_owned);
        let destination = Destination {
            host: Host::parse(host).unwrap(),
            port,
        };
        let registries = Registries::new(&named).unwrap();
        registries.permit(network, &destination, way).ok()
    }

    #[test]
    fn registries_are_known_by_host_and_port() {
        use Trust::{Named, Registry, WellKnown};
        use Way::{Plain, Tunnel};
        for (host, port, way, expected) in [
            ("registry.npmjs.org", 443, Tunnel, Some(WellKnown)),
            ("deb.debian.org", 80, Plain, Some(Registry)),
            ("registry.npmjs.org", 22, Tunnel, None),
            ("registry.npmjs.org", 80, Tunnel, None),
            ("registry.npmjs.org", 443, Plain, None),
            ("evil-registry.npmjs.org", 443, Tunnel, None),
            ("registry.npmjs.org.evil.example", 443, Tunnel, None),
            ("pypi.org", 443, Tunnel, Some(Named)),
            ("near.example", 443, Tunnel, Some(Named)),
            ("a.corp.example", 443, Tunnel, Some(Registry)),
            ("corp.example", 443, Tunnel, None),
            ("xcorp.example", 443, Tunnel, None),
            ("10.0.0.5", 8081, Plain, Some(Named)),
            ("10.0.0.5", 443, Tunnel, None),
            ("1.1.1.1", 443, Tunnel, None),
        ] {
            let found = permit(Network::Registry, host, port, way);
            assert_eq!(found, expected, "{host}:{port} {way:?}");
            assert_eq!(permit(Network::None, host, port, way), None);
            let with_all = permit(Network::Full, host, port, way);
            assert_eq!(with_all, Some(expected.unwrap_or(Trust::Stranger)));
        }
    }

    #[test]
    fn what_is_no_host_is_no_registry() {
        for text in [
            "",
            "a b",
            "https://a.example",
            "a.example:x",
            "a.example:0",
            "*.",
            "*.1.1.1.1",
            "a/*",
            "*",
        ] {
            assert!(Registries::new(&[text.to_owned()]).is_err(), "{text:?}");
        }
    }
}
