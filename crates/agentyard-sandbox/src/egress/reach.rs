//! Whom one sandbox may reach: in general, and by lists of its own that can change while it runs.

use std::net::{IpAddr, SocketAddr};

use super::InvalidEgress;
use super::destination::{Destination, Host};
use super::refusal::Refusal;
use super::registries::Pattern;
use crate::command::Network;
use crate::standing::Reach;

/// How many entries a list may have.
const MAX_RULES: usize = 1000;

/// What one sandbox was granted.
#[derive(Debug, Default)]
pub(super) struct Grant {
    pub(super) network: Network,
    allowed: Vec<Rule>,
    denied: Vec<Rule>,
}

#[derive(Debug)]
enum Rule {
    /// A host by its name, or all below a name.
    Named(Pattern),
    /// Addresses that begin alike.
    Block { base: IpAddr, length: u32 },
}

/// What a destination's name says about it already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is allowed by its name, so it must be the one that it is asked for as.
    Named,
    /// All of its addresses must be in blocks that are allowed.
    NeedsAllowedAddress,
    /// None of its addresses may be in a block that is denied.
    NeedsNoDeniedAddress,
}

impl Grant {
    pub(super) fn of(network: Network) -> Self {
        Self {
            network,
            ..Self::default()
        }
    }

    pub(super) fn parse(reach: &Reach) -> Result<Self, InvalidEgress> {
        Ok(Self {
            network: reach.network,
            allowed: rules(&reach.allowed)?,
            denied: rules(&reach.denied)?,
        })
    }

    /// Whether a destination may be asked for as far as its name tells, and what its addresses must be.
    pub(super) fn judge(&self, destination: &Destination) -> Result<Verdict, Refusal> {
        let host = &destination.host;
        let covers = |rules: &[Rule]| rules.iter().any(|rule| rule.covers(host));
        let is_name = matches!(host, Host::Name(_));
        if !self.allowed.is_empty() {
            return if covers(&self.allowed) {
                Ok(if is_name {
                    Verdict::Named
                } else {
                    Verdict::NeedsAllowedAddress
                })
            } else if is_name && self.allowed.iter().any(Rule::is_block) {
                Ok(Verdict::NeedsAllowedAddress)
            } else {
                Err(Refusal::forbidden(
                    destination,
                    "it is not among those that this sandbox may reach",
                ))
            };
        }
        if covers(&self.denied) || self.denied.iter().any(Rule::is_everybody) {
            return Err(denied(destination));
        }
        Ok(Verdict::NeedsNoDeniedAddress)
    }

    /// Whether a destination may be reached at all of its addresses.
    pub(super) fn judge_addresses(
        &self,
        destination: &Destination,
        verdict: Verdict,
        addresses: &[SocketAddr],
    ) -> Result<(), Refusal> {
        let holds = |rules: &[Rule], address: &SocketAddr| rules.iter().any(|rule| rule.holds(address.ip()));
        match verdict {
            Verdict::NeedsAllowedAddress
                if !addresses.iter().all(|address| holds(&self.allowed, address)) =>
            {
                Err(Refusal::forbidden(
                    destination,
                    "it has an address that is not among those that this sandbox may reach",
                ))
            }
            Verdict::NeedsNoDeniedAddress if addresses.iter().any(|address| holds(&self.denied, address)) => {
                Err(denied(destination))
            }
            _ => Ok(()),
        }
    }
}

fn denied(destination: &Destination) -> Refusal {
    Refusal::forbidden(destination, "this sandbox was denied to reach it")
}

fn rules(texts: &[String]) -> Result<Vec<Rule>, InvalidEgress> {
    if texts.len() > MAX_RULES {
        return Err(InvalidEgress {
            text: format!("a list of {}", texts.len()),
            reason: "it has more than 1000 entries",
        });
    }
    texts.iter().map(|text| Rule::parse(text)).collect()
}

impl Rule {
    /// Reads `name.example`, `*.example`, `192.0.2.1`, `2001:db8::1`, `192.0.2.0/24` and `2001:db8::/32`.
    fn parse(text: &str) -> Result<Self, InvalidEgress> {
        let invalid = |reason| InvalidEgress {
            text: text.chars().filter(|c| !c.is_control()).take(100).collect(),
            reason,
        };
        if let Some((base, length)) = text.split_once('/') {
            let base: IpAddr = base.parse().map_err(|_| invalid("before `/` is no address"))?;
            let length = length.parse().ok().filter(|length| *length <= bits(base));
            let length = length.ok_or_else(|| invalid("after `/` is no length of such an address"))?;
            return Ok(Self::block(base, length));
        }
        if let Ok(base) = text.trim_matches(['[', ']']).parse() {
            return Ok(Self::block(base, bits(base)));
        }
        Pattern::parse(text).map(Self::Named).map_err(invalid)
    }

    /// An older address that is written as a newer one is an older one.
    fn block(written: IpAddr, length: u32) -> Self {
        let base = written.to_canonical();
        Self::Block {
            base,
            length: length.saturating_sub(bits(written) - bits(base)),
        }
    }

    fn covers(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Named(pattern), host) => pattern.covers(host),
            (Self::Block { .. }, Host::Address(address)) => self.holds(*address),
            (Self::Block { .. }, Host::Name(_)) => false,
        }
    }

    fn holds(&self, address: IpAddr) -> bool {
        let Self::Block { base, length } = self else {
            return false;
        };
        match (*base, address.to_canonical()) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let differs = u32::from(base) ^ u32::from(address);
                differs.checked_shr(32 - length).unwrap_or(0) == 0
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let differs = u128::from(base) ^ u128::from(address);
                differs.checked_shr(128 - length).unwrap_or(0) == 0
            }
            _ => false,
        }
    }

    fn is_block(&self) -> bool {
        matches!(self, Self::Block { .. })
    }

    /// E2B's word for everybody is the block of all older addresses.
    fn is_everybody(&self) -> bool {
        matches!(self, Self::Block { length: 0, .. })
    }
}

fn bits(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(allowed: &[&str], denied: &[&str]) -> Grant {
        let list = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        Grant::parse(&Reach {
            network: Network::Full,
            allowed: list(allowed),
            denied: list(denied),
        })
        .unwrap()
    }

    /// Whether a host may be reached that has this address.
    fn reaches(grant: &Grant, host: &str, address: &str) -> bool {
        let destination = Destination {
            host: Host::parse(host).unwrap(),
            port: 443,
        };
        let addresses = [SocketAddr::new(address.parse().unwrap(), 443)];
        let judged = grant.judge(&destination);
        judged.is_ok_and(|verdict| grant.judge_addresses(&destination, verdict, &addresses).is_ok())
    }

    #[test]
    fn whoever_is_allowed_is_all_there_is_and_wins_over_the_denied() {
        let grant = grant(
            &["a.example", "*.b.example", "192.0.2.0/24", "2001:db8::1"],
            &["0.0.0.0/0", "a.example"],
        );
        for (host, address, expected) in [
            ("a.example", "1.1.1.1", true),
            ("A.Example", "1.1.1.1", true),
            ("x.a.example", "1.1.1.1", false),
            ("x.b.example", "1.1.1.1", true),
            ("b.example", "1.1.1.1", false),
            ("other.example", "1.1.1.1", false),
            ("other.example", "192.0.2.200", true),
            ("192.0.2.7", "192.0.2.7", true),
            ("192.0.3.7", "192.0.3.7", false),
            ("[2001:db8::1]", "2001:db8::1", true),
            ("[2001:db8::2]", "2001:db8::2", false),
            ("[::ffff:192.0.2.7]", "::ffff:192.0.2.7", true),
        ] {
            assert_eq!(reaches(&grant, host, address), expected, "{host}");
        }
    }

    #[test]
    fn whoever_is_denied_is_not_reached_under_any_name() {
        let some = grant(
            &[],
            &["a.example", "*.b.example", "192.0.2.0/24", "2001:db8::/32"],
        );
        for (host, address, expected) in [
            ("a.example", "1.1.1.1", false),
            ("x.b.example", "1.1.1.1", false),
            ("other.example", "1.1.1.1", true),
            ("other.example", "192.0.2.200", false),
            ("other.example", "2001:db8:1::1", false),
            ("192.0.2.7", "192.0.2.7", false),
        ] {
            assert_eq!(reaches(&some, host, address), expected, "{host}");
        }
        let nobody = grant(&[], &["0.0.0.0/0"]);
        assert!(!reaches(&nobody, "other.example", "2001:db8::1"));
    }

    #[test]
    fn what_is_neither_host_nor_block_is_refused() {
        for text in [
            "",
            "*",
            "a b",
            "1.2.3.4/33",
            "::/129",
            "a.example/8",
            "https://a.example",
            "a.example:443",
            "1.2.3",
        ] {
            assert!(Rule::parse(text).is_err(), "{text}");
        }
        let many = vec!["a.example".to_owned(); 1001];
        assert!(rules(&many).is_err());
    }
}
