//! `sandbox_set_network`: whom a sandbox may talk to.

use agentyard_model::{Permission, SandboxId, SandboxNetwork, Toolset};
use agentyard_services::Result;
use schemars::JsonSchema;
use serde::Deserialize;

use super::view::SandboxView;
use crate::operation::{Access, Context, Effect, Operation, Route};

pub(super) struct SandboxSetNetwork;

/// Say whom a sandbox may talk to from now on. What is left out is as when nothing was ever said.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxSetNetworkInput {
    /// Its id.
    sandbox: SandboxId,
    /// False for no network at all.
    internet: Option<bool>,
    /// Hosts or address blocks: nobody but these.
    #[serde(default)]
    #[schemars(length(max = 64))]
    allow_out: Vec<String>,
    /// Not these.
    #[serde(default)]
    #[schemars(length(max = 64))]
    deny_out: Vec<String>,
    /// Whether its ports answer without a token; as before when left out.
    public_traffic: Option<bool>,
}

impl Operation for SandboxSetNetwork {
    const NAME: &'static str = "sandbox_set_network";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Set;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const ROUTE: Route = Route::put("/v1/sandboxes/{sandbox}/network");
    type Input = SandboxSetNetworkInput;
    type Output = SandboxView;

    async fn call(context: Context<'_>, input: SandboxSetNetworkInput) -> Result<SandboxView> {
        let network = SandboxNetwork {
            internet: input.internet,
            allow_out: input.allow_out,
            deny_out: input.deny_out,
            public_traffic: input.public_traffic,
        };
        let sandboxes = &context.services.sandboxes;
        let set = sandboxes
            .set_network(context.caller, input.sandbox, network)
            .await?;
        Ok(set.into())
    }
}
