//! Secrets that executions can be granted. They are sealed before they are written.

use agentyard_model::{
    AuditEvent, Cursor, MAX_PAGE_SIZE, Page, PageRequest, Secret, SecretEntry, SecretName, TenantId,
};

use crate::database::{Query, Row};
use crate::sealing::Sealed;
use crate::{Error, Result, Store, audit};

/// The secrets of all tenants.
#[derive(Debug, Clone, Copy)]
pub struct SealedSecrets<'a> {
    store: &'a Store,
}

impl<'a> SealedSecrets<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// Keeps a value under a name, in the place of what was there.
    ///
    /// # Errors
    /// When there is no such tenant, there is no key, or it cannot be written.
    pub async fn set(
        self,
        tenant: TenantId,
        name: &SecretName,
        value: &Secret,
        event: &AuditEvent,
    ) -> Result<SecretEntry> {
        const ATTEMPT: &str = "keep a secret";
        let sealed = self.store.sealing_key().await?.seal(tenant, name, value)?;
        let now = self.store.now();
        let query = Query::new(
            ATTEMPT,
            "INSERT INTO secrets (tenant_id, name, sealed, nonce, created_at, updated_at) \
             SELECT tenants.id, $2, $3, $4, $5, $5 FROM tenants WHERE tenants.id = $1 \
             ON CONFLICT (tenant_id, name) DO UPDATE SET sealed = excluded.sealed, nonce = excluded.nonce, \
             updated_at = excluded.updated_at RETURNING name, created_at, updated_at",
        )
        .bind(tenant)
        .bind(name)
        .bind(sealed.text)
        .bind(sealed.nonce)
        .bind(now);
        let mut transaction = self.store.begin(ATTEMPT).await?;
        let Some(row) = transaction.fetch_optional(&query).await? else {
            return Err(Error::not_found("tenant", tenant));
        };
        audit::append(&mut transaction, event, now).await?;
        transaction.commit(ATTEMPT).await?;
        entry(&row)
    }

    /// What there is, by name, without the values.
    ///
    /// # Errors
    /// When the cursor is not one of this list, or it cannot be read.
    pub async fn list(self, tenant: TenantId, page: &PageRequest) -> Result<Page<SecretEntry>> {
        let limit = page.limit.clamp(1, MAX_PAGE_SIZE);
        let mut query = Query::new(
            "list the secrets",
            "SELECT name, created_at, updated_at FROM secrets WHERE tenant_id = $1",
        )
        .bind(tenant);
        if let Some(cursor) = &page.cursor {
            query = query
                .push(" AND name > ")
                .push_value(cursor.place::<SecretName>()?);
        }
        let query = query.push(" ORDER BY name LIMIT ").push_value(limit + 1);
        let rows = self.store.fetch(&query).await?;
        let entries = rows.iter().map(entry).collect::<Result<_>>()?;
        Ok(Page::from_overfull(entries, limit, |entry: &SecretEntry| {
            Cursor::at(&entry.name)
        }))
    }

    /// Forgets a secret.
    ///
    /// # Errors
    /// When there is none of this name, or it cannot be written.
    pub async fn remove(self, tenant: TenantId, name: &SecretName, event: &AuditEvent) -> Result<()> {
        const ATTEMPT: &str = "remove a secret";
        let query = Query::new(ATTEMPT, "DELETE FROM secrets WHERE tenant_id = $1 AND name = $2")
            .bind(tenant)
            .bind(name);
        let mut transaction = self.store.begin(ATTEMPT).await?;
        if transaction.execute(&query).await? == 0 {
            return Err(Error::not_found("secret", name));
        }
        audit::append(&mut transaction, event, self.store.now()).await?;
        transaction.commit(ATTEMPT).await
    }

    /// The value under this name.
    ///
    /// # Errors
    /// When it cannot be read, or was sealed with another key.
    pub async fn get(self, tenant: TenantId, name: &SecretName) -> Result<Option<Secret>> {
        let query = Query::new(
            "read a secret",
            "SELECT sealed, nonce FROM secrets WHERE tenant_id = $1 AND name = $2",
        )
        .bind(tenant)
        .bind(name);
        let Some(row) = self.store.fetch_optional(&query).await? else {
            return Ok(None);
        };
        let sealed = Sealed {
            text: row.text("sealed")?,
            nonce: row.text("nonce")?,
        };
        let key = self.store.sealing_key().await?;
        key.open(tenant, name, &sealed).map(Some)
    }
}

fn entry(row: &Row) -> Result<SecretEntry> {
    Ok(SecretEntry {
        name: row.parsed("name")?,
        created_at: row.timestamp("created_at")?,
        updated_at: row.timestamp("updated_at")?,
    })
}
