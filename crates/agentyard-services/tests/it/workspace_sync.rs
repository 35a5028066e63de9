//! Workspaces are brought up to date, whole or not at all.

use agentyard_git::{Integration, IntegrationResult};
use agentyard_services::{ErrorKind, OpenRequest, Opened, Progress, SyncRequest};
use agentyard_testkit::TestPlatform;

use crate::yard::{
    commit, everything, failure, git, kind, local, on, open, operations, put, read, reference, sync,
    try_open, undo,
};

/// A commit on the remote's `main` that changes one file.
fn move_remote(platform: &TestPlatform, file: &str, content: &str) {
    platform.repository.write(file, content);
    platform.repository.commit("Theirs");
}

async fn result(platform: &TestPlatform, opened: &Opened, how: Integration) -> IntegrationResult {
    sync(platform, opened, how).await.unwrap().integrated.result
}

#[tokio::test]
async fn a_workspace_without_work_is_fast_forwarded() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    assert_eq!(
        result(&platform, &opened, Integration::Rebase).await,
        IntegrationResult::UpToDate
    );
    move_remote(&platform, "theirs", "theirs\n");
    let synced = sync(&platform, &opened, Integration::Rebase).await.unwrap();
    assert_eq!(synced.integrated.result, IntegrationResult::FastForward);
    assert_eq!((synced.with.as_str(), synced.carried), ("main", false));
    assert_eq!(read(&opened, "theirs"), "theirs\n");
    assert_eq!(git(&opened, &["status", "--porcelain"]), "");
    assert_eq!(
        operations(&platform, &opened).await.last().unwrap(),
        "workspace_sync"
    );
}

#[tokio::test]
async fn commits_are_rebased_or_merged() {
    for (how, expected, parents) in [
        (Integration::Rebase, IntegrationResult::Rebased { commits: 1 }, 1),
        (Integration::Merge, IntegrationResult::Merged, 2),
    ] {
        let platform = TestPlatform::new().await;
        let opened = open(&platform, "work").await;
        put(&opened, "mine", "mine\n");
        let tip = commit(&opened, "Mine");
        move_remote(&platform, "theirs", "theirs\n");
        assert_eq!(result(&platform, &opened, how).await, expected);
        let shown = git(&opened, &["log", "-1", "--format=%P"]);
        assert_eq!(shown.split(' ').count(), parents);
        assert_eq!(
            (read(&opened, "mine"), read(&opened, "theirs")),
            ("mine\n".into(), "theirs\n".into())
        );
        undo(&platform, &opened, None).await.unwrap();
        assert_eq!(git(&opened, &["rev-parse", "HEAD"]), tip);
    }
}

#[tokio::test]
async fn unsaved_work_is_carried_over() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    put(&opened, "mine", "mine\n");
    commit(&opened, "Mine");
    put(&opened, "mine", "changed\n");
    put(&opened, "untracked", "new\n");
    move_remote(&platform, "theirs", "theirs\n");
    let synced = sync(&platform, &opened, Integration::Rebase).await.unwrap();
    assert_eq!(
        synced.integrated.result,
        IntegrationResult::Rebased { commits: 1 }
    );
    assert!(synced.carried && synced.unsaved_conflicts.is_empty());
    assert_eq!(git(&opened, &["status", "--porcelain"]), " M mine\n?? untracked");
    assert_eq!(read(&opened, "mine"), "changed\n");
}

#[tokio::test]
async fn commits_that_conflict_leave_everything_as_it_was() {
    for how in [Integration::Rebase, Integration::Merge] {
        let platform = TestPlatform::new().await;
        let opened = open(&platform, "work").await;
        put(&opened, "README.md", "mine\n");
        commit(&opened, "Mine");
        put(&opened, "untracked", "new\n");
        let before = everything(&opened);
        move_remote(&platform, "README.md", "theirs\n");
        let found = result(&platform, &opened, how).await;
        assert_eq!(
            found,
            IntegrationResult::WouldConflict(vec!["README.md".to_owned()])
        );
        assert_eq!(everything(&opened), before);
    }
}

#[tokio::test]
async fn unsaved_work_that_conflicts_stays_as_it_was() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    put(&opened, "README.md", "mine\n");
    put(&opened, "staged", "staged\n");
    git(&opened, &["add", "staged"]);
    put(&opened, "untracked", "new\n");
    let before = everything(&opened);
    move_remote(&platform, "README.md", "theirs\n");
    let synced = sync(&platform, &opened, Integration::Rebase).await.unwrap();
    assert_eq!(synced.unsaved_conflicts, ["README.md"]);
    assert_eq!(everything(&opened), before);
}

#[tokio::test]
async fn fast_forward_only_is_meant_so() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    put(&opened, "mine", "mine\n");
    commit(&opened, "Mine");
    let before = everything(&opened);
    move_remote(&platform, "theirs", "theirs\n");
    assert!(
        sync(&platform, &opened, Integration::FastForwardOnly)
            .await
            .is_err()
    );
    assert_eq!(everything(&opened), before);
}

#[tokio::test]
async fn a_workspace_is_brought_up_to_date_with_its_own_branch_its_target_or_another() {
    let platform = TestPlatform::new().await;
    let repository = &platform.repository;
    repository.git(&["branch", "develop"]);
    repository.git(&["branch", "own"]);
    let request = OpenRequest {
        from: Some("develop".to_owned()),
        ..on(&platform, "work")
    };
    let work = try_open(&platform.services, request).await.unwrap();
    let own = open(&platform, "own").await;
    let with = async |opened: &Opened, with: Option<&str>| {
        let request = SyncRequest {
            workspace: reference(opened),
            with: with.map(ToOwned::to_owned),
            how: Integration::Rebase,
        };
        let workspaces = &platform.services.workspaces;
        let synced = workspaces.sync(&local(), request, &Progress::ignored()).await;
        synced.map(|it| it.with)
    };
    assert_eq!(with(&work, None).await.unwrap(), "develop");
    assert_eq!(with(&own, None).await.unwrap(), "own");
    assert_eq!(with(&own, Some("main")).await.unwrap(), "main");
    let refused = failure(with(&own, Some("nowhere")).await);
    assert!(refused.message().contains("nowhere"), "{refused}");
    assert_eq!(kind(with(&own, Some("a..b")).await), ErrorKind::InvalidInput);
}
