//! The proxy of sandboxes, over real sockets. The outside world is on this machine too, under the names that a test gives it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agentyard_model::ReservedAddress;
use agentyard_sandbox::{Addresses, Egress, EgressBounds, EgressSettings, Network, Serving};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(30);

/// A machine outside. It answers each connection with what was said to it up to an empty line.
struct Outside {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Outside {
    /// `prefix` comes before what is given back.
    async fn new(prefix: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(async move {
                    let heard = head(&mut stream).await;
                    let _ = stream.write_all(prefix.as_bytes()).await;
                    let _ = stream.write_all(heard.as_bytes()).await;
                });
            }
        });
        Self { address, connections }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Every name leads here, and every address is thought to be public.
    fn is_everywhere(&self) -> Addresses {
        self.is_everywhere_and(|_| None)
    }

    fn is_everywhere_and(&self, check: fn(IpAddr) -> Option<ReservedAddress>) -> Addresses {
        let address = self.address;
        Addresses::new(move |_, _| Ok(vec![address]), check)
    }
}

/// A sandbox with a way out.
struct Sandboxed {
    address: SocketAddr,
    serving: Serving,
}

impl Sandboxed {
    fn new(settings: EgressSettings, network: Network) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serving = Egress::new(settings).unwrap().serve(listener, network).unwrap();
        Self { address, serving }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// The whole answer to one request, after which the connection is closed.
    async fn ask(&self, request: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = rest(&mut stream).await;
        String::from_utf8(answer).unwrap()
    }

    async fn connect_to(&self, destination: &str) -> String {
        self.ask(&format!(
            "CONNECT {destination} HTTP/1.1\r\nHost: {destination}\r\nConnection: close\r\n\r\n"
        ))
        .await
    }

    async fn tunnel_to(&self, destination: &str) -> TcpStream {
        let mut stream = self.connect().await;
        let request = format!("CONNECT {destination} HTTP/1.1\r\nHost: {destination}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = head(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        stream
    }

    fn denied(&self) -> Vec<String> {
        let denied = self.serving.denied();
        denied.into_iter().map(|denied| denied.destination).collect()
    }
}

/// The first words of TLS, for a host.
fn hello(host: &str) -> Vec<u8> {
    let part = |bytes: Vec<u8>| [vec![0, u8::try_from(bytes.len()).unwrap()], bytes].concat();
    let name = part([vec![0], part(host.into())].concat());
    let extensions = part([vec![0, 0], part(name)].concat());
    let body = [vec![3; 34], vec![0, 0, 2, 19, 1, 1, 0], extensions].concat();
    let message = [vec![1, 0], part(body)].concat();
    [vec![22, 3, 1], part(message)].concat()
}

/// Reads up to an empty line, or to the end.
async fn head(stream: &mut TcpStream) -> String {
    let mut heard = Vec::new();
    while !heard.ends_with(b"\r\n\r\n") {
        match timeout(PATIENCE, stream.read_u8()).await.unwrap() {
            Ok(byte) => heard.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(heard).unwrap()
}

async fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut heard = Vec::new();
    // A connection that is cut off ends as well as one that is closed.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut heard)).await.unwrap();
    heard
}

fn settings(addresses: Addresses) -> EgressSettings {
    EgressSettings {
        addresses,
        ..EgressSettings::default()
    }
}

#[tokio::test]
async fn a_tunnel_to_a_registry_carries_both_ways() {
    let outside = Outside::new("heard: ").await;
    let sandboxed = Sandboxed::new(settings(outside.is_everywhere()), Network::Registry);
    let mut tunnel = sandboxed.tunnel_to("PyPI.org:443").await;
    let said = [hello("pypi.org"), b"hello\r\n\r\n".to_vec()].concat();
    tunnel.write_all(&said).await.unwrap();
    assert_eq!(rest(&mut tunnel).await, [b"heard: ".to_vec(), said].concat());
    assert_eq!(sandboxed.denied(), [""; 0]);
}

#[tokio::test]
async fn in_a_tunnel_to_a_registry_nobody_else_is_asked_for() {
    let outside = Outside::new("heard: ").await;
    let named = EgressSettings {
        registries: vec!["near.example".to_owned()],
        ..settings(outside.is_everywhere())
    };
    let sandboxed = Sandboxed::new(named, Network::Registry);
    for said in [hello("evil.example"), b"GET / HTTP/1.1\r\n\r\n".to_vec()] {
        let mut tunnel = sandboxed.tunnel_to("pypi.org:443").await;
        tunnel.write_all(&said).await.unwrap();
        // An alert of TLS, and nothing from outside.
        assert_eq!(rest(&mut tunnel).await, [21, 3, 3, 0, 2, 2, 49]);
    }
    assert_eq!(sandboxed.denied(), ["pypi.org:443"]);
    // Whoever runs the server knows what it has named.
    let mut tunnel = sandboxed.tunnel_to("near.example:443").await;
    tunnel.write_all(b"x\r\n\r\n").await.unwrap();
    assert_eq!(rest(&mut tunnel).await, b"heard: x\r\n\r\n");
}

#[tokio::test]
async fn what_is_said_together_with_the_request_arrives() {
    let outside = Outside::new("").await;
    let sandboxed = Sandboxed::new(settings(outside.is_everywhere()), Network::Registry);
    let early = String::from_utf8(hello("pypi.org")).unwrap();
    let answer = sandboxed
        .ask(&format!(
            "CONNECT pypi.org:443 HTTP/1.1\r\n\r\n{early}early\r\n\r\n"
        ))
        .await;
    assert!(
        answer.ends_with(&format!("\r\n\r\n{early}early\r\n\r\n")),
        "{answer}"
    );
}

#[tokio::test]
async fn who_is_no_registry_is_refused_with_words() {
    let outside = Outside::new("").await;
    let sandboxed = Sandboxed::new(settings(outside.is_everywhere()), Network::Registry);
    for destination in [
        "evil.example:443",
        "evil.example:443",
        "pypi.org.evil.example:443",
        "pypi.org:22",
        "1.1.1.1:443",
    ] {
        let answer = sandboxed.connect_to(destination).await;
        // Package managers show the words beside the status and not the text.
        assert!(
            answer.starts_with(&format!("HTTP/1.1 403 {destination} was refused: ")),
            "{answer}"
        );
    }
    let answer = sandboxed.connect_to("evil.example:443").await;
    let text = answer.split("\r\n\r\n").nth(1).unwrap();
    assert!(text.contains("`sandbox.registries`"), "{answer}");
    assert_eq!(
        sandboxed.denied(),
        [
            "evil.example:443",
            "pypi.org.evil.example:443",
            "pypi.org:22",
            "1.1.1.1:443"
        ]
    );
    assert_eq!(outside.connections(), 0);
}

#[tokio::test]
async fn the_whole_network_has_strangers_and_every_port() {
    let outside = Outside::new("").await;
    let sandboxed = Sandboxed::new(settings(outside.is_everywhere()), Network::Full);
    let mut tunnel = sandboxed.tunnel_to("anybody.example:22").await;
    tunnel.write_all(b"x\r\n\r\n").await.unwrap();
    assert_eq!(rest(&mut tunnel).await, b"x\r\n\r\n");
}

#[tokio::test]
async fn no_network_is_none() {
    let outside = Outside::new("").await;
    let sandboxed = Sandboxed::new(settings(outside.is_everywhere()), Network::None);
    let answer = sandboxed.connect_to("pypi.org:443").await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert_eq!(outside.connections(), 0);
}

#[tokio::test]
async fn neither_this_machine_nor_its_neighbours_are_reached() {
    let outside = Outside::new("").await;
    let port = outside.address.port();
    let sandboxed = Sandboxed::new(EgressSettings::default(), Network::Full);
    for host in [
        "127.0.0.1",
        "localhost",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "10.0.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "[fd00::1]",
        "[fe80::1]",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
    ] {
        let answer = sandboxed.connect_to(&format!("{host}:{port}")).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{host}: {answer}");
        let answer = sandboxed
            .ask(&format!(
                "GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
            ))
            .await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{host}: {answer}");
    }
    assert_eq!(outside.connections(), 0);
}

#[tokio::test]
async fn one_bad_address_among_good_ones_is_enough() {
    let outside = Outside::new("").await;
    let (good, bad) = (outside.address, SocketAddr::from(([127, 0, 0, 2], 1)));
    let addresses = Addresses::new(
        move |_, _| Ok(vec![good, bad]),
        |address| (address == IpAddr::from([127, 0, 0, 2])).then_some(ReservedAddress::LinkLocal),
    );
    let named = EgressSettings {
        registries: vec!["pypi.org".to_owned()],
        ..settings(addresses)
    };
    let sandboxed = Sandboxed::new(named, Network::Registry);
    let answer = sandboxed.connect_to("pypi.org:443").await;
    assert!(answer.contains("an address that is link-local"), "{answer}");
    assert_eq!(outside.connections(), 0);
}

#[tokio::test]
async fn only_a_registry_that_is_named_in_full_may_be_near() {
    let outside = Outside::new("").await;
    let near = || outside.is_everywhere_and(|_| Some(ReservedAddress::Private));
    let named = EgressSettings {
        registries: vec!["near.example".to_owned(), "*.corp.example".to_owned()],
        ..settings(near())
    };
    let sandboxed = Sandboxed::new(named, Network::Full);
    sandboxed.tunnel_to("near.example:443").await;
    // Networks have mirrors of well-known ones.
    sandboxed.tunnel_to("pypi.org:443").await;
    for refused in ["a.corp.example:443", "near.example:22", "b.example:443"] {
        let answer = sandboxed.connect_to(refused).await;
        assert!(answer.contains("an address that is private"), "{answer}");
    }
    let own = outside.is_everywhere_and(|_| Some(ReservedAddress::Loopback));
    let named = EgressSettings {
        registries: vec!["near.example".to_owned()],
        ..settings(own)
    };
    let answer = Sandboxed::new(named, Network::Registry)
        .connect_to("near.example:443")
        .await;
    assert!(
        answer.contains("an address that is this machine's own"),
        "{answer}"
    );
}

#[tokio::test]
async fn plain_requests_pass_without_what_is_meant_for_the_proxy() {
    let outside =
        Outside::new("HTTP/1.1 200 OK\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nX-End: 2\r\n\r\n").await;
    let sandboxed = Sandboxed::new(settings(outside.is_everywhere()), Network::Registry);
    let answer = sandboxed
        .ask(
            "GET http://deb.debian.org/debian/x?y=1 HTTP/1.1\r\nHost: inner.example\r\nProxy-Authorization: Basic c2VjcmV0\r\n\
             Proxy-Connection: keep-alive\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nUpgrade: websocket\r\nAccept: */*\r\n\r\n",
        )
        .await;
    let (head, heard) = answer.split_once("\r\n\r\n").unwrap();
    let head = head.to_ascii_lowercase();
    assert!(
        head.starts_with("http/1.1 200 ") && head.contains("x-end: 2"),
        "{head}"
    );
    assert!(!head.contains("x-hop: 1"), "{head}");
    let heard = heard.to_ascii_lowercase();
    assert!(heard.contains("\r\nget /debian/x?y=1 http/1.1\r\n"), "{heard}");
    assert!(
        heard.contains("host: deb.debian.org\r\n") && heard.contains("accept: */*"),
        "{heard}"
    );
    for word in ["inner.example", "c2vjcmv0", "proxy", "x-mine", "websocket"] {
        assert!(!heard.contains(word), "{word}: {heard}");
    }
}

#[tokio::test]
async fn what_is_no_request_for_a_proxy_is_refused() {
    let outside = Outside::new("").await;
    let sandboxed = Sandboxed::new(settings(outside.is_everywhere()), Network::Registry);
    for request in [
        "GET / HTTP/1.1\r\nHost: pypi.org",
        "GET https://pypi.org/ HTTP/1.1\r\nHost: pypi.org",
        "GET http://me:hidden@deb.debian.org/ HTTP/1.1\r\nHost: deb.debian.org",
        "GET http://deb.debian.org:443/ HTTP/1.1\r\nHost: deb.debian.org",
        "POST http://deb.debian.org/ HTTP/1.1\r\nHost: deb.debian.org\r\nContent-Length: 0",
        "CONNECT pypi.org:0 HTTP/1.1\r\nHost: pypi.org",
        "CONNECT pypi.org HTTP/1.1\r\nHost: pypi.org",
    ] {
        let answer = sandboxed
            .ask(&format!("{request}\r\nConnection: close\r\n\r\n"))
            .await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{request}: {answer}");
        assert!(!answer.contains("hidden"), "{answer}");
    }
    assert!(sandboxed.denied().iter().all(|denied| !denied.contains("hidden")));
    assert_eq!(outside.connections(), 0);
}

#[tokio::test]
async fn who_cannot_be_reached_is_told_apart_from_who_may_not() {
    let gone = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let addresses = Addresses::new(
        move |name, _| match name {
            "pypi.org" => Ok(vec![gone]),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        },
        |_| None,
    );
    let sandboxed = Sandboxed::new(settings(addresses), Network::Registry);
    for destination in ["pypi.org:443", "crates.io:443"] {
        let answer = sandboxed.connect_to(destination).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 502 {destination} was not reached: ")),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn with_its_guard_every_connection_goes() {
    let outside = Outside::new("").await;
    let sandboxed = Sandboxed::new(settings(outside.is_everywhere()), Network::Full);
    let mut tunnel = sandboxed.tunnel_to("a.example:443").await;
    let mut silent = sandboxed.connect().await;
    let address = sandboxed.address;
    drop(sandboxed);
    assert_eq!(rest(&mut tunnel).await, b"");
    assert_eq!(rest(&mut silent).await, b"");
    let refused = TcpStream::connect(address).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
}

fn bounded(outside: &Outside, bounds: EgressBounds) -> Sandboxed {
    let settings = EgressSettings {
        bounds,
        ..settings(outside.is_everywhere())
    };
    Sandboxed::new(settings, Network::Full)
}

#[tokio::test]
async fn who_is_quiet_for_too_long_is_cut_off() {
    let outside = Outside::new("").await;
    let brief = EgressBounds {
        header_time: Duration::from_millis(50),
        ..EgressBounds::default()
    };
    let sandboxed = bounded(&outside, brief);
    let mut slow = sandboxed.connect().await;
    let _ = slow.write_all(b"GET http://a.exam").await;
    assert!(!rest(&mut slow).await.starts_with(b"HTTP/1.1 200"));
    let brief = EgressBounds {
        idle: Duration::from_millis(50),
        ..EgressBounds::default()
    };
    let sandboxed = bounded(&outside, brief);
    let mut tunnel = sandboxed.tunnel_to("a.example:443").await;
    assert_eq!(rest(&mut tunnel).await, b"");
}

#[tokio::test]
async fn a_head_has_an_end() {
    let outside = Outside::new("").await;
    let sandboxed = bounded(&outside, EgressBounds::default());
    let long = "x".repeat(200 * 1024);
    let answer = sandboxed
        .ask(&format!(
            "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nX: {long}\r\n\r\n"
        ))
        .await;
    assert!(!answer.contains(" 200 "), "{answer}");
    assert_eq!(outside.connections(), 0);
}

#[tokio::test]
async fn there_is_an_end_to_what_is_carried() {
    let outside = Outside::new("").await;
    let little = EgressBounds {
        bytes: 1000,
        ..EgressBounds::default()
    };
    let sandboxed = bounded(&outside, little);
    let mut tunnel = sandboxed.tunnel_to("a.example:443").await;
    let _ = tunnel.write_all(&[b'x'; 100_000]).await;
    assert_eq!(rest(&mut tunnel).await, b"");
    let denied = sandboxed.serving.denied();
    assert!(denied[0].to_string().contains("1000 bytes"), "{denied:?}");
    assert_eq!(sandboxed.connect_to("a.example:443").await, "");
}

#[tokio::test]
async fn more_connections_than_allowed_wait() {
    let outside = Outside::new("").await;
    for bounds in [
        EgressBounds {
            connections: 1,
            ..EgressBounds::default()
        },
        EgressBounds {
            connections_in_all: 1,
            ..EgressBounds::default()
        },
    ] {
        let sandboxed = bounded(&outside, bounds);
        let before = outside.connections();
        let first = sandboxed.tunnel_to("a.example:443").await;
        let mut second = sandboxed.connect().await;
        second
            .write_all(b"CONNECT b.example:443 HTTP/1.1\r\n\r\n")
            .await
            .unwrap();
        let early = timeout(Duration::from_millis(50), second.read_u8()).await;
        assert!(early.is_err());
        assert_eq!(outside.connections(), before + 1);
        drop(first);
        assert!(head(&mut second).await.starts_with("HTTP/1.1 200 "));
    }
}

#[tokio::test]
async fn behind_a_proxy_registries_go_by_name_and_strangers_by_address() {
    let proxy = Outside::new("HTTP/1.1 200 OK\r\n\r\n").await;
    let upstream = Some(format!("http://me:pass@{}", proxy.address));
    let public = || {
        Addresses::new(
            |_, port| Ok(vec![SocketAddr::from(([198, 51, 100, 7], port))]),
            |_| None,
        )
    };
    let through = |addresses| EgressSettings {
        upstream: upstream.clone(),
        ..settings(addresses)
    };
    let sandboxed = Sandboxed::new(through(public()), Network::Full);
    for (asked, target) in [
        ("pypi.org:443", "pypi.org:443"),
        ("stranger.example:8443", "198.51.100.7:8443"),
    ] {
        let mut tunnel = sandboxed.tunnel_to(asked).await;
        let heard = String::from_utf8(rest(&mut tunnel).await)
            .unwrap()
            .to_ascii_lowercase();
        assert!(
            heard.starts_with(&format!("connect {target} http/1.1\r\n")),
            "{heard}"
        );
        assert!(
            heard.contains("proxy-authorization: basic bwu6cgfzcw=="),
            "{heard}"
        );
    }
    for (asked, target) in [
        ("http://deb.debian.org/x", "http://deb.debian.org:80/x"),
        ("http://stranger.example/y", "http://198.51.100.7:80/y"),
    ] {
        let answer = sandboxed
            .ask(&format!(
                "GET {asked} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            ))
            .await;
        let heard = answer.split_once("\r\n\r\n").unwrap().1.to_ascii_lowercase();
        assert!(
            heard.contains(&format!("\r\nget {target} http/1.1\r\n")),
            "{heard}"
        );
        assert!(
            heard.contains("proxy-authorization: basic bwu6cgfzcw=="),
            "{heard}"
        );
    }
    // What the proxy would find may be a neighbour.
    let before = proxy.connections();
    let sandboxed = Sandboxed::new(through(Addresses::default()), Network::Full);
    for refused in ["10.0.0.1:443", "localhost:443"] {
        let answer = sandboxed.connect_to(refused).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    }
    assert_eq!(proxy.connections(), before);
}
