//! Servers in a sandbox that stays, reached from outside.

use agentyard_envd::{Body, Exchange as _, PORT_HEADER, empty, full};
use agentyard_sandbox::Standing;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;

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
    std::fs::write(place.path().join("server.py"), SERVER).unwrap();
    let (_, mut events) = start(&standing, &shell("exec python3 server.py")).await;
    let said = until(&mut events, "\n").await;
    let port: u16 = said.trim().strip_prefix("at ").unwrap().parse().unwrap();
    let answer = asked(&standing, port, full("hello")).await;
    assert_eq!(answer.status(), StatusCode::CREATED);
    assert_eq!(answer.headers()["x-path"], "/some/where?a=1");
    assert_eq!(answer.headers()["x-seen"], "content-length,host,x-mine");
    assert!(!answer.headers().contains_key("transfer-encoding"));
    assert_eq!(text(answer).await, "hello!");
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
