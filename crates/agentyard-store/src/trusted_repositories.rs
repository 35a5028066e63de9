//! Repositories that may run programs. What is trusted is a directory of this machine, so this is no tenant's.

use agentyard_model::{AuditEvent, Timestamp};

use crate::database::{Query, Row};
use crate::{Result, Store, audit, text};

/// A repository that a person vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedRepository {
    /// Its directory with objects and references.
    pub path: String,
    /// The device on which that is.
    pub device: i64,
    /// Its number there.
    pub inode: i64,
    /// Since when.
    pub trusted_at: Timestamp,
}

/// All of them.
#[derive(Debug, Clone, Copy)]
pub struct TrustedRepositories<'a> {
    store: &'a Store,
}

impl<'a> TrustedRepositories<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// Whether this directory is one of them, and still the same.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn contains(self, path: &str, device: i64, inode: i64) -> Result<bool> {
        let query = Query::new(
            "look up a trusted repository",
            "SELECT 1 AS one FROM trusted_repositories WHERE path = $1 AND device = $2 AND inode = $3",
        )
        .bind(path)
        .bind(device)
        .bind(inode);
        Ok(self.store.fetch_optional(&query).await?.is_some())
    }

    /// All of them, by path.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn list(self) -> Result<Vec<TrustedRepository>> {
        let query = Query::new(
            "list trusted repositories",
            "SELECT path, device, inode, trusted_at FROM trusted_repositories ORDER BY path",
        );
        self.store.fetch(&query).await?.iter().map(repository).collect()
    }

    /// Trusts a directory from now on.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn add(self, path: &str, device: i64, inode: i64, event: &AuditEvent) -> Result<()> {
        const ATTEMPT: &str = "trust a repository";
        let now = self.store.now();
        let query = Query::new(
            ATTEMPT,
            "INSERT INTO trusted_repositories (path, device, inode, trusted_at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (path) DO UPDATE \
             SET device = excluded.device, inode = excluded.inode, trusted_at = excluded.trusted_at",
        )
        .bind(text::key(ATTEMPT, path)?)
        .bind(device)
        .bind(inode)
        .bind(now);
        let mut transaction = self.store.begin(ATTEMPT).await?;
        transaction.execute(&query).await?;
        audit::append(&mut transaction, event, now).await?;
        transaction.commit(ATTEMPT).await
    }

    /// Trusts a directory no longer, and says whether it was trusted.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn remove(self, path: &str, event: &AuditEvent) -> Result<bool> {
        let query = Query::new(
            "stop trusting a repository",
            "DELETE FROM trusted_repositories WHERE path = $1",
        )
        .bind(path);
        let mut transaction = self.store.begin(query.attempt()).await?;
        if transaction.execute(&query).await? == 0 {
            return Ok(false);
        }
        audit::append(&mut transaction, event, self.store.now()).await?;
        transaction.commit(query.attempt()).await?;
        Ok(true)
    }
}

fn repository(row: &Row) -> Result<TrustedRepository> {
    Ok(TrustedRepository {
        path: row.text("path")?,
        device: row.integer("device")?,
        inode: row.integer("inode")?,
        trusted_at: row.timestamp("trusted_at")?,
    })
}
