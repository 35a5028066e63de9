//! The audit log: append and search; the chain behind it, and its verification.

mod chain;
mod verify;

use agentyard_model::{
    AuditEvent, AuditFilter, AuditRecord, Cursor, MAX_PAGE_SIZE, Outcome, Page, PageRequest, TenantId,
};

use crate::database::{Query, Row, unreadable};
use crate::{Result, Store, text};

pub(crate) use chain::{append, start};
pub use verify::{AuditFault, AuditFaultKind, AuditVerification};

/// The audit log. Rows are only ever added. Each carries a hash over itself and over the
/// hash of the row before it, so that whoever changes, removes or inserts one must
/// rewrite all that follow it and the head. A rewrite of everything shows only against a
/// head that was noted down elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct Audit<'a> {
    store: &'a Store,
}

impl<'a> Audit<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// Writes down something that changed nothing else in the database: a refusal, or
    /// work that was done elsewhere. All other calls of the store that change something
    /// take their event and write it themselves.
    ///
    /// # Errors
    /// When there is no such tenant, or it cannot be written.
    pub async fn append(self, event: &AuditEvent) -> Result<AuditRecord> {
        const ATTEMPT: &str = "write to the audit log";
        let mut transaction = self.store.begin(ATTEMPT).await?;
        let record = append(&mut transaction, event, self.store.now()).await?;
        transaction.commit(ATTEMPT).await?;
        Ok(record)
    }

    /// As [`Audit::append`], for work whose own result is on disk already: the row outlives this process at
    /// once, and a loss of power a moment later.
    ///
    /// # Errors
    /// When there is no such tenant, or it cannot be written.
    pub async fn append_soon(self, event: &AuditEvent) -> Result<AuditRecord> {
        const ATTEMPT: &str = "write to the audit log";
        let database = self.store.database().await?;
        let mut transaction = database.begin_hastily(ATTEMPT).await?;
        let record = append(&mut transaction, event, self.store.now()).await?;
        transaction.commit(ATTEMPT).await?;
        database.sync();
        Ok(record)
    }

    /// The rows of a tenant that match, newest first.
    ///
    /// # Errors
    /// When the cursor is not one of this list, or the log cannot be read.
    pub async fn search(
        self,
        tenant: TenantId,
        filter: &AuditFilter,
        page: &PageRequest,
    ) -> Result<Page<AuditRecord>> {
        let limit = page.limit.clamp(1, MAX_PAGE_SIZE);
        let query = search_query(tenant, filter, page)?
            .push(" ORDER BY sequence DESC LIMIT ")
            .push_value(limit + 1);
        let rows = self.store.fetch(&query).await?;
        let records = rows.iter().map(record).collect::<Result<_>>()?;
        Ok(Page::from_overfull(records, limit, |record| {
            Cursor::at(record.sequence)
        }))
    }

    /// Checks one tenant's chain, or that of every tenant, row by row.
    ///
    /// # Errors
    /// When the log cannot be read. A fault that is found is not an error.
    pub async fn verify(self, tenant: Option<TenantId>) -> Result<AuditVerification> {
        verify::run(self.store, tenant).await
    }
}

fn search_query(tenant: TenantId, filter: &AuditFilter, page: &PageRequest) -> Result<Query> {
    let mut query = Query::new(
        "search the audit log",
        "SELECT id, sequence, at, actor, chain, action, target, request_id, outcome \
         FROM audit WHERE tenant_id = $1",
    )
    .bind(tenant);
    if let Some(cursor) = &page.cursor {
        query = query.push(" AND sequence < ").push_value(cursor.place::<i64>()?);
    }
    // `LIKE` heeds case in one engine and not in the other; `lower` makes them agree.
    if let Some(actor) = &filter.actor {
        query = query
            .push(" AND lower(actor) LIKE lower(")
            .push_value(text::containing(actor))
            .push(r") ESCAPE '\'");
    }
    if let Some(action) = &filter.action {
        query = query.push(" AND action = ").push_value(action);
    }
    if let Some(target) = &filter.target {
        query = query
            .push(" AND lower(target) LIKE lower(")
            .push_value(text::containing(target))
            .push(r") ESCAPE '\'");
    }
    if let Some(outcome) = filter.outcome {
        query = query.push(" AND outcome = ").push_value(outcome.as_str());
    }
    if let Some(request_id) = &filter.request_id {
        query = query.push(" AND request_id = ").push_value(request_id);
    }
    if let Some(since) = filter.since {
        query = query.push(" AND at >= ").push_value(since);
    }
    if let Some(until) = filter.until {
        query = query.push(" AND at < ").push_value(until);
    }
    Ok(query)
}

fn record(row: &Row) -> Result<AuditRecord> {
    Ok(AuditRecord {
        id: row.parsed("id")?,
        sequence: row.integer("sequence")?,
        at: row.timestamp("at")?,
        actor: row.text("actor")?,
        chain: serde_json::from_str(&row.text("chain")?).map_err(|error| unreadable("chain", error))?,
        action: row.text("action")?,
        target: row.text("target")?,
        request_id: row.text("request_id")?,
        outcome: outcome(&row.text("outcome")?)?,
    })
}

fn outcome(text: &str) -> Result<Outcome> {
    text.parse()
        .map_err(|()| unreadable("outcome", format!("`{}` is not an outcome", text.escape_debug())))
}
