//! Tenants: what nothing crosses.

use agentyard_model::{AuditEvent, TenantId, TenantName, Timestamp};

use crate::database::{Query, Row};
use crate::{Result, Store, audit};

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    /// Which one.
    pub id: TenantId,
    /// What it is called.
    pub name: TenantName,
    /// When it was made; for [`TenantId::LOCAL`], the epoch.
    pub created_at: Timestamp,
}

/// The tenants. [`TenantId::LOCAL`] is always there.
#[derive(Debug, Clone, Copy)]
pub struct Tenants<'a> {
    store: &'a Store,
}

impl<'a> Tenants<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// Makes a tenant, with an audit log of its own. The event that says so may belong to
    /// it or to another tenant.
    ///
    /// # Errors
    /// When the name is taken, or it cannot be written.
    pub async fn create(
        self,
        name: &TenantName,
        event: impl FnOnce(&Tenant) -> AuditEvent,
    ) -> Result<Tenant> {
        const ATTEMPT: &str = "create a tenant";
        let tenant = Tenant {
            id: TenantId::new(),
            name: name.clone(),
            created_at: self.store.now(),
        };
        let query = Query::new(
            ATTEMPT,
            "INSERT INTO tenants (id, name, created_at) VALUES ($1, $2, $3)",
        )
        .bind(tenant.id)
        .bind(name)
        .bind(tenant.created_at);
        let mut transaction = self.store.begin(ATTEMPT).await?;
        transaction
            .execute(&query)
            .await
            .map_err(|error| error.or_exists("tenant", name))?;
        audit::start(&mut transaction, tenant.id).await?;
        audit::append(&mut transaction, &event(&tenant), tenant.created_at).await?;
        transaction.commit(ATTEMPT).await?;
        Ok(tenant)
    }

    /// The tenant with this id.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn get(self, id: TenantId) -> Result<Option<Tenant>> {
        let query = selection().push("id = ").push_value(id);
        self.read(&query).await
    }

    /// The tenant of this name.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn by_name(self, name: &TenantName) -> Result<Option<Tenant>> {
        let query = selection().push("name = ").push_value(name);
        self.read(&query).await
    }

    async fn read(self, query: &Query) -> Result<Option<Tenant>> {
        let row = self.store.fetch_optional(query).await?;
        row.as_ref().map(tenant).transpose()
    }
}

fn selection() -> Query {
    Query::new(
        "look up a tenant",
        "SELECT id, name, created_at FROM tenants WHERE ",
    )
}

fn tenant(row: &Row) -> Result<Tenant> {
    Ok(Tenant {
        id: row.parsed("id")?,
        name: row.parsed("name")?,
        created_at: row.timestamp("created_at")?,
    })
}
