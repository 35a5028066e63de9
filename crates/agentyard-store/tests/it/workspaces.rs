//! Workspaces through their life.

use std::time::Duration;

use agentyard_model::{
    NewWorkspace, Repo, TenantId, Timestamp, Workspace, WorkspaceFilter, WorkspaceId, WorkspaceState,
};
use agentyard_store::{Claim, Error, Store};
use agentyard_testkit::on_both_databases;

use crate::support::{
    actions, add_repo, claim, create_tenant, event, new_workspace, open_workspace, page, page_after,
};

const LOCAL: TenantId = TenantId::LOCAL;

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

async fn get(store: &Store, id: WorkspaceId) -> Workspace {
    store.workspaces().get(LOCAL, id).await.unwrap().unwrap()
}

fn branches(workspaces: &[Workspace]) -> Vec<&str> {
    workspaces.iter().map(|it| it.branch.as_str()).collect()
}

async fn opening(store: &Store, new: &NewWorkspace) -> Workspace {
    match claim(store, new).await {
        Claim::New(workspace) => workspace,
        other => panic!("{other:?}"),
    }
}

on_both_databases!(from_opening_to_closed, async |database| {
    let store = &database.store;
    let workspaces = store.workspaces();
    let repo = add_repo(store, LOCAL, "web").await;
    let wanted = new_workspace(database.clock.now(), &repo, "main");
    let made = opening(store, &wanted).await;
    assert_eq!(
        workspaces.unfinished().await.unwrap(),
        std::slice::from_ref(&made)
    );
    // Nobody uses what is not there yet.
    assert_eq!(
        workspaces
            .used(made.id, "user ada", wanted.lease_until)
            .await
            .unwrap(),
        None
    );

    database.clock.advance(seconds(1));
    let lease_until = database.clock.now().after(seconds(60));
    let opened = workspaces
        .opened(made.id, "overlay", Some("c0ffee"), lease_until)
        .await
        .unwrap();
    let expected = Workspace {
        state: WorkspaceState::Open,
        way: Some("overlay".to_owned()),
        base: Some("c0ffee".to_owned()),
        lease_until,
        used_at: database.clock.now(),
        ..made.clone()
    };
    assert_eq!(opened, Some(expected.clone()));
    assert_eq!(get(store, made.id).await, expected);
    assert_eq!(
        workspaces.by_name(LOCAL, repo.id, &made.name).await.unwrap(),
        Some(expected)
    );
    assert_eq!(workspaces.by_name(LOCAL, repo.id, "main").await.unwrap(), None);
    assert_eq!(workspaces.unfinished().await.unwrap(), []);
    assert_eq!(
        workspaces
            .opened(made.id, "reflink", None, lease_until)
            .await
            .unwrap(),
        None
    );

    workspaces.set_disk(made.id, 1 << 40).await.unwrap();
    assert_eq!(get(store, made.id).await.disk_bytes, Some(1 << 40));

    let kept = Some("refs/agentyard/kept/1");
    assert!(workspaces.closing(LOCAL, made.id, kept).await.unwrap());
    assert_eq!(get(store, made.id).await.kept_ref.as_deref(), kept);
    assert!(
        !workspaces.closing(LOCAL, made.id, None).await.unwrap(),
        "somebody else closes it"
    );
    assert_eq!(
        workspaces.unfinished().await.unwrap()[0].state,
        WorkspaceState::Closing
    );
    assert_eq!(
        workspaces.used(made.id, "user ada", lease_until).await.unwrap(),
        None
    );

    let close = async || {
        let event = event("workspace_close");
        workspaces
            .closed(made.id, Some("refs/agentyard/kept/1"), "asked", &event)
            .await
            .unwrap()
    };
    assert!(close().await);
    assert!(!close().await);
    let closed = get(store, made.id).await;
    assert_eq!(closed.state, WorkspaceState::Closed);
    assert_eq!(closed.closed_at, Some(database.clock.now()));
    assert_eq!(closed.kept_ref.as_deref(), Some("refs/agentyard/kept/1"));
    assert_eq!(closed.closed_because.as_deref(), Some("asked"));
    assert_eq!(closed.disk_bytes, None);
    assert!(!workspaces.closing(LOCAL, made.id, None).await.unwrap());
    assert_eq!(
        actions(store, LOCAL).await,
        ["repo_add", "workspace_open", "workspace_close"]
    );
});

on_both_databases!(an_owner_keeps_it_while_the_lease_lasts, async |database| {
    let store = &database.store;
    let repo = add_repo(store, LOCAL, "web").await;
    let start = database.clock.now();
    let ours = open_workspace(store, &new_workspace(start, &repo, "main"))
        .await
        .id;
    let used = async |by: &str, lease_until: Timestamp| {
        let it = store
            .workspaces()
            .used(ours, by, lease_until)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(it.used_at, database.clock.now());
        (it.owner, it.lease_until)
    };
    let (ada, eve) = ("user ada".to_owned(), "user eve".to_owned());

    database.clock.advance(seconds(10));
    // Another prolongs the lease without becoming the owner, and cannot shorten it.
    assert_eq!(
        used(&eve, start.after(seconds(70))).await,
        (ada.clone(), start.after(seconds(70)))
    );
    assert_eq!(
        used(&eve, start.after(seconds(20))).await,
        (ada.clone(), start.after(seconds(70)))
    );
    // The owner says how long.
    assert_eq!(
        used(&ada, start.after(seconds(20))).await,
        (ada.clone(), start.after(seconds(20)))
    );
    // When it has run out, the next one is the owner.
    database.clock.advance(seconds(10));
    assert_eq!(
        used(&eve, start.after(seconds(30))).await,
        (eve.clone(), start.after(seconds(30)))
    );
    assert_eq!(
        used(&ada, start.after(seconds(40))).await,
        (eve, start.after(seconds(40)))
    );
});

on_both_databases!(a_claim_that_failed_is_taken_back, async |database| {
    let store = &database.store;
    let workspaces = store.workspaces();
    let repo = add_repo(store, LOCAL, "web").await;
    let wanted = new_workspace(database.clock.now(), &repo, "main");
    let half_made = opening(store, &wanted).await;
    assert!(workspaces.forget(half_made.id).await.unwrap());
    assert!(!workspaces.forget(half_made.id).await.unwrap());
    assert_eq!(workspaces.get(LOCAL, half_made.id).await.unwrap(), None);

    let opened = open_workspace(store, &wanted).await;
    assert!(!workspaces.forget(opened.id).await.unwrap(), "it is open");
    let close = event("workspace_close");
    workspaces
        .closed(opened.id, Some("refs/kept"), "asked", &close)
        .await
        .unwrap();
    let closed = get(store, opened.id).await;
    assert!(!workspaces.forget(opened.id).await.unwrap(), "it is closed");
    assert!(matches!(claim(store, &wanted).await, Claim::Reopened(_)));
    assert!(workspaces.forget(opened.id).await.unwrap());
    assert_eq!(get(store, opened.id).await, closed);
});

on_both_databases!(workspaces_are_listed_newest_first, async |database| {
    let store = &database.store;
    let web = add_repo(store, LOCAL, "web").await;
    let api = add_repo(store, LOCAL, "api").await;
    let open = async |repo: &Repo, branch: &str, owner: &str| {
        let wanted = NewWorkspace {
            owner: owner.to_owned(),
            ..new_workspace(database.clock.now(), repo, branch)
        };
        open_workspace(store, &wanted).await.id
    };
    open(&web, "one", "ada").await;
    open(&web, "two", "eve").await;
    open(&api, "three", "ada").await;
    let gone = open(&web, "four", "ada").await;
    let closed = event("workspace_close");
    store
        .workspaces()
        .closed(gone, None, "asked", &closed)
        .await
        .unwrap();

    let list = async |filter: WorkspaceFilter| {
        let found = store.workspaces().list(LOCAL, &filter, &page(10)).await.unwrap();
        branches(&found.items).join(" ")
    };
    assert_eq!(list(WorkspaceFilter::default()).await, "three two one");
    let all = WorkspaceFilter {
        closed: true,
        ..WorkspaceFilter::default()
    };
    assert_eq!(list(all.clone()).await, "four three two one");
    let of_web = WorkspaceFilter {
        repo: Some(web.id),
        ..all.clone()
    };
    assert_eq!(list(of_web).await, "four two one");
    let of_ada = WorkspaceFilter {
        owner: Some("ada".to_owned()),
        ..WorkspaceFilter::default()
    };
    assert_eq!(list(of_ada).await, "three one");

    let first = store.workspaces().list(LOCAL, &all, &page(3)).await.unwrap();
    let second = store
        .workspaces()
        .list(LOCAL, &all, &page_after(3, first.next))
        .await
        .unwrap();
    assert_eq!((branches(&second.items), second.next), (vec!["one"], None));
    let foreign = page_after(3, Some("17".parse().unwrap()));
    let refused = store.workspaces().list(LOCAL, &all, &foreign).await;
    assert!(matches!(refused, Err(Error::InvalidCursor(_))), "{refused:?}");
});

on_both_databases!(the_idle_and_the_expired, async |database| {
    let store = &database.store;
    let theirs = create_tenant(store, "theirs").await.id;
    let web = add_repo(store, LOCAL, "web").await;
    let api = add_repo(store, theirs, "api").await;
    let start = database.clock.now();
    let open = async |repo: &Repo, branch: &str, lease: u64| {
        let wanted = NewWorkspace {
            lease_until: database.clock.now().after(seconds(lease)),
            ..new_workspace(start, repo, branch)
        };
        let workspace = open_workspace(store, &wanted).await;
        database.clock.advance(seconds(1));
        workspace
    };
    let old = open(&web, "old", 5).await;
    open(&web, "leased", 1000).await;
    open(&web, "young", 5).await;
    open(&api, "foreign", 5).await;
    opening(store, &new_workspace(start, &web, "half-made")).await;
    let gone = open(&web, "closed", 5).await;
    let closed = event("workspace_close");
    store
        .workspaces()
        .closed(gone.id, None, "asked", &closed)
        .await
        .unwrap();
    database.clock.advance(seconds(5));
    store
        .workspaces()
        .used(old.id, "user ada", database.clock.now())
        .await
        .unwrap();

    let now = database.clock.now();
    let idle = store.workspaces().idle(web.id, now).await.unwrap();
    assert_eq!(branches(&idle), ["young", "old"]);
    assert_eq!(store.workspaces().idle(web.id, start).await.unwrap(), []);

    let expired = store.workspaces().expired(now).await.unwrap();
    assert_eq!(branches(&expired), ["young", "foreign"]);
    let expired = store.workspaces().expired(start.after(seconds(3))).await.unwrap();
    assert_eq!(branches(&expired), ["young"]);
});
