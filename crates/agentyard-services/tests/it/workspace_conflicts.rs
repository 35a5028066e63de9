//! Conflicts that workspaces would have, and what is counted of them.

use std::path::PathBuf;

use agentyard_model::{Caller, PageRequest, Permissions, WorkspaceId};
use agentyard_services::{
    CollisionKind, ConflictsRequest, ErrorKind, OpenRequest, Opponent, Progress, RepoRequest,
    WorkspaceConflicts, WorkspaceReference,
};
use agentyard_testkit::TestPlatform;

struct Open {
    id: WorkspaceId,
    path: PathBuf,
}

impl Open {
    fn write(&self, file: &str, content: &str) {
        std::fs::write(self.path.join(file), content).unwrap();
    }
}

async fn platform() -> TestPlatform {
    let platform = TestPlatform::new().await;
    let request = RepoRequest {
        url: platform.repository.path().display().to_string(),
        name: Some("own".parse().unwrap()),
        ..RepoRequest::default()
    };
    platform
        .services
        .repos
        .add(&Caller::local(), request)
        .await
        .unwrap();
    platform
}

async fn open(platform: &TestPlatform, branch: &str) -> Open {
    let request = OpenRequest {
        repo: Some("own".to_owned()),
        branch: Some(branch.to_owned()),
        ..OpenRequest::default()
    };
    let opened = platform
        .services
        .workspaces
        .open(&Caller::local(), request, &Progress::ignored())
        .await
        .unwrap();
    Open {
        id: opened.workspace.row.id,
        path: opened.workspace.path.unwrap(),
    }
}

async fn conflicts(platform: &TestPlatform, request: ConflictsRequest) -> WorkspaceConflicts {
    let workspaces = &platform.services.workspaces;
    workspaces.conflicts(&Caller::local(), &request).await.unwrap()
}

/// Who conflicts with what, in which files.
/// A branch, the other one, and the files with their kinds.
type Told<'a> = (&'a str, &'a Opponent, Vec<(&'a str, CollisionKind)>);

fn told(found: &WorkspaceConflicts) -> Vec<Told<'_>> {
    let conflicts = found.conflicts.iter();
    conflicts
        .map(|conflict| {
            let files = conflict.files.iter().map(|file| (file.path.as_str(), file.kind));
            (conflict.branch.as_str(), &conflict.with, files.collect())
        })
        .collect()
}

#[tokio::test]
async fn work_that_is_not_committed_is_foreseen_unless_left_out() {
    let platform = platform().await;
    let (one, two, three) = (
        open(&platform, "one").await,
        open(&platform, "two").await,
        open(&platform, "three").await,
    );
    one.write("README.md", "one\n");
    two.write("README.md", "two\n");
    three.write("other", "three\n");
    let found = conflicts(&platform, ConflictsRequest::default()).await;
    // The newest first.
    let with_one = Opponent::Workspace {
        id: one.id,
        branch: "one".to_owned(),
    };
    let readme = || vec![("README.md", CollisionKind::Content)];
    assert_eq!(told(&found), [("two", &with_one, readme())]);
    assert_eq!(
        (found.compared, found.uncompared, found.incomplete.len()),
        (6, 0, 0)
    );

    let of_three = ConflictsRequest {
        workspace: Some(WorkspaceReference::Id(three.id)),
        ..ConflictsRequest::default()
    };
    let found = conflicts(&platform, of_three).await;
    assert_eq!((told(&found), found.compared), (vec![], 3));
    let committed_only = ConflictsRequest {
        committed_only: true,
        ..ConflictsRequest::default()
    };
    assert_eq!(told(&conflicts(&platform, committed_only).await), []);
}

#[tokio::test]
async fn a_target_that_moved_on_is_foreseen() {
    let platform = platform().await;
    open(&platform, "one").await.write("README.md", "one\n");
    platform.repository.write("README.md", "main\n");
    platform.repository.commit("Move on");
    let repos = &platform.services.repos;
    repos
        .fetch(&Caller::local(), "own", &Progress::ignored())
        .await
        .unwrap();
    let request = ConflictsRequest {
        repo: Some("own".parse().unwrap()),
        ..ConflictsRequest::default()
    };
    let found = conflicts(&platform, request).await;
    let target = Opponent::Target {
        branch: "main".to_owned(),
    };
    assert_eq!(
        told(&found),
        [("one", &target, vec![("README.md", CollisionKind::Content)])]
    );
}

#[tokio::test]
async fn nobody_else_is_told() {
    let platform = platform().await;
    open(&platform, "one").await;
    let workspaces = &platform.services.workspaces;
    let request = ConflictsRequest::default();
    let mut stranger = Caller::local();
    stranger.permissions = Permissions::NONE;
    let refused = workspaces.conflicts(&stranger, &request).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Forbidden);
    let mut other = Caller::local();
    other.tenant = platform.add_tenant("other").await;
    assert_eq!(workspaces.conflicts(&other, &request).await.unwrap().compared, 0);
}

#[tokio::test]
async fn openings_are_counted() {
    let platform = platform().await;
    open(&platform, "one").await;
    open(&platform, "one").await;
    open(&platform, "two").await;
    let workspaces = &platform.services.workspaces;
    let page = PageRequest::new(None, None);
    let listing = workspaces
        .list(&Caller::local(), None, false, &page)
        .await
        .unwrap();
    let count = |name: &str| {
        let measure = listing.totals.iter().find(|measure| measure.name == name);
        measure.map_or(0, |measure| measure.count)
    };
    assert_eq!((count("opened_us"), count("reused"), count("evicted")), (2, 1, 0));
    let opened = listing.totals.iter().find(|measure| measure.name == "opened_us");
    assert!(opened.is_some_and(|measure| measure.total > 0));
    assert_eq!(platform.store.workspaces().standing().await.unwrap().0, 2);
}
