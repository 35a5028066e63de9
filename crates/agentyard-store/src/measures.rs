//! What was counted of workspaces: how many were opened, reused, evicted, and how long it took.
//!
//! The numbers are bookkeeping. They leave no audit rows, and those of the last moment may be lost with the
//! machine's power.

use agentyard_model::{RepoId, TenantId, WorkspaceMeasure};

use crate::database::{Query, Row};
use crate::{Result, Store, text};

/// What to add to one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasureChange<'a> {
    /// Which one.
    pub name: &'a str,
    /// How many more there were.
    pub count: u64,
    /// What these add up to.
    pub total: u64,
}

/// The numbers of all repositories.
#[derive(Debug, Clone, Copy)]
pub struct Measures<'a> {
    store: &'a Store,
}

impl<'a> Measures<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// Adds to the numbers of a repository, all at once. Nothing happens when there is no such repository: it may
    /// have been removed since there was something to count.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn add(self, tenant: TenantId, repo: RepoId, changes: &[MeasureChange<'_>]) -> Result<()> {
        const ATTEMPT: &str = "count";
        // Two that add to the same rows in another order would wait for each other.
        let mut changes = changes.to_vec();
        changes.sort_unstable_by_key(|change| change.name);
        let mut transaction = self.store.begin_hastily(ATTEMPT).await?;
        for change in changes {
            let query = Query::new(
                ATTEMPT,
                "INSERT INTO workspace_measures (tenant_id, repo_id, name, count, total) \
                 SELECT repos.tenant_id, repos.id, $3, $4, $5 FROM repos \
                 WHERE repos.tenant_id = $1 AND repos.id = $2 \
                 ON CONFLICT (tenant_id, repo_id, name) DO UPDATE \
                 SET count = workspace_measures.count + excluded.count, \
                 total = workspace_measures.total + excluded.total",
            )
            .bind(tenant)
            .bind(repo)
            .bind(text::key(ATTEMPT, change.name)?)
            .bind(change.count)
            .bind(change.total);
            transaction.execute(&query).await?;
        }
        transaction.commit(ATTEMPT).await
    }

    /// The numbers of one repository, or of all of a tenant's together, by name.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn of(self, tenant: TenantId, repo: Option<RepoId>) -> Result<Vec<WorkspaceMeasure>> {
        // A sum is of a wider type than its parts in PostgreSQL.
        let mut query = Query::new(
            "look up what was counted",
            "SELECT name, CAST(SUM(count) AS BIGINT) AS count, CAST(SUM(total) AS BIGINT) AS total \
             FROM workspace_measures WHERE tenant_id = $1",
        )
        .bind(tenant);
        if let Some(repo) = repo {
            query = query.push(" AND repo_id = ").push_value(repo);
        }
        query = query.push(" GROUP BY name ORDER BY name");
        self.store.fetch(&query).await?.iter().map(measure).collect()
    }
}

fn measure(row: &Row) -> Result<WorkspaceMeasure> {
    Ok(WorkspaceMeasure {
        name: row.text("name")?,
        count: row.size("count")?,
        total: row.size("total")?,
    })
}
