//! People.

use agentyard_model::{AuditEvent, RoleName, TenantId, Timestamp, UserId, UserName};

use crate::database::{Query, Row, Transaction};
use crate::{Error, Result, Store, audit, roles};

/// A person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Which one.
    pub id: UserId,
    /// Whose.
    pub tenant: TenantId,
    /// What they sign in as.
    pub name: UserName,
    /// The role that bounds what they, and all their tokens, may do.
    pub role: RoleName,
    /// When they were added.
    pub created_at: Timestamp,
    /// When they were turned away for good.
    pub disabled_at: Option<Timestamp>,
}

/// A person to be added.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// To which tenant.
    pub tenant: TenantId,
    /// What they sign in as.
    pub name: UserName,
    /// The role that bounds what they may do.
    pub role: RoleName,
}

/// The columns of which [`user`] makes one.
const COLUMNS: &str = "id, tenant_id, name, role, created_at, disabled_at";

/// The people of all tenants. [`UserId::LOCAL`] is always there.
#[derive(Debug, Clone, Copy)]
pub struct Users<'a> {
    store: &'a Store,
}

impl<'a> Users<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// Adds a person.
    ///
    /// # Errors
    /// When the name is taken, there is no such tenant or role, or it cannot be written.
    pub async fn create(self, new: NewUser, event: impl FnOnce(&User) -> AuditEvent) -> Result<User> {
        const ATTEMPT: &str = "create a user";
        let now = self.store.now();
        let mut transaction = self.store.begin(ATTEMPT).await?;
        let user = insert(&mut transaction, new, now).await?;
        audit::append(&mut transaction, &event(&user), now).await?;
        transaction.commit(ATTEMPT).await?;
        Ok(user)
    }

    /// The person with this id.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn get(self, tenant: TenantId, id: UserId) -> Result<Option<User>> {
        let query = selection(tenant).push(" AND id = ").push_value(id);
        let row = self.store.fetch_optional(&query).await?;
        row.as_ref().map(user).transpose()
    }

    /// The person of this name.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn by_name(self, tenant: TenantId, name: &UserName) -> Result<Option<User>> {
        let row = self.store.fetch_optional(&by_name(tenant, name)).await?;
        row.as_ref().map(user).transpose()
    }

    /// Turns a person away: from now on none of their tokens is worth anything. Doing it
    /// twice is doing it once.
    ///
    /// # Errors
    /// When there is no such person, or it cannot be written.
    pub async fn disable(self, tenant: TenantId, id: UserId, event: &AuditEvent) -> Result<User> {
        let now = self.store.now();
        let query = Query::new(
            "disable a user",
            "UPDATE users SET disabled_at = COALESCE(disabled_at, $3) WHERE tenant_id = $1 AND id = $2 RETURNING ",
        )
        .push(COLUMNS)
        .bind(tenant)
        .bind(id)
        .bind(now);
        let transaction = self.store.begin(query.attempt()).await?;
        change(transaction, &query, id, event, now).await
    }

    /// Gives a person another role. What their tokens may do changes with it at once.
    ///
    /// # Errors
    /// When there is no such person or role, or it cannot be written.
    pub async fn set_role(
        self,
        tenant: TenantId,
        id: UserId,
        role: &RoleName,
        event: &AuditEvent,
    ) -> Result<User> {
        let query = Query::new(
            "change a user's role",
            "UPDATE users SET role = $3 WHERE tenant_id = $1 AND id = $2 RETURNING ",
        )
        .push(COLUMNS)
        .bind(tenant)
        .bind(id)
        .bind(role);
        let mut transaction = self.store.begin(query.attempt()).await?;
        roles::require(&mut transaction, tenant, role).await?;
        change(transaction, &query, id, event, self.store.now()).await
    }
}

/// Adds a person as part of something larger.
pub(crate) async fn insert(transaction: &mut Transaction, new: NewUser, now: Timestamp) -> Result<User> {
    roles::require(transaction, new.tenant, &new.role).await?;
    let user = User {
        id: UserId::new(),
        tenant: new.tenant,
        name: new.name,
        role: new.role,
        created_at: now,
        disabled_at: None,
    };
    let query = Query::new(
        "create a user",
        "INSERT INTO users (tenant_id, id, name, role, created_at) \
         SELECT tenants.id, $2, $3, $4, $5 FROM tenants WHERE tenants.id = $1",
    )
    .bind(user.tenant)
    .bind(user.id)
    .bind(&user.name)
    .bind(&user.role)
    .bind(now);
    let inserted = transaction
        .execute(&query)
        .await
        .map_err(|error| error.or_exists("user", &user.name))?;
    if inserted == 0 {
        return Err(Error::not_found("tenant", user.tenant));
    }
    Ok(user)
}

/// Looks a person up as part of something larger.
pub(crate) async fn find_by_name(
    transaction: &mut Transaction,
    tenant: TenantId,
    name: &UserName,
) -> Result<Option<User>> {
    let row = transaction.fetch_optional(&by_name(tenant, name)).await?;
    row.as_ref().map(user).transpose()
}

async fn change(
    mut transaction: Transaction,
    query: &Query,
    id: UserId,
    event: &AuditEvent,
    now: Timestamp,
) -> Result<User> {
    let row = transaction.fetch_optional(query).await?;
    let user = user(&row.ok_or_else(|| Error::not_found("user", id))?)?;
    audit::append(&mut transaction, event, now).await?;
    transaction.commit(query.attempt()).await?;
    Ok(user)
}

fn selection(tenant: TenantId) -> Query {
    Query::new("look up a user", "SELECT ")
        .push(COLUMNS)
        .push(" FROM users WHERE tenant_id = ")
        .push_value(tenant)
}

fn by_name(tenant: TenantId, name: &UserName) -> Query {
    selection(tenant).push(" AND name = ").push_value(name)
}

fn user(row: &Row) -> Result<User> {
    Ok(User {
        id: row.parsed("id")?,
        tenant: row.parsed("tenant_id")?,
        name: row.parsed("name")?,
        role: row.parsed("role")?,
        created_at: row.timestamp("created_at")?,
        disabled_at: row.optional_timestamp("disabled_at")?,
    })
}
