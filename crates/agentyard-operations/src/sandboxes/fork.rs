//! `sandbox_fork`: several sandboxes with the files of one.

use std::time::Duration;

use agentyard_model::{Permission, SandboxId, Toolset};
use agentyard_services::{Error, Result, SandboxAccess};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::view::SandboxView;
use crate::level::{Level, LevelledField};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct SandboxFork;

/// Make sandboxes with the files, environment and network of one. Each may fail by itself. Processes are not taken along.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxForkInput {
    /// Of which one.
    sandbox: SandboxId,
    /// How many; 1 by default.
    #[schemars(range(min = 1, max = 20))]
    count: Option<u32>,
    /// How long they stay. Default 300.
    timeout_seconds: Option<u64>,
}

/// What was made.
#[derive(Serialize, JsonSchema)]
pub(super) struct ForksView {
    #[schemars(length(max = 20))]
    forks: Vec<ForkView>,
}

/// One that was made, or why not.
#[derive(Serialize, JsonSchema)]
struct ForkView {
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<SandboxView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ForkErrorView>,
}

/// Why one was not made.
#[derive(Serialize, JsonSchema)]
struct ForkErrorView {
    kind: &'static str,
    message: String,
}

impl Output for ForksView {
    const LEVELS: &'static [LevelledField] = &[
        ("forks.sandbox.owner", Level::Full),
        ("forks.sandbox.created_at", Level::Full),
        ("forks.sandbox.cpu_count", Level::Full),
        ("forks.sandbox.memory_bytes", Level::Full),
        ("forks.sandbox.disk_bytes", Level::Full),
    ];
}

impl Operation for SandboxFork {
    const NAME: &'static str = "sandbox_fork";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const ROUTE: Route = Route::post("/v1/sandboxes/{sandbox}/fork");
    type Input = SandboxForkInput;
    type Output = ForksView;

    async fn call(context: Context<'_>, input: SandboxForkInput) -> Result<ForksView> {
        let timeout = input.timeout_seconds.map(Duration::from_secs);
        let sandboxes = &context.services.sandboxes;
        let forks = sandboxes
            .fork(context.caller, input.sandbox, input.count.unwrap_or(1), timeout)
            .await?;
        Ok(ForksView {
            forks: forks.into_iter().map(ForkView::from).collect(),
        })
    }
}

impl From<Result<SandboxAccess, Error>> for ForkView {
    fn from(fork: Result<SandboxAccess, Error>) -> Self {
        match fork {
            Ok(access) => Self {
                sandbox: Some(access.sandbox.into()),
                error: None,
            },
            Err(error) => Self {
                sandbox: None,
                error: Some(ForkErrorView {
                    kind: error.kind().as_str(),
                    message: error.message().to_owned(),
                }),
            },
        }
    }
}
