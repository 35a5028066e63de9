//! What a process that died leaves behind is finished by the next one.

use std::path::Path;

use agentyard_model::WorkspaceState;
use agentyard_services::{CloseRequest, Place, Progress, WorkspaceSettings};
use agentyard_testkit::{TestPlatform, git_in};

use crate::yard::{
    branches, checkpoints, close, details, everything, git, half_open, id, local, lock, on, open, place, put,
    read, reference, tree, try_open, undo, write,
};

#[tokio::test]
async fn a_half_made_workspace_is_removed() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    let row = half_open(&platform, &opened, "half").await;
    let half_tree = tree(&opened).with_file_name(&row.name);
    std::fs::create_dir(&half_tree).unwrap();
    assert_eq!(branches(&platform).await, ["half", "work"]);

    // Whoever is at work on it holds its lock.
    let at_work = lock(&platform, row.id);
    platform.services.workspaces.tend().await;
    assert_eq!(branches(&platform).await, ["half", "work"]);
    drop(at_work);
    platform.another_process().workspaces.tend().await;
    assert_eq!(branches(&platform).await, ["work"]);
    assert!(!half_tree.exists());
    assert_eq!(git(&opened, &["status", "--porcelain"]), "");
}

#[tokio::test]
async fn a_half_made_workspace_is_finished_by_who_opens_it() {
    let platform = TestPlatform::new().await;
    let beside = open(&platform, "work").await;
    close(&platform, &beside).await;
    // Its row is as a process leaves it that dies while it opens the workspace again.
    let row = half_open(&platform, &beside, "work").await;
    assert_eq!(row.state, WorkspaceState::Opening);
    let opened = open(&platform, "work").await;
    assert_eq!(id(&opened), row.id);
    assert_eq!(git(&opened, &["status", "--porcelain"]), "");
}

#[tokio::test]
async fn a_half_made_workspace_takes_no_room() {
    let platform = TestPlatform::with_workspaces(WorkspaceSettings {
        max_per_repo: 2,
        ..WorkspaceSettings::default()
    })
    .await;
    let opened = open(&platform, "one").await;
    half_open(&platform, &opened, "half").await;
    open(&platform, "two").await;
    assert_eq!(branches(&platform).await, ["two", "one"]);
}

#[tokio::test]
async fn closing_is_finished_and_what_was_kept_is_still_named() {
    for opened_again in [false, true] {
        let platform = TestPlatform::new().await;
        let opened = open(&platform, "work").await;
        put(&opened, "half-removed", "precious\n");
        // A process that died after it had kept the work, and while it removed the tree.
        let kept = "refs/agentyard/kept/20261115T120000-closed-1a2b3c4d5e6f";
        let row = &opened.workspace.row;
        let workspaces = platform.store.workspaces();
        assert!(workspaces.closing(row.tenant, row.id, Some(kept)).await.unwrap());
        std::fs::remove_file(tree(&opened).join("README.md")).unwrap();
        if opened_again {
            let again = open(&platform, "work").await;
            assert_eq!(again.unsaved.as_deref(), Some(kept));
            assert_eq!(git(&again, &["status", "--porcelain"]), "");
        } else {
            platform.another_process().workspaces.tend().await;
            let closed = details(&platform.services, &opened).await.row;
            assert_eq!(closed.state, WorkspaceState::Closed);
            assert_eq!(closed.kept_ref.as_deref(), Some(kept));
            assert!(!tree(&opened).exists());
        }
    }
}

#[tokio::test]
async fn a_workspace_outlives_a_restart_of_the_machine() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    write(&platform.services, place(&opened), "unsaved", "precious\n")
        .await
        .unwrap();
    let restarted = platform.another_process();
    platform.unmount_all();
    let found = details(&restarted, &opened).await;
    assert_eq!(found.status.unwrap().untracked.len(), 1);
    assert_eq!(read(&opened, "unsaved"), "precious\n");
    let path = tree(&opened);
    let status = restarted.repositories.status(&local(), Some(&path), true).await;
    assert_eq!(status.unwrap().status.head.branch.as_deref(), Some("work"));
}

#[tokio::test]
async fn a_tree_that_another_process_closed_and_opened_is_found_again() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    let other = platform.another_process();
    let name = id(&opened).to_string();
    let status = async || {
        let found = other
            .repositories
            .status(&local(), Some(Path::new(&name)), true)
            .await;
        found.map(|it| it.status.untracked.len())
    };
    put(&opened, "unsaved", "");
    assert_eq!(status().await.unwrap(), 1);
    close(&platform, &opened).await;
    assert!(status().await.is_err());
    open(&platform, "work").await;
    assert_eq!(status().await.unwrap(), 0);
}

/// Where git keeps what belongs to one working tree.
fn note_of(opened: &agentyard_services::Opened) -> std::path::PathBuf {
    let git_dir = git_in(&tree(opened), &["rev-parse", "--absolute-git-dir"]);
    Path::new(git_dir.trim_end()).join("agentyard-restore")
}

#[tokio::test]
async fn an_interrupted_change_is_taken_back() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    write(&platform.services, place(&opened), "file", "whole\n")
        .await
        .unwrap();
    let whole = everything(&opened);
    let before = checkpoints(&platform, &opened).await.checkpoints[0].checkpoint.id;

    // By a process that has not been there yet: as soon as it goes there, even to look.
    std::fs::write(note_of(&opened), before.to_string()).unwrap();
    put(&opened, "file", "half\n");
    put(&opened, "half", "");
    details(&platform.another_process(), &opened).await;
    assert_eq!(everything(&opened), whole);
    assert!(!note_of(&opened).exists());

    // By one that has: before it changes anything.
    std::fs::write(note_of(&opened), before.to_string()).unwrap();
    put(&opened, "file", "half\n");
    write(&platform.services, place(&opened), "next", "next\n")
        .await
        .unwrap();
    assert_eq!(read(&opened, "file"), "whole\n");
    assert_eq!(read(&opened, "next"), "next\n");

    // One that was cut off was written before anything happened.
    std::fs::write(note_of(&opened), "1475215").unwrap();
    undo(&platform, &opened, None).await.unwrap();
    assert_eq!(everything(&opened), whole);
    assert!(!note_of(&opened).exists());
}

#[tokio::test]
async fn who_waits_for_another_process_is_told_so() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    let at_work = lock(&platform, id(&opened));
    let (progress, mut steps) = Progress::watched();
    let caller = local();
    let which = reference(&opened);
    put(&opened, "file", "");
    let undoing = platform
        .services
        .workspaces
        .undo(&caller, &which, None, &progress);
    tokio::pin!(undoing);
    let message = tokio::select! {
        step = steps.wait_for(|step| step.message.starts_with("waiting for")) => step.unwrap().message.clone(),
        undone = &mut undoing => panic!("it did not wait: {undone:?}"),
    };
    assert!(
        message.starts_with("waiting for make by user bea (process "),
        "{message}"
    );
    assert!(tree(&opened).join("file").exists());
    drop(at_work);
    // There is no state before the first, so nothing is undone; but it was its turn.
    let refused = undoing.await.unwrap_err();
    assert!(refused.message().contains("nothing to undo"), "{refused}");
    let at = Place {
        workspace: Some(tree(&opened).display().to_string()),
        ..Place::default()
    };
    write(&platform.services, at, "other", "").await.unwrap();
}

#[tokio::test]
async fn nobody_gets_past_a_recovery_that_failed_in_a_closing() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    write(&platform.services, place(&opened), "file", "whole\n")
        .await
        .unwrap();
    let whole = everything(&opened);
    let before = checkpoints(&platform, &opened).await.checkpoints[0].checkpoint.id;
    put(&opened, "file", "half\n");
    // There is no such checkpoint, so the tree cannot be closed.
    std::fs::write(note_of(&opened), "1".repeat(40)).unwrap();

    let restarted = platform.another_process();
    let at_work = lock(&platform, id(&opened));
    let (progress, mut steps) = Progress::watched();
    let request = CloseRequest {
        workspace: reference(&opened),
        confirm: false,
    };
    let workspaces = restarted.workspaces.clone();
    let closing = tokio::spawn(async move { workspaces.close(&local(), request, &progress).await });
    let waits = steps.wait_for(|step| step.message.starts_with("waiting for"));
    waits.await.unwrap();
    let (services, request) = (restarted.clone(), on(&platform, "work"));
    let mut opening = tokio::spawn(async move { try_open(&services, request).await });
    // It has to wait as well, so this ends by the clock.
    let early = tokio::time::timeout(std::time::Duration::from_millis(50), &mut opening).await;
    assert!(early.is_err(), "{early:?}");
    drop(at_work);
    assert!(closing.await.unwrap().is_err());
    assert!(opening.await.unwrap().is_err());

    std::fs::write(note_of(&opened), before.to_string()).unwrap();
    let again = try_open(&restarted, on(&platform, "work")).await.unwrap();
    assert!(again.reused);
    assert_eq!(everything(&opened), whole);
}
