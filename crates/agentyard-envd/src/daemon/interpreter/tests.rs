//! Code that is run for real, by the interpreters of this machine.

mod failures;
mod languages;
mod python;

use std::path::Path;

use http::{HeaderValue, Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::INTERPRETER_PORT;
use super::super::routes::Daemon;
use crate::exchange::{Body, empty, full};
use crate::headers::PORT_HEADER;

/// A daemon with a home directory of its own.
struct Sandbox {
    daemon: Daemon,
    home: TempDir,
}

/// What an execution told.
#[derive(Debug)]
struct Told(Vec<Value>);

impl Sandbox {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        Self {
            daemon: Daemon::new(home.path().canonicalize().unwrap()),
            home,
        }
    }

    fn home(&self) -> std::path::PathBuf {
        self.home.path().canonicalize().unwrap()
    }

    async fn ask(&self, method: &str, path: &str, body: Body) -> (StatusCode, Body) {
        let port = HeaderValue::from(INTERPRETER_PORT);
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(PORT_HEADER, port);
        let answer = self.daemon.answer(request.body(body).unwrap()).await;
        (answer.status(), answer.into_body())
    }

    /// Asks for an answer in JSON.
    async fn call(&self, method: &str, path: &str, message: &Value) -> (StatusCode, Value) {
        let (status, body) = self.ask(method, path, full(message.to_string())).await;
        let body = body.collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// Has something run and does not wait for it.
    async fn begin(&self, execution: &Value) -> Body {
        let (status, body) = self.ask("POST", "/execute", full(execution.to_string())).await;
        assert_eq!(status, StatusCode::OK);
        body
    }

    async fn execute(&self, execution: &Value) -> Told {
        finish(self.begin(execution).await).await
    }

    async fn python(&self, code: &str) -> Told {
        self.execute(&json!({ "code": code })).await
    }

    async fn context(&self, wanted: &Value) -> String {
        let (status, context) = self.call("POST", "/contexts", wanted).await;
        assert_eq!(status, StatusCode::OK, "{context}");
        context["id"].as_str().unwrap().to_owned()
    }
}

async fn finish(body: Body) -> Told {
    let bytes = body.collect().await.unwrap().to_bytes();
    let lines = std::str::from_utf8(&bytes).unwrap().lines();
    Told(lines.map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// Reads until something of this kind was told.
async fn until(body: &mut Body, kind: &str) -> Value {
    loop {
        let frame = body.frame().await.expect("it is told before the end").unwrap();
        let event: Value = serde_json::from_slice(frame.data_ref().unwrap()).unwrap();
        if event["type"] == kind {
            return event;
        }
    }
}

impl Told {
    fn of(&self, kind: &str) -> Vec<&Value> {
        self.0.iter().filter(|event| event["type"] == kind).collect()
    }

    fn text(&self, stream: &str) -> String {
        let events = self.of(stream).into_iter();
        events.map(|event| event["text"].as_str().unwrap()).collect()
    }

    /// The value of the last expression as text, of an execution that has not failed.
    fn value(&self) -> &str {
        assert!(self.of("error").is_empty(), "{self:?}");
        let main = |event: &&&Value| event["is_main_result"] == true;
        let results = self.of("result");
        let result = results
            .iter()
            .find(main)
            .unwrap_or_else(|| panic!("no result: {self:?}"));
        result["text"].as_str().unwrap()
    }

    fn error(&self) -> &Value {
        let errors = self.of("error");
        assert_eq!(errors.len(), 1, "{self:?}");
        errors[0]
    }

    fn count(&self) -> u64 {
        self.of("number_of_executions")[0]["execution_count"]
            .as_u64()
            .unwrap()
    }
}

/// Waits until a file is there. Who writes it is another process.
async fn appears(path: &Path) {
    for _ in 0..3000 {
        if path.exists() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{} never came", path.display());
}

#[tokio::test]
async fn whoever_asks_for_something_else_is_told() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.ask("GET", "/health", empty()).await.0, StatusCode::OK);
    let (status, told) = sandbox.call("GET", "/kernels", &json!({})).await;
    assert_eq!(status, StatusCode::NOT_IMPLEMENTED);
    assert!(told["message"].as_str().unwrap().contains("/kernels"));
    let (status, _) = sandbox.call("POST", "/execute", &json!({ "code": 5 })).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}
