//! What the tests of workspaces have in common: short names for what callers do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentyard_git::{CheckpointPage, CheckpointQuery, Integration, LockAttempt, LockFile, LockFiles};
use agentyard_model::{
    AuditFilter, AuditRecord, Caller, NewWorkspace, PageRequest, Subject, TenantId, UserId, Workspace,
    WorkspaceId,
};
use agentyard_services::{
    CloseRequest, Closed, Error, ErrorKind, OpenRequest, Opened, Place, Progress, Result, Services,
    SyncRequest, Synced, Undone, WorkspaceDetails, WorkspaceReference, WriteRequest, Written,
};
use agentyard_store::Claim;
use agentyard_testkit::{TestPlatform, git_in};

pub(crate) fn local() -> Caller {
    Caller::local()
}

/// Somebody else of the same tenant.
pub(crate) fn ann() -> Caller {
    Caller {
        subject: Subject::User {
            id: UserId::new(),
            name: "ann".parse().unwrap(),
        },
        ..Caller::local()
    }
}

/// Somebody who may do everything, in another tenant.
pub(crate) fn of_tenant(tenant: TenantId) -> Caller {
    Caller { tenant, ..ann() }
}

/// A branch of the platform's own repository.
pub(crate) fn on(platform: &TestPlatform, branch: &str) -> OpenRequest {
    OpenRequest {
        path: Some(platform.repository.path().to_owned()),
        branch: Some(branch.to_owned()),
        ..OpenRequest::default()
    }
}

pub(crate) async fn try_open(services: &Services, request: OpenRequest) -> Result<Opened> {
    let workspaces = &services.workspaces;
    workspaces.open(&local(), request, &Progress::ignored()).await
}

pub(crate) async fn open(platform: &TestPlatform, branch: &str) -> Opened {
    try_open(&platform.services, on(platform, branch)).await.unwrap()
}

pub(crate) fn id(opened: &Opened) -> WorkspaceId {
    opened.workspace.row.id
}

pub(crate) fn reference(opened: &Opened) -> WorkspaceReference {
    WorkspaceReference::Id(id(opened))
}

pub(crate) fn tree(opened: &Opened) -> PathBuf {
    opened.workspace.path.clone().unwrap()
}

pub(crate) fn place(opened: &Opened) -> Place {
    Place {
        workspace: Some(id(opened).to_string()),
        ..Place::default()
    }
}

pub(crate) fn read(opened: &Opened, file: &str) -> String {
    std::fs::read_to_string(tree(opened).join(file)).unwrap()
}

/// As somebody does who works there without our tools.
pub(crate) fn put(opened: &Opened, file: &str, content: &str) {
    std::fs::write(tree(opened).join(file), content).unwrap();
}

pub(crate) fn git(opened: &Opened, arguments: &[&str]) -> String {
    git_in(&tree(opened), arguments).trim_end().to_owned()
}

pub(crate) fn commit(opened: &Opened, message: &str) -> String {
    git(opened, &["add", "--all"]);
    git(opened, &["commit", "--quiet", "--message", message]);
    git(opened, &["rev-parse", "HEAD"])
}

pub(crate) fn head_of(platform: &TestPlatform, revision: &str) -> String {
    let repository = &platform.repository;
    repository.git(&["rev-parse", revision]).trim_end().to_owned()
}

pub(crate) async fn write(services: &Services, at: Place, file: &str, content: &str) -> Result<Written> {
    let request = WriteRequest {
        path: file.to_owned(),
        content: content.as_bytes().to_vec(),
        expected_hash: None,
        overwrite: true,
        executable: None,
    };
    let files = &services.files;
    files.write(&local(), &at, &Progress::ignored(), request).await
}

pub(crate) async fn details(services: &Services, opened: &Opened) -> WorkspaceDetails {
    let workspaces = &services.workspaces;
    workspaces.get(&local(), &reference(opened)).await.unwrap()
}

/// The branches of the workspaces that are not closed, newest first.
pub(crate) async fn branches(platform: &TestPlatform) -> Vec<String> {
    let page = PageRequest::new(None, None);
    let workspaces = &platform.services.workspaces;
    let listing = workspaces.list(&local(), None, false, &page).await.unwrap();
    let items = listing.workspaces.items.into_iter();
    items.map(|it| it.row.branch).collect()
}

pub(crate) async fn close_as(
    platform: &TestPlatform,
    caller: &Caller,
    opened: &Opened,
    confirm: bool,
) -> Result<Closed> {
    let request = CloseRequest {
        workspace: reference(opened),
        confirm,
    };
    let workspaces = &platform.services.workspaces;
    workspaces.close(caller, request, &Progress::ignored()).await
}

pub(crate) async fn close(platform: &TestPlatform, opened: &Opened) -> Closed {
    close_as(platform, &local(), opened, false).await.unwrap()
}

pub(crate) async fn undo(platform: &TestPlatform, opened: &Opened, to: Option<String>) -> Result<Undone> {
    let workspaces = &platform.services.workspaces;
    let progress = Progress::ignored();
    workspaces.undo(&local(), &reference(opened), to, &progress).await
}

pub(crate) async fn sync(platform: &TestPlatform, opened: &Opened, how: Integration) -> Result<Synced> {
    let request = SyncRequest {
        workspace: reference(opened),
        with: None,
        how,
    };
    let workspaces = &platform.services.workspaces;
    workspaces.sync(&local(), request, &Progress::ignored()).await
}

pub(crate) async fn checkpoints(platform: &TestPlatform, opened: &Opened) -> CheckpointPage {
    let query = CheckpointQuery {
        limit: 50,
        before: None,
    };
    let workspaces = &platform.services.workspaces;
    let found = workspaces.checkpoints(&local(), &reference(opened), query).await;
    found.unwrap()
}

/// The calls after which the checkpoints were made, oldest first.
pub(crate) async fn operations(platform: &TestPlatform, opened: &Opened) -> Vec<String> {
    let page = checkpoints(platform, opened).await;
    let newest_first = page.checkpoints.into_iter();
    newest_first.rev().map(|it| it.checkpoint.operation).collect()
}

pub(crate) async fn audit(platform: &TestPlatform, action: &str) -> Vec<AuditRecord> {
    let filter = AuditFilter {
        action: Some(action.to_owned()),
        ..AuditFilter::default()
    };
    let page = PageRequest::new(None, None);
    let audit = &platform.services.audit;
    audit.search(&local(), &filter, &page).await.unwrap().items
}

/// A row that says that somebody just opens a workspace of the repository of another one.
pub(crate) async fn half_open(platform: &TestPlatform, beside: &Opened, branch: &str) -> Workspace {
    let repo = &beside.workspace.row;
    let new = NewWorkspace {
        tenant: repo.tenant,
        repo: repo.repo,
        branch: branch.to_owned(),
        name: format!("{branch}-1a2b3c4d"),
        agent: None,
        task: None,
        target: None,
        owner: local().subject.to_string(),
        lease_until: platform.clock.now(),
        limit: 100,
    };
    let event = agentyard_model::AuditEvent::done(&local(), "workspace_open", branch);
    match platform.store.workspaces().claim(&new, &event).await.unwrap() {
        Claim::New(row) | Claim::Reopened(row) => row,
        other => panic!("{other:?}"),
    }
}

/// Holds the lock of a workspace, as another process does.
pub(crate) fn lock(platform: &TestPlatform, workspace: WorkspaceId) -> LockFile {
    let locks = LockFiles::new(platform.data().join("locks"));
    let now = platform.clock.now();
    match locks
        .try_take(&workspace.to_string(), "make", "user bea", now)
        .unwrap()
    {
        LockAttempt::Held(lock) => lock,
        LockAttempt::Taken(holder) => panic!("{holder:?}"),
    }
}

/// Everything in a tree: each file with its content and mode, what is staged, what is checked out.
pub(crate) fn everything(opened: &Opened) -> BTreeMap<PathBuf, String> {
    let top = tree(opened);
    let mut found = BTreeMap::new();
    collect(&top, &top, &mut found);
    for question in [
        &["status", "--porcelain=v2", "--branch"][..],
        &["ls-files", "--stage"],
        &["rev-parse", "HEAD"],
        &["symbolic-ref", "HEAD"],
    ] {
        found.insert(question.join(" ").into(), git(opened, question));
    }
    found
}

fn collect(top: &Path, directory: &Path, found: &mut BTreeMap<PathBuf, String>) {
    use std::os::unix::fs::PermissionsExt as _;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(top, &path, found);
        } else {
            let mode = path.metadata().unwrap().permissions().mode();
            let content = std::fs::read(&path).unwrap();
            let shown = format!("{mode:o} {}", String::from_utf8_lossy(&content));
            found.insert(path.strip_prefix(top).unwrap().to_owned(), shown);
        }
    }
}

pub(crate) fn failure<T: std::fmt::Debug>(result: Result<T>) -> Error {
    result.unwrap_err()
}

pub(crate) fn kind<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
    failure(result).kind()
}
