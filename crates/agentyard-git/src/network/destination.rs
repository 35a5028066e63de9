//! An address that was checked against where it really leads, just before it is used.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use agentyard_model::ReservedAddress;
use url::Host;

use super::remote_url::Place;
use super::{RemoteUrl, local};
use crate::program::Git;
use crate::{Error, Repository, Roots};

/// How long looking up a host may take.
const LOOKUP_LIMIT: Duration = Duration::from_secs(10);

/// How often the flag is looked at that says whether anybody still waits.
const CANCEL_INTERVAL: Duration = Duration::from_millis(20);

/// Where a call goes.
#[derive(Debug)]
pub(crate) struct Destination {
    pub(super) url: RemoteUrl,
    pub(super) route: Route,
}

/// How it gets there.
#[derive(Debug)]
pub(super) enum Route {
    /// To these addresses and no others, unless a proxy of the person's decides.
    Http {
        pinned: Option<String>,
        secure: bool,
    },
    Ssh,
    Local(Box<Repository>),
}

impl Destination {
    /// Looks the address up, once, and refuses it when any of what it leads to may not be reached.
    pub(super) fn check(
        git: &Git,
        url: RemoteUrl,
        roots: &Roots,
        cancel: &AtomicBool,
    ) -> Result<Self, Error> {
        let route = match url.place() {
            Place::Local(path) => Route::Local(Box::new(local::open(path, roots)?)),
            Place::Http { secure, host, port } => {
                let allowed = is_allowed(git, host, *port);
                refuse_plain(&url, host, *secure, allowed)?;
                let addresses = match lookup(host, *port, cancel) {
                    Ok(addresses) => addresses,
                    // Behind a proxy this machine may know no names; the proxy does.
                    Err(Error::Unreachable { .. } | Error::Missing { .. }) if git.has_proxy() => Vec::new(),
                    Err(error) => return Err(error),
                };
                refuse_reserved(&url, host, &addresses, allowed)?;
                Route::Http {
                    pinned: pin(host, *port, &addresses),
                    secure: *secure,
                }
            }
            Place::Ssh { host, port } => {
                if git.settings().person.is_none() {
                    return Err(Error::refused(
                        format!(
                            "{url} is refused: ssh uses the keys of a person, and this server acts for nobody"
                        ),
                        "use an https address",
                    ));
                }
                // A name that nobody knows may be an alias in the person's own ssh configuration.
                if let Ok(addresses) = lookup(host, *port, cancel) {
                    refuse_reserved(&url, host, &addresses, is_allowed(git, host, *port))?;
                }
                Route::Ssh
            }
        };
        Ok(Self { url, route })
    }
}

impl Git {
    /// Refuses an address that can be told to be refused without a look at the network: before it is stored for
    /// later. A place on this machine must be a repository inside the roots.
    pub fn check_address(&self, url: &RemoteUrl, roots: &Roots) -> Result<(), Error> {
        check_at_rest(self, url, roots)
    }
}

/// Refuses what can be told to be refused without a look at the network: for addresses that are stored for later.
pub(crate) fn check_at_rest(git: &Git, url: &RemoteUrl, roots: &Roots) -> Result<(), Error> {
    match url.place() {
        Place::Local(path) => local::open(path, roots).map(drop),
        Place::Http { secure, host, port } => {
            let allowed = is_allowed(git, host, *port);
            refuse_plain(url, host, *secure, allowed)?;
            refuse_reserved(url, host, &literal(host), allowed)
        }
        Place::Ssh { host, port } => refuse_reserved(url, host, &literal(host), is_allowed(git, host, *port)),
    }
}

fn literal(host: &Host) -> Vec<IpAddr> {
    match host {
        Host::Ipv4(address) => vec![IpAddr::V4(*address)],
        Host::Ipv6(address) => vec![IpAddr::V6(*address)],
        Host::Domain(_) => Vec::new(),
    }
}

fn refuse_plain(url: &RemoteUrl, host: &Host, secure: bool, allowed: bool) -> Result<(), Error> {
    if secure || allowed {
        return Ok(());
    }
    Err(Error::refused(
        format!("{url} is refused: over plain http anybody on the way can read and change what is sent"),
        format!("use https; or whoever runs the server adds `{host}` to `git.allowed_hosts`"),
    ))
}

fn is_allowed(git: &Git, host: &Host, port: u16) -> bool {
    let patterns = &git.settings().network.allowed_hosts;
    patterns.cover(&host.to_string(), port)
}

fn refuse_reserved(url: &RemoteUrl, host: &Host, addresses: &[IpAddr], allowed: bool) -> Result<(), Error> {
    let reserved = addresses.iter().find_map(|found| ReservedAddress::of(*found));
    match reserved {
        Some(kind) if !allowed => Err(Error::refused(
            format!("{url} is refused: its host has an address that is {kind}"),
            format!("whoever runs the server may add `{host}` to `git.allowed_hosts`"),
        )),
        _ => Ok(()),
    }
}

/// What makes git connect to the addresses that were checked, whatever the name leads to by then.
fn pin(host: &Host, port: u16, addresses: &[IpAddr]) -> Option<String> {
    let Host::Domain(name) = host else { return None };
    let list: Vec<String> = addresses
        .iter()
        .map(|address| match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        })
        .collect();
    (!list.is_empty()).then(|| format!("{name}:{port}:{}", list.join(",")))
}

/// Every address of a host. The system's lookup cannot be interrupted, so it has a thread of its own.
fn lookup(host: &Host, port: u16, cancel: &AtomicBool) -> Result<Vec<IpAddr>, Error> {
    let name = match host {
        Host::Ipv4(address) => return Ok(vec![IpAddr::V4(*address)]),
        Host::Ipv6(address) => return Ok(vec![IpAddr::V6(*address)]),
        Host::Domain(name) => name.clone(),
    };
    let (sender, receiver) = mpsc::channel();
    let asked = name.clone();
    std::thread::spawn(move || {
        let found = (asked.as_str(), port).to_socket_addrs();
        // Nobody may wait for it any more.
        let _ = sender.send(found.map(|found| found.map(|address: SocketAddr| address.ip()).collect()));
    });
    let started = Instant::now();
    loop {
        match receiver.recv_timeout(CANCEL_INTERVAL) {
            Ok(Ok(addresses)) => return Ok(addresses),
            Ok(Err(error)) if error.to_string().contains("Temporary failure") => {
                return Err(unreachable_host(&name, "its name cannot be looked up now"));
            }
            Ok(Err(_)) | Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(Error::Missing {
                    what: format!("there is no host {name}"),
                });
            }
            Err(mpsc::RecvTimeoutError::Timeout) if cancel.load(Ordering::Relaxed) => {
                return Err(Error::Cancelled);
            }
            Err(mpsc::RecvTimeoutError::Timeout) if started.elapsed() > LOOKUP_LIMIT => {
                return Err(unreachable_host(&name, "looking up its name takes too long"));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
    }
}

fn unreachable_host(name: &str, why: &str) -> Error {
    Error::Unreachable {
        what: format!("{name} could not be reached: {why}"),
        remedy: "try again later".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_pinned_to_what_was_checked() {
        let addresses = ["1.1.1.1".parse().unwrap(), "2606:4700::1".parse().unwrap()];
        let host = Host::Domain("a.example".to_owned());
        assert_eq!(
            pin(&host, 443, &addresses).as_deref(),
            Some("a.example:443:1.1.1.1,[2606:4700::1]")
        );
        assert_eq!(pin(&host, 443, &[]), None);
        assert_eq!(pin(&Host::Ipv4([1, 1, 1, 1].into()), 443, &addresses), None);
    }

    #[test]
    fn one_reserved_address_among_many_is_enough_to_refuse() {
        let url = RemoteUrl::parse("https://a.example/b").unwrap();
        let host = Host::Domain("a.example".to_owned());
        let mixed = ["1.1.1.1".parse().unwrap(), "169.254.169.254".parse().unwrap()];
        assert!(refuse_reserved(&url, &host, &mixed, false).is_err());
        assert!(refuse_reserved(&url, &host, &mixed, true).is_ok());
        assert!(refuse_reserved(&url, &host, &mixed[..1], false).is_ok());
    }
}
