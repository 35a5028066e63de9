//! The roles that administrators have defined, beside those that are built in.

use agentyard_model::{AuditEvent, Cursor, MAX_PAGE_SIZE, Page, PageRequest, Role, RoleName, TenantId};

use crate::database::{Query, Row, Transaction};
use crate::{Error, Result, Store, audit};

/// The roles of all tenants.
#[derive(Debug, Clone, Copy)]
pub struct Roles<'a> {
    store: &'a Store,
}

impl<'a> Roles<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// Defines a role, or defines it anew. Whoever has it is affected at once.
    ///
    /// # Errors
    /// When the name is that of a built-in role, there is no such tenant, or it cannot be
    /// written.
    pub async fn put(self, tenant: TenantId, role: &Role, event: &AuditEvent) -> Result<()> {
        refuse_built_in(&role.name)?;
        let query = Query::new(
            "define a role",
            "INSERT INTO roles (tenant_id, name, toolsets, permissions) \
             SELECT tenants.id, $2, $3, $4 FROM tenants WHERE tenants.id = $1 \
             ON CONFLICT (tenant_id, name) DO UPDATE \
             SET toolsets = excluded.toolsets, permissions = excluded.permissions",
        )
        .bind(tenant)
        .bind(&role.name)
        .bind(role.toolsets)
        .bind(role.permissions);
        let mut transaction = self.store.begin(query.attempt()).await?;
        if transaction.execute(&query).await? == 0 {
            return Err(Error::not_found("tenant", tenant));
        }
        audit::append(&mut transaction, event, self.store.now()).await?;
        transaction.commit(query.attempt()).await
    }

    /// The role of this name: the tenant's own, or else the built-in one.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn get(self, tenant: TenantId, name: &RoleName) -> Result<Option<Role>> {
        match self.store.fetch_optional(&by_name(tenant, name)).await? {
            Some(row) => role(&row).map(Some),
            None => Ok(Role::built_in(name.as_str())),
        }
    }

    /// The tenant's own roles, by name.
    ///
    /// # Errors
    /// When the cursor is not one of this list, or the database cannot be read.
    pub async fn list(self, tenant: TenantId, page: &PageRequest) -> Result<Page<Role>> {
        let limit = page.limit.clamp(1, MAX_PAGE_SIZE);
        let mut query = selection(tenant);
        if let Some(cursor) = &page.cursor {
            query = query.push(" AND name > ").push_value(cursor.place::<RoleName>()?);
        }
        query = query.push(" ORDER BY name LIMIT ").push_value(limit + 1);
        let rows = self.store.fetch(&query).await?;
        let roles = rows.iter().map(role).collect::<Result<_>>()?;
        Ok(Page::from_overfull(roles, limit, |role: &Role| {
            Cursor::at(&role.name)
        }))
    }

    /// Removes a role that nobody has any more.
    ///
    /// # Errors
    /// When it is built in, in use or not there, or it cannot be written.
    pub async fn delete(self, tenant: TenantId, name: &RoleName, event: &AuditEvent) -> Result<()> {
        refuse_built_in(name)?;
        let now = self.store.now();
        let in_use = Query::new(
            "see who has a role",
            "SELECT 1 AS one FROM users WHERE tenant_id = $1 AND role = $2 AND disabled_at IS NULL \
             UNION ALL \
             SELECT 1 AS one FROM tokens WHERE tenant_id = $1 AND role = $2 AND revoked_at IS NULL \
             AND (expires_at IS NULL OR expires_at > $3) \
             LIMIT 1",
        )
        .bind(tenant)
        .bind(name)
        .bind(now);
        let query = Query::new(
            "delete a role",
            "DELETE FROM roles WHERE tenant_id = $1 AND name = $2",
        )
        .bind(tenant)
        .bind(name);
        let mut transaction = self.store.begin(query.attempt()).await?;
        if transaction.execute(&query).await? == 0 {
            return Err(Error::not_found("role", name));
        }
        // Should somebody be given the role in this very moment, they are left with a role
        // that does not exist, which allows nothing.
        if transaction.fetch_optional(&in_use).await?.is_some() {
            return Err(Error::RoleInUse(name.clone()));
        }
        audit::append(&mut transaction, event, now).await?;
        transaction.commit(query.attempt()).await
    }
}

/// Refuses a role that does not exist in this tenant.
pub(crate) async fn require(transaction: &mut Transaction, tenant: TenantId, name: &RoleName) -> Result<()> {
    let built_in = Role::built_in(name.as_str()).is_some();
    if built_in
        || transaction
            .fetch_optional(&by_name(tenant, name))
            .await?
            .is_some()
    {
        Ok(())
    } else {
        Err(Error::not_found("role", name))
    }
}

fn refuse_built_in(name: &RoleName) -> Result<()> {
    match Role::built_in(name.as_str()) {
        Some(_) => Err(Error::BuiltInRole(name.clone())),
        None => Ok(()),
    }
}

fn selection(tenant: TenantId) -> Query {
    Query::new(
        "look up roles",
        "SELECT name, toolsets, permissions FROM roles WHERE tenant_id = $1",
    )
    .bind(tenant)
}

fn by_name(tenant: TenantId, name: &RoleName) -> Query {
    selection(tenant).push(" AND name = ").push_value(name)
}

fn role(row: &Row) -> Result<Role> {
    Ok(Role {
        name: row.parsed("name")?,
        toolsets: row.parsed("toolsets")?,
        permissions: row.parsed("permissions")?,
    })
}
