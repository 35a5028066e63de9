//! Workspaces. A row is written before anything is done on disk and changes state after it, so that whatever a
//! crash interrupts is found in [`Workspaces::unfinished`].

mod claim;

use agentyard_model::{
    AuditEvent, Cursor, MAX_PAGE_SIZE, NewWorkspace, Page, PageRequest, RepoId, TenantId, Timestamp,
    Workspace, WorkspaceFilter, WorkspaceId, WorkspaceState,
};

use crate::database::{Query, Row, unreadable};
use crate::{Result, Store, audit, text};

pub use claim::Claim;

/// The workspaces of all tenants.
#[derive(Debug, Clone, Copy)]
pub struct Workspaces<'a> {
    store: &'a Store,
}

impl<'a> Workspaces<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// Finds the workspace of a branch, or makes a row for it whose tree the caller then has to make. Of several
    /// who claim the same at the same time, one makes it. The event is written only when a row is made or reopened.
    ///
    /// # Errors
    /// When there is no such repository, a text is too long to be a key, another branch has this name, or it
    /// cannot be written.
    pub async fn claim(self, new: &NewWorkspace, event: &AuditEvent) -> Result<Claim> {
        claim::run(self.store, new, event).await
    }

    /// The workspace with this id.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn get(self, tenant: TenantId, id: WorkspaceId) -> Result<Option<Workspace>> {
        self.one(&of_tenant(tenant).push(" AND id = ").push_value(id))
            .await
    }

    /// The workspace of this branch, closed or not.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn find(self, tenant: TenantId, repo: RepoId, branch: &str) -> Result<Option<Workspace>> {
        self.one(&of_branch(tenant, repo, branch)).await
    }

    /// The workspace whose directory is called this, closed or not.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn by_name(self, tenant: TenantId, repo: RepoId, name: &str) -> Result<Option<Workspace>> {
        let query = of_tenant(tenant)
            .push(" AND repo_id = ")
            .push_value(repo)
            .push(" AND name = ")
            .push_value(name);
        self.one(&query).await
    }

    /// The workspaces of a tenant, newest first.
    ///
    /// # Errors
    /// When the cursor is not one of this list, or the database cannot be read.
    pub async fn list(
        self,
        tenant: TenantId,
        filter: &WorkspaceFilter,
        page: &PageRequest,
    ) -> Result<Page<Workspace>> {
        let limit = page.limit.clamp(1, MAX_PAGE_SIZE);
        let mut query = of_tenant(tenant);
        if !filter.closed {
            query = query.push(" AND state <> 'closed'");
        }
        if let Some(repo) = filter.repo {
            query = query.push(" AND repo_id = ").push_value(repo);
        }
        if let Some(owner) = &filter.owner {
            query = query.push(" AND owner = ").push_value(owner);
        }
        if let Some(cursor) = &page.cursor {
            query = query
                .push(" AND id < ")
                .push_value(cursor.place::<WorkspaceId>()?);
        }
        query = query.push(" ORDER BY id DESC LIMIT ").push_value(limit + 1);
        let found = self.all(&query).await?;
        Ok(Page::from_overfull(found, limit, |workspace: &Workspace| {
            Cursor::at(workspace.id)
        }))
    }

    /// The workspaces of all tenants that somebody was just opening or closing: now, or when their process died.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn unfinished(self) -> Result<Vec<Workspace>> {
        let query =
            selection(" WHERE state IN ('opening', 'closing') ORDER BY id LIMIT ").push_value(MAX_UNFINISHED);
        self.all(&query).await
    }

    /// Notes that the tree is there and how it was made, and answers with the row. None, when nobody was opening it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn opened(
        self,
        id: WorkspaceId,
        way: &str,
        base: Option<&str>,
        lease_until: Timestamp,
    ) -> Result<Option<Workspace>> {
        let query = Query::new(
            "note that a workspace is open",
            "UPDATE workspaces SET state = 'open', way = $2, base = $3, lease_until = $4, used_at = $5, \
             closed_at = NULL, closed_because = NULL WHERE id = $1 AND state = 'opening' RETURNING ",
        )
        .bind(id)
        .bind(way)
        .bind(base)
        .bind(lease_until)
        .bind(self.store.now())
        .push(COLUMNS);
        let mut transaction = self.store.begin(query.attempt()).await?;
        let row = transaction.fetch_optional(&query).await?;
        transaction.commit(query.attempt()).await?;
        row.as_ref().map(workspace).transpose()
    }

    /// Notes that this subject uses an open workspace, and answers with the row. It becomes the owner when the
    /// owner's lease has run out; while it has not, it can only prolong it. None, when the workspace is not open.
    ///
    /// This happens at every call, so it does not wait for the disk: the last of it may be lost with the power.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn used(self, id: WorkspaceId, by: &str, lease_until: Timestamp) -> Result<Option<Workspace>> {
        let query = Query::new(
            "note the use of a workspace",
            "UPDATE workspaces SET used_at = $4, \
             owner = CASE WHEN lease_until <= $4 THEN $2 ELSE owner END, \
             lease_until = CASE WHEN owner <> $2 AND lease_until > $4 AND lease_until > $3 \
             THEN lease_until ELSE $3 END \
             WHERE id = $1 AND state = 'open' RETURNING ",
        )
        .bind(id)
        .bind(&*text::bounded(by))
        .bind(lease_until)
        .bind(self.store.now())
        .push(COLUMNS);
        let mut transaction = self.store.begin_hastily(query.attempt()).await?;
        let row = transaction.fetch_optional(&query).await?;
        transaction.commit(query.attempt()).await?;
        row.as_ref().map(workspace).transpose()
    }

    /// Notes that a workspace is about to be closed and where its unsaved work is kept, and says whether this caller
    /// is the one to do it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn closing(self, tenant: TenantId, id: WorkspaceId, kept_ref: Option<&str>) -> Result<bool> {
        let query = Query::new(
            "begin to close a workspace",
            "UPDATE workspaces SET state = 'closing', kept_ref = $3 \
             WHERE tenant_id = $1 AND id = $2 AND state IN ('opening', 'open')",
        )
        .bind(tenant)
        .bind(id)
        .bind(kept_ref);
        let mut transaction = self.store.begin(query.attempt()).await?;
        let changed = transaction.execute(&query).await?;
        transaction.commit(query.attempt()).await?;
        Ok(changed == 1)
    }

    /// Notes that the work that was kept when the workspace was closed is in its tree again.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn restored(self, id: WorkspaceId, kept_ref: &str) -> Result<()> {
        let query = Query::new(
            "note that kept work is restored",
            "UPDATE workspaces SET kept_ref = NULL WHERE id = $1 AND kept_ref = $2",
        )
        .bind(id)
        .bind(kept_ref);
        let mut transaction = self.store.begin(query.attempt()).await?;
        transaction.execute(&query).await?;
        transaction.commit(query.attempt()).await
    }

    /// Notes that the tree is gone, where its unsaved work was kept, and why it was closed. Says whether that was
    /// news; the event is written only then.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn closed(
        self,
        id: WorkspaceId,
        kept_ref: Option<&str>,
        because: &str,
        event: &AuditEvent,
    ) -> Result<bool> {
        let now = self.store.now();
        let query = Query::new(
            "note that a workspace is closed",
            "UPDATE workspaces SET state = 'closed', closed_at = $2, kept_ref = $3, closed_because = $4, \
             disk_bytes = NULL WHERE id = $1 AND state <> 'closed'",
        )
        .bind(id)
        .bind(now)
        .bind(kept_ref)
        .bind(&*text::bounded(because));
        let mut transaction = self.store.begin(query.attempt()).await?;
        if transaction.execute(&query).await? == 0 {
            return Ok(false);
        }
        audit::append(&mut transaction, event, now).await?;
        transaction.commit(query.attempt()).await?;
        Ok(true)
    }

    /// Takes back a claim whose tree could not be made: a row that was never open is removed, one that was closed
    /// is closed again, as it was. Says whether there was such a claim.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn forget(self, id: WorkspaceId) -> Result<bool> {
        const ATTEMPT: &str = "take back a claim";
        let mut transaction = self.store.begin(ATTEMPT).await?;
        let mut changed = 0;
        for statement in [
            "UPDATE workspaces SET state = 'closed' WHERE id = $1 AND state = 'opening' AND closed_at IS NOT NULL",
            "DELETE FROM workspaces WHERE id = $1 AND state = 'opening'",
        ] {
            changed += transaction
                .execute(&Query::new(ATTEMPT, statement).bind(id))
                .await?;
        }
        transaction.commit(ATTEMPT).await?;
        Ok(changed > 0)
    }

    /// Notes how much disk a workspace uses.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_disk(self, id: WorkspaceId, bytes: u64) -> Result<()> {
        let query = Query::new(
            "note the size of a workspace",
            "UPDATE workspaces SET disk_bytes = $2 WHERE id = $1 AND state <> 'closed'",
        )
        .bind(id)
        .bind(bytes);
        let mut transaction = self.store.begin_hastily(query.attempt()).await?;
        transaction.execute(&query).await?;
        transaction.commit(query.attempt()).await
    }

    /// The open workspaces of a repository whose lease is over at this instant, least recently used first. At
    /// most [`MAX_PAGE_SIZE`].
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn idle(self, repo: RepoId, now: Timestamp) -> Result<Vec<Workspace>> {
        let query = selection(" WHERE state = 'open' AND repo_id = ")
            .push_value(repo)
            .push(" AND lease_until <= ")
            .push_value(now);
        self.all(&least_recently_used(query, MAX_PAGE_SIZE)).await
    }

    /// The open workspaces of all tenants that were last used before this instant and whose lease is over, least
    /// recently used first. At most [`MAX_PAGE_SIZE`].
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn expired(self, before: Timestamp) -> Result<Vec<Workspace>> {
        let query = selection(" WHERE state = 'open' AND used_at < ")
            .push_value(before)
            .push(" AND lease_until <= ")
            .push_value(self.store.now());
        self.all(&least_recently_used(query, MAX_PAGE_SIZE)).await
    }

    /// How many workspaces of all tenants are open, and how many bytes of disk those use that were measured.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn standing(self) -> Result<(u64, u64)> {
        // A sum is of a wider type than its parts in PostgreSQL.
        let query = Query::new(
            "count the open workspaces",
            "SELECT COUNT(*) AS open, CAST(COALESCE(SUM(disk_bytes), 0) AS BIGINT) AS disk FROM workspaces \
             WHERE state = 'open'",
        );
        match self.store.fetch_optional(&query).await? {
            Some(row) => Ok((row.size("open")?, row.size("disk")?)),
            None => Ok((0, 0)),
        }
    }

    async fn one(self, query: &Query) -> Result<Option<Workspace>> {
        self.store
            .fetch_optional(query)
            .await?
            .as_ref()
            .map(workspace)
            .transpose()
    }

    async fn all(self, query: &Query) -> Result<Vec<Workspace>> {
        self.store.fetch(query).await?.iter().map(workspace).collect()
    }
}

/// More than can be opening and closing at once on any machine.
const MAX_UNFINISHED: u32 = 10_000;

/// The columns of which [`workspace`] makes one.
const COLUMNS: &str = "id, tenant_id, repo_id, branch, name, agent, task, target, state, way, base, owner, \
     lease_until, created_at, used_at, closed_at, kept_ref, closed_because, disk_bytes";

fn selection(condition: &'static str) -> Query {
    Query::new("look up workspaces", "SELECT ")
        .push(COLUMNS)
        .push(" FROM workspaces")
        .push(condition)
}

fn of_tenant(tenant: TenantId) -> Query {
    selection(" WHERE tenant_id = ").push_value(tenant)
}

fn of_branch(tenant: TenantId, repo: RepoId, branch: &str) -> Query {
    of_tenant(tenant)
        .push(" AND repo_id = ")
        .push_value(repo)
        .push(" AND branch = ")
        .push_value(branch)
}

fn least_recently_used(query: Query, limit: u32) -> Query {
    query.push(" ORDER BY used_at, id LIMIT ").push_value(limit)
}

fn workspace(row: &Row) -> Result<Workspace> {
    Ok(Workspace {
        id: row.parsed("id")?,
        tenant: row.parsed("tenant_id")?,
        repo: row.parsed("repo_id")?,
        branch: row.text("branch")?,
        name: row.text("name")?,
        agent: row.optional_text("agent")?,
        task: row.optional_text("task")?,
        target: row.optional_text("target")?,
        state: state(&row.text("state")?)?,
        way: row.optional_text("way")?,
        base: row.optional_text("base")?,
        owner: row.text("owner")?,
        lease_until: row.timestamp("lease_until")?,
        created_at: row.timestamp("created_at")?,
        used_at: row.timestamp("used_at")?,
        closed_at: row.optional_timestamp("closed_at")?,
        kept_ref: row.optional_text("kept_ref")?,
        closed_because: row.optional_text("closed_because")?,
        disk_bytes: row.optional_size("disk_bytes")?,
    })
}

fn state(text: &str) -> Result<WorkspaceState> {
    text.parse().map_err(|()| {
        unreadable(
            "state",
            format!("`{}` is not a state of a workspace", text.escape_debug()),
        )
    })
}
