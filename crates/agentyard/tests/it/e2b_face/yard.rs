//! A server, and requests to it by hand.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use base64::Engine as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::{PATIENCE, Place, Server, free_port};

const PAGES: &str = r#"
import http.server, time

class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        while self.path == '/wait':
            time.sleep(1)
        body = repr(sorted(name.lower() for name in self.headers.keys())).encode()
        self.send_response(200)
        self.send_header('Set-Cookie', 'a=b')
        self.send_header('Content-Type', 'text/html')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

http.server.HTTPServer(('127.0.0.1', PORT), Page).serve_forever()
"#;

/// An answer: its status, its head as text, and its body.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{} {}", self.head, String::from_utf8_lossy(&self.body)))
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Checks that it is an error in E2B's shape, and gives what it says.
    pub(super) fn fault(&self) -> (u16, String) {
        let body = self.json();
        assert_eq!(body["code"], self.status, "{}", self.text());
        (self.status, body["message"].as_str().unwrap().to_owned())
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A server with what it takes to talk to it.
pub(super) struct Yard {
    pub(super) server: Server,
    pub(super) key: String,
    _place: Place,
}

impl Yard {
    pub(super) fn start(arguments: &[&str]) -> Self {
        let place = Place::new();
        let address = format!("127.0.0.1:{}", free_port());
        let mut command = place.command(&[&["serve", "--listen", &address], arguments].concat());
        // What is found first elsewhere may not work inside.
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        let server = Server::of(command.stderr(Stdio::null()), &address);
        let key = server
            .greeting
            .lines()
            .map(str::trim)
            .find(|line| line.starts_with("ay_"));
        Self {
            key: key.unwrap_or("any").to_owned(),
            server,
            _place: place,
        }
    }

    /// One request by hand: no client stands between the test and the bytes.
    pub(super) fn ask(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let host = &self.server.address;
        self.ask_at(host, line, headers, body)
    }

    pub(super) fn ask_at(&self, host: &str, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.server.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut request = format!("{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        let mut body = answer[end + 4..].to_vec();
        if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
            body = unchunked(&body);
        }
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head,
            body,
        }
    }

    pub(super) fn call(&self, line: &str, body: &Value) -> Answer {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.ask(line, &[("X-API-KEY", &self.key)], &body)
    }

    pub(super) fn create(&self, more: Value) -> Created {
        let mut new = json!({ "templateID": "base", "timeout": 120 });
        new.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let answer = self.call("POST /v2/sandboxes", &new);
        assert_eq!(answer.status, 201, "{}", answer.text());
        let created = answer.json();
        let text = |name: &str| created[name].as_str().unwrap().to_owned();
        Created {
            id: text("sandboxID"),
            access: text("envdAccessToken"),
            traffic: text("trafficAccessToken"),
        }
    }

    /// A request to a port of a sandbox.
    pub(super) fn visit(
        &self,
        sandbox: &Created,
        port: &str,
        token: (&str, &str),
        line: &str,
        body: &str,
    ) -> Answer {
        let headers = [
            ("E2b-Sandbox-Id", &*sandbox.id),
            ("E2b-Sandbox-Port", port),
            token,
        ];
        self.ask(line, &headers, body)
    }

    /// Starts a server of pages, which tells of each request which headers it had.
    pub(super) fn start_server(&self, sandbox: &Created, port: u16) {
        self.start_python(sandbox, &PAGES.replace("PORT", &port.to_string()));
    }

    /// Starts a program in Python that goes on.
    pub(super) fn start_python(&self, sandbox: &Created, program: &str) {
        let start =
            json!({ "process": { "cmd": "/usr/bin/env", "args": ["python3", "-c", program] } }).to_string();
        let mut stream = TcpStream::connect(&self.server.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!(
            "POST /process.Process/Start HTTP/1.1\r\nHost: {}\r\nE2b-Sandbox-Id: {}\r\nX-Access-Token: {}\r\n\
             Content-Type: application/connect+json\r\nConnect-Protocol-Version: 1\r\nContent-Length: {}\r\n\r\n",
            self.server.address,
            sandbox.id,
            sandbox.access,
            start.len() + 5
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream.write_all(&[0]).unwrap();
        stream
            .write_all(&u32::try_from(start.len()).unwrap().to_be_bytes())
            .unwrap();
        stream.write_all(start.as_bytes()).unwrap();
        let mut read = Vec::new();
        while !String::from_utf8_lossy(&read).contains("\"pid\"") {
            let mut buffer = [0; 4096];
            let length = stream.read(&mut buffer).unwrap();
            assert!(length > 0, "{}", String::from_utf8_lossy(&read));
            read.extend_from_slice(&buffer[..length]);
        }
        // It goes on though nobody listens to it any more.
        drop(stream);
    }

    /// Stops the server as an operator would, and tells whether it stopped well.
    pub(super) fn stop(self) -> bool {
        self.server.terminate()
    }

    /// Waits until a server in a sandbox answers.
    pub(super) fn await_server(&self, sandbox: &Created, port: &str, token: (&str, &str)) -> Answer {
        let started = std::time::Instant::now();
        loop {
            let answer = self.visit(sandbox, port, token, "GET /", "");
            if answer.status != 502 || started.elapsed() > PATIENCE {
                return answer;
            }
            assert!(answer.fault().1.contains("port is not open"), "{}", answer.text());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

pub(super) struct Created {
    pub(super) id: String,
    pub(super) access: String,
    pub(super) traffic: String,
}

impl Created {
    pub(super) fn access(&self) -> (&str, &str) {
        ("X-Access-Token", &self.access)
    }

    pub(super) fn traffic(&self) -> (&str, &str) {
        ("E2B-Traffic-Access-Token", &self.traffic)
    }

    /// The signature of a file's address.
    pub(super) fn signature(&self, path: &str, operation: &str, expiration: Option<i64>) -> String {
        let mut text = format!("{path}:{operation}::{}", self.access);
        if let Some(expiration) = expiration {
            text.push_str(&format!(":{expiration}"));
        }
        let digest = base64::engine::general_purpose::STANDARD_NO_PAD.encode(Sha256::digest(text));
        let escaped = digest.replace('+', "%2B").replace('/', "%2F");
        format!("v1_{escaped}")
    }
}

pub(super) const NO_TOKEN: (&str, &str) = ("X-Nothing", "nothing");

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n").unwrap();
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            return whole;
        }
        whole.extend_from_slice(&rest[end + 2..end + 2 + length]);
        rest = &rest[end + 2 + length + 2..];
    }
}
