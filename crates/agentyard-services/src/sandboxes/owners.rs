//! Whose a sandbox is, and who may do what with it.

use agentyard_model::{Caller, Permission, Sandbox as Row, SandboxId, SandboxState};

use super::Sandboxes;
use crate::error::{Error, Result, from_store};

/// What somebody wants of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// To know of it.
    See,
    /// To use and to change it.
    Use,
}

/// As whom a caller owns sandboxes.
pub(super) fn owner_of(caller: &Caller) -> String {
    caller.subject.to_string()
}

impl Wish {
    /// What it takes with a sandbox of somebody else's.
    pub(super) fn of_others(self) -> Permission {
        match self {
            Self::See => Permission::ProjectRead,
            Self::Use => Permission::ProjectWrite,
        }
    }
}

impl Sandboxes {
    /// The row of a sandbox with which the caller may do this.
    ///
    /// # Errors
    /// When the caller may not, or there is no such sandbox.
    pub(super) async fn row(&self, caller: &Caller, id: SandboxId, wish: Wish) -> Result<Row> {
        caller.require(Permission::AgentRun)?;
        let found = self.0.parts.store.sandboxes().get(caller.tenant, id).await;
        let row = visible(
            id,
            found.map_err(|error| from_store("looking up a sandbox", error))?,
        )?;
        if row.owner != owner_of(caller) {
            caller.require(wish.of_others())?;
        }
        Ok(row)
    }
}

/// The row, unless nobody is to know of it.
pub(super) fn visible(id: SandboxId, found: Option<Row>) -> Result<Row> {
    found
        .filter(|row| SandboxState::VISIBLE.contains(&row.state))
        .ok_or_else(|| absent(id))
}

/// What whoever asks for a sandbox is told that is not there. Clients look for these words.
pub(super) fn absent(id: SandboxId) -> Error {
    Error::not_found(format!("The sandbox {id} was not found"))
        .hint("it may have been removed when its time was up; sandbox_list shows what there is")
}
