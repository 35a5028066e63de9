//! Sandboxes that stay, and their snapshots.

use std::collections::BTreeMap;
use std::time::Duration;

use agentyard_model::{
    Lifecycle, NewSandbox, Sandbox, SandboxFilter, SandboxId, SandboxNetwork, SandboxState, Secret, Snapshot,
    SnapshotId, TenantId,
};
use agentyard_store::{Creation, Error, SandboxToken, Store};
use agentyard_testkit::on_both_databases;

use crate::support::{actions, create_tenant, event, event_in, page, page_after};

const LOCAL: TenantId = TenantId::LOCAL;

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn new() -> NewSandbox {
    NewSandbox {
        id: SandboxId::new(),
        tenant: LOCAL,
        owner: "user ann".to_owned(),
        template: "base".to_owned(),
        image: None,
        metadata: map(&[("task", "7")]),
        environment: map(&[("API_KEY", "hunter22")]),
        lifecycle: Lifecycle {
            auto_pause: true,
            ..Lifecycle::default()
        },
        network: SandboxNetwork {
            internet: Some(false),
            deny_out: vec!["10.0.0.0/8".to_owned()],
            ..SandboxNetwork::default()
        },
        keeper: "yard".to_owned(),
        timeout: Duration::ZERO,
        idempotency_key: None,
        most_of_tenant: 3,
        most: 4,
    }
}

async fn made(store: &Store, new: &NewSandbox) -> Sandbox {
    let event = event_in(new.tenant, "create");
    match store.sandboxes().create(new, &event).await.unwrap() {
        Creation::Made(row) => row,
        other => panic!("{other:?}"),
    }
}

on_both_databases!(a_sandbox_goes_through_its_states, async |database| {
    let (store, clock) = (&database.store, &database.clock);
    let new = new();
    let row = made(store, &new).await;
    assert_eq!(
        (row.state, &row.metadata, row.lifecycle, &row.network),
        (SandboxState::Starting, &new.metadata, new.lifecycle, &new.network)
    );
    let sandboxes = store.sandboxes();
    let listed = |filter: SandboxFilter| async move {
        let found = sandboxes.list(LOCAL, &filter, &page(10)).await.unwrap();
        found.items.len()
    };
    assert_eq!(listed(SandboxFilter::default()).await, 0, "nobody was told of it");
    clock.advance(Duration::from_secs(1));
    let end = clock.now().after(Duration::from_secs(60));
    let started = sandboxes.started(row.id, end).await.unwrap().unwrap();
    assert_eq!(
        (started.state, started.started_at, started.ends_at),
        (SandboxState::Running, clock.now(), end)
    );
    assert!(
        sandboxes.started(row.id, end).await.unwrap().is_none(),
        "once only"
    );
    let paused = sandboxes.paused(row.id, true, &event("pause")).await.unwrap();
    let paused = paused.unwrap();
    assert_eq!(
        (paused.state, paused.in_memory, paused.paused_at),
        (SandboxState::Paused, true, Some(clock.now()))
    );
    let again = sandboxes.paused(row.id, true, &event("pause")).await.unwrap();
    assert!(again.is_none(), "{again:?}");
    sandboxes.let_go("another yard").await.unwrap();
    assert!(sandboxes.find(row.id).await.unwrap().unwrap().in_memory);
    sandboxes.let_go("yard").await.unwrap();
    assert!(!sandboxes.find(row.id).await.unwrap().unwrap().in_memory);
    let resumed = sandboxes.resumed(row.id, end, &event("connect")).await.unwrap();
    let resumed = resumed.unwrap();
    assert_eq!(
        (resumed.state, resumed.in_memory, resumed.paused_at),
        (SandboxState::Running, true, None)
    );
    assert!(sandboxes.ending(row.id, &event("kill")).await.unwrap());
    assert!(!sandboxes.ending(row.id, &event("kill")).await.unwrap());
    assert_eq!(
        listed(SandboxFilter::default()).await,
        0,
        "nobody finds it any more"
    );
    sandboxes.forget(row.id).await.unwrap();
    assert!(sandboxes.get(LOCAL, row.id).await.unwrap().is_none());
    assert_eq!(
        actions(store, LOCAL).await,
        ["create", "pause", "connect", "kill"],
        "what was refused is not written down"
    );
});

on_both_databases!(the_environment_is_sealed, async |database| {
    let store = &database.store;
    let row = made(store, &new()).await;
    let read = store.sandboxes().environment(row.id).await.unwrap();
    assert_eq!(read["API_KEY"].expose(), "hunter22");
    let other = store.sandboxes().environment(SandboxId::new()).await;
    assert!(matches!(other, Err(Error::NotFound { .. })), "{other:?}");
});

on_both_databases!(sandboxes_are_bounded_by_tenant_and_in_all, async |database| {
    let store = &database.store;
    let elsewhere = create_tenant(store, "elsewhere").await.id;
    for _ in 0..3 {
        made(store, &new()).await;
    }
    let create = |new: NewSandbox| async move {
        let event = event_in(new.tenant, "create");
        store.sandboxes().create(&new, &event).await.unwrap()
    };
    assert_eq!(create(new()).await, Creation::TenantFull);
    let foreign = || NewSandbox {
        tenant: elsewhere,
        ..new()
    };
    made(store, &foreign()).await;
    assert_eq!(create(foreign()).await, Creation::Full);
    assert_eq!(
        actions(store, LOCAL).await,
        ["create_tenant", "create", "create", "create"]
    );
});

on_both_databases!(
    the_same_key_gives_the_same_sandbox_for_an_hour,
    async |database| {
        let (store, clock) = (&database.store, &database.clock);
        let keyed = || NewSandbox {
            idempotency_key: Some("k".to_owned()),
            ..new()
        };
        let first = made(store, &keyed()).await;
        let create = |new: NewSandbox| async move {
            let event = event("create");
            store.sandboxes().create(&new, &event).await.unwrap()
        };
        assert_eq!(create(keyed()).await, Creation::Existing(first.clone()));
        let others = [
            NewSandbox {
                template: "another".to_owned(),
                ..keyed()
            },
            NewSandbox {
                metadata: map(&[("task", "8")]),
                ..keyed()
            },
            NewSandbox {
                environment: map(&[("API_KEY", "another")]),
                ..keyed()
            },
            NewSandbox {
                lifecycle: Lifecycle::default(),
                ..keyed()
            },
            NewSandbox {
                network: SandboxNetwork::default(),
                ..keyed()
            },
            NewSandbox {
                timeout: Duration::from_secs(1),
                ..keyed()
            },
        ];
        for other in others {
            assert_eq!(create(other).await, Creation::OtherWish(first.clone()));
        }
        let of_another = NewSandbox {
            owner: "user bob".to_owned(),
            ..keyed()
        };
        assert_ne!(made(store, &of_another).await.id, first.id);
        clock.advance(Duration::from_secs(3601));
        assert_ne!(made(store, &keyed()).await.id, first.id);
    }
);

on_both_databases!(sandboxes_are_listed_by_age_and_filtered, async |database| {
    let (store, clock) = (&database.store, &database.clock);
    let mut made_ids = Vec::new();
    for task in ["1", "2", "3"] {
        let row = made(
            store,
            &NewSandbox {
                metadata: map(&[("task", task), ("all", "yes")]),
                ..new()
            },
        )
        .await;
        store.sandboxes().started(row.id, clock.now()).await.unwrap();
        made_ids.push(row.id);
        clock.advance(Duration::from_secs(1));
    }
    let list = |filter: SandboxFilter, request| async move {
        store.sandboxes().list(LOCAL, &filter, &request).await.unwrap()
    };
    let ids = |page: &agentyard_model::Page<Sandbox>| -> Vec<SandboxId> {
        page.items.iter().map(|row| row.id).collect()
    };
    let first = list(SandboxFilter::default(), page(2)).await;
    assert_eq!(ids(&first), [made_ids[2], made_ids[1]]);
    let second = list(SandboxFilter::default(), page_after(2, first.next)).await;
    assert_eq!((ids(&second), second.next), (vec![made_ids[0]], None));
    let oldest = SandboxFilter {
        oldest_first: true,
        ..SandboxFilter::default()
    };
    let first = list(oldest.clone(), page(2)).await;
    assert_eq!(ids(&first), [made_ids[0], made_ids[1]]);
    assert_eq!(ids(&list(oldest, page_after(2, first.next)).await), [made_ids[2]]);
    let noted = SandboxFilter {
        metadata: map(&[("task", "2"), ("all", "yes")]),
        ..SandboxFilter::default()
    };
    assert_eq!(ids(&list(noted, page(10)).await), [made_ids[1]]);
    let paused = SandboxFilter {
        states: vec![SandboxState::Paused],
        ..SandboxFilter::default()
    };
    assert!(list(paused, page(10)).await.items.is_empty());
    let elsewhere = create_tenant(store, "elsewhere").await.id;
    let foreign = store.sandboxes();
    let foreign = foreign
        .list(elsewhere, &SandboxFilter::default(), &page(10))
        .await;
    assert!(foreign.unwrap().items.is_empty());
    assert!(
        store
            .sandboxes()
            .get(elsewhere, made_ids[0])
            .await
            .unwrap()
            .is_none()
    );
});

on_both_databases!(tokens_are_of_one_sandbox_and_one_kind, async |database| {
    let sandboxes = database.store.sandboxes();
    let (one, other) = (SandboxId::new(), SandboxId::new());
    let token = sandboxes.token(SandboxToken::Access, one).await.unwrap();
    assert_eq!(token.expose().len(), 64);
    let is = |kind, id, token: Secret| async move { sandboxes.is_token(kind, id, &token).await.unwrap() };
    assert!(is(SandboxToken::Access, one, token.clone()).await);
    assert!(!is(SandboxToken::Traffic, one, token.clone()).await);
    assert!(!is(SandboxToken::Access, other, token.clone()).await);
    assert!(!is(SandboxToken::Access, one, Secret::new("")).await);
    assert!(!is(SandboxToken::Access, one, Secret::new(&token.expose()[..62])).await);
});

on_both_databases!(snapshots_are_found_once_they_are_complete, async |database| {
    let (store, clock) = (&database.store, &database.clock);
    let snapshots = store.sandbox_snapshots();
    let snapshot = |name: Option<&str>| Snapshot {
        id: SnapshotId::new(),
        tenant: LOCAL,
        owner: "user ann".to_owned(),
        name: name.map(str::to_owned),
        sandbox: SandboxId::new(),
        template: "base".to_owned(),
        image: None,
        keeper: "yard".to_owned(),
        remote: None,
        created_at: clock.now(),
    };
    let named = snapshot(Some("deps"));
    let created = snapshots.create(&named, 2, &event("snapshot")).await.unwrap();
    assert!(created.is_some());
    assert!(snapshots.get(LOCAL, "deps").await.unwrap().is_none());
    let taken = snapshots
        .create(&snapshot(Some("deps")), 2, &event("snapshot"))
        .await;
    assert!(matches!(taken, Err(Error::Exists { .. })), "{taken:?}");
    snapshots.completed(named.id, None).await.unwrap();
    assert_eq!(snapshots.get(LOCAL, "deps").await.unwrap(), Some(named.clone()));
    assert_eq!(
        snapshots.get(LOCAL, &named.id.to_string()).await.unwrap(),
        Some(named.clone())
    );
    clock.advance(Duration::from_secs(1));
    let mut unnamed = snapshot(None);
    snapshots.create(&unnamed, 2, &event("snapshot")).await.unwrap();
    unnamed.remote = Some("theirs".to_owned());
    snapshots
        .completed(unnamed.id, unnamed.remote.as_deref())
        .await
        .unwrap();
    let many = snapshots.create(&snapshot(None), 2, &event("snapshot")).await;
    assert!(many.unwrap().is_none(), "there are as many as there may be");
    let first = snapshots.list(LOCAL, None, None, None, &page(1)).await.unwrap();
    assert_eq!(first.items, std::slice::from_ref(&unnamed));
    let second = snapshots
        .list(LOCAL, None, None, None, &page_after(1, first.next))
        .await
        .unwrap();
    assert_eq!((second.items, second.next), (vec![named.clone()], None));
    let of = snapshots
        .list(LOCAL, None, Some(named.sandbox), None, &page(5))
        .await
        .unwrap();
    assert_eq!(of.items, std::slice::from_ref(&named));
    assert!(snapshots.removing(named.id, &event("remove")).await.unwrap());
    assert!(!snapshots.removing(named.id, &event("remove")).await.unwrap());
    assert!(snapshots.get(LOCAL, "deps").await.unwrap().is_none());
    assert_eq!(
        snapshots.of_keeper("yard").await.unwrap().len(),
        2,
        "until nothing is left of it"
    );
    snapshots.forget(named.id).await.unwrap();
    assert_eq!(
        snapshots.of_keeper("yard").await.unwrap(),
        [(unnamed.id, unnamed.remote, true)]
    );
});
