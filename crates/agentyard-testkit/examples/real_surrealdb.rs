//! The execution log against a real SurrealDB: `cargo xtask test-real` starts one and runs this with its address and
//! the password of its user `root`.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test in the form of a program: it fails by panicking, and says what it has seen"
)]

use std::time::Duration;

use agentyard_model::{Caller, ExecutionException, ExecutionOutcome, NewExecution, OutputExcerpt, Secret};
use agentyard_services::{ExecutionSettings, SurrealCredentials, SurrealLevel, SurrealSettings};
use agentyard_store::Delivery;
use agentyard_testkit::TestPlatform;
use serde_json::{Value, json};

/// What would do harm in the text of a statement.
const HOSTILE: &str =
    "'; REMOVE TABLE execution_log; -- \" ` $r0 } \\ \u{1f6a2}\u{0}\u{1b}[31m\r\n<datetime> d'2020'";

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(password)) = (arguments.next(), arguments.next()) else {
        panic!("say where SurrealDB is, and the password of root");
    };
    let surreal = Real { url, password };
    surreal
        .root("DEFINE NAMESPACE yard; USE NS yard; DEFINE DATABASE log;")
        .await;

    a_user_that_comes_to_be_known(&surreal).await;
    everything_is_kept_as_it_was(&surreal).await;
    sending_twice_is_the_same_as_once(&surreal).await;
    what_is_refused_waits_and_holds_up_nobody(&surreal).await;
    a_token_is_as_good(&surreal).await;
}

/// Nothing is lost while the server does not know us.
async fn a_user_that_comes_to_be_known(surreal: &Real) {
    let platform = surreal.platform(writer()).await;
    record(&platform, "before", 0).await;
    platform.services.end().await;
    assert_eq!(waiting(&platform).await, 1);
    surreal
        .root("USE NS yard DB log; DEFINE USER writer ON DATABASE PASSWORD 'hunter22' ROLES EDITOR;")
        .await;
    deliver(&platform, surreal, 1).await;
    println!("ok: what was written before the server knew us has arrived");
}

async fn everything_is_kept_as_it_was(surreal: &Real) {
    let platform = surreal.platform(writer()).await;
    let new = NewExecution {
        agent: Some(HOSTILE.to_owned()),
        outcome: ExecutionOutcome::Limit,
        limit: Some("memory".to_owned()),
        exit_code: Some(-1),
        duration: Duration::from_millis(1500),
        stdout: OutputExcerpt {
            head: HOSTILE.to_owned(),
            tail: "end".to_owned(),
            bytes: 1 << 40,
        },
        exception: Some(ExecutionException {
            kind: "ValueError".to_owned(),
            message: HOSTILE.to_owned(),
        }),
        ..NewExecution::began("execute_code", HOSTILE, platform.clock.now())
    };
    let id = new.id;
    platform.services.executions.record(&Caller::local(), new).await;
    platform.services.end().await;
    assert_eq!(waiting(&platform).await, 0);
    let row = surreal
        .one(&format!(
            "SELECT *, record::id(id) AS key, type::is_datetime(timestamp) AS timed FROM execution_log:{id};"
        ))
        .await;
    // The database keeps no NUL, and puts another character in its place.
    let kept = HOSTILE.replace('\0', "\u{fffd}");
    assert_eq!(row["key"], id.to_string());
    assert_eq!(row["timed"], true, "{row}");
    for field in ["agent", "code_snippet"] {
        assert_eq!(row[field], kept.as_str(), "{field}");
    }
    assert_eq!(row["exception"], json!({ "type": "ValueError", "message": kept }));
    assert_eq!(
        (&row["exit_code"], &row["outcome"]),
        (&json!(-1), &json!("limit"))
    );
    assert_eq!(
        (&row["output_bytes"], &row["duration_ms"]),
        (&json!(1_u64 << 40), &json!(1500))
    );
    let output = row["output"].as_str().unwrap();
    assert!(
        output.starts_with(kept.as_str()) && output.ends_with("left out …]\nend"),
        "{output}"
    );
    assert!(row.get("signal").is_none_or(Value::is_null), "{row}");
    println!("ok: an execution reads back as it was");
}

async fn sending_twice_is_the_same_as_once(surreal: &Real) {
    let platform = surreal.platform(writer()).await;
    let before = surreal.count().await;
    for number in 0..250 {
        record(&platform, &format!("print({number})"), number).await;
    }
    platform.services.end().await;
    assert_eq!(waiting(&platform).await, 0);
    assert_eq!(surreal.count().await, before + 250);
    let page = agentyard_model::PageRequest::new(Some(500), None);
    let filter = agentyard_model::ExecutionFilter::default();
    let all = platform
        .services
        .executions
        .list(&Caller::local(), filter, &page)
        .await
        .unwrap();
    let all: Vec<_> = all.items.iter().map(|execution| execution.id).collect();
    platform
        .store
        .executions()
        .settle(&all, Delivery::Waiting)
        .await
        .unwrap();
    deliver(&platform, surreal, before + 250).await;
    println!("ok: 250 executions in several calls, twice, are 250 rows");
}

async fn what_is_refused_waits_and_holds_up_nobody(surreal: &Real) {
    let platform = surreal.platform(writer()).await;
    let before = surreal.count().await;
    surreal
        .root("USE NS yard DB log; DEFINE FIELD exit_code ON execution_log ASSERT $value != 77;")
        .await;
    for code in [77, 1, 77, 2] {
        record(&platform, "exit", code).await;
    }
    platform.services.end().await;
    assert_eq!(waiting(&platform).await, 0, "the others are not held up");
    assert_eq!(surreal.count().await, before + 2);
    surreal
        .root("USE NS yard DB log; REMOVE FIELD exit_code ON execution_log;")
        .await;
    deliver(&platform, surreal, before + 4).await;
    println!("ok: what was refused arrives once it is welcome");
}

async fn a_token_is_as_good(surreal: &Real) {
    let before = surreal.count().await;
    let signed_in = surreal
        .post(
            "/signin",
            json!({ "ns": "yard", "db": "log", "user": "writer", "pass": "hunter22" }).to_string(),
        )
        .await;
    let token = signed_in["token"].as_str().unwrap();
    let platform = surreal
        .platform(SurrealCredentials::Token(Secret::new(token)))
        .await;
    record(&platform, "with a token", 0).await;
    platform.services.end().await;
    assert_eq!(waiting(&platform).await, 0);
    assert_eq!(surreal.count().await, before + 1);
    println!("ok: a token is as good as a password");
}

fn writer() -> SurrealCredentials {
    SurrealCredentials::Password {
        username: "writer".to_owned(),
        password: Secret::new("hunter22"),
        level: SurrealLevel::Database,
    }
}

async fn record(platform: &TestPlatform, code: &str, exit_code: i32) {
    let new = NewExecution {
        exit_code: Some(exit_code),
        ..NewExecution::began("execute_code", code, platform.clock.now())
    };
    platform.services.executions.record(&Caller::local(), new).await;
}

/// Sends what waits, as the next process does, until the server has so many rows.
async fn deliver(platform: &TestPlatform, surreal: &Real, rows: u64) {
    let next = platform.another_process();
    next.executions.send();
    let arriving = async {
        while waiting(platform).await > 0 || surreal.count().await != rows {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, arriving)
        .await
        .expect("all arrives in time");
    next.end().await;
}

async fn waiting(platform: &TestPlatform) -> usize {
    platform.store.executions().waiting(1000).await.unwrap().len()
}

/// A SurrealDB server in which nobody but root is known.
struct Real {
    url: String,
    password: String,
}

impl Real {
    async fn platform(&self, credentials: SurrealCredentials) -> TestPlatform {
        TestPlatform::with_executions(ExecutionSettings {
            surreal: Some(SurrealSettings {
                url: self.url.clone(),
                namespace: "yard".to_owned(),
                database: "log".to_owned(),
                table: "execution_log".to_owned(),
                credentials,
                batch: 100,
                flush_interval: Duration::from_millis(10),
                timeout: Duration::from_secs(60),
            }),
            ..ExecutionSettings::default()
        })
        .await
    }

    async fn count(&self) -> u64 {
        let row = self.one("SELECT count() FROM execution_log GROUP ALL;").await;
        row["count"].as_u64().unwrap_or_default()
    }

    /// The only row of an answer.
    async fn one(&self, query: &str) -> Value {
        let answer = self.root(&format!("USE NS yard DB log; {query}")).await;
        answer.as_array().unwrap().last().unwrap()["result"][0].clone()
    }

    async fn root(&self, statements: &str) -> Value {
        let answer = self.post("/sql", statements.to_owned()).await;
        let all_done = answer
            .as_array()
            .is_some_and(|list| list.iter().all(|it| it["status"] == "OK"));
        assert!(all_done, "{statements}: {answer}");
        answer
    }

    async fn post(&self, path: &str, body: String) -> Value {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = client
            .post(format!("{}{path}", self.url))
            .header("Accept", "application/json");
        let request = match path {
            "/sql" => request.basic_auth("root", Some(&self.password)),
            _ => request.header("Content-Type", "application/json"),
        };
        let answer = request.body(body).send().await.unwrap();
        answer.json().await.unwrap()
    }
}
