//! Servers in a sandbox that stays, reached from outside.

use agentyard_envd::client::Messages;
use agentyard_envd::process::EventMessage;
use agentyard_envd::{Body, Exchange as _, PORT_HEADER, empty, full, upgrade};
use agentyard_sandbox::Standing;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use super::processes::{shell, start, until};
use super::stand_up;
use crate::support::Place;

/// Tells what it is asked, with the body, in as many pieces as it is asked for.
const SERVER: &str = r#"
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_POST(self):
        body = self.rfile.read(int(self.headers['content-length']))
        self.send_response(201)
        self.send_header('x-path', self.path)
        self.send_header('x-seen', ','.join(sorted(name.lower() for name in self.headers)))
        self.send_header('transfer-encoding', 'chunked')
        self.end_headers()
        for piece in (body, b'!'):
            self.wfile.write(b'%x\r\n%s\r\n' % (len(piece), piece))
        self.wfile.write(b'0\r\n\r\n')
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
print('at', server.server_address[1], flush=True)
server.serve_forever()
"#;

/// Becomes a WebSocket if asked to, and shouts back what it is told.
const SHOUTING: &str = r#"
import socket
server = socket.create_server(('127.0.0.1', 0))
print('at', server.getsockname()[1], flush=True)
while True:
    peer, _ = server.accept()
    head = b''
    while b'\r\n\r\n' not in head:
        head += peer.recv(1)
    head = head.lower()
    if b'\r\nupgrade: websocket' in head and b'\r\nconnection: upgrade' in head and b'secret' not in head:
        peer.sendall(b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
                     b'Sec-WebSocket-Accept: yes\r\n\r\n')
        while piece := peer.recv(65536):
            peer.sendall(piece.upper())
    else:
        peer.sendall(b'HTTP/1.1 426 Upgrade Required\r\nContent-Length: 2\r\n\r\nno')
    peer.close()
"#;

/// Starts a server, and tells at which port it is.
async fn serve(place: &Place, standing: &Standing, server: &str) -> (u16, Messages<EventMessage>) {
    std::fs::write(place.path().join("server.py"), server).unwrap();
    let (_, mut events) = start(standing, &shell("exec python3 server.py")).await;
    let said = until(&mut events, "\n").await;
    (said.trim().strip_prefix("at ").unwrap().parse().unwrap(), events)
}

/// A connection to somebody who hands requests on to the sandbox, as the gateway does.
fn connected(standing: &Standing) -> DuplexStream {
    let (near, far) = tokio::io::duplex(1 << 16);
    let standing = standing.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        let standing = standing.clone();
        async move {
            assert!(upgrade::is_asked_for(request.headers()));
            let client = hyper::upgrade::on(&mut request);
            upgrade::exchange(&standing, request.map(drop), client, ()).await
        }
    });
    tokio::spawn(async move {
        let server = http1::Builder::new().serve_connection(TokioIo::new(far), service);
        server.with_upgrades().await
    });
    near
}

/// Asks for a WebSocket at this port, and returns the head of the answer.
async fn ask(client: &mut DuplexStream, port: u16) -> String {
    let request = format!(
        "GET /chat HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         X-Access-Token: secret\r\n{PORT_HEADER}: {port}\r\n\r\n"
    );
    client.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

async fn asked(standing: &Standing, port: u16, body: Body) -> Response<Body> {
    let request = Request::post("/some/where?a=1")
        .header(PORT_HEADER, port.to_string())
        .header("e2b-sandbox-id", "abc")
        .header("x-access-token", "secret")
        .header("content-length", "5")
        .header("x-mine", "1")
        .body(body)
        .unwrap();
    standing.exchange(request).await.unwrap()
}

async fn text(answer: Response<Body>) -> String {
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn requests_for_another_port_reach_who_listens_there() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let (port, _events) = serve(&place, &standing, SERVER).await;
    let answer = asked(&standing, port, full("hello")).await;
    assert_eq!(answer.status(), StatusCode::CREATED);
    assert_eq!(answer.headers()["x-path"], "/some/where?a=1");
    assert_eq!(answer.headers()["x-seen"], "content-length,host,x-mine");
    assert!(!answer.headers().contains_key("transfer-encoding"));
    assert_eq!(text(answer).await, "hello!");
    standing.take_down().await;
}

/// Answers with a head of 100 kB.
const TALKATIVE: &str = r#"
import socket
server = socket.create_server(('127.0.0.1', 0))
print('at', server.getsockname()[1], flush=True)
while True:
    peer, _ = server.accept()
    peer.recv(65536)
    many = ''.join('X-%d: %s\r\n' % (number, 'a' * 1000) for number in range(90))
    peer.sendall(('HTTP/1.1 200 OK\r\n' + many + 'Content-Length: 0\r\n\r\n').encode())
    peer.close()
"#;

#[tokio::test]
async fn a_head_without_end_costs_nobody_else_anything() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let (port, _events) = serve(&place, &standing, TALKATIVE).await;
    let answer = asked(&standing, port, full("hello")).await;
    assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
    assert!(text(answer).await.contains("head of its answer"));
    for length in [10, 60, 90] {
        let mut request = Request::get("/").header(PORT_HEADER, "1");
        for number in 0..length {
            request = request.header(format!("x-{number}"), "a".repeat(1000));
        }
        let answer = standing.exchange(request.body(full("")).unwrap()).await;
        assert_eq!(answer.is_ok(), length <= 60, "{length}");
    }
    let health = Request::get("/health").body(full("")).unwrap();
    let health = standing.exchange(health).await.unwrap();
    assert_eq!(health.status(), StatusCode::NO_CONTENT);
    standing.take_down().await;
}

#[tokio::test]
async fn a_websocket_is_handed_on_both_ways_until_one_side_ends() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let (port, _events) = serve(&place, &standing, SHOUTING).await;
    let mut client = connected(&standing);
    let head = ask(&mut client, port).await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert!(head.contains("sec-websocket-accept: yes\r\n"), "{head}");
    let mut shouted = [0; 5];
    for _ in 0..3 {
        client.write_all(b"hello").await.unwrap();
        client.read_exact(&mut shouted).await.unwrap();
        assert_eq!(&shouted, b"HELLO");
    }
    client.shutdown().await.unwrap();
    assert_eq!(client.read(&mut shouted).await.unwrap(), 0);
    // Who does not want to is not made to.
    let (port, _events) = serve(&place, &standing, &SHOUTING.replace("secret", "chat")).await;
    let head = ask(&mut connected(&standing), port).await;
    assert!(head.starts_with("HTTP/1.1 426 "), "{head}");
    standing.take_down().await;
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_told_to_be_closed() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let answer = asked(&standing, 9, full("hello")).await;
    assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
    let told: serde_json::Value = serde_json::from_str(&text(answer).await).unwrap();
    assert_eq!(told["message"], "The sandbox is running but port is not open");
    assert_eq!((&told["sandboxId"], &told["port"]), (&"abc".into(), &9.into()));
    let request = Request::get("/")
        .header(PORT_HEADER, "many")
        .body(empty())
        .unwrap();
    assert_eq!(
        standing.exchange(request).await.unwrap().status(),
        StatusCode::BAD_REQUEST
    );
    standing.take_down().await;
}
