//! Authentication: from a secret to what its holder may do at this moment.

use std::time::Duration;

use agentyard_model::{
    Caller, MAX_DELEGATION_DEPTH, Permissions, RequestId, Role, RoleName, Secret, Subject, TenantId,
    Timestamp, Token, TokenId, Toolsets,
};

use super::token;
use crate::database::{Query, Row};
use crate::{Error, Result, Store, TokenHash, User};

/// How old the note of a token's last use may be before it is written anew. Every use
/// would otherwise be a write.
const LAST_USE_PRECISION: Duration = Duration::from_secs(60);

/// How long a caller may be held up by that note.
const LAST_USE_PATIENCE: Duration = Duration::from_millis(250);

/// What became of an attempt to prove who one is.
#[derive(Debug, Clone)]
pub enum Authentication {
    /// The secret is good.
    Accepted(Box<Authenticated>),
    /// It is not.
    Refused(Refused),
}

/// Why a secret is worth nothing. For the log: whoever shows a bad secret is told no more
/// than that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no such token.
    #[error("no token has this secret")]
    Unknown,
    /// It, or one above it, was revoked.
    #[error("the token, or one with which it was made, was revoked")]
    Revoked,
    /// It, or one above it, has expired.
    #[error("the token, or one with which it was made, has expired")]
    Expired,
    /// Its owner, or that of one above it, was disabled.
    #[error("the person who answers for the token was disabled")]
    OwnerDisabled,
    /// More tokens stand above it than can be. We do not make such tokens.
    #[error("the token is further from its owner than rights can be passed on")]
    TooDeep,
}

/// Who holds a good secret, and what they may do.
#[derive(Debug, Clone)]
pub struct Authenticated {
    /// The token.
    pub token: Token,
    /// Who answers for it: its owner, or else that of the nearest token above it.
    pub owner: Option<User>,
    /// On whose behalf, nearest first: the tokens above it, then the owner.
    pub chain: Vec<Subject>,
    /// The toolsets of the token's role.
    pub toolsets: Toolsets,
    /// What it may do now: what it was granted, less what any token above it lacks and
    /// what the role of any owner does not allow.
    pub permissions: Permissions,
}

impl Authenticated {
    /// The caller of a request that came with this token.
    #[must_use]
    pub fn into_caller(self, request_id: RequestId) -> Caller {
        Caller {
            tenant: self.token.tenant,
            subject: subject(&self.token),
            role: Some(self.token.role),
            toolsets: self.toolsets,
            permissions: self.permissions,
            chain: self.chain,
            request_id,
        }
    }
}

pub(super) async fn run(store: &Store, secret: &Secret) -> Result<Authentication> {
    let Some(hash) = TokenHash::of(secret) else {
        return Ok(Authentication::Refused(Refused::Unknown));
    };
    let now = store.now();
    let first = Query::new(ATTEMPT, CHAIN)
        .push("secret_hash = ")
        .push_value(hash.as_str());
    match evaluate(chain(store, first).await?, now) {
        Ok(authenticated) => {
            note_use(store, &authenticated.token, now).await;
            Ok(Authentication::Accepted(Box::new(authenticated)))
        }
        Err(refused) => Ok(Authentication::Refused(refused)),
    }
}

/// What the holder of this token may do at this moment, for whoever acts for them without having its secret.
pub(super) async fn of_token(store: &Store, tenant: TenantId, token: TokenId) -> Result<Authentication> {
    let first = Query::new(ATTEMPT, CHAIN)
        .push("tenant_id = ")
        .push_value(tenant)
        .push(" AND id = ")
        .push_value(token);
    Ok(match evaluate(chain(store, first).await?, store.now()) {
        Ok(authenticated) => Authentication::Accepted(Box::new(authenticated)),
        Err(refused) => Authentication::Refused(refused),
    })
}

const ATTEMPT: &str = "authenticate";

/// How the query begins; what follows says which token is meant.
const CHAIN: &str = "WITH RECURSIVE chain AS (SELECT tokens.*, 0 AS distance FROM tokens WHERE ";

/// The token and all above it, nearest first, each with its owner and with what their
/// roles say, in one statement: a revocation is either before all of it or after.
async fn chain(store: &Store, first: Query) -> Result<Vec<Link>> {
    let query = first
        .push(
            " UNION ALL \
             SELECT tokens.*, chain.distance + 1 FROM chain \
             JOIN tokens ON tokens.tenant_id = chain.tenant_id AND tokens.id = chain.parent_id \
             WHERE chain.distance < ",
        )
        .push_value(MAX_DELEGATION_DEPTH)
        .push(
            ") SELECT chain.id, chain.tenant_id, chain.name, chain.role, chain.permissions, chain.owner_id, \
             chain.parent_id, chain.depth, chain.created_at, chain.expires_at, chain.revoked_at, \
             chain.last_used_at, \
             owner.name AS owner_name, owner.role AS owner_role, owner.created_at AS owner_created_at, \
             owner.disabled_at AS owner_disabled_at, \
             owner_role.permissions AS owner_permissions, token_role.toolsets AS token_toolsets \
             FROM chain \
             LEFT JOIN users AS owner ON owner.tenant_id = chain.tenant_id AND owner.id = chain.owner_id \
             LEFT JOIN roles AS owner_role ON owner_role.tenant_id = chain.tenant_id AND owner_role.name = owner.role \
             LEFT JOIN roles AS token_role ON token_role.tenant_id = chain.tenant_id AND token_role.name = chain.role \
             ORDER BY chain.distance",
        );
    store.fetch(&query).await?.iter().map(Link::read).collect()
}

/// One token of the chain.
struct Link {
    token: Token,
    owner: Option<Owner>,
    toolsets: Toolsets,
}

struct Owner {
    user: User,
    permissions: Permissions,
}

impl Link {
    fn read(row: &Row) -> Result<Self> {
        let token = token(row)?;
        let toolsets = match row.optional_parsed("token_toolsets")? {
            Some(toolsets) => toolsets,
            None => built_in(&token.role).map_or(Toolsets::NONE, |role| role.toolsets),
        };
        let owner = Owner::read(row, &token)?;
        Ok(Self {
            token,
            owner,
            toolsets,
        })
    }
}

impl Owner {
    fn read(row: &Row, token: &Token) -> Result<Option<Self>> {
        let Some(id) = token.owner else {
            return Ok(None);
        };
        let user = User {
            id,
            tenant: token.tenant,
            name: row.parsed("owner_name")?,
            role: row.parsed("owner_role")?,
            created_at: row.timestamp("owner_created_at")?,
            disabled_at: row.optional_timestamp("owner_disabled_at")?,
        };
        let permissions = match row.optional_parsed("owner_permissions")? {
            Some(permissions) => permissions,
            // A role that does not exist allows nothing.
            None => built_in(&user.role).map_or(Permissions::NONE, |role| role.permissions),
        };
        Ok(Some(Self { user, permissions }))
    }

    fn subject(&self) -> Subject {
        Subject::User {
            id: self.user.id,
            name: self.user.name.clone(),
        }
    }
}

/// Decides, from the chain alone.
fn evaluate(links: Vec<Link>, now: Timestamp) -> std::result::Result<Authenticated, Refused> {
    for link in &links {
        if link.token.revoked_at.is_some() {
            return Err(Refused::Revoked);
        }
        if link.token.expires_at.is_some_and(|end| end <= now) {
            return Err(Refused::Expired);
        }
        if link
            .owner
            .as_ref()
            .is_some_and(|owner| owner.user.disabled_at.is_some())
        {
            return Err(Refused::OwnerDisabled);
        }
    }
    if links.last().is_some_and(|link| link.token.parent.is_some()) {
        return Err(Refused::TooDeep);
    }
    let chain = on_behalf_of(&links);
    let permissions = links.iter().fold(Permissions::ALL, |permissions, link| {
        let owned = link
            .owner
            .as_ref()
            .map_or(Permissions::ALL, |owner| owner.permissions);
        permissions
            .intersection(link.token.permissions)
            .intersection(owned)
    });
    let mut links = links.into_iter();
    let first = links.next().ok_or(Refused::Unknown)?;
    let owner = first
        .owner
        .or_else(|| links.find_map(|link| link.owner))
        .map(|owner| owner.user);
    Ok(Authenticated {
        token: first.token,
        owner,
        chain,
        toolsets: first.toolsets,
        permissions,
    })
}

/// The tokens above the first, nearest first, and after them their owner. As a rule there
/// is one owner; where there are more, each stands behind the last token that is theirs.
fn on_behalf_of(links: &[Link]) -> Vec<Subject> {
    let mut chain = Vec::new();
    for (position, link) in links.iter().enumerate() {
        if position > 0 {
            chain.push(subject(&link.token));
        }
        if let Some(owner) = &link.owner {
            let owner = owner.subject();
            chain.retain(|earlier| *earlier != owner);
            chain.push(owner);
        }
    }
    chain
}

fn subject(token: &Token) -> Subject {
    Subject::Token {
        id: token.id,
        name: token.name.clone(),
    }
}

fn built_in(name: &RoleName) -> Option<Role> {
    Role::built_in(name.as_str())
}

/// Notes that the token was used. A note that cannot be written, or not soon, is done
/// without: reading must go on when the disk is full or another process is writing.
async fn note_use(store: &Store, token: &Token, now: Timestamp) {
    let is_fresh = |last: Timestamp| last.after(LAST_USE_PRECISION) > now;
    if token.last_used_at.is_some_and(is_fresh) {
        return;
    }
    let noted = tokio::time::timeout(LAST_USE_PATIENCE, write_use(store, token, now)).await;
    match noted {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(token = %token.id, error = &error as &dyn std::error::Error, "cannot note the use of a token");
        }
        Err(_) => tracing::debug!(token = %token.id, "gave up noting the use of a token"),
    }
}

async fn write_use(store: &Store, token: &Token, now: Timestamp) -> std::result::Result<(), Error> {
    let query = Query::new(
        "note the use of a token",
        "UPDATE tokens SET last_used_at = $3 \
         WHERE tenant_id = $1 AND id = $2 AND (last_used_at IS NULL OR last_used_at < $3)",
    )
    .bind(token.tenant)
    .bind(token.id)
    .bind(now);
    let mut transaction = store.begin(query.attempt()).await?;
    transaction.execute(&query).await?;
    transaction.commit(query.attempt()).await
}
