//! HTTP sessions: cancelled by a disconnect, tied to their owner, bounded.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, extract::Request, middleware, middleware::Next, response::Response};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities,
        ServerConfig,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::Notify,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use crate::mcp::REVISIONS;
use crate::mcp::answers::mend_answers;
use crate::mcp::sessions::{BoundSessions, SessionLimits, SessionOwner, bind_session_to_subject};

const SOON: Duration = Duration::from_secs(5);
const A_WHILE: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_disconnect_cancels_the_call() {
    let server = Server::start(SessionLimits::default()).await;
    let session = server.open("alice").await.session();
    let call = server.call("alice", &session, 7).await;
    server.handler.started().await;
    assert!(!server.handler.token().is_cancelled());

    drop(call);
    timeout(SOON, server.handler.token().cancelled())
        .await
        .expect("the call is cancelled");
    // The session itself goes on.
    assert_eq!(server.list_tools("alice", &session).await, 200);
}

#[tokio::test]
async fn a_disconnect_cancels_a_call_without_a_session() {
    let server = Server::start(SessionLimits::default()).await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": "wait", "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "wait"),
    ];
    let connection = server.request("POST", "alice", &headers, &body.to_string()).await;
    server.handler.started().await;
    assert!(!server.handler.token().is_cancelled());
    drop(connection);
    timeout(SOON, server.handler.token().cancelled())
        .await
        .expect("the call is cancelled");
}

#[tokio::test]
async fn an_answered_call_is_not_cancelled_and_the_next_one_works() {
    let server = Server::start(SessionLimits::default()).await;
    let session = server.open("alice").await.session();
    for id in 1..4 {
        let mut call = server.call("alice", &session, id).await;
        server.handler.started().await;
        server.handler.release();
        assert_eq!(call.message_with_id().await["id"], id);
    }
}

#[tokio::test]
async fn a_stream_ended_by_the_server_does_not_cancel_and_can_be_taken_up_again() {
    let server = Server::start(SessionLimits::default()).await;
    let session = server.open("alice").await.session();
    let mut call = server.call("alice", &session, 7).await;
    server.handler.started().await;

    server.sessions.end_stream(&session, 0).await.unwrap();
    call.rest().await;
    drop(call);
    tokio::time::sleep(A_WHILE).await;
    assert!(!server.handler.token().is_cancelled());

    let mut resumed = server.resume("alice", &session, "0/0").await;
    server.handler.release();
    assert_eq!(resumed.message_with_id().await["id"], 7);
}

#[tokio::test]
async fn a_disconnect_from_a_stream_taken_up_again_cancels() {
    let server = Server::start(SessionLimits::default()).await;
    let session = server.open("alice").await.session();
    let mut call = server.call("alice", &session, 7).await;
    server.handler.started().await;
    server.sessions.end_stream(&session, 0).await.unwrap();
    call.rest().await;

    let resumed = server.resume("alice", &session, "0/0").await;
    tokio::time::sleep(A_WHILE).await;
    assert!(!server.handler.token().is_cancelled());
    drop(resumed);
    timeout(SOON, server.handler.token().cancelled())
        .await
        .expect("the call is cancelled");
}

#[tokio::test]
async fn deleting_a_session_cancels_its_calls_at_once() {
    let server = Server::start(SessionLimits::default()).await;
    let session = server.open("alice").await.session();
    let _call = server.call("alice", &session, 7).await;
    server.handler.started().await;
    assert_eq!(server.delete("alice", &session).await, 204);
    // rmcp by itself would cancel it after five seconds.
    timeout(Duration::from_secs(4), server.handler.token().cancelled())
        .await
        .expect("the call is cancelled");
    assert_eq!(server.list_tools("alice", &session).await, 404);
}

#[tokio::test]
async fn nobody_else_can_use_or_delete_a_session() {
    let server = Server::start(SessionLimits::default()).await;
    let session = server.open("alice").await.session();
    assert_eq!(server.list_tools("mallory", &session).await, 404);
    assert_eq!(server.get("mallory", &session).await.status, 404);
    assert_eq!(server.delete("mallory", &session).await, 404);
    // An `initialize` is routed to the session that it names, whatever revision it claims.
    for revision in ["2025-11-25", "2026-07-28"] {
        let headers = [
            ("Mcp-Session-Id", session.as_str()),
            ("MCP-Protocol-Version", revision),
        ];
        let answer = server.post("mallory", &headers, &initialize(revision)).await;
        assert_eq!(answer.status, 404, "{revision}");
    }
    assert_eq!(server.list_tools("alice", &session).await, 200);
    assert_eq!(server.get("alice", &session).await.status, 200);
    assert_eq!(server.delete("alice", &session).await, 204);
    assert_eq!(server.list_tools("alice", &session).await, 404);
}

#[tokio::test]
async fn an_unknown_session_is_not_found() {
    let server = Server::start(SessionLimits::default()).await;
    for session in ["0000", "", "\u{e9}"] {
        assert_eq!(server.list_tools("alice", session).await, 404, "{session:?}");
    }
}

#[tokio::test]
async fn a_body_that_is_no_message_is_a_bad_request() {
    let server = Server::start(SessionLimits::default()).await;
    let deep = "[".repeat(100_000);
    for body in [
        "{oops",
        "[]",
        "{}",
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        &deep,
    ] {
        let mut answer = server.send("POST", "alice", &[], body).await;
        assert_eq!(answer.status, 400, "{body:.20}");
        assert!(answer.rest().await.contains("-32700"), "{body:.20}");
    }
}

#[tokio::test]
async fn a_revision_that_is_not_served_is_a_bad_request() {
    let server = Server::start(SessionLimits::default()).await;
    let session = server.open("alice").await.session();
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    for (revision, status) in [
        ("2025-03-26", 400),
        ("2024-11-05", 400),
        ("1999-01-01", 400),
        ("2025-06-18", 200),
    ] {
        let headers = [
            ("Mcp-Session-Id", session.as_str()),
            ("MCP-Protocol-Version", revision),
        ];
        assert_eq!(
            server.post("alice", &headers, &list).await.status,
            status,
            "{revision}"
        );
    }
}

#[tokio::test]
async fn a_request_without_an_owner_is_refused() {
    let server = Server::start(SessionLimits::default()).await;
    assert_eq!(server.post("", &[], &initialize("2025-11-25")).await.status, 500);
}

#[tokio::test]
async fn sessions_are_bounded() {
    let limits = SessionLimits {
        sessions: 3,
        sessions_per_owner: 2,
        ..SessionLimits::default()
    };
    let server = Server::start(limits).await;
    let first = server.open("alice").await.session();
    server.open("alice").await.session();

    let mut refused = server.open("alice").await;
    assert_eq!(refused.status, 429);
    assert!(
        refused
            .rest()
            .await
            .contains("you hold as many sessions as you may")
    );
    server.open("bob").await.session();
    let mut refused = server.open("carol").await;
    assert_eq!(refused.status, 503);
    assert!(refused.headers.contains("retry-after: 30"), "{}", refused.headers);
    assert!(
        refused
            .rest()
            .await
            .contains("the server holds as many sessions as it may")
    );

    assert_eq!(server.delete("alice", &first).await, 204);
    server.open("carol").await.session();
    assert_eq!(server.sessions.count(), 3);
}

#[tokio::test]
async fn calls_of_a_session_are_bounded() {
    let limits = SessionLimits {
        streams_per_session: 2,
        ..SessionLimits::default()
    };
    let server = Server::start(limits).await;
    let session = server.open("alice").await.session();
    let first = server.call("alice", &session, 1).await;
    server.handler.started().await;
    let _second = server.call("alice", &session, 2).await;
    server.handler.started().await;
    assert_eq!(server.call("alice", &session, 3).await.status, 429);
    drop(first);
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(server.list_tools("alice", &session).await, 200);
}

#[tokio::test]
async fn an_idle_session_is_closed_but_not_one_with_a_call() {
    let limits = SessionLimits {
        idle: A_WHILE,
        ..SessionLimits::default()
    };
    let server = Server::start(limits).await;
    let idle = server.open("alice").await.session();
    let busy = server.open("alice").await.session();
    let mut call = server.call("alice", &busy, 7).await;
    server.handler.started().await;
    tokio::time::sleep(3 * A_WHILE).await;

    assert_eq!(server.sessions.count(), 1);
    assert_eq!(server.list_tools("alice", &idle).await, 404);
    server.handler.release();
    assert_eq!(call.message_with_id().await["id"], 7);
    drop(call);
    tokio::time::sleep(3 * A_WHILE).await;
    assert_eq!(server.sessions.count(), 0);
}

#[tokio::test]
async fn a_server_that_stops_closes_its_sessions() {
    let server = Server::start(SessionLimits::default()).await;
    let session = server.open("alice").await.session();
    let _call = server.call("alice", &session, 7).await;
    server.handler.started().await;
    server.stop.cancel();
    timeout(Duration::from_secs(1), server.handler.token().cancelled())
        .await
        .expect("the call is cancelled");
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(server.sessions.count(), 0);
}

#[tokio::test]
async fn a_session_id_is_long_and_random() {
    let server = Server::start(SessionLimits::default()).await;
    let (first, second) = (
        server.open("alice").await.session(),
        server.open("alice").await.session(),
    );
    assert_ne!(first, second);
    assert_eq!(first.len(), 64);
    assert!(first.bytes().all(|byte| byte.is_ascii_hexdigit()));
}

fn initialize(revision: &str) -> Value {
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
}

/// Has a tool, under any name, that waits until it is released or cancelled.
#[derive(Clone, Default)]
struct Waiting(Arc<Shared>);

#[derive(Default)]
struct Shared {
    started: Notify,
    released: Notify,
    token: std::sync::Mutex<CancellationToken>,
}

impl Waiting {
    async fn started(&self) {
        timeout(SOON, self.0.started.notified())
            .await
            .expect("the call starts");
    }

    fn release(&self) {
        self.0.released.notify_one();
    }

    /// Of the last call.
    fn token(&self) -> CancellationToken {
        self.0.token.lock().unwrap().clone()
    }
}

impl ServerHandler for Waiting {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        _params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        *self.0.token.lock().unwrap() = context.ct.clone();
        self.0.started.notify_one();
        tokio::select! {
            () = self.0.released.notified() => {}
            () = context.ct.cancelled() => {}
        }
        Ok(CallToolResult::success(vec![ContentBlock::text("released")]).into())
    }
}

fn router(
    sessions: &Arc<BoundSessions>,
    stop: CancellationToken,
    handler: impl Fn() -> Waiting + Send + Sync + 'static,
) -> Router {
    let config = StreamableHttpServerConfig::default().with_cancellation_token(stop);
    let service = StreamableHttpService::new(move || Ok(handler()), Arc::clone(sessions), config);
    Router::new()
        .route_service("/mcp", service)
        .layer(middleware::from_fn(|request, next| {
            mend_answers(REVISIONS, request, next)
        }))
        .layer(middleware::from_fn_with_state(
            Arc::clone(sessions),
            bind_session_to_subject,
        ))
}

struct Server {
    address: SocketAddr,
    handler: Waiting,
    sessions: Arc<BoundSessions>,
    stop: CancellationToken,
}

impl Server {
    async fn start(limits: SessionLimits) -> Self {
        let handler = Waiting::default();
        let sessions = Arc::new(BoundSessions::new(limits));
        let stop = CancellationToken::new();
        let router = {
            let handler = handler.clone();
            router(&sessions, stop.clone(), move || handler.clone()).layer(middleware::from_fn(identify))
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        tokio::spawn({
            let (sessions, stop) = (Arc::clone(&sessions), stop.clone());
            async move { sessions.close_idle_until(stop).await }
        });
        Self {
            address,
            handler,
            sessions,
            stop,
        }
    }

    async fn open(&self, owner: &str) -> Answer {
        self.post(owner, &[], &initialize("2025-11-25")).await
    }

    async fn call(&self, owner: &str, session: &str, id: i64) -> Answer {
        let params = json!({ "name": "wait" });
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        self.post(owner, &[("Mcp-Session-Id", session)], &body).await
    }

    async fn list_tools(&self, owner: &str, session: &str) -> u16 {
        let body = json!({ "jsonrpc": "2.0", "id": 99, "method": "tools/list" });
        let mut answer = self.post(owner, &[("Mcp-Session-Id", session)], &body).await;
        if answer.status == 200 {
            assert_eq!(answer.message_with_id().await["id"], 99);
        }
        answer.status
    }

    async fn get(&self, owner: &str, session: &str) -> Answer {
        self.send("GET", owner, &[("Mcp-Session-Id", session)], "").await
    }

    async fn resume(&self, owner: &str, session: &str, last_event: &str) -> Answer {
        self.send(
            "GET",
            owner,
            &[("Mcp-Session-Id", session), ("Last-Event-ID", last_event)],
            "",
        )
        .await
    }

    async fn delete(&self, owner: &str, session: &str) -> u16 {
        self.send("DELETE", owner, &[("Mcp-Session-Id", session)], "")
            .await
            .status
    }

    async fn post(&self, owner: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        self.send("POST", owner, headers, &body.to_string()).await
    }

    async fn send(&self, method: &str, owner: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        Answer::read(self.request(method, owner, headers, body).await).await
    }

    /// Does not wait for the answer.
    async fn request(&self, method: &str, owner: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut request = format!(
            "{method} /mcp HTTP/1.1\r\nHost: {}\r\nX-Owner: {owner}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
            self.address,
            body.len()
        );
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream
            .write_all(format!("{request}\r\n{body}").as_bytes())
            .await
            .unwrap();
        stream
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Stands for the identity layer.
async fn identify(mut request: Request, next: Next) -> Response {
    let owner = request.headers()["x-owner"].to_str().unwrap().to_owned();
    if !owner.is_empty() {
        request.extensions_mut().insert(SessionOwner(owner));
    }
    next.run(request).await
}

/// An answer whose connection lasts as long as it does.
struct Answer {
    status: u16,
    headers: String,
    body: BufReader<TcpStream>,
}

impl Answer {
    async fn read(stream: TcpStream) -> Self {
        let mut body = BufReader::new(stream);
        let mut headers = String::new();
        while !headers.ends_with("\r\n\r\n") {
            let read = timeout(SOON, body.read_line(&mut headers))
                .await
                .expect("an answer comes")
                .unwrap();
            assert_ne!(read, 0, "the connection ended in the head: {headers}");
        }
        let status = headers.split(' ').nth(1).unwrap().parse().unwrap();
        Self {
            status,
            headers: headers.to_ascii_lowercase(),
            body,
        }
    }

    fn session(&self) -> String {
        assert_eq!(self.status, 200);
        let line = self
            .headers
            .lines()
            .find_map(|line| line.strip_prefix("mcp-session-id: "));
        line.expect("a session is opened").to_owned()
    }

    /// The next event that carries an answer.
    async fn message_with_id(&mut self) -> Value {
        loop {
            let mut line = String::new();
            let read = timeout(SOON, self.body.read_line(&mut line))
                .await
                .expect("an event comes")
                .unwrap();
            assert_ne!(read, 0, "the stream ended without an answer");
            let message = line
                .strip_prefix("data:")
                .and_then(|data| serde_json::from_str::<Value>(data).ok());
            if let Some(message) = message.filter(|message| message.get("id").is_some()) {
                return message;
            }
        }
    }

    /// Everything to the end of the body.
    async fn rest(&mut self) -> String {
        if let Some(length) = self
            .headers
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
        {
            let mut bytes = vec![0; length.parse().unwrap()];
            timeout(SOON, self.body.read_exact(&mut bytes))
                .await
                .expect("the body ends")
                .unwrap();
            return String::from_utf8(bytes).unwrap();
        }
        let mut rest = String::new();
        while !rest.ends_with("0\r\n\r\n") {
            let read = timeout(SOON, self.body.read_line(&mut rest))
                .await
                .expect("the body ends")
                .unwrap();
            assert_ne!(read, 0, "the connection ended in the body: {rest}");
        }
        rest
    }
}
