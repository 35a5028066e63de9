//! Where each caller works. The protocol has no sessions that could remember it.

use std::path::{Path, PathBuf};

use agentyard_model::{AuditEvent, TenantId};

use crate::database::Query;
use crate::{Error, Result, Store, audit, text};

/// The working directories of all subjects, each known by how it displays itself.
#[derive(Debug, Clone, Copy)]
pub struct WorkingDirectories<'a> {
    store: &'a Store,
}

impl<'a> WorkingDirectories<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// Where this subject works, when it has said so.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn get(self, tenant: TenantId, subject: &str) -> Result<Option<PathBuf>> {
        let query = Query::new(
            "look up a working directory",
            "SELECT path FROM working_directories WHERE tenant_id = $1 AND subject = $2",
        )
        .bind(tenant)
        .bind(subject);
        let row = self.store.fetch_optional(&query).await?;
        row.map(|row| row.text("path").map(PathBuf::from)).transpose()
    }

    /// Notes where this subject works from now on.
    ///
    /// # Errors
    /// When there is no such tenant, the path is not Unicode, or it cannot be written.
    pub async fn set(self, tenant: TenantId, subject: &str, path: &Path, event: &AuditEvent) -> Result<()> {
        const ATTEMPT: &str = "set a working directory";
        let path = path.to_str().ok_or(Error::Unstorable {
            attempt: ATTEMPT,
            reason: "the path is not Unicode",
        })?;
        let now = self.store.now();
        let query = Query::new(
            ATTEMPT,
            "INSERT INTO working_directories (tenant_id, subject, path, updated_at) \
             SELECT tenants.id, $2, $3, $4 FROM tenants WHERE tenants.id = $1 \
             ON CONFLICT (tenant_id, subject) DO UPDATE \
             SET path = excluded.path, updated_at = excluded.updated_at",
        )
        .bind(tenant)
        .bind(text::key(ATTEMPT, subject)?)
        .bind(path)
        .bind(now);
        let mut transaction = self.store.begin(ATTEMPT).await?;
        if transaction.execute(&query).await? == 0 {
            return Err(Error::not_found("tenant", tenant));
        }
        audit::append(&mut transaction, event, now).await?;
        transaction.commit(ATTEMPT).await
    }

    /// Forgets where this subject works, and says whether there was anything to forget.
    /// The event is written only then.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn clear(self, tenant: TenantId, subject: &str, event: &AuditEvent) -> Result<bool> {
        let query = Query::new(
            "clear a working directory",
            "DELETE FROM working_directories WHERE tenant_id = $1 AND subject = $2",
        )
        .bind(tenant)
        .bind(subject);
        let mut transaction = self.store.begin(query.attempt()).await?;
        if transaction.execute(&query).await? == 0 {
            return Ok(false);
        }
        audit::append(&mut transaction, event, self.store.now()).await?;
        transaction.commit(query.attempt()).await?;
        Ok(true)
    }
}
