//! What names lead to, and whether that is public.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use agentyard_model::ReservedAddress;
use tokio::sync::Semaphore;

use super::destination::{Destination, Host};
use super::refusal::Refusal;
use super::registries::Trust;

/// How long looking up a name may take.
const LOOKUP_LIMIT: Duration = Duration::from_secs(10);

type Lookup = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// How many names are looked up at once. A lookup that nobody waits for any more still takes a thread of the server's.
const MAX_LOOKUPS: usize = 16;

/// How names lead to addresses, and which of these are not public. By default, as the system and the standards say.
#[derive(Clone)]
pub struct Addresses {
    lookup: Arc<Lookup>,
    check: fn(IpAddr) -> Option<ReservedAddress>,
    places: Arc<Semaphore>,
}

impl Addresses {
    /// Another directory of names, and another judge of addresses: for tests, in which the world is on this machine.
    pub fn new(
        lookup: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static,
        check: fn(IpAddr) -> Option<ReservedAddress>,
    ) -> Self {
        Self {
            lookup: Arc::new(lookup),
            check,
            places: Arc::new(Semaphore::new(MAX_LOOKUPS)),
        }
    }

    /// Every address of a destination, looked up once. When one of them may not be reached, none is.
    pub(super) async fn of(
        &self,
        destination: &Destination,
        trust: Trust,
    ) -> Result<Vec<SocketAddr>, Refusal> {
        let found = match &destination.host {
            Host::Address(address) => vec![SocketAddr::new(*address, destination.port)],
            Host::Name(name) => self.look_up(name.clone(), destination).await?,
        };
        for address in &found {
            self.judge(*address, destination, trust)?;
        }
        Ok(found)
    }

    /// The system's lookup cannot be interrupted, so it is given a thread, and is left alone when it takes too long.
    async fn look_up(&self, name: String, destination: &Destination) -> Result<Vec<SocketAddr>, Refusal> {
        let lookup = Arc::clone(&self.lookup);
        let port = destination.port;
        let places = Arc::clone(&self.places);
        let asked = async {
            let place = places.acquire_owned().await.map_err(io::Error::other)?;
            let look_up = move || {
                let found = lookup(&name, port);
                drop(place);
                found
            };
            tokio::task::spawn_blocking(look_up)
                .await
                .map_err(io::Error::other)?
        };
        match tokio::time::timeout(LOOKUP_LIMIT, asked).await {
            Ok(Ok(found)) if !found.is_empty() => Ok(found),
            Ok(_) => Err(Refusal::unreachable(destination, "no such host is known")),
            Err(_) => Err(Refusal::unreachable(
                destination,
                "looking up its name takes too long",
            )),
        }
    }

    fn judge(&self, address: SocketAddr, destination: &Destination, trust: Trust) -> Result<(), Refusal> {
        let Some(kind) = (self.check)(address.ip()) else {
            return Ok(());
        };
        if trust.may_be_near() && may_be_near(kind) {
            return Ok(());
        }
        let host = &destination.host;
        let remedy = if may_be_near(kind) {
            format!("; whoever runs the server may add `{host}` to `sandbox.registries`")
        } else {
            String::new()
        };
        Err(Refusal::forbidden(
            destination,
            format!("{host} has an address that is {kind}, and a command reaches public ones only{remedy}"),
        ))
    }
}

/// Whether a registry that was named by whoever runs the server may have such an address. This machine itself and the wire,
/// where cloud providers hand out credentials, are nobody's registry.
fn may_be_near(kind: ReservedAddress) -> bool {
    use ReservedAddress::{Carrier, LinkLocal, Loopback, Multicast, Private, Reserved, Unspecified};
    match kind {
        Private | Carrier | Reserved => true,
        Unspecified | Loopback | LinkLocal | Multicast => false,
    }
}

impl Default for Addresses {
    fn default() -> Self {
        Self::new(
            |name, port| Ok((name, port).to_socket_addrs()?.collect()),
            |address| {
                let this_machine = || is_of_this_machine(address).then_some(ReservedAddress::Loopback);
                ReservedAddress::of(address).or_else(this_machine)
            },
        )
    }
}

/// Whether this machine has an address. One that is public leads back here all the same, past whatever keeps strangers
/// from what listens here.
fn is_of_this_machine(address: IpAddr) -> bool {
    // Nobody else's can be bound.
    UdpSocket::bind((address, 0)).is_ok()
}

impl fmt::Debug for Addresses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Addresses")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_knows_its_addresses() {
        for (text, is_ours) in [
            ("127.0.0.1", true),
            ("127.1.2.3", true),
            ("192.0.2.1", false),
            ("1.1.1.1", false),
            ("2001:db8::1", false),
        ] {
            assert_eq!(is_of_this_machine(text.parse().unwrap()), is_ours, "{text}");
        }
    }
}
