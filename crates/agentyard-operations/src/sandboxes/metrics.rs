//! `sandbox_metrics`: what a sandbox takes.

use agentyard_model::{Permission, SandboxId, Timestamp, Toolset};
use agentyard_services::{Result, SandboxSample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct SandboxMetrics;

/// Show what a sandbox took of processors, memory and disk in the last hour, oldest first; the last is of now.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxMetricsInput {
    /// Its id.
    sandbox: SandboxId,
    /// Only from this time on.
    since: Option<Timestamp>,
    /// Only until this time.
    until: Option<Timestamp>,
}

/// What a sandbox took, and may take.
#[derive(Serialize, JsonSchema)]
pub(super) struct MetricsView {
    #[schemars(length(max = 720))]
    samples: Vec<SampleView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_limit_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk_limit_bytes: Option<u64>,
    /// Older ones were left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// What it took at a time.
#[derive(Serialize, JsonSchema)]
struct SampleView {
    at: Timestamp,
    /// Hundredths of one processor.
    cpu_percent: f64,
    memory_bytes: u64,
    cache_bytes: u64,
    disk_bytes: u64,
}

impl Output for MetricsView {
    fn item_count(&self) -> usize {
        self.samples.len()
    }

    fn keep(&mut self, count: usize) {
        // The newest tell the most.
        let surplus = self.samples.len().saturating_sub(count);
        self.samples.drain(..surplus);
        self.truncated = true;
    }
}

impl Operation for SandboxMetrics {
    const NAME: &'static str = "sandbox_metrics";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const ROUTE: Route = Route::get("/v1/sandboxes/{sandbox}/metrics");
    type Input = SandboxMetricsInput;
    type Output = MetricsView;

    async fn call(context: Context<'_>, input: SandboxMetricsInput) -> Result<MetricsView> {
        let sandboxes = &context.services.sandboxes;
        let samples = sandboxes
            .metrics(context.caller, input.sandbox, input.since, input.until)
            .await?;
        let last = samples.last();
        Ok(MetricsView {
            cpu_count: last.map(|sample| sample.cpu_count),
            memory_limit_bytes: last.map(|sample| sample.memory_limit_bytes),
            disk_limit_bytes: last.map(|sample| sample.disk_limit_bytes),
            samples: samples.iter().map(SampleView::from).collect(),
            truncated: false,
        })
    }
}

impl From<&SandboxSample> for SampleView {
    fn from(sample: &SandboxSample) -> Self {
        Self {
            at: sample.at,
            cpu_percent: sample.cpu_percent,
            memory_bytes: sample.memory_bytes,
            cache_bytes: sample.cache_bytes,
            disk_bytes: sample.disk_bytes,
        }
    }
}
