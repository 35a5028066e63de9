//! A git host: `git http-backend` behind the smallest HTTP server that does, which wants a password. Who takes it for a
//! proxy finds it under [`NAME`], and behind every other name a page that says which.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// What it is called by those who come through a proxy.
pub(crate) const NAME: &str = "git.example";

/// A host on this machine. It answers until the test's process ends.
pub(crate) struct GitHost {
    address: String,
    pub(crate) port: u16,
    /// What was seen of the token among this machine's processes while one was served.
    pub(crate) traces: Arc<Mutex<Vec<String>>>,
    /// How many requests came with the right password.
    pub(crate) served: Arc<Mutex<usize>>,
}

struct Request {
    method: String,
    /// Whom it was meant for, when we were taken for a proxy.
    host: Option<String>,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl GitHost {
    /// Serves the repositories in a directory to who sends this header. `secret` is looked for in every process.
    /// At `/denied` it sends back what it was given.
    pub(crate) fn start(repositories: &Path, authorization: String, secret: String) -> Self {
        Self::start_at("127.0.0.1", repositories, authorization, secret)
    }

    /// The same at another address of this machine.
    pub(crate) fn start_at(
        address: &str,
        repositories: &Path,
        authorization: String,
        secret: String,
    ) -> Self {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let host = Self {
            address: address.to_owned(),
            port: listener.local_addr().unwrap().port(),
            traces: Arc::default(),
            served: Arc::default(),
        };
        let (traces, served) = (host.traces.clone(), host.served.clone());
        let repositories = repositories.to_owned();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let request = read_request(&stream);
                let given = request.header("authorization");
                let other = request.host.as_deref().filter(|host| *host != NAME);
                let answer = if let Some(other) = other {
                    let body = format!("this is {other}\n");
                    let length = body.len();
                    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
                        .into_bytes()
                } else if given != Some(authorization.as_str()) {
                    b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"host\"\r\nContent-Length: 0\r\n"
                        .to_vec()
                } else if request.path.starts_with("/denied") {
                    let body = format!("you sent {authorization} which is {secret}\n");
                    let length = body.len();
                    format!("HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}").into_bytes()
                } else {
                    *served.lock().unwrap() += 1;
                    traces.lock().unwrap().extend(traces_of(&secret));
                    backend(&repositories, &request)
                };
                let answer = if answer.windows(4).any(|window| window == b"\r\n\r\n") {
                    answer
                } else {
                    [answer, b"Connection: close\r\n\r\n".to_vec()].concat()
                };
                let _ = stream.write_all(&answer);
            }
        });
        host
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}:{}/{path}", self.address, self.port)
    }
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }
}

fn read_request(stream: &TcpStream) -> Request {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let mut words = line.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default();
    let (host, target) = match target
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
    {
        Some((host, path)) => (Some(host.trim_end_matches(":80").to_owned()), format!("/{path}")),
        None => (None, target.to_owned()),
    };
    let target = target.as_str();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    Request {
        method,
        host,
        path,
        query,
        headers,
        body,
    }
}

/// What CGI says, as HTTP says it.
fn backend(repositories: &Path, request: &Request) -> Vec<u8> {
    let mut child = Command::new("git")
        .arg("http-backend")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GIT_PROJECT_ROOT", repositories)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REMOTE_USER", "me")
        .env("REQUEST_METHOD", &request.method)
        .env("PATH_INFO", &request.path)
        .env("QUERY_STRING", &request.query)
        .env("CONTENT_TYPE", request.header("content-type").unwrap_or_default())
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .env(
            "HTTP_CONTENT_ENCODING",
            request.header("content-encoding").unwrap_or_default(),
        )
        .env("GIT_PROTOCOL", request.header("git-protocol").unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&request.body).unwrap();
    let output = child.wait_with_output().unwrap().stdout;
    let end = output
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap();
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let body = &output[end + 4..];
    let status = head
        .lines()
        .find_map(|line| line.strip_prefix("Status: "))
        .unwrap_or("200 OK");
    let head = format!(
        "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body.to_vec()].concat()
}

/// Where the secret can be read: every process's arguments, and the environment of git and what it starts.
fn traces_of(secret: &str) -> Vec<String> {
    let mut traces = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let process: PathBuf = entry.path();
        let read = |name: &str| std::fs::read(process.join(name)).unwrap_or_default();
        let holds = |bytes: &[u8]| {
            bytes
                .windows(secret.len())
                .any(|window| window == secret.as_bytes())
        };
        let name = String::from_utf8_lossy(&read("comm")).trim().to_owned();
        if holds(&read("cmdline")) {
            traces.push(format!("arguments of {name}"));
        }
        if name.starts_with("git") || name == "sh" {
            traces.push(format!("saw {name}"));
            if holds(&read("environ")) {
                traces.push(format!("environment of {name}"));
            }
        }
    }
    traces
}
