//! Who gets to make the tree of a branch.

use std::time::Duration;

use agentyard_model::{NewWorkspace, RepoId, TenantId, Workspace, WorkspaceState};
use agentyard_store::{Claim, Error};
use agentyard_testkit::on_both_databases;

use crate::support::{actions, add_repo, claim, event, new_workspace, open_workspace};

const LOCAL: TenantId = TenantId::LOCAL;

on_both_databases!(a_branch_is_claimed_once, async |database| {
    let store = &database.store;
    let repo = add_repo(store, LOCAL, "web").await;
    let wanted = NewWorkspace {
        agent: Some("builder".to_owned()),
        task: Some("42".to_owned()),
        ..new_workspace(database.clock.now(), &repo, "feature/foo")
    };
    let Claim::New(workspace) = claim(store, &wanted).await else {
        panic!("nobody had it");
    };
    let expected = Workspace {
        id: workspace.id,
        tenant: LOCAL,
        repo: repo.id,
        branch: "feature/foo".to_owned(),
        name: "feature-foo-1a2b3c4d".to_owned(),
        agent: Some("builder".to_owned()),
        task: Some("42".to_owned()),
        target: Some("main".to_owned()),
        state: WorkspaceState::Opening,
        way: None,
        base: None,
        owner: "user ada".to_owned(),
        lease_until: wanted.lease_until,
        created_at: database.clock.now(),
        used_at: database.clock.now(),
        closed_at: None,
        kept_ref: None,
        closed_because: None,
        disk_bytes: None,
    };
    assert_eq!(workspace, expected);
    assert_eq!(claim(store, &wanted).await, Claim::Existing(expected.clone()));
    let found = store
        .workspaces()
        .find(LOCAL, repo.id, "feature/foo")
        .await
        .unwrap();
    assert_eq!(found, Some(expected));
    assert_eq!(actions(store, LOCAL).await, ["repo_add", "workspace_open"]);
});

on_both_databases!(a_closed_one_is_reopened, async |database| {
    let store = &database.store;
    let repo = add_repo(store, LOCAL, "web").await;
    let wanted = NewWorkspace {
        agent: Some("builder".to_owned()),
        ..new_workspace(database.clock.now(), &repo, "main")
    };
    let workspace = open_workspace(store, &wanted).await;
    store
        .workspaces()
        .closed(
            workspace.id,
            Some("refs/agentyard/kept/1"),
            "idle",
            &event("workspace_close"),
        )
        .await
        .unwrap();
    let closed_at = database.clock.now();
    database.clock.advance(Duration::from_secs(5));

    let again = NewWorkspace {
        agent: None,
        owner: "user eve".to_owned(),
        ..new_workspace(database.clock.now(), &repo, "main")
    };
    let expected = Workspace {
        state: WorkspaceState::Opening,
        owner: "user eve".to_owned(),
        lease_until: again.lease_until,
        used_at: database.clock.now(),
        closed_at: Some(closed_at),
        kept_ref: Some("refs/agentyard/kept/1".to_owned()),
        closed_because: Some("idle".to_owned()),
        ..workspace.clone()
    };
    assert_eq!(claim(store, &again).await, Claim::Reopened(expected.clone()));
    let stored = store.workspaces().get(LOCAL, workspace.id).await.unwrap();
    assert_eq!(stored, Some(expected));
    let opened = store
        .workspaces()
        .opened(workspace.id, "reflink", None, again.lease_until)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((opened.closed_at, opened.closed_because), (None, None));
    assert_eq!(opened.kept_ref.as_deref(), Some("refs/agentyard/kept/1"));
    assert_eq!((opened.way.as_deref(), opened.base), (Some("reflink"), None));
});

on_both_databases!(no_more_than_the_limit, async |database| {
    let store = &database.store;
    let repo = add_repo(store, LOCAL, "web").await;
    let other = add_repo(store, LOCAL, "api").await;
    let want = |branch| NewWorkspace {
        limit: 2,
        ..new_workspace(database.clock.now(), &repo, branch)
    };
    let first = open_workspace(store, &want("one")).await;
    database.clock.advance(Duration::from_secs(1));
    let second = open_workspace(store, &want("two")).await;
    open_workspace(store, &new_workspace(database.clock.now(), &other, "one")).await;
    database.clock.advance(Duration::from_secs(1));
    let first = store
        .workspaces()
        .used(first.id, "user ada", first.lease_until)
        .await
        .unwrap()
        .unwrap();

    // The one used last is the last to go, and one that is there is not counted twice.
    let full = Claim::Full(vec![second.clone(), first.clone()]);
    assert_eq!(claim(store, &want("three")).await, full);
    assert_eq!(claim(store, &want("one")).await, Claim::Existing(first));
    assert_eq!(
        store.workspaces().find(LOCAL, repo.id, "three").await.unwrap(),
        None
    );

    // What is closing still has a tree; what is closed does not, and is counted when it is opened again.
    assert!(store.workspaces().closing(LOCAL, second.id, None).await.unwrap());
    assert!(matches!(claim(store, &want("three")).await, Claim::Full(_)));
    let closed = event("workspace_close");
    store
        .workspaces()
        .closed(second.id, None, "full", &closed)
        .await
        .unwrap();
    assert!(matches!(claim(store, &want("three")).await, Claim::New(_)));
    assert!(matches!(claim(store, &want("two")).await, Claim::Full(_)));
});

on_both_databases!(of_many_at_once_one_makes_the_tree, async |database| {
    let repo = add_repo(&database.store, LOCAL, "web").await;
    let stores = [database.store.clone(), database.another_store()];
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..20 {
        let store = stores[number % 2].clone();
        let wanted = new_workspace(database.clock.now(), &repo, "main");
        tasks.spawn(async move { claim(&store, &wanted).await });
    }
    let claims = tasks.join_all().await;
    let new = claims.iter().filter(|it| matches!(it, Claim::New(_))).count();
    let existing = claims
        .iter()
        .filter(|it| matches!(it, Claim::Existing(_)))
        .count();
    assert_eq!((new, existing), (1, 19), "{claims:?}");
    stores[1].close().await;
});

on_both_databases!(of_many_at_once_none_passes_the_limit, async |database| {
    let repo = add_repo(&database.store, LOCAL, "web").await;
    let stores = [database.store.clone(), database.another_store()];
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..20 {
        let store = stores[number % 2].clone();
        let wanted = NewWorkspace {
            limit: 3,
            ..new_workspace(database.clock.now(), &repo, &format!("branch-{number}"))
        };
        tasks.spawn(async move { claim(&store, &wanted).await });
    }
    let claims = tasks.join_all().await;
    let new = claims.iter().filter(|it| matches!(it, Claim::New(_))).count();
    let full = claims.iter().filter(|it| matches!(it, Claim::Full(_))).count();
    assert_eq!((new, full), (3, 17), "{claims:?}");
    stores[1].close().await;
});

on_both_databases!(what_cannot_be_claimed_is_refused, async |database| {
    let store = &database.store;
    let repo = add_repo(store, LOCAL, "web").await;
    let wanted = new_workspace(database.clock.now(), &repo, "main");
    claim(store, &wanted).await;
    let attempt = async |new| store.workspaces().claim(&new, &event("try")).await;

    let nowhere = attempt(NewWorkspace {
        repo: RepoId::new(),
        ..wanted.clone()
    })
    .await;
    assert!(matches!(nowhere, Err(Error::NotFound { .. })), "{nowhere:?}");
    let same_directory = attempt(NewWorkspace {
        branch: "other".to_owned(),
        ..wanted.clone()
    })
    .await;
    assert!(
        matches!(same_directory, Err(Error::Exists { .. })),
        "{same_directory:?}"
    );
    let long = attempt(NewWorkspace {
        branch: "x".repeat(1025),
        ..wanted
    })
    .await;
    assert!(matches!(long, Err(Error::Unstorable { .. })), "{long:?}");
    assert_eq!(actions(store, LOCAL).await, ["repo_add", "workspace_open"]);
});
