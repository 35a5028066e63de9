//! What was executed.

use std::time::Duration;

use agentyard_model::{
    Caller, Execution, ExecutionException, ExecutionFilter, ExecutionId, ExecutionOutcome, NewExecution,
    OutputExcerpt, TenantId, Timestamp,
};
use agentyard_store::{Delivery, Error, Store};
use agentyard_testkit::on_both_databases;

use crate::support::{actions, create_tenant, page, page_after};

const LOCAL: TenantId = TenantId::LOCAL;

fn at(second: i64) -> Timestamp {
    Timestamp::from_microseconds(second * 1_000_000)
}

/// Something that began so many seconds after the epoch.
fn ran(second: i64, code: &str) -> Execution {
    NewExecution::began("execute_code", code, at(second)).by(&Caller::local())
}

async fn record(store: &Store, execution: &Execution) {
    let executions = store.executions();
    executions.record(execution, Delivery::None).await.unwrap();
}

async fn waits(store: &Store, execution: &Execution) {
    let executions = store.executions();
    executions.record(execution, Delivery::Waiting).await.unwrap();
}

/// The code of those found, newest first.
async fn found(store: &Store, filter: ExecutionFilter) -> Vec<String> {
    let found = store.executions().list(LOCAL, &filter, &page(100)).await.unwrap();
    found.items.into_iter().map(|it| it.code).collect()
}

async fn waiting(store: &Store) -> Vec<String> {
    let waiting = store.executions().waiting(100).await.unwrap();
    waiting.into_iter().map(|it| it.code).collect()
}

on_both_databases!(an_execution_reads_back_as_it_was_recorded, async |database| {
    let full = NewExecution {
        agent: Some("ada".to_owned()),
        session: Some("morning".to_owned()),
        workspace: Some("/srv/web".to_owned()),
        environment: Some("venv".to_owned()),
        backend: "bubblewrap".to_owned(),
        network: "registry".to_owned(),
        outcome: ExecutionOutcome::Limit,
        limit: Some("memory".to_owned()),
        exit_code: Some(-1),
        signal: Some(9),
        duration: Duration::from_millis(1500),
        stdout: OutputExcerpt {
            head: "a".repeat(4096),
            tail: "b".repeat(4096),
            bytes: 100_000_000,
        },
        stderr: OutputExcerpt::of("oh \u{1f6a2}\n"),
        peak_memory_bytes: Some(1 << 40),
        cpu: Some(Duration::from_millis(700)),
        exception: Some(ExecutionException {
            kind: "MemoryError".to_owned(),
            message: "no more".to_owned(),
        }),
        ..NewExecution::began("execute_code", "x = [0] * 10**12", at(7))
    };
    let full = full.by(&Caller::local());
    let bare = ran(8, "");
    let executions = database.store.executions();
    for execution in [&full, &bare] {
        record(&database.store, execution).await;
        let found = executions.get(LOCAL, execution.id).await.unwrap();
        assert_eq!(found.as_ref(), Some(execution));
    }
    // Once more changes nothing.
    record(
        &database.store,
        &Execution {
            code: "other".to_owned(),
            ..full.clone()
        },
    )
    .await;
    assert_eq!(executions.get(LOCAL, full.id).await.unwrap(), Some(full));
    assert_eq!(executions.get(LOCAL, ExecutionId::new()).await.unwrap(), None);
    assert!(actions(&database.store, LOCAL).await.is_empty());
});

on_both_databases!(what_a_program_says_is_kept_whatever_it_is, async |database| {
    let new = NewExecution {
        stdout: OutputExcerpt::of("a\0b\u{1b}[31m"),
        ..NewExecution::began("run_command", "printf 'a\0b'", at(1))
    };
    let execution = new.by(&Caller::local());
    record(&database.store, &execution).await;
    let found = database
        .store
        .executions()
        .get(LOCAL, execution.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.stdout.head, "a\u{fffd}b\u{1b}[31m");
    assert_eq!(found.code, "printf 'a\u{fffd}b'");
});

on_both_databases!(a_tenant_sees_its_own, async |database| {
    let store = &database.store;
    let theirs = create_tenant(store, "theirs").await.id;
    let execution = ran(1, "ours");
    record(store, &execution).await;
    let executions = store.executions();
    assert_eq!(executions.get(theirs, execution.id).await.unwrap(), None);
    let listed = executions
        .list(theirs, &ExecutionFilter::default(), &page(10))
        .await;
    assert_eq!(listed.unwrap().items, []);
    let stranger = Execution {
        tenant: TenantId::new(),
        ..ran(2, "nobody's")
    };
    let recorded = executions.record(&stranger, Delivery::None).await;
    assert!(matches!(recorded, Err(Error::NotFound { .. })), "{recorded:?}");
});

on_both_databases!(lists_are_paged_newest_first, async |database| {
    let store = &database.store;
    // Two began at once, and the newest was recorded first.
    for second in [3, 1, 2, 2, 0] {
        record(store, &ran(second, &second.to_string())).await;
    }
    let executions = store.executions();
    let filter = ExecutionFilter::default();
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let part = executions
            .list(LOCAL, &filter, &page_after(2, cursor))
            .await
            .unwrap();
        seen.extend(part.items.into_iter().map(|it| it.code));
        cursor = part.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["3", "2", "2", "1", "0"]);
    let foreign = executions
        .list(LOCAL, &filter, &page_after(2, Some("7".parse().unwrap())))
        .await;
    assert!(matches!(foreign, Err(Error::InvalidCursor(_))), "{foreign:?}");
});

on_both_databases!(executions_are_found_by_what_is_known_of_them, async |database| {
    let store = &database.store;
    let new = |second, code: &str| NewExecution::began("execute_code", code, at(second));
    for execution in [
        NewExecution {
            agent: Some("Coder-7".to_owned()),
            exit_code: Some(0),
            workspace: Some("wsp_1".to_owned()),
            ..new(1, "ok")
        },
        NewExecution {
            outcome: ExecutionOutcome::Failed,
            exit_code: Some(2),
            stderr: OutputExcerpt::of("Traceback: 100%_done\\"),
            ..new(2, "bad")
        },
        NewExecution {
            outcome: ExecutionOutcome::TimedOut,
            operation: "make".to_owned(),
            stdout: OutputExcerpt {
                head: String::new(),
                tail: "Last Words".to_owned(),
                bytes: 1 << 30,
            },
            exception: Some(ExecutionException {
                kind: "TimeoutError".to_owned(),
                message: "too late".to_owned(),
            }),
            ..new(3, "slow")
        },
    ] {
        record(store, &execution.by(&Caller::local())).await;
    }
    let everything = ExecutionFilter::default;
    let text = |text: &str| ExecutionFilter {
        text: Some(text.to_owned()),
        ..everything()
    };
    let subject = Caller::local().subject.to_string();
    for (filter, expected) in [
        (everything(), &["slow", "bad", "ok"][..]),
        (
            ExecutionFilter {
                subject: Some(subject),
                ..everything()
            },
            &["slow", "bad", "ok"],
        ),
        (
            ExecutionFilter {
                subject: Some("user".to_owned()),
                ..everything()
            },
            &[],
        ),
        (
            ExecutionFilter {
                agent: Some("coder-".to_owned()),
                ..everything()
            },
            &["ok"],
        ),
        (
            ExecutionFilter {
                agent: Some("LOCAL".to_owned()),
                ..everything()
            },
            &["slow", "bad", "ok"],
        ),
        (
            ExecutionFilter {
                since: Some(at(2)),
                ..everything()
            },
            &["slow", "bad"],
        ),
        (
            ExecutionFilter {
                until: Some(at(2)),
                ..everything()
            },
            &["ok"],
        ),
        (
            ExecutionFilter {
                exit_code: Some(0),
                ..everything()
            },
            &["ok"],
        ),
        (
            ExecutionFilter {
                exit_code: Some(2),
                ..everything()
            },
            &["bad"],
        ),
        (
            ExecutionFilter {
                failed: true,
                ..everything()
            },
            &["slow", "bad"],
        ),
        (
            ExecutionFilter {
                operation: Some("make".to_owned()),
                ..everything()
            },
            &["slow"],
        ),
        (
            ExecutionFilter {
                workspace: Some("wsp_1".to_owned()),
                ..everything()
            },
            &["ok"],
        ),
        (text("SLO"), &["slow"]),
        (text("last words"), &["slow"]),
        (text("timeouterror"), &["slow"]),
        (text("too late"), &["slow"]),
        (text("traceback"), &["bad"]),
        (text("100%_done\\"), &["bad"]),
        (text("100__done"), &[]),
        (text("T%k"), &[]),
        (
            ExecutionFilter {
                failed: true,
                until: Some(at(3)),
                ..text("bad")
            },
            &["bad"],
        ),
    ] {
        let described = format!("{filter:?}");
        assert_eq!(found(store, filter).await, expected, "{described}");
    }
});

on_both_databases!(
    what_is_old_is_forgotten_unless_it_waits_to_be_sent,
    async |database| {
        let store = &database.store;
        for second in 0..600 {
            record(store, &ran(second, "old")).await;
        }
        waits(store, &ran(1, "waits")).await;
        record(store, &ran(2000, "new")).await;
        assert_eq!(store.executions().forget_older(at(2000)).await.unwrap(), 600);
        assert_eq!(store.executions().forget_older(at(2000)).await.unwrap(), 0);
        assert_eq!(found(store, ExecutionFilter::default()).await, ["new", "waits"]);
    }
);

on_both_databases!(only_so_many_are_kept_whatever_waits, async |database| {
    let store = &database.store;
    waits(store, &ran(0, "waits")).await;
    for second in 1..600 {
        record(store, &ran(second, &second.to_string())).await;
    }
    assert_eq!(store.executions().keep_newest(600).await.unwrap(), (0, 0));
    assert_eq!(store.executions().keep_newest(2).await.unwrap(), (598, 1));
    assert_eq!(found(store, ExecutionFilter::default()).await, ["599", "598"]);
    assert_eq!(store.executions().keep_newest(0).await.unwrap(), (2, 0));
});

on_both_databases!(what_is_to_be_sent_waits_until_it_was, async |database| {
    let store = &database.store;
    record(store, &ran(0, "stays")).await;
    let sent: Vec<Execution> = (1..5).map(|second| ran(second, &second.to_string())).collect();
    for execution in &sent {
        waits(store, execution).await;
    }
    assert_eq!(waiting(store).await, ["1", "2", "3", "4"]);
    assert_eq!(store.executions().waiting(2).await.unwrap(), sent[..2]);
    let executions = store.executions();
    executions.settle(&[], Delivery::Sent).await.unwrap();
    executions
        .settle(&[sent[0].id, sent[2].id], Delivery::Sent)
        .await
        .unwrap();
    executions.settle(&[sent[1].id], Delivery::Refused).await.unwrap();
    assert_eq!(waiting(store).await, ["4"]);
    assert_eq!(executions.retry_refused().await.unwrap(), 1);
    // Another process finds the same.
    let another = database.another_store();
    assert_eq!(waiting(&another).await, ["2", "4"]);
    another.close().await;
});
