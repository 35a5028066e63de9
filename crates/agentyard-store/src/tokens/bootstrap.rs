//! The first token of an installation.

use agentyard_model::{
    AuditEvent, Caller, NewToken, Permissions, RoleName, Secret, TenantId, Timestamp, Token, TokenName,
    UserName,
};

use super::insert;
use crate::database::{Query, Transaction};
use crate::users::{self, NewUser, User};
use crate::{Error, Result, Store, audit, generate_token_secret};

/// What the administrator and the administrator's role are called.
const ADMINISTRATOR: &str = "admin";

const ATTEMPT: &str = "create the first administrator";

pub(super) async fn run(store: &Store, name: TokenName) -> Result<Option<(Token, Secret)>> {
    // An installation is new once; at every other start nobody should have to wait.
    if !store.is_empty().await? {
        return Ok(None);
    }
    let (secret, hash) = generate_token_secret()?;
    let now = store.now();
    let mut transaction = store.begin(ATTEMPT).await?;
    if has_token(&mut transaction).await? {
        return Ok(None);
    }
    let owner = administrator(&mut transaction, now).await?;
    let new = NewToken {
        name,
        role: owner.role,
        permissions: Permissions::ALL,
        owner: Some(owner.id),
        parent: None,
        expires_at: None,
    };
    let token = insert(&mut transaction, TenantId::LOCAL, new, &hash, now).await?;
    // It is the person who started the process that did this.
    let event = AuditEvent::done(&Caller::local(), "bootstrap_administrator", token.id);
    audit::append(&mut transaction, &event, now).await?;
    transaction.commit(ATTEMPT).await?;
    Ok(Some((token, secret)))
}

/// Whether there is a token after all, asked while nobody else can be asking: an update
/// that changes nothing holds the tenant's row until the end of the transaction.
async fn has_token(transaction: &mut Transaction) -> Result<bool> {
    let lock = Query::new(ATTEMPT, "UPDATE tenants SET name = name WHERE id = $1").bind(TenantId::LOCAL);
    transaction.execute(&lock).await?;
    let query = Query::new(
        ATTEMPT,
        "SELECT 1 AS one FROM tokens WHERE tenant_id = $1 LIMIT 1",
    )
    .bind(TenantId::LOCAL);
    Ok(transaction.fetch_optional(&query).await?.is_some())
}

/// The user `admin`. One who is already there and means something else is left alone.
async fn administrator(transaction: &mut Transaction, now: Timestamp) -> Result<User> {
    let (name, role) = names();
    match users::find_by_name(transaction, TenantId::LOCAL, &name).await? {
        Some(user) if user.role == role && user.disabled_at.is_none() => Ok(user),
        Some(user) => Err(Error::Exists {
            kind: "user",
            name: user.name.to_string(),
        }),
        None => {
            let new = NewUser {
                tenant: TenantId::LOCAL,
                name,
                role,
            };
            users::insert(transaction, new, now).await
        }
    }
}

#[expect(
    clippy::expect_used,
    reason = "the text is a constant, and the tests parse it"
)]
fn names() -> (UserName, RoleName) {
    (
        ADMINISTRATOR
            .parse()
            .expect("because it follows the pattern of names"),
        ADMINISTRATOR
            .parse()
            .expect("because it follows the pattern of names"),
    )
}
