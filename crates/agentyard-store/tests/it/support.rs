//! Short words for what most tests need.

use agentyard_model::{
    AuditEvent, AuditFilter, AuditRecord, Caller, Cursor, NewToken, PageRequest, Permissions, RoleName,
    Secret, TenantId, Token, TokenId, UserId,
};
use agentyard_store::{
    Authenticated, Authentication, NewUser, Refused, Store, Tenant, User, generate_token_secret,
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
