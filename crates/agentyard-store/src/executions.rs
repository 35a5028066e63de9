//! What was executed: put on record, searched, forgotten in time, and on its way to another database.

mod delivery;
mod retention;
mod row;

use agentyard_model::{
    Execution, ExecutionFilter, ExecutionId, ExecutionPlace, MAX_PAGE_SIZE, Page, PageRequest, TenantId,
    Timestamp,
};

use crate::database::Query;
use crate::{Error, Result, Store, text};

pub use delivery::Delivery;

/// The executions of all tenants. They are records of their own and leave no audit rows.
#[derive(Debug, Clone, Copy)]
pub struct Executions<'a> {
    store: &'a Store,
}

impl<'a> Executions<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// Puts an execution on record; once it is, doing so again changes nothing. The record outlives this process at
    /// once, and a loss of power a moment later.
    ///
    /// # Errors
    /// When there is no such tenant, or it cannot be written.
    pub async fn record(self, execution: &Execution, delivery: Delivery) -> Result<()> {
        let query = row::insertion(execution, delivery);
        let database = self.store.database().await?;
        let mut transaction = database.begin_hastily(query.attempt()).await?;
        let written = transaction.execute(&query).await?;
        if written == 0 && transaction.fetch(&row::by_id(execution.id)).await?.is_empty() {
            return Err(Error::not_found("tenant", execution.tenant));
        }
        transaction.commit(query.attempt()).await?;
        database.sync();
        Ok(())
    }

    /// The executions of a tenant that match, newest first.
    ///
    /// # Errors
    /// When the cursor is not one of this list, or the records cannot be read.
    pub async fn list(
        self,
        tenant: TenantId,
        filter: &ExecutionFilter,
        page: &PageRequest,
    ) -> Result<Page<Execution>> {
        let limit = page.limit.clamp(1, MAX_PAGE_SIZE);
        let query = selection(tenant, filter, page)?
            .push(" ORDER BY started_at DESC, id DESC LIMIT ")
            .push_value(limit + 1);
        let rows = self.store.fetch(&query).await?;
        let executions = rows.iter().map(row::execution).collect::<Result<_>>()?;
        Ok(Page::from_overfull(executions, limit, Execution::cursor))
    }

    /// The execution with this id.
    ///
    /// # Errors
    /// When the records cannot be read.
    pub async fn get(self, tenant: TenantId, id: ExecutionId) -> Result<Option<Execution>> {
        let query = row::by_id(id).push(" AND tenant_id = ").push_value(tenant);
        let found = self.store.fetch_optional(&query).await?;
        found.as_ref().map(row::execution).transpose()
    }

    /// Forgets what began before this instant, except what still waits to be sent, and says how much that was.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn forget_older(self, than: Timestamp) -> Result<u64> {
        retention::forget_older(self.store, than).await
    }

    /// Forgets all but the newest, also what waits to be sent: this is what bounds the records. Says how many were
    /// forgotten, and how many of these had not been sent.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn keep_newest(self, count: u64) -> Result<(u64, u64)> {
        retention::keep_newest(self.store, count).await
    }

    /// What waits to be sent, in the order in which it was recorded.
    ///
    /// # Errors
    /// When the records cannot be read.
    pub async fn waiting(self, limit: u32) -> Result<Vec<Execution>> {
        delivery::waiting(self.store, limit).await
    }

    /// Notes what became of executions that waited to be sent.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn settle(self, executions: &[ExecutionId], delivery: Delivery) -> Result<()> {
        delivery::settle(self.store, executions, delivery).await
    }

    /// Lets what was refused wait again, and says how much that is.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn retry_refused(self) -> Result<u64> {
        delivery::retry_refused(self.store).await
    }
}

fn selection(tenant: TenantId, filter: &ExecutionFilter, page: &PageRequest) -> Result<Query> {
    let mut query = row::select("search the executions")
        .push(" WHERE tenant_id = ")
        .push_value(tenant);
    if let Some(cursor) = &page.cursor {
        let place = cursor.place::<ExecutionPlace>()?;
        query = query
            .push(" AND (started_at, id) < (")
            .push_value(place.started_at)
            .push(", ")
            .push_value(place.id)
            .push(")");
    }
    if filter.id.is_some() {
        query = query.push(" AND id = ").push_value(filter.id);
    }
    if let Some(subject) = &filter.subject {
        query = query.push(" AND subject = ").push_value(subject);
    }
    if let Some(agent) = &filter.agent {
        query = containing(query, agent, &["subject", "agent"]);
    }
    if let Some(since) = filter.since {
        query = query.push(" AND started_at >= ").push_value(since);
    }
    if let Some(until) = filter.until {
        query = query.push(" AND started_at < ").push_value(until);
    }
    if filter.exit_code.is_some() {
        query = query.push(" AND exit_code = ").push_value(filter.exit_code);
    }
    if filter.failed {
        query = query.push(" AND outcome <> 'completed'");
    }
    if let Some(operation) = &filter.operation {
        query = query.push(" AND operation = ").push_value(operation);
    }
    if let Some(workspace) = &filter.workspace {
        query = query.push(" AND workspace = ").push_value(workspace);
    }
    if let Some(text) = &filter.text {
        query = containing(query, text, TEXTS);
    }
    Ok(query)
}

/// The columns in which a text is looked for.
const TEXTS: &[&str] = &[
    "code",
    "stdout_head",
    "stdout_tail",
    "stderr_head",
    "stderr_tail",
    "exception_kind",
    "exception_message",
];

/// Narrows a query down to what has this text in one of these columns. `LIKE` heeds case in one engine and not in the
/// other; `lower` makes them agree.
fn containing(query: Query, text: &str, columns: &[&'static str]) -> Query {
    let pattern = text::containing(text);
    let mut query = query.push(" AND (");
    for (position, column) in columns.iter().enumerate() {
        let separator = if position == 0 { "lower(" } else { " OR lower(" };
        query = query
            .push(separator)
            .push(column)
            .push(") LIKE lower(")
            .push_value(&pattern)
            .push(r") ESCAPE '\'");
    }
    query.push(")")
}
