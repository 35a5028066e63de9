//! A server that takes calls as SurrealDB does, and answers as a test wants it to.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How long anything here may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// How it answers one call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Manner {
    /// Takes every row.
    Takes,
    /// Takes every row whose code has not this text.
    TakesBut(&'static str),
    /// Takes the first half, and is silent about the rest.
    TakesHalf,
    /// Refuses every row.
    RefusesAll,
    /// Answers with this status and nothing else.
    Status(u16),
    /// Does not answer.
    Silent,
    /// Answers with something else.
    Garbage,
    /// Sends elsewhere.
    Redirects,
}

/// A call that came in.
pub(crate) struct Call {
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Call {
    /// The rows, in their order.
    pub(crate) fn rows(&self) -> Vec<Value> {
        let variables = self.body["params"][1].as_object().unwrap();
        let row = |number: usize| variables[&format!("r{number}")].clone();
        (0..variables.len()).map(row).collect()
    }

    /// The code of each row.
    pub(crate) fn codes(&self) -> Vec<String> {
        let rows = self.rows();
        rows.iter()
            .map(|row| row["code_snippet"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// The server, until it is dropped.
pub(crate) struct FakeSurreal {
    calls: mpsc::UnboundedReceiver<Call>,
    task: JoinHandle<()>,
}

impl FakeSurreal {
    /// An address at which nobody listens yet.
    pub(crate) async fn address() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    }

    /// Answers in these manners one after the other, and in the last of them from then on.
    pub(crate) async fn start(address: SocketAddr, manners: &[Manner]) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let (sender, calls) = mpsc::unbounded_channel();
        let manners = manners.to_vec();
        let task = tokio::spawn(async move {
            let mut number = 0;
            // Connections that are not to be answered are kept open.
            let mut silent = Vec::new();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let Some(call) = read(&mut stream).await else {
                    continue;
                };
                let manner = manners[number.min(manners.len() - 1)];
                number += 1;
                match answer(manner, &call) {
                    Some(answer) => {
                        let _ = stream.write_all(answer.as_bytes()).await;
                    }
                    None => silent.push(stream),
                }
                let _ = sender.send(call);
            }
        });
        Self { calls, task }
    }

    /// Ends it; its address is free then.
    pub(crate) async fn stop(mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }

    pub(crate) async fn next(&mut self) -> Call {
        let next = tokio::time::timeout(PATIENCE, self.calls.recv()).await;
        next.expect("a call in time").unwrap()
    }
}

impl Drop for FakeSurreal {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read(stream: &mut TcpStream) -> Option<Call> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec())
        .unwrap()
        .to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.unwrap().trim().parse().unwrap();
    while bytes.len() < head_end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&bytes[head_end..]).unwrap();
    Some(Call { head, body })
}

fn answer(manner: Manner, call: &Call) -> Option<String> {
    let ok = json!({ "status": "OK", "result": [], "time": "1ms" });
    let refused = json!({ "status": "ERR", "result": "no such field", "time": "1ms" });
    let codes = call.codes();
    let results: Vec<Value> = match manner {
        Manner::Takes => codes.iter().map(|_| ok.clone()).collect(),
        Manner::TakesBut(text) => {
            let verdict = |code: &String| if code.contains(text) { &refused } else { &ok };
            codes.iter().map(|code| verdict(code).clone()).collect()
        }
        Manner::TakesHalf => codes.iter().take(codes.len() / 2).map(|_| ok.clone()).collect(),
        Manner::RefusesAll => codes.iter().map(|_| refused.clone()).collect(),
        Manner::Status(status) => return Some(response(status, "", "")),
        Manner::Silent => return None,
        Manner::Garbage => return Some(response(200, "", "<html>")),
        Manner::Redirects => return Some(response(307, "Location: http://127.0.0.1:9/rpc\r\n", "")),
    };
    let body = json!({ "id": 1, "result": results }).to_string();
    Some(response(200, "Content-Type: application/json\r\n", &body))
}

fn response(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}
