//! Whom a sandbox may talk to, in the service's words.

use serde_json::{Value, json};

use crate::command::Network;
use crate::egress::WELL_KNOWN_REGISTRIES;
use crate::standing::Reach;

/// Everybody.
const ALL: &str = "0.0.0.0/0";

/// Whether there is an Internet at all, and what else is to be said about it.
pub(super) fn reach_in_words(reach: &Reach, registries: &[String]) -> (bool, Option<Value>) {
    let allowed = |hosts: Vec<&str>| {
        let network = json!({ "allowOut": hosts, "denyOut": [ALL] });
        (true, Some(network))
    };
    if !reach.allowed.is_empty() {
        return allowed(reach.allowed.iter().map(String::as_str).collect());
    }
    match reach.network {
        Network::None => (false, None),
        Network::Registry => {
            let named = registries.iter().map(|host| without_port(host));
            allowed(named.chain(WELL_KNOWN_REGISTRIES.iter().copied()).collect())
        }
        Network::Full if reach.denied.is_empty() => (true, None),
        Network::Full => (true, Some(json!({ "denyOut": reach.denied }))),
    }
}

/// The service knows hosts and no ports.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() && !name.contains(':') => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(network: Network, allowed: &[&str], denied: &[&str]) -> Reach {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Reach {
            network,
            allowed: owned(allowed),
            denied: owned(denied),
        }
    }

    #[test]
    fn nothing_is_reached_that_was_not_granted() {
        assert_eq!(
            reach_in_words(&reach(Network::None, &[], &[]), &[]),
            (false, None)
        );
        assert_eq!(reach_in_words(&reach(Network::Full, &[], &[]), &[]), (true, None));
        let (_, network) = reach_in_words(&reach(Network::Full, &[], &["10.0.0.0/8"]), &[]);
        assert_eq!(network.unwrap(), json!({ "denyOut": ["10.0.0.0/8"] }));
        let (_, network) = reach_in_words(&reach(Network::Full, &["a.example"], &["b"]), &[]);
        assert_eq!(
            network.unwrap(),
            json!({ "allowOut": ["a.example"], "denyOut": [ALL] })
        );
        let named = ["pypi.example:8443".to_owned()];
        let (_, network) = reach_in_words(&reach(Network::Registry, &[], &[]), &named);
        let network = network.unwrap();
        assert_eq!(network["denyOut"], json!([ALL]));
        let allowed = network["allowOut"].as_array().unwrap();
        assert!(
            allowed.contains(&json!("pypi.example")) && allowed.contains(&json!(concat!("pypi.", "org")))
        );
    }
}
