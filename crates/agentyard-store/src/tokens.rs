//! Tokens: made, listed, revoked; how one proves who calls, and how the first one comes about.

mod authenticate;
mod bootstrap;

use agentyard_model::{
    AuditEvent, Cursor, MAX_DELEGATION_DEPTH, MAX_PAGE_SIZE, NewToken, Page, PageRequest, Secret, TenantId,
    Timestamp, Token, TokenFilter, TokenId, TokenName, UserId,
};

use crate::database::{Query, Row, Transaction};
use crate::{Error, Result, Store, TokenHash, audit, roles};

pub use authenticate::{Authenticated, Authentication, Refused};

/// What became of a token that was to be revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revocation {
    /// It is revoked now.
    Revoked,
    /// It was revoked before; nothing has changed.
    AlreadyRevoked,
}

/// The tokens of all tenants.
#[derive(Debug, Clone, Copy)]
pub struct Tokens<'a> {
    store: &'a Store,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// Keeps a new token, of whose secret only this hash is known here. How many tokens
    /// stand above it is counted here, whatever `new` says.
    ///
    /// # Errors
    /// When its role or its owner does not exist in this tenant, its parent does not
    /// exist, has ended or stands too deep already, or it cannot be written.
    pub async fn create(
        self,
        tenant: TenantId,
        new: NewToken,
        hash: &TokenHash,
        event: impl FnOnce(&Token) -> AuditEvent,
    ) -> Result<Token> {
        let now = self.store.now();
        let mut transaction = self.store.begin(CREATE).await?;
        let token = insert(&mut transaction, tenant, new, hash, now).await?;
        audit::append(&mut transaction, &event(&token), now).await?;
        transaction.commit(CREATE).await?;
        Ok(token)
    }

    /// The token with this id.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn get(self, tenant: TenantId, id: TokenId) -> Result<Option<Token>> {
        let row = self.store.fetch_optional(&by_id(tenant, id)).await?;
        row.as_ref().map(token).transpose()
    }

    /// The tokens of a tenant, newest first.
    ///
    /// # Errors
    /// When the cursor is not one of this list, or the database cannot be read.
    pub async fn list(
        self,
        tenant: TenantId,
        filter: TokenFilter,
        page: &PageRequest,
    ) -> Result<Page<Token>> {
        let limit = page.limit.clamp(1, MAX_PAGE_SIZE);
        let mut query = selection(tenant);
        if !filter.ended {
            query = query
                .push(" AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ")
                .push_value(self.store.now())
                .push(")");
        }
        if let Some(cursor) = &page.cursor {
            query = query.push(" AND id < ").push_value(cursor.place::<TokenId>()?);
        }
        query = query.push(" ORDER BY id DESC LIMIT ").push_value(limit + 1);
        let rows = self.store.fetch(&query).await?;
        let tokens = rows.iter().map(token).collect::<Result<_>>()?;
        Ok(Page::from_overfull(tokens, limit, |token: &Token| {
            Cursor::at(token.id)
        }))
    }

    /// Ends a token, and with it every token made with it. The event is written only
    /// when that changes something.
    ///
    /// # Errors
    /// When there is no such token, or it cannot be written.
    pub async fn revoke(self, tenant: TenantId, id: TokenId, event: &AuditEvent) -> Result<Revocation> {
        let now = self.store.now();
        let query = Query::new(
            "revoke a token",
            "UPDATE tokens SET revoked_at = $3 WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL",
        )
        .bind(tenant)
        .bind(id)
        .bind(now);
        let mut transaction = self.store.begin(query.attempt()).await?;
        if transaction.execute(&query).await? == 0 {
            return match transaction.fetch_optional(&by_id(tenant, id)).await? {
                Some(_) => Ok(Revocation::AlreadyRevoked),
                None => Err(Error::not_found("token", id)),
            };
        }
        audit::append(&mut transaction, event, now).await?;
        transaction.commit(query.attempt()).await?;
        Ok(Revocation::Revoked)
    }

    /// Finds out whose secret this is and what they may do now. Every token above it and
    /// every owner counts, as they are at this moment: nothing is remembered between calls.
    ///
    /// # Errors
    /// When the database cannot be read. A secret that is worth nothing is not an error.
    pub async fn authenticate(self, secret: &Secret) -> Result<Authentication> {
        authenticate::run(self.store, secret).await
    }

    /// What the holder of a token may do now, as [`Tokens::authenticate`] would answer if its secret were shown.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn standing_of(self, tenant: TenantId, token: TokenId) -> Result<Authentication> {
        authenticate::of_token(self.store, tenant, token).await
    }

    /// Makes the first token of an installation, for its administrator: the user `admin`,
    /// who is made with it, owns it, and it may do everything. Nothing happens, and nothing
    /// comes back, when the local tenant has had a token before; of two processes that try
    /// at the same time, one gets it.
    ///
    /// # Errors
    /// When there is a user `admin` who is not an administrator, or it cannot be written.
    pub async fn bootstrap_administrator(self, name: TokenName) -> Result<Option<(Token, Secret)>> {
        bootstrap::run(self.store, name).await
    }
}

const CREATE: &str = "create a token";

/// The columns of which [`token`] makes one.
const COLUMNS: &str = "id, tenant_id, name, role, permissions, owner_id, parent_id, depth, \
     created_at, expires_at, revoked_at, last_used_at";

async fn insert(
    transaction: &mut Transaction,
    tenant: TenantId,
    new: NewToken,
    hash: &TokenHash,
    now: Timestamp,
) -> Result<Token> {
    roles::require(transaction, tenant, &new.role).await?;
    if let Some(owner) = new.owner {
        require_owner(transaction, tenant, owner).await?;
    }
    let depth = match new.parent {
        Some(parent) => depth_below(transaction, tenant, parent, now).await?,
        None => 0,
    };
    let token = Token {
        id: TokenId::new(),
        tenant,
        name: new.name,
        role: new.role,
        permissions: new.permissions,
        owner: new.owner,
        parent: new.parent,
        depth,
        created_at: now,
        expires_at: new.expires_at,
        revoked_at: None,
        last_used_at: None,
    };
    let query = Query::new(
        CREATE,
        "INSERT INTO tokens (tenant_id, id, secret_hash, name, role, permissions, owner_id, parent_id, depth, \
         created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    )
    .bind(token.tenant)
    .bind(token.id)
    .bind(hash.as_str())
    .bind(&token.name)
    .bind(&token.role)
    .bind(token.permissions)
    .bind(token.owner)
    .bind(token.parent)
    .bind(token.depth)
    .bind(token.created_at)
    .bind(token.expires_at);
    transaction.execute(&query).await?;
    Ok(token)
}

async fn require_owner(transaction: &mut Transaction, tenant: TenantId, owner: UserId) -> Result<()> {
    let query = Query::new(
        "look up the owner of a token",
        "SELECT id FROM users WHERE tenant_id = $1 AND id = $2 AND disabled_at IS NULL",
    )
    .bind(tenant)
    .bind(owner);
    match transaction.fetch_optional(&query).await? {
        Some(_) => Ok(()),
        None => Err(Error::not_found("user", owner)),
    }
}

/// The depth of a token made with this one. That the parent is alive is checked to say so
/// at once; what counts is that it is alive whenever the child is used.
async fn depth_below(
    transaction: &mut Transaction,
    tenant: TenantId,
    parent: TokenId,
    now: Timestamp,
) -> Result<u32> {
    let row = transaction.fetch_optional(&by_id(tenant, parent)).await?;
    let parent = token(&row.ok_or_else(|| Error::not_found("token", parent))?)?;
    if parent.revoked_at.is_some() || parent.expires_at.is_some_and(|end| end <= now) {
        return Err(Error::ParentEnded(parent.id));
    }
    let depth = parent.depth + 1;
    if depth > MAX_DELEGATION_DEPTH {
        return Err(Error::DelegationTooDeep);
    }
    Ok(depth)
}

fn selection(tenant: TenantId) -> Query {
    Query::new("look up tokens", "SELECT ")
        .push(COLUMNS)
        .push(" FROM tokens WHERE tenant_id = ")
        .push_value(tenant)
}

fn by_id(tenant: TenantId, id: TokenId) -> Query {
    selection(tenant).push(" AND id = ").push_value(id)
}

fn token(row: &Row) -> Result<Token> {
    Ok(Token {
        id: row.parsed("id")?,
        tenant: row.parsed("tenant_id")?,
        name: row.parsed("name")?,
        role: row.parsed("role")?,
        permissions: row.parsed("permissions")?,
        owner: row.optional_parsed("owner_id")?,
        parent: row.optional_parsed("parent_id")?,
        depth: row.count("depth")?,
        created_at: row.timestamp("created_at")?,
        expires_at: row.optional_timestamp("expires_at")?,
        revoked_at: row.optional_timestamp("revoked_at")?,
        last_used_at: row.optional_timestamp("last_used_at")?,
    })
}
