//! WebSockets to servers in a sandbox, frame by frame.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::yard::{Created, NO_TOKEN, Yard};
use crate::support::PATIENCE;

/// Welcomes whoever comes with the path and the headers that they came with, and shouts back what they say, until they
/// close, or say `bye`, which lets it close.
const SHOUTING: &str = r#"
import base64, hashlib, socketserver

class Shouting(socketserver.StreamRequestHandler):
    def handle(self):
        path = self.rfile.readline().split()[1]
        headers = {}
        while header := self.rfile.readline().strip():
            name, value = header.split(b': ', 1)
            headers[name.lower()] = value
        key = headers.get(b'sec-websocket-key')
        if not key:
            self.wfile.write(b'HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
            return
        accept = base64.b64encode(hashlib.sha1(key + b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest())
        self.wfile.write(b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
                         b'Sec-WebSocket-Accept: ' + accept + b'\r\n\r\n')
        self.say(1, b' '.join([path, *sorted(headers)]))
        while True:
            kind, said = self.hear()
            if kind == 8:
                self.say(8, said)
                return
            if said == b'bye':
                self.say(8, (1001).to_bytes(2, 'big'))
                return
            self.say(10 if kind == 9 else kind, said.upper())

    def hear(self):
        first, second = self.rfile.read(2)
        assert first & 128 and second & 128
        length = second & 127
        if length > 125:
            length = int.from_bytes(self.rfile.read(2 if length == 126 else 8), 'big')
        mask = self.rfile.read(4)
        said = self.rfile.read(length)
        return first & 15, bytes(byte ^ mask[at % 4] for at, byte in enumerate(said))

    def say(self, kind, said):
        length = len(said)
        if length < 126:
            head = bytes([length])
        elif length < 65536:
            head = b'\x7e' + length.to_bytes(2, 'big')
        else:
            head = b'\x7f' + length.to_bytes(8, 'big')
        self.wfile.write(bytes([128 | kind]) + head + said)

class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

Server(('127.0.0.1', 3000), Shouting).serve_forever()
"#;

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// A connection that asked to become a WebSocket, and the head of what was answered.
struct Socket {
    stream: TcpStream,
    head: String,
}

impl Socket {
    /// Asks with the key for which the standard tells the answer.
    fn open(yard: &Yard, host: &str, headers: &[(&str, &str)]) -> Self {
        let mut stream = TcpStream::connect(&yard.server.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut request = format!(
            "GET /talk?a=1 HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        );
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{request}\r\n").as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        Self { stream, head }
    }

    /// One that was agreed to, and was welcomed.
    fn opened(yard: &Yard, host: &str, headers: &[(&str, &str)]) -> Self {
        let mut socket = Self::open(yard, host, headers);
        assert!(socket.head.starts_with("http/1.1 101 "), "{}", socket.head);
        for line in [
            "connection: upgrade\r\n",
            "upgrade: websocket\r\n",
            "sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n",
        ] {
            assert!(socket.head.contains(line), "{}", socket.head);
        }
        let (kind, welcome) = socket.hear();
        let welcome = String::from_utf8(welcome).unwrap();
        // Of what it came with, neither tokens nor what led here are told inside.
        let seen = "/talk?a=1 connection host sec-websocket-key sec-websocket-version upgrade";
        assert_eq!((kind, welcome.as_str()), (TEXT, seen));
        socket
    }

    fn status(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }

    fn say(&mut self, kind: u8, said: &[u8]) {
        const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];
        let mut frame = vec![0x80 | kind];
        match said.len() {
            short @ ..126 => frame.push(0x80 | u8::try_from(short).unwrap()),
            long => {
                frame.push(0x80 | 127);
                frame.extend(u64::try_from(long).unwrap().to_be_bytes());
            }
        }
        frame.extend(MASK);
        frame.extend(
            said.iter()
                .zip(MASK.iter().cycle())
                .map(|(byte, mask)| byte ^ mask),
        );
        self.stream.write_all(&frame).unwrap();
    }

    fn hear(&mut self) -> (u8, Vec<u8>) {
        let [first, second] = self.bytes();
        assert_eq!((first & 0x80, second & 0x80), (0x80, 0), "whole, and not masked");
        let length = match second {
            126 => u64::from(u16::from_be_bytes(self.bytes())),
            127 => u64::from_be_bytes(self.bytes()),
            short => u64::from(short),
        };
        let mut heard = vec![0; usize::try_from(length).unwrap()];
        self.stream.read_exact(&mut heard).unwrap();
        (first & 0x0f, heard)
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Waits for the end of the connection, after which nothing comes.
    fn assert_over(mut self) {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => assert!(rest.is_empty(), "{rest:?}"),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}"),
        }
    }
}

/// Says all kinds of things, and takes leave.
fn talk(mut socket: Socket) {
    socket.say(TEXT, "gr\u{fc}ezi".as_bytes());
    assert_eq!(socket.hear(), (TEXT, "GR\u{fc}EZI".as_bytes().to_vec()));
    socket.say(PING, b"still there?");
    assert_eq!(socket.hear(), (PONG, b"STILL THERE?".to_vec()));
    // More than passes in one piece anywhere on the way.
    let much: Vec<u8> = (0..300_000_u32).map(|at| (at % 60) as u8).collect();
    socket.say(BINARY, &much);
    assert_eq!(socket.hear(), (BINARY, much));
    socket.say(TEXT, b"");
    assert_eq!(socket.hear(), (TEXT, Vec::new()));
    let farewell = [&1000_u16.to_be_bytes()[..], b"done"].concat();
    socket.say(CLOSE, &farewell);
    assert_eq!(socket.hear(), (CLOSE, farewell));
    socket.assert_over();
}

fn listening(yard: &Yard, more: Value) -> Created {
    let sandbox = yard.create(more);
    yard.start_python(&sandbox, SHOUTING);
    let plain = yard.await_server(&sandbox, "3000", sandbox.traffic());
    assert_eq!(
        plain.status, 426,
        "who asks for no WebSocket gets none: {}",
        plain.head
    );
    sandbox
}

#[test]
fn frames_pass_both_ways_by_header() {
    let yard = Yard::start(&[]);
    let sandbox = listening(&yard, json!({}));
    let host = &yard.server.address;
    let named = |token| {
        [
            ("E2b-Sandbox-Id", &*sandbox.id),
            ("E2b-Sandbox-Port", "3000"),
            token,
        ]
    };
    talk(Socket::opened(&yard, host, &named(sandbox.traffic())));
    // Several at once, of which each hears what it was told.
    let mut sockets = [(); 3].map(|()| Socket::opened(&yard, host, &named(sandbox.access())));
    for (number, socket) in sockets.iter_mut().enumerate() {
        socket.say(TEXT, format!("i am {number}").as_bytes());
    }
    for (number, socket) in sockets.iter_mut().enumerate() {
        assert_eq!(socket.hear(), (TEXT, format!("I AM {number}").into_bytes()));
    }
    // The server inside may take leave, too.
    let [mut first, _second, _third] = sockets;
    first.say(TEXT, b"bye");
    assert_eq!(first.hear(), (CLOSE, 1001_u16.to_be_bytes().to_vec()));
    first.assert_over();

    assert_eq!(Socket::open(&yard, host, &named(NO_TOKEN)).status(), "403");
    let page = ("Origin", "https://evil.example.org");
    let foreign = [&named(sandbox.traffic())[..], &[page]].concat();
    assert_eq!(Socket::open(&yard, host, &foreign).status(), "403");
    let mut elsewhere = named(sandbox.traffic());
    elsewhere[1].1 = "3001";
    assert_eq!(Socket::open(&yard, host, &elsewhere).status(), "502");
}

#[test]
fn frames_pass_both_ways_by_host_name() {
    let yard = Yard::start(&["--set", "http.sandbox_domain=box.example.org"]);
    let open = listening(&yard, json!({ "network": { "allowPublicTraffic": true } }));
    let host = |sandbox: &Created| format!("3000-{}.box.example.org", sandbox.id);
    talk(Socket::opened(&yard, &host(&open), &[]));
    let shut = listening(&yard, json!({}));
    talk(Socket::opened(&yard, &host(&shut), &[shut.traffic()]));
    for wrong in [NO_TOKEN, open.traffic()] {
        assert_eq!(Socket::open(&yard, &host(&shut), &[wrong]).status(), "403");
    }
}

#[test]
fn they_end_with_the_sandbox_and_with_the_server() {
    let yard = Yard::start(&["--set", "http.sandbox_domain=box.example.org"]);
    let public = json!({ "network": { "allowPublicTraffic": true } });
    let [killed, left] = [(); 2].map(|()| listening(&yard, public.clone()));
    let [of_killed, of_left] =
        [&killed, &left].map(|one| Socket::opened(&yard, &format!("3000-{}.box.example.org", one.id), &[]));
    let answer = yard.call(&format!("DELETE /sandboxes/{}", killed.id), &Value::Null);
    assert_eq!(answer.status, 204, "{}", answer.text());
    of_killed.assert_over();
    assert!(
        yard.stop(),
        "who still talks does not keep the server from stopping"
    );
    of_left.assert_over();
}
