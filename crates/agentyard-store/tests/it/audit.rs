//! Writing and searching the log.

use std::time::Duration;

use agentyard_model::{AuditEvent, AuditFilter, AuditRecord, Caller, Outcome, TenantId};
use agentyard_store::{AuditVerification, Error, NewUser};
use agentyard_testkit::on_both_databases;

use crate::support::{actions, create_tenant, event, event_in, log, page, page_after, role};

on_both_databases!(a_row_reads_back_as_it_was_written, async |database| {
    let store = &database.store;
    let caller = Caller {
        chain: vec![Caller::local().subject, Caller::anonymous().subject],
        ..Caller::local()
    };
    let event = AuditEvent::with_outcome(&caller, "create_project", "web-\u{1F6A2}", Outcome::Failed);
    let written = store.audit().append(&event).await.unwrap();
    let expected = AuditRecord {
        id: written.id,
        sequence: 1,
        at: database.clock.now(),
        actor: caller.subject.to_string(),
        chain: vec![caller.subject.to_string(), "anonymous".to_owned()],
        action: "create_project".to_owned(),
        target: "web-\u{1F6A2}".to_owned(),
        request_id: caller.request_id.to_string(),
        outcome: Outcome::Failed,
    };
    assert_eq!(written, expected);
    assert_eq!(log(store, TenantId::LOCAL).await, [expected]);
});

on_both_databases!(pages_run_from_the_newest_to_the_oldest, async |database| {
    let store = &database.store;
    for _ in 0..7 {
        store.audit().append(&event("look")).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let found = store
            .audit()
            .search(
                TenantId::LOCAL,
                &AuditFilter::default(),
                &page_after(3, cursor.take()),
            )
            .await
            .unwrap();
        // What is added meanwhile does not shift the pages that follow.
        store.audit().append(&event("look")).await.unwrap();
        seen.extend(found.items.iter().map(|record| record.sequence));
        cursor = found.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, [7, 6, 5, 4, 3, 2, 1]);
});

on_both_databases!(a_cursor_of_another_list_is_refused, async |database| {
    let cursor = "tok_1".parse().unwrap();
    let error = database
        .store
        .audit()
        .search(
            TenantId::LOCAL,
            &AuditFilter::default(),
            &page_after(3, Some(cursor)),
        )
        .await
        .unwrap_err();
    assert!(matches!(error, Error::InvalidCursor(_)), "{error:?}");
});

on_both_databases!(filters_select, async |database| {
    let store = &database.store;
    let start = database.clock.now();
    let mut first = event("create_issue");
    first.target = "web-shop".to_owned();
    let mut second = event("close_issue");
    second.actor = "token CI tok_1".to_owned();
    second.outcome = Outcome::Denied;
    store.audit().append(&first).await.unwrap();
    database.clock.advance(Duration::from_secs(1));
    store.audit().append(&second).await.unwrap();
    let one_second_later = start.after(Duration::from_secs(1));

    let cases = [
        (AuditFilter::default(), vec![2, 1]),
        (
            AuditFilter {
                actor: Some("ci TOK".to_owned()),
                ..AuditFilter::default()
            },
            vec![2],
        ),
        (
            AuditFilter {
                action: Some("create_issue".to_owned()),
                ..AuditFilter::default()
            },
            vec![1],
        ),
        (
            AuditFilter {
                target: Some("shop".to_owned()),
                ..AuditFilter::default()
            },
            vec![1],
        ),
        (
            AuditFilter {
                outcome: Some(Outcome::Denied),
                ..AuditFilter::default()
            },
            vec![2],
        ),
        (
            AuditFilter {
                request_id: Some(first.request_id.to_string()),
                ..AuditFilter::default()
            },
            vec![1],
        ),
        (
            AuditFilter {
                since: Some(one_second_later),
                ..AuditFilter::default()
            },
            vec![2],
        ),
        (
            AuditFilter {
                until: Some(one_second_later),
                ..AuditFilter::default()
            },
            vec![1],
        ),
        (
            AuditFilter {
                actor: Some("local".to_owned()),
                action: Some("close_issue".to_owned()),
                ..AuditFilter::default()
            },
            vec![],
        ),
    ];
    for (filter, expected) in cases {
        let found = store
            .audit()
            .search(TenantId::LOCAL, &filter, &page(10))
            .await
            .unwrap();
        let found: Vec<i64> = found.items.iter().map(|record| record.sequence).collect();
        assert_eq!(found, expected, "{filter:?}");
    }
});

on_both_databases!(wildcards_and_quotes_mean_themselves, async |database| {
    let store = &database.store;
    let targets = [
        "plain",
        "100%",
        "a_b",
        r"back\slash",
        "it's",
        "axb",
        "",
        "'); DROP",
    ];
    for target in targets {
        let mut event = event("look");
        event.target = target.to_owned();
        store.audit().append(&event).await.unwrap();
    }
    for wanted in ["%", "a_b", r"\", "'", r"\%", "%%", "'); DROP", "_"] {
        let filter = AuditFilter {
            target: Some(wanted.to_owned()),
            ..AuditFilter::default()
        };
        let found = store
            .audit()
            .search(TenantId::LOCAL, &filter, &page(10))
            .await
            .unwrap();
        let found: Vec<&str> = found.items.iter().map(|record| record.target.as_str()).collect();
        let mut expected: Vec<&str> = targets
            .into_iter()
            .filter(|target| target.contains(wanted))
            .collect();
        expected.reverse();
        assert_eq!(found, expected, "{wanted}");
    }
});

on_both_databases!(what_must_be_written_down_is, async |database| {
    let store = &database.store;
    let mut event = event("look");
    event.target = format!("a\0b{}", "x".repeat(1 << 20));
    event.actor = "\u{1b}[31m\0".to_owned();
    event.chain = vec!["\0".to_owned()];
    let written = store.audit().append(&event).await.unwrap();
    assert_eq!(log(store, TenantId::LOCAL).await, std::slice::from_ref(&written));
    assert!(written.target.starts_with("a\u{fffd}bx"), "{}", written.target);
    assert!(written.target.ends_with("x…"), "{}", written.target);
    assert!(written.target.len() <= 4096);
    let verification = store.audit().verify(None).await.unwrap();
    assert_eq!(verification.first_fault, None);
});

on_both_databases!(a_search_for_what_cannot_be_stored_is_refused, async |database| {
    let filter = AuditFilter {
        target: Some("\0".to_owned()),
        ..AuditFilter::default()
    };
    let search = database
        .store
        .audit()
        .search(TenantId::LOCAL, &filter, &page(10))
        .await;
    assert!(matches!(search, Err(Error::Unstorable { .. })), "{search:?}");
});

on_both_databases!(an_unknown_tenant_has_no_log, async |database| {
    let store = &database.store;
    let stranger = TenantId::new();
    let append = store.audit().append(&event_in(stranger, "look")).await;
    assert!(matches!(append, Err(Error::NotFound { .. })), "{append:?}");
    let verify = store.audit().verify(Some(stranger)).await;
    assert!(matches!(verify, Err(Error::NotFound { .. })), "{verify:?}");
    assert_eq!(log(store, stranger).await, []);
});

on_both_databases!(chains_are_whole_and_per_tenant, async |database| {
    let store = &database.store;
    let other = create_tenant(store, "other").await;
    // More than are read at once.
    for _ in 0..501 {
        store.audit().append(&event_in(other.id, "look")).await.unwrap();
    }
    let expected = |tenants, records| AuditVerification {
        tenants,
        records,
        first_fault: None,
    };
    assert_eq!(
        store.audit().verify(Some(other.id)).await.unwrap(),
        expected(1, 501)
    );
    assert_eq!(store.audit().verify(None).await.unwrap(), expected(2, 502));
    assert_eq!(actions(store, TenantId::LOCAL).await, ["create_tenant"]);
});

on_both_databases!(concurrent_mutations_make_one_chain, async |database| {
    // Two stores, as two processes would have.
    let stores = [database.store.clone(), database.another_store()];
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..50 {
        let store = stores[number % 2].clone();
        tasks.spawn(async move {
            let new = NewUser {
                tenant: TenantId::LOCAL,
                name: format!("user-{number}").parse().unwrap(),
                role: role("dev"),
            };
            store.users().create(new, |_| event("create_user")).await.unwrap();
        });
    }
    // Verifying meanwhile finds no fault either.
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
        let verification = stores[0].audit().verify(None).await.unwrap();
        assert_eq!(verification.first_fault, None);
    }
    let mut sequences: Vec<i64> = log(&stores[1], TenantId::LOCAL)
        .await
        .iter()
        .map(|record| record.sequence)
        .collect();
    sequences.reverse();
    assert_eq!(sequences, (1..=50).collect::<Vec<i64>>());
    assert_eq!(stores[1].audit().verify(None).await.unwrap().records, 50);
    stores[1].close().await;
});

on_both_databases!(rows_written_soon_are_rows_like_others, async |database| {
    let audit = database.store.audit();
    audit.append(&event("first")).await.unwrap();
    audit.append_soon(&event("second")).await.unwrap();
    audit.append(&event("third")).await.unwrap();
    let other = database.another_store();
    assert_eq!(
        actions(&other, TenantId::LOCAL).await,
        ["first", "second", "third"]
    );
    assert_eq!(other.audit().verify(None).await.unwrap().first_fault, None);
});
