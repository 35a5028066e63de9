//! Short words for what most tests need.

use agentyard_model::{
    AuditEvent, AuditFilter, AuditRecord, Caller, Cursor, NewRepo, NewToken, NewWorkspace, PageRequest,
    Permissions, Repo, RoleName, Secret, TenantId, Timestamp, Token, TokenId, UserId, Workspace,
};
use agentyard_store::{
    Added, Authenticated, Authentication, Claim, NewUser, Refused, Store, Tenant, User, generate_token_secret,
};

/// Something that the local user did.
pub(crate) fn event(action: &'static str) -> AuditEvent {
    AuditEvent::done(&Caller::local(), action, "something")
}

/// Something that was done in this tenant.
pub(crate) fn event_in(tenant: TenantId, action: &'static str) -> AuditEvent {
    AuditEvent {
        tenant,
        ..event(action)
    }
}

pub(crate) fn page(limit: u32) -> PageRequest {
    PageRequest::new(Some(limit), None)
}

pub(crate) fn page_after(limit: u32, cursor: Option<Cursor>) -> PageRequest {
    PageRequest::new(Some(limit), cursor)
}

pub(crate) fn permissions(text: &str) -> Permissions {
    text.parse().unwrap()
}

pub(crate) fn role(text: &str) -> RoleName {
    text.parse().unwrap()
}

/// A token that owes nothing to anybody.
pub(crate) fn new_token(name: &str, permissions_text: &str) -> NewToken {
    NewToken {
        name: name.parse().unwrap(),
        role: role("dev"),
        permissions: permissions(permissions_text),
        owner: None,
        parent: None,
        expires_at: None,
    }
}

pub(crate) fn owned_by(owner: UserId, new: NewToken) -> NewToken {
    NewToken {
        owner: Some(owner),
        ..new
    }
}

pub(crate) fn below(parent: TokenId, new: NewToken) -> NewToken {
    NewToken {
        parent: Some(parent),
        ..new
    }
}

pub(crate) async fn create_tenant(store: &Store, name: &str) -> Tenant {
    let name = name.parse().unwrap();
    store
        .tenants()
        .create(&name, |_| event("create_tenant"))
        .await
        .unwrap()
}

pub(crate) async fn create_user(store: &Store, tenant: TenantId, name: &str, role_name: &str) -> User {
    let new = NewUser {
        tenant,
        name: name.parse().unwrap(),
        role: role(role_name),
    };
    store
        .users()
        .create(new, |user| event_in(user.tenant, "create_user"))
        .await
        .unwrap()
}

pub(crate) async fn create_token(store: &Store, tenant: TenantId, new: NewToken) -> (Token, Secret) {
    let (secret, hash) = generate_token_secret().unwrap();
    let token = store
        .tokens()
        .create(tenant, new, &hash, |token| event_in(token.tenant, "create_token"))
        .await
        .unwrap();
    (token, secret)
}

/// A repository that Ada registers.
pub(crate) fn new_repo(tenant: TenantId, name: &str) -> NewRepo {
    NewRepo {
        tenant,
        name: name.parse().unwrap(),
        url: format!("https://example.org/{name}.git"),
        default_branch: None,
        created_by: "user ada".to_owned(),
    }
}

pub(crate) async fn add_repo(store: &Store, tenant: TenantId, name: &str) -> Repo {
    let event = event_in(tenant, "repo_add");
    match store.repos().add(&new_repo(tenant, name), &event).await.unwrap() {
        Added::Added(repo) => repo,
        other => panic!("{other:?}"),
    }
}

/// A workspace that Ada wants, until her lease runs out in a minute. The repository has room for ten.
pub(crate) fn new_workspace(now: Timestamp, repo: &Repo, branch: &str) -> NewWorkspace {
    NewWorkspace {
        tenant: repo.tenant,
        repo: repo.id,
        branch: branch.to_owned(),
        name: format!("{}-1a2b3c4d", branch.replace('/', "-")),
        agent: None,
        task: None,
        target: Some("main".to_owned()),
        owner: "user ada".to_owned(),
        lease_until: now.after(std::time::Duration::from_secs(60)),
        limit: 10,
    }
}

pub(crate) async fn claim(store: &Store, new: &NewWorkspace) -> Claim {
    let event = event_in(new.tenant, "workspace_open");
    store.workspaces().claim(new, &event).await.unwrap()
}

/// A workspace whose tree is there.
pub(crate) async fn open_workspace(store: &Store, new: &NewWorkspace) -> Workspace {
    let workspace = match claim(store, new).await {
        Claim::New(workspace) | Claim::Reopened(workspace) => workspace,
        other => panic!("{other:?}"),
    };
    store
        .workspaces()
        .opened(workspace.id, "overlay", Some("c0ffee"), new.lease_until)
        .await
        .unwrap()
        .unwrap()
}

pub(crate) async fn accepted(store: &Store, secret: &Secret) -> Authenticated {
    match store.tokens().authenticate(secret).await.unwrap() {
        Authentication::Accepted(authenticated) => *authenticated,
        Authentication::Refused(refused) => panic!("refused: {refused}"),
    }
}

pub(crate) async fn refused(store: &Store, secret: &Secret) -> Refused {
    match store.tokens().authenticate(secret).await.unwrap() {
        Authentication::Accepted(authenticated) => panic!("accepted: {authenticated:?}"),
        Authentication::Refused(refused) => refused,
    }
}

/// The newest rows of a tenant's log, as many as a page holds.
pub(crate) async fn log(store: &Store, tenant: TenantId) -> Vec<AuditRecord> {
    let page = page(agentyard_model::MAX_PAGE_SIZE);
    let found = store
        .audit()
        .search(tenant, &AuditFilter::default(), &page)
        .await
        .unwrap();
    found.items
}

/// The actions in a tenant's log, oldest first.
pub(crate) async fn actions(store: &Store, tenant: TenantId) -> Vec<String> {
    let mut actions: Vec<String> = log(store, tenant)
        .await
        .into_iter()
        .map(|record| record.action)
        .collect();
    actions.reverse();
    actions
}
