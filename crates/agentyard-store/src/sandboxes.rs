//! Sandboxes that stay. A row is written before anything is done on disk, and removed after the last of it is gone; it
//! names the process that has the sandbox in memory, so that others know what they find of a process that died.

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

    /// The sandboxes of all tenants that a process has in memory, or had.
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

    /// The processes that have sandboxes in memory, or had.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn keepers(self) -> Result<Vec<String>> {
        let query = Query::new(
            "look up who keeps sandboxes",
            "SELECT DISTINCT keeper FROM sandboxes WHERE keeper IS NOT NULL ORDER BY keeper LIMIT ",
        )
        .push_value(MAX_ROWS);
        let rows = self.store.fetch(&query).await?;
        rows.iter().map(|row| row.text("keeper")).collect()
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

    /// Notes that a sandbox is paused, and which process still has it in memory, if one has. None, when it did not run.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn paused(
        self,
        id: SandboxId,
        keeper: Option<&str>,
        event: &AuditEvent,
    ) -> Result<Option<Sandbox>> {
        let query = Query::new(
            "note that a sandbox is paused",
            "UPDATE sandboxes SET state = 'paused', paused_at = $2, keeper = $3 \
             WHERE id = $1 AND state = 'running' RETURNING ",
        )
        .bind(id)
        .bind(self.store.now())
        .bind(keeper);
        self.change(query, Some(event), true).await
    }

    /// Takes a paused sandbox over to run it again, unless another process has it. None, when it was not free.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn resumed(
        self,
        id: SandboxId,
        keeper: &str,
        ends_at: Timestamp,
        event: &AuditEvent,
    ) -> Result<Option<Sandbox>> {
        let query = Query::new(
            "note that a sandbox runs again",
            "UPDATE sandboxes SET state = 'running', paused_at = NULL, started_at = $2, ends_at = $3, keeper = $4 \
             WHERE id = $1 AND state = 'paused' AND (keeper IS NULL OR keeper = $4) RETURNING ",
        )
        .bind(id)
        .bind(self.store.now())
        .bind(ends_at)
        .bind(keeper);
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

    /// Notes that what is left of a sandbox is about to be removed, by this process. Nobody finds it from now on. Says
    /// whether it was there.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn ending(self, id: SandboxId, keeper: &str, event: &AuditEvent) -> Result<bool> {
        let query = Query::new(
            "begin to remove a sandbox",
            "UPDATE sandboxes SET state = 'ending', keeper = $2, idempotency_key = NULL \
             WHERE id = $1 AND state <> 'ending' RETURNING ",
        )
        .bind(id)
        .bind(keeper);
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

    /// Notes that a process has paused sandboxes in memory no longer, and takes over the others that it left.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn let_go(self, keeper: &str) -> Result<()> {
        let query = Query::new(
            "let go of paused sandboxes",
            "UPDATE sandboxes SET keeper = NULL WHERE keeper = $1 AND state = 'paused'",
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
const COLUMNS: &str = "id, tenant_id, owner, template, state, metadata, auto_pause, auto_resume, network, keeper, \
     created_at, started_at, ends_at, paused_at";

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
        },
        network: serde_json::from_str(&network).map_err(|error| unreadable("network", error))?,
        keeper: row.optional_text("keeper")?,
        created_at: row.timestamp("created_at")?,
        started_at: row.timestamp("started_at")?,
        ends_at: row.timestamp("ends_at")?,
        paused_at: row.optional_timestamp("paused_at")?,
    })
}
