//! What sandboxes take.

use agentyard_model::{SandboxId, Timestamp};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Json;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::caller::{Known, SandboxPath};
use super::listing::unreadable;
use super::{Control, arguments};
use crate::e2b::words::Fault;

/// How many of them make a second.
const MICROSECONDS: i64 = 1_000_000;

/// Of how many sandboxes one may ask at once.
const MAX_SANDBOXES: usize = 100;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Span {
    /// In seconds since 1970, as `end`.
    start: Option<i64>,
    end: Option<i64>,
}

/// What the operation answers.
#[derive(Debug, Deserialize)]
struct Samples {
    #[serde(default)]
    samples: Vec<Sample>,
    #[serde(default)]
    cpu_count: u32,
    #[serde(default)]
    memory_limit_bytes: u64,
    #[serde(default)]
    disk_limit_bytes: u64,
}

#[derive(Debug, Deserialize)]
struct Sample {
    at: Timestamp,
    #[serde(default)]
    cpu_percent: f64,
    #[serde(default)]
    memory_bytes: u64,
    #[serde(default)]
    cache_bytes: u64,
    #[serde(default)]
    disk_bytes: u64,
}

/// What clients read.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metric {
    timestamp: Timestamp,
    timestamp_unix: i64,
    cpu_count: u32,
    cpu_used_pct: f64,
    mem_used: u64,
    mem_total: u64,
    mem_cache: u64,
    disk_used: u64,
    disk_total: u64,
}

impl Metric {
    fn new(sample: &Sample, of: &Samples) -> Self {
        Self {
            timestamp: sample.at,
            timestamp_unix: sample.at.as_microseconds().div_euclid(MICROSECONDS),
            cpu_count: of.cpu_count,
            cpu_used_pct: sample.cpu_percent,
            mem_used: sample.memory_bytes,
            mem_total: of.memory_limit_bytes,
            mem_cache: sample.cache_bytes,
            disk_used: sample.disk_bytes,
            disk_total: of.disk_limit_bytes,
        }
    }
}

/// `GET /sandboxes/{id}/metrics`
pub(super) async fn of_one(
    State(control): State<Control>,
    caller: Known,
    SandboxPath(id): SandboxPath,
    query: Result<Query<Span>, QueryRejection>,
) -> Result<Json<Vec<Metric>>, Fault> {
    let Query(span) = query.map_err(unreadable)?;
    Ok(Json(control.metrics(&caller, id, span).await?))
}

#[derive(Debug, Deserialize)]
pub(super) struct Many {
    sandbox_ids: String,
}

/// `GET /sandboxes/metrics?sandbox_ids=…`: the latest of each that there is.
pub(super) async fn latest_of_many(
    State(control): State<Control>,
    caller: Known,
    query: Result<Query<Many>, QueryRejection>,
) -> Result<Json<Value>, Fault> {
    let Query(many) = query.map_err(unreadable)?;
    let ids: Vec<&str> = many.sandbox_ids.split(',').filter(|id| !id.is_empty()).collect();
    if ids.len() > MAX_SANDBOXES {
        return Err(Fault::invalid(format!(
            "there are {} sandboxes in `sandbox_ids`; at most {MAX_SANDBOXES} may be asked for at once",
            ids.len()
        )));
    }
    let mut latest = Map::new();
    for id in ids {
        let Ok(id) = id.parse() else {
            continue;
        };
        let known = match control.metrics(&caller, id, Span::default()).await {
            Ok(metrics) => metrics,
            Err(fault) if fault.code() == 404 => continue,
            Err(fault) => return Err(fault),
        };
        if let Some(metric) = known.into_iter().next_back() {
            latest.insert(id.to_string(), json!(metric));
        }
    }
    Ok(Json(json!({ "sandboxes": latest })))
}

impl Control {
    async fn metrics(&self, caller: &Known, id: SandboxId, span: Span) -> Result<Vec<Metric>, Fault> {
        let time = |seconds: i64| Timestamp::from_microseconds(seconds.saturating_mul(MICROSECONDS));
        let arguments = arguments([
            ("sandbox", json!(id)),
            ("since", json!(span.start.map(time))),
            ("until", json!(span.end.map(time))),
        ]);
        let all: Samples = self.ask(caller, "sandbox_metrics", arguments).await?;
        Ok(all
            .samples
            .iter()
            .map(|sample| Metric::new(sample, &all))
            .collect())
    }
}
