//! Where a request comes from: the other end of its connection, never a header.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::extract::ConnectInfo;
use http::Extensions;

/// The address at the other end, as the server left it in `ConnectInfo<SocketAddr>`.
///
/// Without that, nobody's address: it is not loopback and everybody shares it, so that a
/// server that forgets to tell the address is too strict rather than too lax.
pub(crate) fn peer_of(extensions: &Extensions) -> IpAddr {
    extensions
        .get::<ConnectInfo<SocketAddr>>()
        .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(address)| {
            address.ip().to_canonical()
        })
}

/// The part of an address by which limits count. One subscriber holds a whole IPv6 /64 and
/// could otherwise come from a new address with every request.
pub(super) fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> String {
        network_of(text.parse().unwrap()).to_string()
    }

    #[test]
    fn a_network_is_what_one_subscriber_holds() {
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), network("2001:db8:1:2:ffff::1"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
    }

    #[test]
    fn an_unknown_address_is_not_loopback() {
        assert!(!peer_of(&Extensions::new()).is_loopback());
    }
}
