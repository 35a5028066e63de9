//! Sandboxes that stay. A row is written before anything is done on disk, and removed after the last of it is gone; it
//! names the directory that holds the files, which one process at a time uses: whoever does so next knows what to do about
//! what the one before left behind.

mod creating;
mod tokens;

use std::collections::BTreeMap;

use agentyard_model::{
    AuditEvent, Cursor, InvalidCursor, Lifecycle, MAX_PAGE_SIZE, Page, PageRequest, Sandbox, SandboxFilter,
    SandboxId, SandboxNetwork, SandboxState, Secret, TenantId, Timestamp,
};

use crate::database::{Query, Row, unreadable};
use crate::sealing::Sealed;
use crate::{Error, Result, Store, audit};

pub use creating::Creation;
pub use tokens::SandboxToken;

/// The sandboxes of all tenants.
#[derive(Debug, Clone, Copy)]
pub struct Sandboxes<'a> {
    store: &'a Store,
}

impl<'a> Sandboxes<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// The sandbox with this id.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn get(self, tenant: TenantId, id: SandboxId) -> Result<Option<Sandbox>> {
        let query = selection(" WHERE tenant_id = ")
            .push_value(tenant)
            .push(" AND id = ")
            .push_value(id);
        self.one(&query).await
    }

    /// The sandbox with this id, whosever it is: for those who come with its token.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn find(self, id: SandboxId) -> Result<Option<Sandbox>> {
        self.one(&selection(" WHERE id = ").push_value(id)).await
    }

    /// The sandboxes of a tenant that callers can find.
    ///
    /// # Errors
    /// When the cursor is not one of this list, or the database cannot be read.
    pub async fn list(
        self,
        tenant: TenantId,
        filter: &SandboxFilter,
        page: &PageRequest,
    ) -> Result<Page<Sandbox>> {
        let limit = page.limit.clamp(1, MAX_PAGE_SIZE);
        let after = page.cursor.as_ref().map(place).transpose()?;
        // A tenant has few, and what is noted on them is in a form that only we read.
        let query = selection(" WHERE tenant_id = ")
            .push_value(tenant)
            .push(" ORDER BY created_at, id LIMIT ")
            .push_value(MAX_ROWS);
        let mut found = self.all(&query).await?;
        if !filter.oldest_first {
            found.reverse();
        }
        let is_wanted = |sandbox: &Sandbox| {
            let states = match filter.states.is_empty() {
                true => SandboxState::VISIBLE,
                false => &filter.states,
            };
            states.contains(&sandbox.state)
                && filter.owner.as_ref().is_none_or(|owner| *owner == sandbox.owner)
                && filter.since.is_none_or(|since| sandbox.started_at >= since)
                && filter
                    .template
                    .as_ref()
                    .is_none_or(|template| *template == sandbox.template)
                && filter
                    .metadata
                    .iter()
                    .all(|(key, value)| sandbox.metadata.get(key) == Some(value))
                && after.is_none_or(|after| match filter.oldest_first {
                    true => (sandbox.created_at, sandbox.id) > after,
                    false => (sandbox.created_at, sandbox.id) < after,
                })
        };
        found.retain(is_wanted);
        found.truncate(limit as usize + 1);
        Ok(Page::from_overfull(found, limit, |sandbox: &Sandbox| {
            let at = sandbox.created_at.as_microseconds();
            Cursor::at(format_args!("{at}-{}", sandbox.id))
        }))
    }

    /// The sandboxes of all tenants whose files are there.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn of_keeper(self, keeper: &str) -> Result<Vec<Sandbox>> {
        let query = selection(" WHERE keeper = ")
            .push_value(keeper)
            .push(" ORDER BY id LIMIT ")
            .push_value(MAX_ROWS);
        self.all(&query).await
    }

    /// The sandboxes of all tenants that callers can find.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn visible(self) -> Result<Vec<Sandbox>> {
        let query =
            selection(" WHERE state IN ('running', 'paused') ORDER BY id LIMIT ").push_value(MAX_ROWS);
        self.all(&query).await
    }

    /// What every program in a sandbox has in its environment.
    ///
    /// # Errors
    /// When there is no such sandbox, it cannot be read, or was sealed with another key.
    pub async fn environment(self, id: SandboxId) -> Result<BTreeMap<String, Secret>> {
        let query = Query::new(
            "read the environment of a sandbox",
            "SELECT environment, environment_nonce FROM sandboxes WHERE id = ",
        )
        .push_value(id);
        let Some(row) = self.store.fetch_optional(&query).await? else {
            return Err(Error::not_found("sandbox", id));
        };
        let sealed = Sealed {
            text: row.text("environment")?,
            nonce: row.text("environment_nonce")?,
        };
        let key = self.store.sealing_key().await?;
        let opened = key
            .open_at(&creating::place(id), &sealed)
            .ok_or_else(|| unreadable("environment", "it was sealed with another key"))?;
        let variables: BTreeMap<String, String> =
            serde_json::from_str(opened.expose()).map_err(|error| unreadable("environment", error))?;
        let secret = variables.into_iter();
        Ok(secret.map(|(name, value)| (name, Secret::new(value))).collect())
    }

    /// Notes that a sandbox which was being made answers, and until when. None, when it was not being made.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn started(self, id: SandboxId, ends_at: Timestamp) -> Result<Option<Sandbox>> {
        let query = Query::new(
            "note that a sandbox runs",
            "UPDATE sandboxes SET state = 'running', started_at = $2, ends_at = $3 \
             WHERE id = $1 AND state = 'starting' RETURNING ",
        )
        .bind(id)
        .bind(self.store.now())
        .bind(ends_at);
        self.change(query, None, false).await
    }

    /// Notes until when a sandbox stays. None, when it does not run.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_end(
        self,
        id: SandboxId,
        ends_at: Timestamp,
        event: &AuditEvent,
    ) -> Result<Option<Sandbox>> {
        let query = Query::new(
            "note how long a sandbox stays",
            "UPDATE sandboxes SET ends_at = $2 WHERE id = $1 AND state = 'running' RETURNING ",
        )
        .bind(id)
        .bind(ends_at);
        self.change(query, Some(event), false).await
    }

    /// Notes that a sandbox is paused, and whether its processes are still there. None, when it did not run.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn paused(self, id: SandboxId, in_memory: bool, event: &AuditEvent) -> Result<Option<Sandbox>> {
        let query = Query::new(
            "note that a sandbox is paused",
            "UPDATE sandboxes SET state = 'paused', paused_at = $2, in_memory = $3 \
             WHERE id = $1 AND state = 'running' RETURNING ",
        )
        .bind(id)
        .bind(self.store.now())
        .bind(in_memory);
        self.change(query, Some(event), true).await
    }

    /// Notes that a paused sandbox runs again. None, when it was not paused.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn resumed(
        self,
        id: SandboxId,
        ends_at: Timestamp,
        event: &AuditEvent,
    ) -> Result<Option<Sandbox>> {
        let query = Query::new(
            "note that a sandbox runs again",
            "UPDATE sandboxes SET state = 'running', paused_at = NULL, started_at = $2, ends_at = $3, \
             in_memory = 1 WHERE id = $1 AND state = 'paused' RETURNING ",
        )
        .bind(id)
        .bind(self.store.now())
        .bind(ends_at);
        self.change(query, Some(event), false).await
    }

    /// Notes whom a sandbox may talk to.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_network(
        self,
        id: SandboxId,
        network: &SandboxNetwork,
        event: &AuditEvent,
    ) -> Result<Option<Sandbox>> {
        let query = Query::new(
            "note whom a sandbox may talk to",
            "UPDATE sandboxes SET network = $2 WHERE id = $1 AND state IN ('running', 'paused') RETURNING ",
        )
        .bind(id)
        .bind(creating::written(network)?);
        self.change(query, Some(event), false).await
    }

    /// Notes that what is left of a sandbox is about to be removed, and nobody finds it from now on. Says
    /// whether that was news.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn ending(self, id: SandboxId, event: &AuditEvent) -> Result<bool> {
        let query = Query::new(
            "begin to remove a sandbox",
            "UPDATE sandboxes SET state = 'ending', idempotency_key = NULL \
             WHERE id = $1 AND state <> 'ending' RETURNING ",
        )
        .bind(id);
        Ok(self.change(query, Some(event), false).await?.is_some())
    }

    /// Forgets a sandbox of which nothing is left.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn forget(self, id: SandboxId) -> Result<()> {
        let query = Query::new("forget a sandbox", "DELETE FROM sandboxes WHERE id = $1").bind(id);
        let mut transaction = self.store.begin_hastily(query.attempt()).await?;
        transaction.execute(&query).await?;
        transaction.commit(query.attempt()).await
    }

    /// Notes that the processes of the paused sandboxes there are gone.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn let_go(self, keeper: &str) -> Result<()> {
        let query = Query::new(
            "note that sandboxes are out of memory",
            "UPDATE sandboxes SET in_memory = 0 WHERE keeper = $1 AND state = 'paused'",
        )
        .bind(keeper);
        let mut transaction = self.store.begin(query.attempt()).await?;
        transaction.execute(&query).await?;
        transaction.commit(query.attempt()).await
    }

    /// What changes while a sandbox runs is lost with it when the power is; only what must come back after that waits
    /// for the disk.
    async fn change(self, query: Query, event: Option<&AuditEvent>, lasts: bool) -> Result<Option<Sandbox>> {
        let query = query.push(COLUMNS);
        let mut transaction = match lasts {
            true => self.store.begin(query.attempt()).await?,
            false => self.store.begin_hastily(query.attempt()).await?,
        };
        let Some(row) = transaction.fetch_optional(&query).await? else {
            return Ok(None);
        };
        if let Some(event) = event {
            audit::append(&mut transaction, event, self.store.now()).await?;
        }
        transaction.commit(query.attempt()).await?;
        sandbox(&row).map(Some)
    }

    async fn one(self, query: &Query) -> Result<Option<Sandbox>> {
        let row = self.store.fetch_optional(query).await?;
        row.as_ref().map(sandbox).transpose()
    }

    async fn all(self, query: &Query) -> Result<Vec<Sandbox>> {
        self.store.fetch(query).await?.iter().map(sandbox).collect()
    }
}

/// More than can be there at once on any machine.
const MAX_ROWS: u32 = 10_000;

/// The columns of which [`sandbox`] makes one.
const COLUMNS: &str = "id, tenant_id, owner, template, state, metadata, auto_pause, auto_resume, files_only, \
     network, image, keeper, in_memory, created_at, started_at, ends_at, paused_at";

fn selection(condition: &'static str) -> Query {
    Query::new("look up sandboxes", "SELECT ")
        .push(COLUMNS)
        .push(" FROM sandboxes")
        .push(condition)
}

/// When and which one the last of a page was.
fn place(cursor: &Cursor) -> Result<(Timestamp, SandboxId)> {
    let invalid = || Error::from(InvalidCursor::new(cursor.as_str()));
    let (at, id) = cursor.as_str().split_once('-').ok_or_else(invalid)?;
    let at = at.parse().map_err(|_| invalid())?;
    Ok((
        Timestamp::from_microseconds(at),
        id.parse().map_err(|_| invalid())?,
    ))
}

fn sandbox(row: &Row) -> Result<Sandbox> {
    let state = row.text("state")?;
    let (metadata, network) = (row.text("metadata")?, row.text("network")?);
    Ok(Sandbox {
        id: row.parsed("id")?,
        tenant: row.parsed("tenant_id")?,
        owner: row.text("owner")?,
        template: row.text("template")?,
        state: state.parse().map_err(|()| {
            let shown = state.escape_debug();
            unreadable("state", format!("`{shown}` is not a state of a sandbox"))
        })?,
        metadata: serde_json::from_str(&metadata).map_err(|error| unreadable("metadata", error))?,
        lifecycle: Lifecycle {
            auto_pause: row.is("auto_pause")?,
            auto_resume: row.is("auto_resume")?,
            files_only: row.is("files_only")?,
        },
        network: serde_json::from_str(&network).map_err(|error| unreadable("network", error))?,
        image: row.optional_text("image")?,
        keeper: row.text("keeper")?,
        in_memory: row.is("in_memory")?,
        created_at: row.timestamp("created_at")?,
        started_at: row.timestamp("started_at")?,
        ends_at: row.timestamp("ends_at")?,
        paused_at: row.optional_timestamp("paused_at")?,
    })
}
