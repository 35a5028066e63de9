//! Work in workspaces: where tools find them, the checkpoints that they leave, and going back.

use std::path::Path;

use agentyard_services::{AddRequest, CommitRequest, ErrorKind, Place, Progress, WorkingDirectoryNeeds};
use agentyard_testkit::TestPlatform;

use crate::yard::{
    ann, checkpoints, commit, everything, failure, git, id, kind, local, open, operations, place, put, read,
    tree, undo, write,
};

#[tokio::test]
async fn a_workspace_is_found_by_every_name_that_it_has() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "feature/foo").await;
    std::fs::create_dir(tree(&opened).join("sub")).unwrap();
    let services = &platform.services;
    let needs = WorkingDirectoryNeeds::Repository;
    let by_id = id(&opened).to_string();
    let repositories = &services.repositories;
    repositories
        .set_working_directory(&local(), Path::new(&by_id), needs)
        .await
        .unwrap();
    for path in [
        Some(by_id),
        Some(format!("{}/feature/foo", opened.workspace.repo)),
        Some(tree(&opened).display().to_string()),
        Some(tree(&opened).join("sub").display().to_string()),
        Some(".".to_owned()),
        None,
    ] {
        let found = services
            .repositories
            .status(&local(), path.as_deref().map(Path::new), true)
            .await;
        let found = found.unwrap();
        assert_eq!(
            found.status.head.branch.as_deref(),
            Some("feature/foo"),
            "{path:?}"
        );
        assert_eq!(found.repository, tree(&opened), "{path:?}");
    }
    let outside = tree(&opened).join("../..");
    let found = services.repositories.status(&local(), Some(&outside), true).await;
    assert!(found.is_err());
    let bases = tree(&opened).with_file_name("bases");
    let found = services.repositories.status(&local(), Some(&bases), true).await;
    assert_eq!(kind(found), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_build_tool_opens_the_branch_that_it_is_to_work_on() {
    let platform = TestPlatform::new().await;
    let beside = open(&platform, "one").await;
    let at = |repo: Option<&str>, branch: Option<&str>| Place {
        workspace: None,
        repo: repo.map(ToOwned::to_owned),
        branch: branch.map(ToOwned::to_owned),
        scratch: false,
    };
    let repo = beside.workspace.repo.to_string();
    let written = write(&platform.services, at(Some(&repo), Some("two")), "new", "2\n").await;
    written.unwrap();
    let opened = open(&platform, "two").await;
    assert!(opened.reused);
    assert_eq!(read(&opened, "new"), "2\n");
    for (repo, branch) in [(Some(repo.as_str()), None), (None, Some("two"))] {
        let refused = write(&platform.services, at(repo, branch), "new", "").await;
        assert_eq!(kind(refused), ErrorKind::InvalidInput);
    }
}

#[tokio::test]
async fn every_change_leaves_a_checkpoint() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    let services = &platform.services;
    let name = id(&opened).to_string();
    let path = Some(Path::new(&name));
    write(services, place(&opened), "file", "1\n").await.unwrap();
    put(&opened, "by-hand", "");
    let request = AddRequest {
        all: true,
        ..AddRequest::default()
    };
    let progress = Progress::ignored();
    services
        .repositories
        .add(&local(), path, request, &progress)
        .await
        .unwrap();
    let request = CommitRequest {
        message: Some("Commit".to_owned()),
        ..CommitRequest::default()
    };
    services
        .repositories
        .commit(&local(), path, request, &progress)
        .await
        .unwrap();
    assert_eq!(
        operations(&platform, &opened).await,
        ["before", "write_file", "before", "git_add", "git_commit"]
    );
    // What changes nothing leaves nothing.
    write(services, place(&opened), "file", "1\n").await.unwrap();
    services.repositories.status(&local(), path, true).await.unwrap();
    assert_eq!(operations(&platform, &opened).await.len(), 5);
}

#[tokio::test]
async fn undo_goes_back_one_change_at_a_time() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    let refused = failure(undo(&platform, &opened, None).await);
    assert!(refused.message().contains("nothing to undo"), "{refused}");

    let mut states = vec![everything(&opened)];
    for content in ["1\n", "2\n", "3\n"] {
        let written = write(&platform.services, place(&opened), "file", content).await;
        written.unwrap();
        states.push(everything(&opened));
    }
    for state in [2, 1] {
        undo(&platform, &opened, None).await.unwrap();
        assert_eq!(everything(&opened), states[state]);
    }
    // What is done after an undo is undone to where it was done, and then further back, not forth.
    let written = write(&platform.services, place(&opened), "file", "4\n").await;
    written.unwrap();
    for state in [1, 0] {
        undo(&platform, &opened, None).await.unwrap();
        assert_eq!(everything(&opened), states[state]);
    }
    let refused = failure(undo(&platform, &opened, None).await);
    assert!(refused.message().contains("nothing to undo"), "{refused}");
    assert_eq!(everything(&opened), states[0]);
}

#[tokio::test]
async fn undo_goes_to_any_checkpoint_and_back() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    let services = &platform.services;
    write(services, place(&opened), "file", "1\n").await.unwrap();
    let first = everything(&opened);
    let number = checkpoints(&platform, &opened).await.checkpoints[0]
        .checkpoint
        .number;
    // By hand: a commit, a staged and an untracked file.
    commit(&opened, "Commit");
    put(&opened, "staged", "");
    git(&opened, &["add", "staged"]);
    put(&opened, "untracked", "");
    let last = everything(&opened);

    let undone = undo(&platform, &opened, Some(number.unwrap().to_string()))
        .await
        .unwrap();
    assert_eq!(everything(&opened), first);
    assert_eq!(undone.to.number, number);
    // The state that was left was written down, although no tool had made it.
    let left = undone.from.reference.unwrap();
    let redone = undo(&platform, &opened, Some(left)).await.unwrap();
    assert_eq!(everything(&opened), last);
    assert!(redone.not_restored.is_empty());
    undo(&platform, &opened, Some(redone.from.id.to_string()))
        .await
        .unwrap();
    assert_eq!(everything(&opened), first);

    for unknown in ["4711", "refs/agentyard/kept/none", "refs/heads/main", "x"] {
        let refused = undo(&platform, &opened, Some(unknown.to_owned())).await;
        assert!(refused.is_err(), "{unknown}");
        assert_eq!(everything(&opened), first);
    }
}

#[tokio::test]
async fn a_lock_that_a_dead_git_left_is_in_nobodys_way() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    for content in ["1\n", "2\n"] {
        let written = write(&platform.services, place(&opened), "file", content).await;
        written.unwrap();
    }
    let git_dir = git(&opened, &["rev-parse", "--absolute-git-dir"]);
    let index_lock = Path::new(&git_dir).join("index.lock");
    std::fs::write(&index_lock, "").unwrap();
    undo(&platform, &opened, None).await.unwrap();
    assert_eq!(read(&opened, "file"), "1\n");
    assert!(!index_lock.exists());
}

#[tokio::test]
async fn an_undo_that_fails_leaves_everything_as_it_was() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    // A state with `side` checked out, which is somebody else's by now.
    git(&opened, &["checkout", "--quiet", "-b", "side"]);
    write(&platform.services, place(&opened), "file", "1\n")
        .await
        .unwrap();
    commit(&opened, "Side");
    write(&platform.services, place(&opened), "file", "2\n")
        .await
        .unwrap();
    let on_side = checkpoints(&platform, &opened).await.checkpoints[0].checkpoint.id;
    git(&opened, &["checkout", "--quiet", "--force", "work"]);
    let side = open(&platform, "side").await;
    put(&side, "theirs", "");
    let theirs = commit(&side, "Theirs");
    let before = everything(&opened);
    assert!(undo(&platform, &opened, Some(on_side.to_string())).await.is_err());
    assert_eq!(everything(&opened), before);
    assert_eq!(git(&side, &["rev-parse", "HEAD"]), theirs);
    let note = Path::new(&git(&opened, &["rev-parse", "--absolute-git-dir"])).join("agentyard-restore");
    assert!(!note.exists(), "nothing is left to be restored");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_change_one_tree_take_turns() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    let services = &platform.services;
    let other = platform.another_process();
    let (a, b, c) = tokio::join!(
        write(services, place(&opened), "a", "a"),
        write(&other, place(&opened), "b", "b"),
        write(services, place(&opened), "c", "c"),
    );
    a.unwrap();
    b.unwrap();
    c.unwrap();
    let made = operations(&platform, &opened).await;
    assert_eq!(made, ["before", "write_file", "write_file", "write_file"]);
}

#[tokio::test]
async fn a_caller_without_the_right_to_write_changes_nothing() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "work").await;
    let reader = agentyard_model::Caller {
        permissions: [agentyard_model::Permission::ProjectRead].into_iter().collect(),
        ..ann()
    };
    let workspaces = &platform.services.workspaces;
    let progress = Progress::ignored();
    let which = crate::yard::reference(&opened);
    let undone = workspaces.undo(&reader, &which, None, &progress).await;
    assert_eq!(kind(undone), ErrorKind::Forbidden);
    let request = crate::yard::on(&platform, "other");
    let made = workspaces.open(&reader, request, &progress).await;
    assert_eq!(kind(made), ErrorKind::Forbidden);
    let closed = crate::yard::close_as(&platform, &reader, &opened, true).await;
    assert_eq!(kind(closed), ErrorKind::Forbidden);
    assert!(workspaces.get(&reader, &which).await.is_ok());
}
