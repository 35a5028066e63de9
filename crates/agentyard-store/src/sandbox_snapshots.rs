//! The files of sandboxes as they were. A row is written before the first file is copied, and removed after the last one
//! is gone.

use agentyard_model::{
    AuditEvent, Cursor, InvalidCursor, MAX_PAGE_SIZE, Page, PageRequest, SandboxId, Snapshot, SnapshotId,
    TenantId, Timestamp,
};

use crate::database::{Query, Row};
use crate::{Error, Result, Store, audit, text};

/// The snapshots of all tenants.
#[derive(Debug, Clone, Copy)]
pub struct SandboxSnapshots<'a> {
    store: &'a Store,
}

impl<'a> SandboxSnapshots<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// Writes down that a snapshot is going to be made. None, when the tenant has as many as it may have.
    ///
    /// # Errors
    /// When there is one of this name, or it cannot be written.
    pub async fn create(self, new: &Snapshot, most: u32, event: &AuditEvent) -> Result<Option<()>> {
        const ATTEMPT: &str = "make a snapshot";
        let mut transaction = self.store.begin(ATTEMPT).await?;
        // The first thing that happens: nobody else decides about snapshots of this tenant until the end.
        audit::append(&mut transaction, event, self.store.now()).await?;
        let count = Query::new(
            ATTEMPT,
            "SELECT COUNT(*) AS there FROM sandbox_snapshots WHERE tenant_id = $1",
        )
        .bind(new.tenant);
        let row = transaction.fetch_optional(&count).await?;
        if row.map(|row| row.count("there")).transpose()?.unwrap_or_default() >= most {
            return Ok(None);
        }
        let query = Query::new(
            ATTEMPT,
            "INSERT INTO sandbox_snapshots (id, tenant_id, owner, name, sandbox, template, state, image, keeper, remote, \
             created_at) VALUES ($1, $2, $3, $4, $5, $6, 'making', $7, $8, $9, $10)",
        )
        .bind(new.id)
        .bind(new.tenant)
        .bind(text::key(ATTEMPT, &new.owner)?)
        .bind(new.name.as_deref())
        .bind(new.sandbox)
        .bind(text::key(ATTEMPT, &new.template)?)
        .bind(new.image.as_deref())
        .bind(new.keeper.as_str())
        .bind(new.remote.as_deref())
        .bind(new.created_at);
        let name = new.name.as_deref().unwrap_or_default();
        transaction
            .execute(&query)
            .await
            .map_err(|error| error.or_exists("snapshot", name))?;
        transaction.commit(ATTEMPT).await?;
        Ok(Some(()))
    }

    /// Notes that all of a snapshot's files are there, and what the service calls it that has them, if one does.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn completed(self, id: SnapshotId, remote: Option<&str>) -> Result<()> {
        let query = Query::new(
            "note that a snapshot is complete",
            "UPDATE sandbox_snapshots SET state = 'complete', remote = $2 WHERE id = $1",
        )
        .bind(id)
        .bind(remote);
        self.execute(query).await
    }

    /// The snapshot with this id or name.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn get(self, tenant: TenantId, id_or_name: &str) -> Result<Option<Snapshot>> {
        let query = selection(" WHERE tenant_id = ")
            .push_value(tenant)
            .push(" AND (id = ")
            .push_value(id_or_name)
            .push(" OR name = ")
            .push_value(id_or_name)
            .push(") AND state = 'complete' ORDER BY created_at LIMIT 1");
        let row = self.store.fetch_optional(&query).await?;
        row.as_ref().map(snapshot).transpose()
    }

    /// The snapshots of a tenant, or only those of one owner, sandbox or name, newest first.
    ///
    /// # Errors
    /// When the cursor is not one of this list, or the database cannot be read.
    pub async fn list(
        self,
        tenant: TenantId,
        owner: Option<&str>,
        of: Option<SandboxId>,
        name: Option<&str>,
        page: &PageRequest,
    ) -> Result<Page<Snapshot>> {
        let limit = page.limit.clamp(1, MAX_PAGE_SIZE);
        let mut query = selection(" WHERE state = 'complete' AND tenant_id = ").push_value(tenant);
        if let Some(owner) = owner {
            query = query.push(" AND owner = ").push_value(owner);
        }
        if let Some(sandbox) = of {
            query = query.push(" AND sandbox = ").push_value(sandbox);
        }
        if let Some(name) = name {
            query = query.push(" AND name = ").push_value(name);
        }
        if let Some(cursor) = &page.cursor {
            let (at, id) = place(cursor)?;
            query = query
                .push(" AND (created_at < ")
                .push_value(at)
                .push(" OR (created_at = ")
                .push_value(at)
                .push(" AND id < ")
                .push_value(id)
                .push("))");
        }
        let query = query
            .push(" ORDER BY created_at DESC, id DESC LIMIT ")
            .push_value(limit + 1);
        let rows = self.store.fetch(&query).await?;
        let found = rows.iter().map(snapshot).collect::<Result<_>>()?;
        Ok(Page::from_overfull(found, limit, |snapshot: &Snapshot| {
            let at = snapshot.created_at.as_microseconds();
            Cursor::at(format_args!("{at}/{}", snapshot.id))
        }))
    }

    /// Notes that a snapshot is about to be removed, and nobody finds it from now on. Says whether that was news.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn removing(self, id: SnapshotId, event: &AuditEvent) -> Result<bool> {
        const ATTEMPT: &str = "begin to remove a snapshot";
        let query = Query::new(
            ATTEMPT,
            "UPDATE sandbox_snapshots SET state = 'removing', name = NULL WHERE id = $1 AND state = 'complete'",
        )
        .bind(id);
        let mut transaction = self.store.begin(ATTEMPT).await?;
        if transaction.execute(&query).await? == 0 {
            return Ok(false);
        }
        audit::append(&mut transaction, event, self.store.now()).await?;
        transaction.commit(ATTEMPT).await?;
        Ok(true)
    }

    /// The snapshots of all tenants whose files are there, each with what the service calls it that keeps it, and whether
    /// it is complete.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn of_keeper(self, keeper: &str) -> Result<Vec<(SnapshotId, Option<String>, bool)>> {
        let query = Query::new(
            "look up snapshots",
            "SELECT id, remote, state FROM sandbox_snapshots WHERE keeper = $1 ORDER BY id LIMIT 10000",
        )
        .bind(keeper);
        let rows = self.store.fetch(&query).await?;
        rows.iter()
            .map(|row| {
                let is_complete = row.text("state")? == "complete";
                Ok((row.parsed("id")?, row.optional_text("remote")?, is_complete))
            })
            .collect()
    }

    /// Forgets a snapshot of which nothing is left.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn forget(self, id: SnapshotId) -> Result<()> {
        let query = Query::new("forget a snapshot", "DELETE FROM sandbox_snapshots WHERE id = $1").bind(id);
        self.execute(query).await
    }

    async fn execute(self, query: Query) -> Result<()> {
        let mut transaction = self.store.begin(query.attempt()).await?;
        transaction.execute(&query).await?;
        transaction.commit(query.attempt()).await
    }
}

fn selection(condition: &'static str) -> Query {
    Query::new(
        "look up snapshots",
        "SELECT id, tenant_id, owner, name, sandbox, template, image, keeper, remote, created_at FROM sandbox_snapshots",
    )
    .push(condition)
}

/// When and which one the last of a page was.
fn place(cursor: &Cursor) -> Result<(Timestamp, SnapshotId)> {
    let invalid = || Error::from(InvalidCursor::new(cursor.as_str()));
    let (at, id) = cursor.as_str().split_once('/').ok_or_else(invalid)?;
    let at = at.parse().map_err(|_| invalid())?;
    Ok((
        Timestamp::from_microseconds(at),
        id.parse().map_err(|_| invalid())?,
    ))
}

fn snapshot(row: &Row) -> Result<Snapshot> {
    Ok(Snapshot {
        id: row.parsed("id")?,
        tenant: row.parsed("tenant_id")?,
        owner: row.text("owner")?,
        name: row.optional_text("name")?,
        sandbox: row.parsed("sandbox")?,
        template: row.text("template")?,
        image: row.optional_text("image")?,
        keeper: row.text("keeper")?,
        remote: row.optional_text("remote")?,
        created_at: row.timestamp("created_at")?,
    })
}
