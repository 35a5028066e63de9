//! Workspaces are in use, idle, too many, and closed; and nothing in them is lost.

use std::time::Duration;

use agentyard_model::{Subject, WorkspaceState};
use agentyard_services::{ErrorKind, Place, ReadPart, ReadRequest, WorkspaceReference, WorkspaceSettings};
use agentyard_testkit::{TestPlatform, git_in};

use crate::yard::{
    ann, audit, branches, close, close_as, commit, details, failure, git, id, kind, local, lock, of_tenant,
    on, open, place, put, read, reference, tree, try_open, undo, write,
};

const AFTER_THE_LEASE: Duration = Duration::from_secs(31 * 60);

async fn with_room_for(max_per_repo: u32) -> TestPlatform {
    TestPlatform::with_workspaces(WorkspaceSettings {
        max_per_repo,
        ..WorkspaceSettings::default()
    })
    .await
}

#[tokio::test]
async fn a_workspace_in_use_is_closed_by_others_only_when_they_insist() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    let refused = failure(close_as(&platform, &ann(), &opened, false).await);
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert!(refused.message().contains("in use by user local"), "{refused}");
    assert!(refused.hints().concat().contains("confirm"), "{refused:?}");
    close_as(&platform, &ann(), &opened, true).await.unwrap();
    assert!(branches(&platform).await.is_empty());
    assert_eq!(
        kind(close_as(&platform, &local(), &opened, false).await),
        ErrorKind::NotFound
    );
}

#[tokio::test]
async fn whoever_uses_an_idle_workspace_owns_it_and_whoever_looks_does_not() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    platform.clock.advance(AFTER_THE_LEASE);
    let ann = ann();
    let workspaces = &platform.services.workspaces;
    let seen = workspaces.get(&ann, &reference(&opened)).await.unwrap();
    assert!(!seen.in_use);
    assert_eq!(seen.row.owner, local().subject.to_string());

    let again = workspaces
        .open(
            &ann,
            on(&platform, "work"),
            &agentyard_services::Progress::ignored(),
        )
        .await
        .unwrap();
    assert!(again.reused && again.workspace.in_use);
    assert_eq!(again.workspace.row.owner, ann.subject.to_string());
    assert_eq!(
        kind(close_as(&platform, &local(), &opened, false).await),
        ErrorKind::Conflict
    );
}

#[tokio::test]
async fn the_least_recently_used_makes_room_and_its_work_is_kept() {
    let platform = with_room_for(2).await;
    let first = open(&platform, "first").await;
    put(&first, "unsaved", "precious\n");
    platform.clock.advance(Duration::from_secs(60));
    open(&platform, "second").await;

    let refused = failure(try_open(&platform.services, on(&platform, "third")).await);
    assert_eq!(refused.kind(), ErrorKind::LimitExceeded);
    assert!(refused.message().contains("first (user local"), "{refused}");
    assert!(refused.hints().concat().contains("workspaces.max_per_repo"));

    platform.clock.advance(AFTER_THE_LEASE);
    open(&platform, "third").await;
    assert_eq!(branches(&platform).await, ["third", "second"]);
    assert!(!tree(&first).exists());
    let closed = details(&platform.services, &first).await.row;
    let kept = closed.kept_ref.unwrap();
    assert_eq!(closed.closed_because.as_deref(), Some("least recently used"));
    let logged = audit(&platform, "workspace_close").await;
    assert!(logged[0].target.contains(&kept), "{}", logged[0].target);

    platform.clock.advance(AFTER_THE_LEASE);
    let again = open(&platform, "first").await;
    assert_eq!(again.unsaved.as_ref(), Some(&kept));
    assert!(!tree(&again).join("unsaved").exists());
    undo(&platform, &again, Some(kept)).await.unwrap();
    assert_eq!(read(&again, "unsaved"), "precious\n");
}

#[tokio::test]
async fn a_workspace_that_somebody_works_in_is_not_the_one_to_go() {
    let platform = with_room_for(2).await;
    let (first, second) = (open(&platform, "first").await, open(&platform, "second").await);
    platform.clock.advance(AFTER_THE_LEASE);
    let at_work = lock(&platform, id(&first));
    open(&platform, "third").await;
    assert_eq!(branches(&platform).await, ["third", "first"]);
    platform.clock.advance(AFTER_THE_LEASE);
    let third = open(&platform, "third").await;
    assert_eq!(
        kind(try_open(&platform.services, on(&platform, "second")).await),
        ErrorKind::LimitExceeded
    );
    drop(at_work);
    assert_eq!(id(&open(&platform, "second").await), id(&second));
    assert_eq!(
        branches(&platform).await,
        [third.workspace.row.branch.as_str(), "second"]
    );
}

#[tokio::test]
async fn what_nobody_uses_is_closed_after_a_while() {
    let platform = TestPlatform::new().await;
    let (old, new) = (open(&platform, "old").await, open(&platform, "new").await);
    put(&old, "unsaved", "precious\n");
    platform.clock.advance(Duration::from_secs(4 * 24 * 60 * 60));
    open(&platform, "new").await;
    platform.services.workspaces.tend().await;
    assert_eq!(branches(&platform).await, ["new", "old"], "it is not yet time");
    platform.clock.advance(Duration::from_secs(4 * 24 * 60 * 60));
    platform.services.workspaces.tend().await;
    assert_eq!(branches(&platform).await, ["new"]);
    let closed = details(&platform.services, &old).await;
    assert_eq!(closed.row.state, WorkspaceState::Closed);
    assert!(closed.row.kept_ref.is_some() && closed.path.is_none());
    let logged = audit(&platform, "workspace_close").await;
    assert_eq!(logged[0].actor, Subject::Machine.to_string());
    assert_eq!(read(&new, "README.md"), "hello\n");
}

#[tokio::test]
async fn closing_keeps_what_was_unsaved_and_opening_tells_where() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    put(&opened, "committed", "1\n");
    let tip = commit(&opened, "Commit");
    put(&opened, "committed", "2\n");
    put(&opened, "staged", "3\n");
    git(&opened, &["add", "staged"]);
    put(&opened, "untracked", "4\n");
    let status = git(&opened, &["status", "--porcelain"]);
    let closed = close(&platform, &opened).await;
    let kept = closed.kept.unwrap();
    assert!(!tree(&opened).exists());
    let mirror = platform
        .data()
        .join(format!("repos/{}.git", opened.workspace.row.repo));
    assert!(!git_in(&mirror, &["rev-parse", &kept]).is_empty());
    assert_eq!(git_in(&mirror, &["worktree", "prune", "--dry-run"]), "");

    let again = open(&platform, "work").await;
    assert_eq!(again.unsaved.as_ref(), Some(&kept));
    assert_eq!(git(&again, &["status", "--porcelain"]), "");
    assert_eq!(git(&again, &["rev-parse", "HEAD"]), tip);
    undo(&platform, &again, Some(kept)).await.unwrap();
    assert_eq!(git(&again, &["status", "--porcelain"]), status);
    assert_eq!(read(&again, "untracked"), "4\n");
}

#[tokio::test]
async fn a_closed_workspace_is_used_by_nobody() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    close(&platform, &opened).await;
    let refused = failure(write(&platform.services, place(&opened), "x", "").await);
    assert_eq!(refused.kind(), ErrorKind::NotFound);
    assert!(refused.hints().concat().contains("workspace_open"));
    let by_path = Place {
        workspace: Some(tree(&opened).display().to_string()),
        ..Place::default()
    };
    assert_eq!(
        kind(write(&platform.services, by_path, "x", "").await),
        ErrorKind::NotFound
    );
    assert_eq!(kind(undo(&platform, &opened, None).await), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_broken_tree_is_closed_when_somebody_insists() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    put(&opened, "unsaved", "precious\n");
    std::fs::remove_file(tree(&opened).join(".git")).unwrap();
    let refused = failure(close_as(&platform, &local(), &opened, false).await);
    assert!(refused.message().contains("cannot be kept"), "{refused}");
    assert!(refused.hints().concat().contains("confirm"));
    assert!(tree(&opened).join("unsaved").exists());
    close_as(&platform, &local(), &opened, true).await.unwrap();
    let again = open(&platform, "work").await;
    assert_eq!(git(&again, &["status", "--porcelain"]), "");
}

#[tokio::test]
async fn another_tenant_sees_and_touches_nothing() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    let eve = of_tenant(platform.add_tenant("evil").await);
    let services = &platform.services;
    let page = agentyard_model::PageRequest::new(None, None);
    let listing = services.workspaces.list(&eve, None, true, &page).await.unwrap();
    assert!(listing.workspaces.items.is_empty() && listing.totals.is_empty());

    let by_name = format!("{}/work", opened.workspace.repo);
    let by_path = tree(&opened).display().to_string();
    for name in [id(&opened).to_string(), by_name.clone(), by_path.clone()] {
        let at = Place {
            workspace: Some(name.clone()),
            ..Place::default()
        };
        let request = ReadRequest {
            path: "README.md".to_owned(),
            part: ReadPart::Lines(agentyard_git::ReadQuery::default()),
        };
        let found = services.files.read(&eve, &at, request).await;
        assert_eq!(kind(found.map(drop)), ErrorKind::NotFound, "{name}");
        let path = std::path::Path::new(&name);
        let found = services.repositories.status(&eve, Some(path), true).await;
        assert_eq!(kind(found.map(drop)), ErrorKind::NotFound, "{name}");
    }
    for which in [reference(&opened), WorkspaceReference::parse(&by_name).unwrap()] {
        assert_eq!(
            kind(services.workspaces.get(&eve, &which).await),
            ErrorKind::NotFound
        );
        let progress = agentyard_services::Progress::ignored();
        let undone = services.workspaces.undo(&eve, &which, None, &progress).await;
        assert_eq!(kind(undone), ErrorKind::NotFound);
    }
    assert_eq!(
        kind(close_as(&platform, &eve, &opened, true).await),
        ErrorKind::NotFound
    );
    let request = on(&platform, "work");
    let progress = agentyard_services::Progress::ignored();
    let own = services.workspaces.open(&eve, request, &progress).await;
    assert_eq!(kind(own), ErrorKind::NotFound);
    assert_eq!(branches(&platform).await, ["work"]);
}

/// Kept twice within a second, the same work has the same name, and what an undo notes of the first must not be taken
/// for the second. A second may end in between, so there are a few attempts.
#[tokio::test]
async fn work_that_is_kept_again_while_it_is_restored_is_named() {
    let platform = TestPlatform::new().await;
    put(&open(&platform, "work").await, "unsaved", "precious\n");
    for _ in 0..8 {
        let opened = open(&platform, "work").await;
        let kept = close(&platform, &opened).await.kept.unwrap();
        open(&platform, "work").await;
        let undoing = undo(&platform, &opened, Some(kept));
        tokio::pin!(undoing);
        // Whoever asked for it is slow from the moment that the work is there again.
        let mut undone = None;
        while undone.is_none() && !tree(&opened).join("unsaved").exists() {
            let moment = tokio::time::sleep(Duration::from_millis(1));
            tokio::select! {
                done = &mut undoing => undone = Some(done),
                () = moment => {}
            }
        }
        let closed = close(&platform, &opened).await;
        match undone {
            Some(done) => drop(done.unwrap()),
            None => drop(undoing.await.unwrap()),
        }
        let row = details(&platform.services, &opened).await.row;
        assert!(closed.kept.is_some());
        assert_eq!(row.kept_ref, closed.kept);
        open(&platform, "work").await;
        undo(&platform, &opened, closed.kept).await.unwrap();
    }
}
