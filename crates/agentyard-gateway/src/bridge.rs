//! From stdio to a server's MCP: what an agent in a container starts when the yard is
//! elsewhere. Messages pass through unread but for what HTTP needs to know of them.

mod message;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentyard_model::Secret;
use reqwest::{Client, StatusCode, Url};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use self::message::Message;
use crate::event_stream::{EventReader, ServerEvent};
use crate::remote::RemoteError;

/// The longest message that is passed on.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// How long calls in flight may still answer after the client has closed its side.
const GRACE: Duration = Duration::from_secs(2);

/// Passes messages between a client on these streams and the server until the client
/// closes its side.
///
/// # Errors
/// When the address is none, or the client's streams break.
pub async fn bridge(
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    address: &str,
    token: Option<Secret>,
) -> Result<(), BridgeError> {
    let link = Arc::new(Link::new(address, token)?);
    let (answers, queue) = mpsc::channel::<String>(64);
    let writer = tokio::spawn(write_lines(output, queue));
    let mut calls = JoinSet::new();
    let mut running: HashMap<String, AbortHandle> = HashMap::new();
    let mut input = BufReader::new(input);
    while let Some(line) = next_line(&mut input).await? {
        while calls.try_join_next().is_some() {}
        running.retain(|_, call| !call.is_finished());
        let Some(message) = Message::read(&line) else {
            let _ = answers
                .send(failure(&Value::Null, -32700, "the line is not JSON, or too long"))
                .await;
            continue;
        };
        if let Some(cancelled) = message.cancels() {
            // Dropping the request is what cancels it on the server.
            if let Some(call) = running.remove(&cancelled) {
                call.abort();
            }
            continue;
        }
        let id = message.id().map(ToString::to_string);
        let call = calls.spawn(pass_on(link.clone(), message, answers.clone()));
        if let Some(id) = id {
            running.insert(id, call);
        }
    }
    let finish = async { while calls.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(GRACE, finish).await;
    calls.shutdown().await;
    link.close().await;
    drop(answers);
    let _ = writer.await;
    Ok(())
}

/// Why a bridge could not be.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// The server cannot be one.
    #[error(transparent)]
    Server(#[from] RemoteError),
    /// The client's side broke.
    #[error("reading from the client failed")]
    Client(#[from] std::io::Error),
}

/// The way to the server, with what an older session needs to be remembered.
struct Link {
    client: Client,
    address: Url,
    token: Option<Secret>,
    session: Mutex<Option<Session>>,
}

#[derive(Clone)]
struct Session {
    id: Option<String>,
    revision: String,
}

impl Link {
    fn new(address: &str, token: Option<Secret>) -> Result<Self, RemoteError> {
        let wrong = || RemoteError::Address {
            address: address.chars().take(200).collect(),
        };
        let mut url = Url::parse(address).map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https") || !url.username().is_empty() {
            return Err(wrong());
        }
        if url.path() == "/" {
            url.set_path("/mcp");
        }
        let client = Client::builder()
            .connect_timeout(Duration::from_secs(10))
            // The token must not follow a redirect to somebody else.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|source| RemoteError::Unreachable {
                address: url.clone(),
                source,
            })?;
        Ok(Self {
            client,
            address: url,
            token,
            session: Mutex::new(None),
        })
    }

    fn session(&self) -> Option<Session> {
        self.session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    async fn send(&self, message: &Message) -> reqwest::Result<reqwest::Response> {
        let mut request = self
            .client
            .post(self.address.clone())
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .body(message.line().to_owned());
        for (name, value) in message.headers() {
            request = request.header(name, value);
        }
        if !message.is_self_contained()
            && let Some(session) = self.session()
        {
            request = request.header("mcp-protocol-version", session.revision);
            if let Some(id) = session.id {
                request = request.header("mcp-session-id", id);
            }
        }
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.expose());
        }
        request.send().await
    }

    /// Remembers the session that an `initialize` opened.
    fn open(&self, id: Option<String>, answer: &Value) {
        if let Some(revision) = answer["result"]["protocolVersion"].as_str() {
            let session = Session {
                id,
                revision: revision.to_owned(),
            };
            *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
        }
    }

    /// Ends the session, if there is one, so that the server need not wait for it.
    async fn close(&self) {
        let Some(id) = self.session().and_then(|session| session.id) else {
            return;
        };
        let mut request = self
            .client
            .delete(self.address.clone())
            .header("mcp-session-id", id);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.expose());
        }
        let _ = tokio::time::timeout(GRACE, request.send()).await;
    }
}

async fn pass_on(link: Arc<Link>, message: Message, answers: mpsc::Sender<String>) {
    let id = message.id().cloned();
    if let Err(reason) = exchange(&link, &message, &answers).await
        && let Some(id) = id
    {
        let _ = answers.send(failure(&id, -32000, &reason)).await;
    }
}

async fn exchange(link: &Link, message: &Message, answers: &mpsc::Sender<String>) -> Result<(), String> {
    let unreachable = |error: reqwest::Error| {
        format!(
            "the Agentyard server at {} did not answer: {}",
            link.address,
            error.without_url()
        )
    };
    let mut response = link.send(message).await.map_err(unreachable)?;
    let header = |name: &str| {
        let value = response.headers().get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let session = header("mcp-session-id");
    let content_type = header("content-type").unwrap_or_default();
    let status = response.status();
    if content_type.starts_with("text/event-stream") {
        let mut events = EventReader::new(MAX_MESSAGE_BYTES);
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            for ServerEvent { data, .. } in events.read(&chunk)? {
                deliver(link, message, session.clone(), &data, answers).await;
            }
        }
        return Ok(());
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_MESSAGE_BYTES {
            return Err("the server's answer is too long".to_owned());
        }
    }
    if status.is_success() && body.is_empty() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&body);
    if deliver(link, message, session, &text, answers).await {
        return Ok(());
    }
    Err(explained(status, &text))
}

/// Passes an answer on if it is a message; says whether it was.
async fn deliver(
    link: &Link,
    message: &Message,
    session: Option<String>,
    text: &str,
    answers: &mpsc::Sender<String>,
) -> bool {
    let Ok(answer) = serde_json::from_str::<Value>(text) else {
        return false;
    };
    if answer["jsonrpc"] != "2.0" {
        return false;
    }
    if message.method() == Some("initialize") {
        link.open(session, &answer);
    }
    answers.send(answer.to_string()).await.is_ok()
}

/// An answer that is no message, in words for the agent.
fn explained(status: StatusCode, body: &str) -> String {
    let said: Value = serde_json::from_str(body).unwrap_or_default();
    let message = said["error"]["message"].as_str().unwrap_or(match status {
        StatusCode::UNAUTHORIZED => "no valid token: set AGENTYARD_TOKEN",
        StatusCode::NOT_FOUND => {
            "no such MCP server or session: the server may have been restarted; connect again"
        }
        _ => "no reason was given",
    });
    format!("the Agentyard server answered with status {status}: {message}")
}

fn failure(id: &Value, code: i32, message: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }).to_string()
}

/// The next line. One that is too long comes back cut off, which no longer is JSON,
/// and the rest of it is skipped.
async fn next_line(input: &mut (impl AsyncBufReadExt + Unpin)) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let limit = MAX_MESSAGE_BYTES as u64 + 1;
    if (&mut *input).take(limit).read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    if line.len() > MAX_MESSAGE_BYTES && line.last() != Some(&b'\n') {
        line.clear();
        loop {
            let mut rest = Vec::new();
            let read = (&mut *input).take(64 * 1024).read_until(b'\n', &mut rest).await?;
            if read == 0 || rest.last() == Some(&b'\n') {
                break;
            }
        }
    }
    Ok(Some(line))
}

async fn write_lines(mut output: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<String>) {
    while let Some(mut line) = queue.recv().await {
        line.push('\n');
        if output.write_all(line.as_bytes()).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}
