//! Whom a sandbox may talk to.

use agentyard_model::{AuditEvent, Caller, SandboxId, SandboxNetwork};
use agentyard_sandbox::{CommandError, Network, Reach};

use super::kept::Phase;
use super::owners::{Wish, absent};
use super::standing_up::not_done;
use super::{SandboxDetails, Sandboxes, checking};
use crate::error::{Result, from_store};
use crate::turns::to_its_end;

impl Sandboxes {
    /// Lets a sandbox talk to others than before. What is connected already stays so.
    ///
    /// # Errors
    /// When the caller may not, there is no such sandbox, or a destination is not written as it must be.
    pub async fn set_network(
        &self,
        caller: &Caller,
        id: SandboxId,
        network: SandboxNetwork,
    ) -> Result<SandboxDetails> {
        self.row(caller, id, Wish::Use).await?;
        checking::network(&network)?;
        let (this, caller) = (self.clone(), caller.clone());
        to_its_end(async move {
            let entered = this.enter(&caller, id, Wish::Use).await?;
            // What is not said about who may come in stays as it is.
            let network = SandboxNetwork {
                public_traffic: network.public_traffic.or(entered.row.network.public_traffic),
                ..network
            };
            if let Phase::Running(standing) | Phase::Frozen(standing) = entered.kept.phase() {
                let reach = this.reach(&network);
                let set = standing.set_reach(reach).await;
                set.map_err(|error: CommandError| not_done("its network was not changed", error))?;
            }
            let event = AuditEvent::done(&caller, "sandbox_set_network", id);
            let changed = this.0.parts.store.sandboxes();
            let changed = changed.set_network(id, &network, &event).await;
            let row = changed.map_err(|error| from_store("changing the network of a sandbox", error))?;
            Ok(this.details(row.ok_or_else(|| absent(id))?))
        })
        .await
    }

    /// What an owner's words come to: never more than the settings allow.
    pub(super) fn reach(&self, network: &SandboxNetwork) -> Reach {
        Reach {
            network: match network.internet {
                // Whoever names some does not mean nobody.
                Some(false) if network.allow_out.is_empty() => Network::None,
                _ => self.0.parts.network,
            },
            allowed: network.allow_out.clone(),
            denied: network.deny_out.clone(),
        }
    }
}
