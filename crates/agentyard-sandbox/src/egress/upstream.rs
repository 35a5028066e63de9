//! Connections to the outside: straight, or through the proxy that the server itself must use.

use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{HOST, HeaderValue, PROXY_AUTHORIZATION};
use http::{Method, Request, Uri};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::destination::{Destination, Host};
use super::refusal::Refusal;
use super::registries::Trust;
use super::{InvalidEgress, Policy};

/// How long connecting may take, for all addresses of a host together.
const CONNECT_LIMIT: Duration = Duration::from_secs(20);

/// How long each address is given, so that one that is dead does not take the time of the others.
const ADDRESS_LIMIT: Duration = Duration::from_secs(6);

/// Both directions of a connection.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection to the outside.
pub(super) type Far = Box<dyn Stream>;

/// The proxy that the server itself must use.
#[derive(Debug)]
pub(super) struct Upstream {
    host: String,
    port: u16,
    authorization: Option<HeaderValue>,
}

/// How a destination that may be reached is reached.
pub(super) struct Outlet<'a> {
    destination: &'a Destination,
    trust: Trust,
    /// Whether its addresses were looked up here.
    is_known: bool,
    way: Way<'a>,
}

enum Way<'a> {
    /// To one of these addresses, which were checked.
    Straight(Vec<SocketAddr>),
    /// Through the server's own proxy, which is asked for this.
    Through(&'a Upstream, String),
}

impl Upstream {
    /// Reads `http://user:password@proxy.example:3128`.
    pub(super) fn parse(text: &str) -> Result<Self, InvalidEgress> {
        let shown = text
            .rsplit_once('@')
            .map_or_else(|| text.to_owned(), |(_, host)| format!("…@{host}"));
        let invalid = |reason| InvalidEgress {
            text: shown.clone(),
            reason,
        };
        let uri: Uri = text.parse().map_err(|_| invalid("it is not an address"))?;
        if uri.scheme_str().is_some_and(|scheme| scheme != "http") {
            return Err(invalid("a proxy is spoken to in plain http: write `http://…`"));
        }
        let authority = uri.authority().ok_or_else(|| invalid("there is no host in it"))?;
        let user = authority.as_str().rsplit_once('@').map(|(user, _)| user);
        Ok(Self {
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(80),
            authorization: user
                .map(basic)
                .transpose()
                .map_err(|()| invalid("its user cannot be sent"))?,
        })
    }

    async fn connect(&self, destination: &Destination) -> Result<TcpStream, Refusal> {
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        match timeout(CONNECT_LIMIT, connecting).await {
            Ok(Ok(stream)) => Ok(stream),
            _ => Err(Refusal::unreachable(
                destination,
                "the proxy that the server must use cannot be reached",
            )),
        }
    }
}

impl<'a> Outlet<'a> {
    /// Checks where a destination leads. Behind a proxy, registries are asked for by name, since this machine may know no
    /// names and the proxy may know which it lets through; anything else is asked for by an address that was checked, so
    /// that the proxy does not look it up a second time and find a neighbour. Addresses that are found must pass.
    pub(super) async fn find(
        policy: &'a Policy,
        destination: &'a Destination,
        trust: Trust,
        may_be: impl FnOnce(&[SocketAddr]) -> Result<(), Refusal>,
    ) -> Result<Self, Refusal> {
        let is_name = matches!(destination.host, Host::Name(_));
        let is_known = policy.upstream.is_none() || !is_name || trust == Trust::Stranger;
        let way = match &policy.upstream {
            Some(upstream) if !is_known => Way::Through(upstream, destination.to_string()),
            upstream => {
                let addresses = policy.addresses.of(destination, trust).await?;
                may_be(&addresses)?;
                match (upstream, addresses.first()) {
                    (Some(upstream), Some(first)) => Way::Through(upstream, first.to_string()),
                    _ => Way::Straight(addresses),
                }
            }
        };
        Ok(Self {
            destination,
            trust,
            is_known,
            way,
        })
    }

    /// Whether its addresses were looked up here, and not left to the server's own proxy.
    pub(super) fn is_known(&self) -> bool {
        self.is_known
    }

    pub(super) fn trust(&self) -> Trust {
        self.trust
    }

    pub(super) fn destination(&self) -> &Destination {
        self.destination
    }

    /// A connection on which both ends say what they like.
    pub(super) async fn tunnel(&self) -> Result<Far, Refusal> {
        match &self.way {
            Way::Straight(addresses) => Ok(Box::new(self.reach(addresses).await?)),
            Way::Through(upstream, target) => {
                let stream = upstream.connect(self.destination).await?;
                timeout(CONNECT_LIMIT, self.ask_through(upstream, target, stream))
                    .await
                    .unwrap_or_else(|_| Err(self.unreachable("the server's proxy does not answer")))
            }
        }
    }

    /// A connection that takes one request in plain text, and makes that request fit for it.
    pub(super) async fn plain<B>(&self, request: &mut Request<B>) -> Result<TcpStream, Refusal> {
        match &self.way {
            Way::Straight(addresses) => {
                let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
                *request.uri_mut() = self.uri(path)?;
                self.reach(addresses).await
            }
            Way::Through(upstream, target) => {
                let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
                *request.uri_mut() = self.uri(&format!("http://{target}{path}"))?;
                if let Some(authorization) = &upstream.authorization {
                    request
                        .headers_mut()
                        .insert(PROXY_AUTHORIZATION, authorization.clone());
                }
                upstream.connect(self.destination).await
            }
        }
    }

    pub(super) fn unreachable(&self, reason: &str) -> Refusal {
        Refusal::unreachable(self.destination, reason)
    }

    fn uri(&self, text: &str) -> Result<Uri, Refusal> {
        text.parse()
            .map_err(|_| self.unreachable("its path cannot be asked for"))
    }

    async fn reach(&self, addresses: &[SocketAddr]) -> Result<TcpStream, Refusal> {
        let attempts = async {
            let mut failure = "it does not answer".to_owned();
            for address in addresses {
                match timeout(ADDRESS_LIMIT, TcpStream::connect(address)).await {
                    Ok(Ok(stream)) => return Ok(stream),
                    Ok(Err(error)) => failure = format!("connecting failed ({})", error.kind()),
                    Err(_) => {}
                }
            }
            Err(self.unreachable(&failure))
        };
        timeout(CONNECT_LIMIT, attempts)
            .await
            .unwrap_or_else(|_| Err(self.unreachable("it does not answer")))
    }

    async fn ask_through(
        &self,
        upstream: &Upstream,
        target: &str,
        stream: TcpStream,
    ) -> Result<Far, Refusal> {
        let broken = |_| self.unreachable("the server's proxy broke off");
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // It ends by itself: with the tunnel, or when nobody holds the other end of the request.
        tokio::spawn(connection.with_upgrades());
        let mut request = Request::new(Empty::<Bytes>::new());
        *request.method_mut() = Method::CONNECT;
        *request.uri_mut() = self.uri(target)?;
        if let Ok(host) = HeaderValue::from_str(target) {
            request.headers_mut().insert(HOST, host);
        }
        if let Some(authorization) = &upstream.authorization {
            request
                .headers_mut()
                .insert(PROXY_AUTHORIZATION, authorization.clone());
        }
        let response = sender.send_request(request).await.map_err(broken)?;
        if !response.status().is_success() {
            let status = response.status().as_u16();
            return Err(self.unreachable(&format!("the server's proxy answered {status}")));
        }
        let upgraded = hyper::upgrade::on(response).await.map_err(broken)?;
        Ok(Box::new(TokioIo::new(upgraded)))
    }
}

/// What says to a proxy who is asking.
fn basic(user: &str) -> Result<HeaderValue, ()> {
    let plain: Vec<u8> = percent_encoding::percent_decode_str(user).collect();
    let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(plain))).map_err(|_| ())?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_read_and_its_password_never_shown() {
        let upstream = Upstream::parse("http://me:p%40ss@proxy.example:3128").unwrap();
        assert_eq!((upstream.host.as_str(), upstream.port), ("proxy.example", 3128));
        let header = upstream.authorization.clone().unwrap();
        assert_eq!(
            header.to_str().unwrap(),
            format!("Basic {}", STANDARD.encode("me:p@ss"))
        );
        assert!(!format!("{upstream:?}").contains(header.to_str().unwrap()));
        let upstream = Upstream::parse("proxy.example:8080").unwrap();
        assert_eq!((upstream.host.as_str(), upstream.port), ("proxy.example", 8080));
        let error = Upstream::parse("https://me:secret@proxy.example").unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
        assert!(Upstream::parse("").is_err());
    }
}
