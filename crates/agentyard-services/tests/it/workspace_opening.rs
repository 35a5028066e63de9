//! Workspaces are opened: where their branches begin, what they are called, and by whom at the same time.

use std::path::Path;
use std::time::Duration;

use agentyard_git::RemoteUrl;
use agentyard_model::{Outcome, PageRequest, WorkspaceState};
use agentyard_services::{ConfiguredRepo, ErrorKind, OpenRequest, Progress, WorkingDirectoryNeeds};
use agentyard_testkit::{TestPlatform, TestRepository, git_in};

use crate::yard::{
    audit, branches, close, commit, failure, git, head_of, id, kind, local, on, open, put, read, tree,
    try_open,
};

#[tokio::test]
async fn a_new_branch_begins_at_the_default_branch_and_is_opened_once() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "feature/foo").await;
    assert!(opened.new_branch && !opened.reused);
    assert_eq!(opened.workspace.row.state, WorkspaceState::Open);
    assert_eq!(opened.workspace.row.target.as_deref(), Some("main"));
    assert!(tree(&opened).ends_with("feature-foo-f9320326"));
    assert_eq!(read(&opened, "README.md"), "hello\n");
    assert_eq!(git(&opened, &["status", "--porcelain"]), "");
    assert_eq!(git(&opened, &["symbolic-ref", "--short", "HEAD"]), "feature/foo");
    assert_eq!(git(&opened, &["rev-parse", "HEAD"]), head_of(&platform, "main"));
    assert!(opened.workspace.in_use && opened.stale.is_none() && opened.unsaved.is_none());

    let again = open(&platform, "feature/foo").await;
    assert!(again.reused && !again.new_branch);
    assert_eq!((id(&again), tree(&again)), (id(&opened), tree(&opened)));
    assert_eq!(branches(&platform).await, ["feature/foo"]);
}

#[tokio::test]
async fn a_branch_of_the_remote_is_opened_where_it_is() {
    let platform = TestPlatform::new().await;
    let repository = &platform.repository;
    repository.git(&["checkout", "--quiet", "-b", "topic"]);
    repository.write("topic", "on topic\n");
    repository.commit("Topic");
    repository.git(&["checkout", "--quiet", "main"]);
    let opened = open(&platform, "topic").await;
    assert!(!opened.new_branch);
    assert_eq!(read(&opened, "topic"), "on topic\n");
    assert_eq!(
        git(&opened, &["rev-parse", "@{upstream}"]),
        head_of(&platform, "topic")
    );
}

#[tokio::test]
async fn a_branch_that_the_remote_got_just_now_is_found() {
    let platform = TestPlatform::new().await;
    open(&platform, "one").await;
    // Less than `fetch_after` later, so nothing would be fetched by itself.
    platform.repository.git(&["branch", "develop"]);
    let request = OpenRequest {
        from: Some("develop".to_owned()),
        ..on(&platform, "two")
    };
    assert!(try_open(&platform.services, request).await.unwrap().new_branch);
}

#[tokio::test]
async fn a_branch_of_ours_is_opened_again_where_it_was_left() {
    let platform = TestPlatform::new().await;
    let opened = open(&platform, "mine").await;
    put(&opened, "new", "mine\n");
    let tip = commit(&opened, "Mine");
    assert_eq!(close(&platform, &opened).await.kept, None);
    let again = open(&platform, "mine").await;
    assert_eq!(id(&again), id(&opened), "it is the same workspace");
    assert!(!again.reused && !again.new_branch);
    assert_eq!(git(&again, &["rev-parse", "HEAD"]), tip);
    assert_eq!(read(&again, "new"), "mine\n");
}

#[tokio::test]
async fn an_agents_branch_is_named_after_it_and_its_task() {
    let platform = TestPlatform::new().await;
    let request = OpenRequest {
        branch: None,
        agent: Some("claude".to_owned()),
        task: Some("42".to_owned()),
        ..on(&platform, "")
    };
    let opened = try_open(&platform.services, request).await.unwrap();
    assert_eq!(opened.workspace.row.branch, "agent-claude-42");
    assert_eq!(opened.workspace.row.agent.as_deref(), Some("claude"));
    assert_eq!(opened.workspace.row.task.as_deref(), Some("42"));
}

#[tokio::test]
async fn a_branch_begins_where_it_was_asked_to_and_remembers_it() {
    let platform = TestPlatform::new().await;
    let repository = &platform.repository;
    repository.git(&["checkout", "--quiet", "-b", "develop"]);
    repository.write("develop", "developed\n");
    repository.commit("Develop");
    repository.git(&["checkout", "--quiet", "main"]);
    let request = OpenRequest {
        from: Some("develop".to_owned()),
        ..on(&platform, "work")
    };
    let opened = try_open(&platform.services, request).await.unwrap();
    assert!(opened.new_branch);
    assert_eq!(read(&opened, "develop"), "developed\n");
    assert_eq!(opened.workspace.row.target.as_deref(), Some("develop"));

    close(&platform, &opened).await;
    let again = open(&platform, "work").await;
    assert_eq!(again.workspace.row.target.as_deref(), Some("develop"));
}

#[tokio::test]
async fn branches_that_look_alike_have_trees_of_their_own() {
    let platform = TestPlatform::new().await;
    let (slash, dash) = (
        open(&platform, "feature/foo").await,
        open(&platform, "feature-foo").await,
    );
    assert_ne!(id(&slash), id(&dash));
    assert_ne!(tree(&slash), tree(&dash));
    put(&slash, "only-here", "");
    assert!(!tree(&dash).join("only-here").exists());
}

#[tokio::test]
async fn a_repository_without_commits_is_opened_once_it_has_one() {
    let platform = TestPlatform::new().await;
    let unborn = platform.repository.path().join("unborn");
    std::fs::create_dir(&unborn).unwrap();
    git_in(&unborn, &["init", "--quiet", "--initial-branch=trunk"]);
    let request = OpenRequest {
        path: Some(unborn.clone()),
        ..on(&platform, "work")
    };
    let refused = failure(try_open(&platform.services, request.clone()).await);
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert!(refused.message().contains("no commits yet"), "{refused}");
    assert!(branches(&platform).await.is_empty(), "as if nobody had asked");

    git_in(
        &unborn,
        &["commit", "--quiet", "--allow-empty", "--message", "Begin"],
    );
    let opened = try_open(&platform.services, request).await.unwrap();
    assert_eq!(opened.workspace.row.target.as_deref(), Some("trunk"));
}

#[tokio::test]
async fn what_cannot_be_opened_is_refused_and_leaves_nothing() {
    let platform = TestPlatform::new().await;
    let refused = failure(
        try_open(
            &platform.services,
            OpenRequest {
                from: Some("nowhere".to_owned()),
                ..on(&platform, "work")
            },
        )
        .await,
    );
    assert_eq!(refused.kind(), ErrorKind::NotFound);
    assert!(refused.message().contains("nowhere"), "{refused}");
    assert!(branches(&platform).await.is_empty());
    let failed = audit(&platform, "workspace_open").await;
    assert_eq!(failed[0].outcome, Outcome::Failed);

    let nothing = OpenRequest::default;
    let text = |text: &str| Some(text.to_owned());
    for (request, expected) in [
        (nothing(), ErrorKind::InvalidInput),
        (on(&platform, ""), ErrorKind::InvalidInput),
        (on(&platform, "a..b"), ErrorKind::InvalidInput),
        (on(&platform, "-x"), ErrorKind::InvalidInput),
        (
            OpenRequest {
                branch: None,
                agent: text("claude"),
                ..on(&platform, "")
            },
            ErrorKind::InvalidInput,
        ),
        (
            OpenRequest {
                branch: None,
                task: text("42"),
                ..on(&platform, "")
            },
            ErrorKind::InvalidInput,
        ),
        (
            OpenRequest {
                branch: text("work"),
                ..nothing()
            },
            ErrorKind::InvalidInput,
        ),
        (
            OpenRequest {
                repo: text("web"),
                ..on(&platform, "work")
            },
            ErrorKind::InvalidInput,
        ),
        (
            OpenRequest {
                repo: text("unknown"),
                branch: text("work"),
                ..nothing()
            },
            ErrorKind::NotFound,
        ),
    ] {
        let shown = format!("{request:?}");
        assert_eq!(
            kind(try_open(&platform.services, request).await),
            expected,
            "{shown}"
        );
    }
    assert!(branches(&platform).await.is_empty());
}

#[tokio::test]
async fn a_repository_is_named_in_any_way() {
    let other = TestRepository::with_commit("other", "other\n");
    let configured = ConfiguredRepo {
        name: "other".parse().unwrap(),
        url: RemoteUrl::parse(&other.path().to_string_lossy()).unwrap(),
        default_branch: None,
    };
    let platform = TestPlatform::with_repos(vec![configured]).await;
    let services = &platform.services;
    let by_path = open(&platform, "work").await;
    let branch = || OpenRequest {
        branch: Some("work".to_owned()),
        ..OpenRequest::default()
    };
    let name = by_path.workspace.repo.to_string();
    for same in [
        OpenRequest {
            url: Some(platform.repository.path().display().to_string()),
            ..branch()
        },
        OpenRequest {
            repo: Some(name),
            ..branch()
        },
        OpenRequest {
            repo: Some(by_path.workspace.row.repo.to_string()),
            ..branch()
        },
    ] {
        let shown = format!("{same:?}");
        let opened = try_open(services, same).await.unwrap();
        assert_eq!(id(&opened), id(&by_path), "{shown}");
    }
    let of_configuration = OpenRequest {
        repo: Some("other".to_owned()),
        ..branch()
    };
    let opened = try_open(services, of_configuration).await.unwrap();
    assert_eq!(read(&opened, "other"), "other\n");

    let stand = async |directory: &Path| {
        let needs = WorkingDirectoryNeeds::Repository;
        let repositories = &services.repositories;
        repositories
            .set_working_directory(&local(), directory, needs)
            .await
            .unwrap();
    };
    stand(platform.repository.path()).await;
    assert_eq!(id(&try_open(services, branch()).await.unwrap()), id(&by_path));
    // In a workspace, it is the repository of that.
    stand(&tree(&opened)).await;
    assert_eq!(id(&try_open(services, branch()).await.unwrap()), id(&opened));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_open_at_the_same_time() {
    let platform = TestPlatform::new().await;
    let (a, b, c) = tokio::join!(
        open(&platform, "one"),
        open(&platform, "one"),
        open(&platform, "two"),
    );
    assert_eq!(id(&a), id(&b));
    assert!(a.reused != b.reused, "one of them made the tree");
    assert_ne!(id(&a), id(&c));
    for opened in [&a, &c] {
        assert_eq!(git(opened, &["status", "--porcelain"]), "");
    }
}

#[tokio::test]
async fn a_caller_who_leaves_while_the_tree_is_made_is_in_nobodys_way() {
    let platform = TestPlatform::new().await;
    let (progress, mut steps) = Progress::watched();
    let caller = local();
    let opening = platform
        .services
        .workspaces
        .open(&caller, on(&platform, "work"), &progress);
    tokio::select! {
        _ = steps.wait_for(|step| step.message == "preparing workspace") => {}
        opened = opening => panic!("it was made unseen: {opened:?}"),
    }
    // It is finished although nobody waits for it.
    let state = async || {
        let page = PageRequest::new(None, None);
        let found = platform
            .services
            .workspaces
            .list(&caller, None, false, &page)
            .await;
        found.unwrap().workspaces.items[0].row.state
    };
    let finished = async {
        while state().await != WorkspaceState::Open {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), finished)
        .await
        .unwrap();
    let opened = open(&platform, "work").await;
    assert!(opened.reused);
    assert_eq!(git(&opened, &["status", "--porcelain"]), "");
    assert_eq!(branches(&platform).await, ["work"]);
}
