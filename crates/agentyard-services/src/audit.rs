//! The audit log: searched, added to, and proven whole.

use agentyard_model::{AuditEvent, AuditFilter, AuditRecord, Caller, Page, PageRequest, Permission};
use agentyard_store::{AuditVerification, Store};

use crate::Result;
use crate::error::from_store;

/// The log of what was done.
#[derive(Clone)]
pub struct AuditLog {
    store: Store,
}

impl AuditLog {
    pub(crate) fn new(store: Store) -> Self {
        Self { store }
    }

    /// The records of the caller's tenant, newest first.
    ///
    /// # Errors
    /// When the caller may not read it, or the cursor is not one of this list's.
    pub async fn search(
        &self,
        caller: &Caller,
        filter: &AuditFilter,
        page: &PageRequest,
    ) -> Result<Page<AuditRecord>> {
        caller.require(Permission::AdminConfig)?;
        if let Some(cursor) = &page.cursor {
            cursor.place::<i64>()?;
        }
        self.store
            .audit()
            .search(caller.tenant, filter, page)
            .await
            .map_err(|error| from_store("searching the audit log", error))
    }

    /// Walks the chains of all tenants and looks for the first fault.
    ///
    /// # Errors
    /// When the caller may not, or the log cannot be read.
    pub async fn verify(&self, caller: &Caller) -> Result<AuditVerification> {
        caller.require(Permission::AdminConfig)?;
        self.store
            .audit()
            .verify(None)
            .await
            .map_err(|error| from_store("verifying the audit log", error))
    }

    /// Writes down what was done outside the database, whose result is on disk already. What is done is done, so
    /// a failure here is only logged.
    pub(crate) async fn record_soon(&self, event: AuditEvent) {
        if let Err(error) = self.store.audit().append_soon(&event).await {
            tracing::error!(%error, action = event.action, "an audit event could not be written");
        }
    }

    /// Writes down an event that no other change carries with it, such as a refusal.
    /// What is refused stays refused when the log cannot be written, so a failure here
    /// is only logged.
    pub async fn record(&self, event: AuditEvent) {
        if let Err(error) = self.store.audit().append(&event).await {
            tracing::error!(%error, action = event.action, "an audit event could not be written");
        }
    }
}
