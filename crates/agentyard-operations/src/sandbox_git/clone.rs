//! `sandbox_clone`: a repository in a sandbox of its own.

use agentyard_model::{Permission, SandboxId, SecretName, Toolset};
use agentyard_services::{Result, SandboxClone as Request, SandboxCloned};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct SandboxClone;

/// Clone a repository into a new sandbox, on a branch of its own: `agent-{agent}-{task}`. The sandbox stays while it is
/// used; pass its id to the other sandbox tools.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxCloneInput {
    /// https address.
    url: String,
    /// On what you work.
    task: String,
    /// Who works; default: you.
    agent: Option<String>,
    /// Branch to begin at; default: the remote's default branch.
    base: Option<String>,
    /// Template of the sandbox.
    template: Option<String>,
    /// Kept secret that is the remote's token; default: `GITHUB_TOKEN`, for github.com.
    secret: Option<SecretName>,
}

/// A repository in a sandbox.
#[derive(Serialize, JsonSchema)]
pub(super) struct ClonedView {
    sandbox_id: SandboxId,
    /// The branch that is checked out.
    agent_branch: String,
    base: String,
    /// Where the repository is in the sandbox.
    path: String,
    /// Commit.
    head: String,
    /// The remote had the branch already.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resumed: bool,
}

impl Output for ClonedView {}

impl Operation for SandboxClone {
    const NAME: &'static str = "sandbox_clone";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const REACHES_OUT: bool = true;
    const ROUTE: Route = Route::post("/v1/sandboxes/clone");
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("repo_url", "url"),
        ("agent_id", "agent"),
        ("task_id", "task"),
        ("branch", "base"),
    ];
    type Input = SandboxCloneInput;
    type Output = ClonedView;

    async fn call(context: Context<'_>, input: SandboxCloneInput) -> Result<ClonedView> {
        let request = Request {
            url: input.url,
            agent: input.agent,
            task: input.task,
            base: input.base,
            template: input.template,
            secret: input.secret,
        };
        let cloned = context
            .services
            .sandbox_git
            .clone(context.caller, request)
            .await?;
        Ok(cloned.into())
    }
}

impl From<SandboxCloned> for ClonedView {
    fn from(cloned: SandboxCloned) -> Self {
        Self {
            sandbox_id: cloned.sandbox,
            agent_branch: cloned.branch,
            base: cloned.base,
            path: cloned.path,
            head: cloned.head,
            resumed: cloned.is_resumed,
        }
    }
}
