//! The execution log, and how it is sent on.

use std::net::SocketAddr;
use std::time::Duration;

use agentyard_model::{
    Caller, ExecutionFilter, ExecutionId, ExecutionOutcome, NewExecution, PageRequest, Permission,
    Permissions, Secret,
};
use agentyard_services::{
    ErrorKind, ExecutionSettings, Services, SurrealCredentials, SurrealLevel, SurrealSettings,
};
use agentyard_testkit::TestPlatform;

use crate::fake_surreal::{FakeSurreal, Manner};
use crate::yard::{ann, kind, local, of_tenant};

fn new(platform: &TestPlatform, code: &str) -> NewExecution {
    NewExecution::began("execute_code", code, platform.clock.now())
}

async fn record(platform: &TestPlatform, code: &str) {
    let executions = &platform.services.executions;
    executions.record(&local(), new(platform, code)).await;
}

/// The code of what this caller sees, newest first.
async fn seen(services: &Services, caller: &Caller, filter: ExecutionFilter) -> Vec<String> {
    let page = PageRequest::new(None, None);
    let listed = services.executions.list(caller, filter, &page).await.unwrap();
    listed.items.into_iter().map(|it| it.code).collect()
}

/// Somebody who may run code and see nothing else.
fn confined(caller: Caller) -> Caller {
    let permissions = [Permission::AgentRun].into_iter().collect();
    Caller {
        permissions,
        ..caller
    }
}

#[tokio::test]
async fn who_may_see_projects_sees_all_of_the_tenant_and_others_their_own() {
    let platform = TestPlatform::new().await;
    let executions = &platform.services.executions;
    let ann = ann();
    record(&platform, "mine").await;
    platform.clock.advance(Duration::from_secs(1));
    let hers = new(&platform, "hers");
    let her_id = hers.id;
    executions.record(&ann, hers).await;
    platform.services.end().await;

    let all = ExecutionFilter::default;
    assert_eq!(seen(&platform.services, &local(), all()).await, ["hers", "mine"]);
    assert_eq!(
        seen(&platform.services, &confined(ann.clone()), all()).await,
        ["hers"]
    );
    assert_eq!(
        seen(&platform.services, &confined(local()), all()).await,
        ["mine"]
    );
    // Nobody gets around this by asking for somebody else's.
    let of_ann = ExecutionFilter {
        subject: Some(ann.subject.to_string()),
        ..all()
    };
    assert_eq!(seen(&platform.services, &local(), of_ann.clone()).await, ["hers"]);
    assert_eq!(
        seen(&platform.services, &confined(local()), of_ann).await,
        ["mine"]
    );

    assert_eq!(executions.get(&local(), her_id).await.unwrap().code, "hers");
    assert_eq!(
        kind(executions.get(&confined(local()), her_id).await),
        ErrorKind::NotFound
    );
    assert_eq!(
        kind(executions.get(&local(), ExecutionId::new()).await),
        ErrorKind::NotFound
    );
    let stranger = of_tenant(platform.add_tenant("elsewhere").await);
    assert_eq!(kind(executions.get(&stranger, her_id).await), ErrorKind::NotFound);
    assert!(seen(&platform.services, &stranger, all()).await.is_empty());

    let powerless = Caller {
        permissions: Permissions::NONE,
        ..local()
    };
    let page = PageRequest::new(None, None);
    assert_eq!(
        kind(executions.list(&powerless, all(), &page).await),
        ErrorKind::Forbidden
    );
    assert_eq!(
        kind(executions.get(&powerless, her_id).await),
        ErrorKind::Forbidden
    );
    let made_up = PageRequest::new(None, Some("7".parse().unwrap()));
    assert_eq!(
        kind(executions.list(&local(), all(), &made_up).await),
        ErrorKind::InvalidInput
    );
}

#[tokio::test]
async fn a_record_that_cannot_be_written_fails_nobody() {
    let platform = TestPlatform::new().await;
    let executions = &platform.services.executions;
    platform.store.open().await.unwrap();
    let nowhere = of_tenant(agentyard_model::TenantId::new());
    executions.record(&nowhere, new(&platform, "lost")).await;
    record(&platform, "kept").await;
    platform.services.end().await;
    assert_eq!(
        seen(&platform.services, &local(), ExecutionFilter::default()).await,
        ["kept"]
    );
}

#[tokio::test]
async fn what_is_too_old_or_too_much_is_forgotten() {
    let platform = TestPlatform::with_executions(ExecutionSettings {
        keep_days: 3,
        keep_count: 2,
        surreal: None,
    })
    .await;
    for code in ["1", "2", "3", "4"] {
        record(&platform, code).await;
        platform.clock.advance(Duration::from_secs(24 * 60 * 60));
    }
    platform.services.end().await;
    platform.services.executions.tend().await;
    assert_eq!(
        seen(&platform.services, &local(), ExecutionFilter::default()).await,
        ["4", "3"]
    );
    platform.clock.advance(Duration::from_secs(24 * 60 * 60 + 1));
    platform.services.executions.tend().await;
    assert_eq!(
        seen(&platform.services, &local(), ExecutionFilter::default()).await,
        ["4"]
    );
}

fn sent_to(address: SocketAddr) -> ExecutionSettings {
    ExecutionSettings {
        surreal: Some(SurrealSettings {
            url: format!("http://{address}"),
            namespace: "yard".to_owned(),
            database: "log".to_owned(),
            table: "execution_log".to_owned(),
            credentials: SurrealCredentials::Password {
                username: "ada".to_owned(),
                password: Secret::new("hunter22"),
                level: SurrealLevel::Database,
            },
            batch: 100,
            flush_interval: Duration::from_millis(10),
            timeout: Duration::from_millis(500),
        }),
        ..ExecutionSettings::default()
    }
}

async fn waiting(platform: &TestPlatform) -> Vec<String> {
    let waiting = platform.store.executions().waiting(1000).await.unwrap();
    waiting.into_iter().map(|it| it.code).collect()
}

#[tokio::test]
async fn records_are_sent_with_all_that_is_known_and_nothing_in_the_statements() {
    let address = FakeSurreal::address().await;
    let mut server = FakeSurreal::start(address, &[Manner::Takes]).await;
    let platform = TestPlatform::with_executions(sent_to(address)).await;
    let code = "'; REMOVE TABLE execution_log; --";
    let execution = NewExecution {
        agent: Some("coder".to_owned()),
        outcome: ExecutionOutcome::Failed,
        exit_code: Some(3),
        ..new(&platform, code)
    };
    let id = execution.id;
    platform.services.executions.record(&local(), execution).await;
    let call = server.next().await;
    for line in [
        "post /rpc http/1.1",
        "content-type: application/json",
        "accept: application/json",
        "surreal-ns: yard",
        "surreal-db: log",
        "surreal-auth-ns: yard",
        "surreal-auth-db: log",
        "authorization: basic ywrhomh1bnrlcjiy",
    ] {
        assert!(call.head.lines().any(|it| it == line), "{line}: {}", call.head);
    }
    assert_eq!(call.body["method"], "query");
    let statements = call.body["params"][0].as_str().unwrap();
    assert!(statements.starts_with("INSERT IGNORE INTO execution_log (") && !statements.contains("REMOVE"));
    let row = &call.rows()[0];
    assert_eq!(row["id"], id.to_string());
    assert_eq!((&row["agent"], &row["exit_code"]), (&"coder".into(), &3.into()));
    assert_eq!(
        (&row["code_snippet"], &row["outcome"]),
        (&code.into(), &"failed".into())
    );
    assert_eq!(row["timestamp"], "2026-11-15T12:00:00Z");
    assert_eq!(row.get("signal"), None);
    platform.services.end().await;
    assert!(waiting(&platform).await.is_empty());
}

#[tokio::test]
async fn what_could_not_be_sent_is_sent_by_the_next_process() {
    let address = FakeSurreal::address().await;
    let platform = TestPlatform::with_executions(sent_to(address)).await;
    for code in ["1", "2"] {
        record(&platform, code).await;
    }
    // Nobody listens there, and nobody waits for that.
    platform.services.end().await;
    assert_eq!(waiting(&platform).await, ["1", "2"]);

    let mut server = FakeSurreal::start(address, &[Manner::Takes]).await;
    let next = platform.another_process();
    next.executions.send();
    assert_eq!(server.next().await.codes(), ["1", "2"]);
    next.end().await;
    assert!(waiting(&platform).await.is_empty());
}

#[tokio::test]
async fn a_server_that_fails_is_tried_again() {
    for manner in [
        Manner::Status(500),
        Manner::Status(401),
        Manner::Silent,
        Manner::Garbage,
        Manner::RefusesAll,
        Manner::Redirects,
    ] {
        let address = FakeSurreal::address().await;
        let mut server = FakeSurreal::start(address, &[manner, manner, Manner::Takes]).await;
        let platform = TestPlatform::with_executions(sent_to(address)).await;
        record(&platform, "1").await;
        for _ in 0..3 {
            assert_eq!(server.next().await.codes(), ["1"], "{manner:?}");
        }
        platform.services.end().await;
        assert!(waiting(&platform).await.is_empty(), "{manner:?}");
    }
}

#[tokio::test]
async fn nobody_waits_for_a_server_that_is_silent() {
    let address = FakeSurreal::address().await;
    let mut server = FakeSurreal::start(address, &[Manner::Silent]).await;
    let platform = TestPlatform::with_executions(sent_to(address)).await;
    record(&platform, "1").await;
    server.next().await;
    record(&platform, "2").await;
    platform.services.end().await;
    assert_eq!(waiting(&platform).await, ["1", "2"]);
    assert_eq!(
        seen(&platform.services, &local(), ExecutionFilter::default())
            .await
            .len(),
        2
    );
}

#[tokio::test]
async fn only_what_was_acknowledged_counts_as_sent() {
    let address = FakeSurreal::address().await;
    let platform = TestPlatform::with_executions(sent_to(address)).await;
    for code in ["1", "2", "3", "4"] {
        record(&platform, code).await;
    }
    platform.services.end().await;
    let mut server = FakeSurreal::start(address, &[Manner::TakesHalf]).await;
    let next = platform.another_process();
    next.executions.send();
    assert_eq!(server.next().await.codes(), ["1", "2", "3", "4"]);
    next.end().await;
    server.stop().await;
    // Those that were not are set aside, and tried again after a start.
    let mut server = FakeSurreal::start(address, &[Manner::Takes]).await;
    let next = platform.another_process();
    next.executions.send();
    assert_eq!(server.next().await.codes(), ["3", "4"]);
    next.end().await;
    assert!(waiting(&platform).await.is_empty());
    assert_eq!(platform.store.executions().retry_refused().await.unwrap(), 0);
}

#[tokio::test]
async fn a_record_that_is_refused_holds_up_no_other() {
    let address = FakeSurreal::address().await;
    let platform = TestPlatform::with_executions(sent_to(address)).await;
    for code in ["bad", "good"] {
        record(&platform, code).await;
    }
    platform.services.end().await;
    let mut server = FakeSurreal::start(address, &[Manner::TakesBut("bad")]).await;
    let next = platform.another_process();
    next.executions.send();
    assert_eq!(server.next().await.codes(), ["bad", "good"]);
    next.executions.record(&local(), new(&platform, "later")).await;
    assert_eq!(server.next().await.codes(), ["later"]);
    next.end().await;
    assert!(waiting(&platform).await.is_empty());
    assert_eq!(platform.store.executions().retry_refused().await.unwrap(), 1);
}

#[tokio::test]
async fn large_records_go_in_several_calls() {
    let address = FakeSurreal::address().await;
    let platform = TestPlatform::with_executions(sent_to(address)).await;
    for _ in 0..40 {
        record(&platform, &"x".repeat(64 * 1024)).await;
    }
    platform.services.end().await;
    let mut server = FakeSurreal::start(address, &[Manner::Takes]).await;
    let next = platform.another_process();
    next.executions.send();
    let mut taken = 0;
    while taken < 40 {
        let call = server.next().await;
        assert!(call.body.to_string().len() < 2 * 1024 * 1024);
        taken += call.rows().len();
    }
    next.end().await;
    assert!(waiting(&platform).await.is_empty());
}
