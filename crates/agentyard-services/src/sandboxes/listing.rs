//! What sandboxes there are.

use agentyard_model::{Caller, Page, PageRequest, Permission, SandboxFilter, SandboxId};

use super::owners::{Wish, owner_of};
use super::{SandboxDetails, Sandboxes};
use crate::error::{Result, from_store};

impl Sandboxes {
    /// A sandbox.
    ///
    /// # Errors
    /// When the caller may not know of it, or there is none.
    pub async fn get(&self, caller: &Caller, id: SandboxId) -> Result<SandboxDetails> {
        Ok(self.details(self.row(caller, id, Wish::See).await?))
    }

    /// The sandboxes of the caller's tenant, or only the caller's own when it may not see others'.
    ///
    /// # Errors
    /// When the caller may not, or the cursor is not one of this list's.
    pub async fn list(
        &self,
        caller: &Caller,
        filter: &SandboxFilter,
        page: &PageRequest,
    ) -> Result<Page<SandboxDetails>> {
        caller.require(Permission::AgentRun)?;
        let sees_all = caller.permissions.contains(Wish::See.of_others());
        let filter = SandboxFilter {
            owner: (!sees_all).then(|| owner_of(caller)),
            ..filter.clone()
        };
        let sandboxes = self.0.parts.store.sandboxes();
        let found = sandboxes.list(caller.tenant, &filter, page).await;
        let found = found.map_err(|error| from_store("listing the sandboxes", error))?;
        Ok(found.map(|row| self.details(row)))
    }
}
