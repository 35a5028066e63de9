//! Tenants beside the local one, which no command makes yet.

use agentyard_model::{AuditEvent, Caller, NewToken, Permissions, Secret, TenantId};
use agentyard_store::{NewUser, Store, generate_token_secret};

/// A new tenant.
///
/// # Panics
/// When it cannot be made.
pub async fn add_tenant(store: &Store, name: &str) -> TenantId {
    let name = name.parse().expect("a tenant's name");
    let made = store.tenants().create(&name, |tenant| {
        AuditEvent::done(&Caller::local(), "tenant_create", tenant.id)
    });
    made.await.expect("a new tenant").id
}

/// The token of an administrator of a tenant, who is made with it.
///
/// # Panics
/// When it cannot be made.
pub async fn add_administrator(store: &Store, tenant: TenantId) -> Secret {
    let new = NewUser {
        tenant,
        name: "admin".parse().expect("a user's name"),
        role: "admin".parse().expect("a built-in role"),
    };
    let made = store.users().create(new, |user| {
        AuditEvent::done(&Caller::machine(tenant), "user_create", user.id)
    });
    let user = made.await.expect("a new user");
    let new = NewToken {
        name: "first".parse().expect("a token's name"),
        role: user.role,
        permissions: Permissions::ALL,
        owner: Some(user.id),
        parent: None,
        expires_at: None,
    };
    let (secret, hash) = generate_token_secret().expect("a secret");
    let made = store.tokens().create(tenant, new, &hash, |token| {
        AuditEvent::done(&Caller::machine(tenant), "token_create", token.id)
    });
    made.await.expect("a new token");
    secret
}
