//! The line transport: what is answered, and how a session ends.

use std::time::Duration;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ProgressNotificationParam,
        ServerCapabilities, ServerConfig, SubscriptionFilter,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines},
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::mcp::stdio::{StdioLimits, serve_streams};

const SOON: Duration = Duration::from_secs(5);
const PROMPTLY: Duration = Duration::from_millis(100);

fn limits() -> StdioLimits {
    StdioLimits {
        line_bytes: 4096,
        calls: 4,
        grace: Duration::from_millis(600),
        wind_down: Duration::from_millis(300),
    }
}

#[tokio::test]
async fn calls_piped_in_before_the_end_of_input_are_answered_and_the_session_then_ends_promptly() {
    let mut client = Client::open().await;
    client.call(1, "sleep", 200).await;
    client.call(2, "sleep", 300).await;
    client.end_input();
    let began = Instant::now();
    assert_eq!(client.answers_to(&[1, 2]).await, ["slept", "slept"]);
    assert!(began.elapsed() >= Duration::from_millis(250));
    client.ends_within(PROMPTLY).await;
}

#[tokio::test]
async fn a_session_without_calls_ends_promptly() {
    let mut client = Client::open().await;
    client.end_input();
    client.ends_within(PROMPTLY).await;
}

#[tokio::test]
async fn input_that_ends_before_a_session_is_open_is_no_error() {
    let mut client = Client::start();
    client.end_input();
    client.ends_within(PROMPTLY).await;
}

#[tokio::test]
async fn a_call_that_outlives_the_grace_is_cancelled() {
    let mut client = Client::open().await;
    client.call(1, "sleep", 60_000).await;
    client.end_input();
    assert_eq!(client.event().await, "cancelled");
    client.ends_within(PROMPTLY).await;
}

#[tokio::test]
async fn a_call_that_reports_progress_after_the_end_of_input_does_not_hang() {
    let mut client = Client::open().await;
    client.call(1, "progress", 400).await;
    client.end_input();
    let mut reports = 0;
    loop {
        let message = client.next().await.expect("an answer comes");
        if message["id"] == 1 {
            break;
        }
        assert_eq!(message["method"], "notifications/progress");
        reports += 1;
    }
    assert!(reports >= 5, "{reports} reports");
    client.ends_within(PROMPTLY).await;
}

#[tokio::test]
async fn a_call_that_reports_progress_for_ever_without_watching_its_token_does_not_hang() {
    let mut client = Client::open().await;
    client.call(1, "progress", 60_000).await;
    client.end_input();
    client
        .ends_within(limits().grace + limits().wind_down + PROMPTLY)
        .await;
}

#[tokio::test]
async fn a_call_that_ignores_its_token_is_left_behind() {
    let mut client = Client::open().await;
    client.call(1, "stubborn", 60_000).await;
    client.end_input();
    client
        .ends_within(limits().grace + limits().wind_down + PROMPTLY)
        .await;
}

#[tokio::test]
async fn a_subscription_does_not_hold_the_session() {
    let mut client = Client::start();
    client
        .send(&stateless(
            1,
            "subscriptions/listen",
            json!({ "notifications": { "toolsListChanged": true } }),
        ))
        .await;
    assert_eq!(
        client.next().await.unwrap()["method"],
        "notifications/subscriptions/acknowledged"
    );
    client.end_input();
    client.ends_within(PROMPTLY).await;
}

#[tokio::test]
async fn everything_is_cancelled_at_once_when_nobody_reads() {
    let mut client = Client::open().await;
    client.call(1, "sleep", 60_000).await;
    client.close_output();
    // Nothing shows on an in-memory stream until something is written; `stdio_process` tests the rest.
    client
        .send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }))
        .await;
    assert_eq!(client.event().await, "cancelled");
    client.ends_within(PROMPTLY).await;
}

#[tokio::test]
async fn the_token_stops_the_session() {
    let mut client = Client::open().await;
    client.call(1, "sleep", 60_000).await;
    assert_eq!(
        client.next_event_after(|client| client.ended.cancel()).await,
        "cancelled"
    );
    client.ends_within(PROMPTLY).await;
}

#[tokio::test]
async fn a_call_that_the_client_cancelled_does_not_hold_the_session() {
    let mut client = Client::open().await;
    client.call(1, "sleep", 60_000).await;
    let params = json!({ "requestId": 1 });
    client
        .send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }))
        .await;
    assert_eq!(client.event().await, "cancelled");
    client.end_input();
    client.ends_within(PROMPTLY).await;
}

#[tokio::test]
async fn what_is_not_json_is_answered_and_the_session_goes_on() {
    let mut client = Client::open().await;
    for line in ["{not json", "nonsense", "{\"jsonrpc\":\"2.0\"", "\"\\ud800\""] {
        client.send_line(line.as_bytes()).await;
        client.refused(-32700, &Value::Null).await;
    }
    client
        .send_line(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}")
        .await;
    client.refused(-32700, &Value::Null).await;
    client.is_alive().await;
}

#[tokio::test]
async fn nesting_without_end_is_answered_and_the_session_goes_on() {
    let mut client = Client::with_limits(StdioLimits {
        line_bytes: 1 << 20,
        ..limits()
    });
    client.initialize().await;
    client.send_line("[".repeat(100_000).as_bytes()).await;
    client.refused(-32700, &Value::Null).await;
    let whole = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    client.send_line(whole.as_bytes()).await;
    client.refused(-32700, &Value::Null).await;
    let params = format!(r#"{{"name":"sleep","arguments":{{"deep":{whole}}}}}"#);
    let call = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{params}}}"#);
    client.send_line(call.as_bytes()).await;
    client.refused(-32700, &Value::Null).await;
    client.is_alive().await;
}

#[tokio::test]
async fn what_is_json_but_no_message_is_answered_and_the_session_goes_on() {
    let mut client = Client::open().await;
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#;
    for line in [
        batch,
        "[]",
        "1",
        "null",
        r#""text""#,
        "{}",
        r#"{"jsonrpc":"2.0"}"#,
    ] {
        client.send_line(line.as_bytes()).await;
        client.refused(-32600, &Value::Null).await;
    }
    // An id that can be read is given back.
    for (line, id) in [
        (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, json!(7)),
        (r#"{"jsonrpc":"2.0","id":"a"}"#, json!("a")),
        (r#"{"jsonrpc":"2.0","id":8,"method":5}"#, json!(8)),
        (
            r#"{"jsonrpc":"2.0","id":9,"method":"ping","result":{}}"#,
            json!(9),
        ),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Value::Null),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, Value::Null),
    ] {
        client.send_line(line.as_bytes()).await;
        client.refused(-32600, &id).await;
    }
    client.is_alive().await;
}

#[tokio::test]
async fn notifications_are_never_answered() {
    let mut client = Client::open().await;
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/unknown"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}"#,
        r#"{"jsonrpc":"1.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":77,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"no"}}"#,
        "",
        "   \r",
    ] {
        client.send_line(line.as_bytes()).await;
    }
    client.is_alive().await;
}

#[tokio::test]
async fn a_line_that_is_too_long_is_answered_and_the_session_goes_on() {
    let mut client = Client::open().await;
    let ping = |bytes: usize| {
        let pad = " ".repeat(bytes - r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.len());
        format!(r#"{{"jsonrpc":"2.0","id":1,{pad}"method":"ping"}}"#)
    };
    client.send_line(ping(4096).as_bytes()).await;
    assert_eq!(client.next().await.unwrap()["result"], json!({}));
    client.send_line(ping(4097).as_bytes()).await;
    client.refused(-32600, &Value::Null).await;
    client.is_alive().await;
    // It is answered before it ends, since it may not.
    for _ in 0..1000 {
        client.send_bytes(&[b'x'; 4096]).await;
    }
    client.refused(-32600, &Value::Null).await;
    client.send_line(b"").await;
    client.is_alive().await;
}

#[tokio::test]
async fn the_last_line_may_lack_its_end() {
    let mut client = Client::open().await;
    client
        .send_bytes(br#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#)
        .await;
    client.end_input();
    assert_eq!(
        client.next().await.unwrap(),
        json!({ "jsonrpc": "2.0", "id": 5, "result": {} })
    );
    client.ends_within(PROMPTLY).await;
}

#[tokio::test]
async fn a_byte_order_mark_and_carriage_returns_are_ignored() {
    let mut client = Client::start();
    client.send_bytes(b"\xEF\xBB\xBF").await;
    client.initialize().await;
    client
        .send_line(b"{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\"}\r")
        .await;
    assert_eq!(client.next().await.unwrap()["id"], 6);
}

#[tokio::test]
async fn nothing_but_an_opening_is_served_before_a_session_is_open() {
    let mut client = Client::start();
    client
        .send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
        .await;
    client
        .send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }))
        .await;
    client
        .send(&json!({ "jsonrpc": "2.0", "id": 1, "result": {} }))
        .await;
    client.send_line(b"{oops").await;
    client.refused(-32700, &Value::Null).await;
    for (id, method) in [
        (2, "tools/list"),
        (3, "tools/call"),
        (4, "no/such"),
        (5, "initialize"),
    ] {
        client
            .send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "name": "sleep" } }))
            .await;
        assert!(client.refused(-32600, &json!(id)).await.contains("`initialize`"));
    }
    client.is_alive().await;
    // A revision that is not served leaves the session closed.
    let mut old = stateless(6, "tools/list", json!({}));
    old["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    client.send(&old).await;
    client.refused(-32022, &json!(6)).await;
    client
        .send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
        .await;
    client.send(&stateless(7, "server/discover", json!({}))).await;
    assert!(client.next().await.unwrap()["result"]["supportedVersions"].is_array());
    client.initialize().await;
    client.is_alive().await;
}

#[tokio::test]
async fn a_stateless_request_opens_a_session() {
    let mut client = Client::start();
    client.send(&stateless(1, "tools/list", json!({}))).await;
    assert!(client.next().await.unwrap()["result"]["tools"].is_array());
    client.end_input();
    client.ends_within(PROMPTLY).await;
}

#[tokio::test]
async fn requests_under_way_are_bounded() {
    let mut client = Client::open().await;
    for id in 1..=5 {
        client.call(id, "sleep", 200).await;
    }
    client.refused(-32000, &json!(5)).await;
    client.answers_to(&[1, 2, 3, 4]).await;
    client.is_alive().await;
}

/// A request of the revision without a handshake.
fn stateless(id: i64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// Has tools that last as many milliseconds as their argument says.
struct Lasting {
    events: mpsc::UnboundedSender<&'static str>,
}

impl ServerHandler for Lasting {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(
            ServerCapabilities::builder()
                .enable_tools()
                .enable_tool_list_changed()
                .build(),
        )
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let lasts = params
            .arguments
            .as_ref()
            .and_then(|arguments| arguments.get("lasts")?.as_u64());
        let lasts = Duration::from_millis(lasts.unwrap_or_default());
        match params.name.as_ref() {
            "stubborn" => tokio::time::sleep(lasts).await,
            "progress" => {
                let token = context.meta.get_progress_token().unwrap();
                let began = Instant::now();
                while began.elapsed() < lasts {
                    let report = ProgressNotificationParam::new(token.clone(), began.elapsed().as_secs_f64());
                    let _ = context.peer.notify_progress(report).await;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            _ => tokio::select! {
                () = tokio::time::sleep(lasts) => {}
                () = context.ct.cancelled() => { let _ = self.events.send("cancelled"); }
            },
        }
        Ok(CallToolResult::success(vec![ContentBlock::text("slept")]).into())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }
}

struct Client {
    input: Option<DuplexStream>,
    output: Option<Lines<BufReader<DuplexStream>>>,
    events: mpsc::UnboundedReceiver<&'static str>,
    ended: CancellationToken,
    served: JoinHandle<()>,
}

impl Client {
    async fn open() -> Self {
        let mut client = Self::start();
        client.initialize().await;
        client
    }

    fn start() -> Self {
        Self::with_limits(limits())
    }

    fn with_limits(limits: StdioLimits) -> Self {
        let (input, reader) = tokio::io::duplex(64 * 1024);
        let (output, writer) = tokio::io::duplex(64 * 1024);
        let (sender, events) = mpsc::unbounded_channel();
        let ended = CancellationToken::new();
        let token = ended.clone();
        let served = tokio::spawn(async move {
            serve_streams(Lasting { events: sender }, reader, writer, limits, token)
                .await
                .unwrap();
        });
        let output = Some(BufReader::new(output).lines());
        Self {
            input: Some(input),
            output,
            events,
            ended,
            served,
        }
    }

    async fn initialize(&mut self) {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        self.send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }))
            .await;
        assert_eq!(
            self.next().await.unwrap()["result"]["protocolVersion"],
            "2025-11-25"
        );
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await;
    }

    async fn call(&mut self, id: i64, name: &str, lasts: u64) {
        let params =
            json!({ "name": name, "arguments": { "lasts": lasts }, "_meta": { "progressToken": id } });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
            .await;
    }

    async fn send(&mut self, message: &Value) {
        self.send_line(message.to_string().as_bytes()).await;
    }

    async fn send_line(&mut self, line: &[u8]) {
        self.send_bytes(line).await;
        self.send_bytes(b"\n").await;
    }

    async fn send_bytes(&mut self, bytes: &[u8]) {
        timeout(SOON, self.input.as_mut().unwrap().write_all(bytes))
            .await
            .expect("input is read")
            .unwrap();
    }

    async fn next(&mut self) -> Option<Value> {
        let line = timeout(SOON, self.output.as_mut().unwrap().next_line())
            .await
            .expect("a message comes")
            .unwrap();
        line.map(|line| serde_json::from_str(&line).unwrap())
    }

    async fn answers_to(&mut self, ids: &[i64]) -> Vec<String> {
        let mut answers = Vec::new();
        for id in ids {
            let answer = self.next().await.expect("an answer comes");
            assert_eq!(answer["id"], *id);
            answers.push(
                answer["result"]["content"][0]["text"]
                    .as_str()
                    .unwrap()
                    .to_owned(),
            );
        }
        answers
    }

    async fn refused(&mut self, code: i64, id: &Value) -> String {
        let answer = self.next().await.expect("an answer comes");
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer.get("id"), Some(id), "{answer}");
        answer["error"]["message"].as_str().unwrap().to_owned()
    }

    async fn is_alive(&mut self) {
        self.send(&json!({ "jsonrpc": "2.0", "id": 1000, "method": "ping" }))
            .await;
        assert_eq!(
            self.next().await.unwrap(),
            json!({ "jsonrpc": "2.0", "id": 1000, "result": {} })
        );
    }

    async fn event(&mut self) -> &'static str {
        timeout(SOON, self.events.recv())
            .await
            .expect("something happens")
            .unwrap()
    }

    async fn next_event_after(&mut self, act: impl FnOnce(&Self)) -> &'static str {
        tokio::time::sleep(PROMPTLY).await;
        act(self);
        self.event().await
    }

    fn end_input(&mut self) {
        self.input = None;
    }

    fn close_output(&mut self) {
        self.output = None;
    }

    async fn ends_within(&mut self, time: Duration) {
        timeout(time, &mut self.served)
            .await
            .expect("the session ends in time")
            .unwrap();
        assert!(self.ended.is_cancelled());
    }
}
