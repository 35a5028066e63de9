//! A sandbox as clients see it.

use std::collections::BTreeMap;

use agentyard_envd::ENVD_VERSION;
use agentyard_model::{SandboxId, SandboxState, Timestamp};
use axum::extract::State;
use axum::response::Json;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::caller::{Known, SandboxPath};
use super::network::Network;
use super::{Control, arguments};
use crate::e2b::words::Fault;

/// Which machine keeps a sandbox, to clients that were written before that was nobody's business.
const CLIENT: &str = "agentyard";

const MEBIBYTE: u64 = 1024 * 1024;

/// A sandbox as our operations tell of it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct View {
    id: SandboxId,
    template: String,
    state: SandboxState,
    started_at: Timestamp,
    pub(super) ends_at: Timestamp,
    #[serde(default)]
    cpu_count: u64,
    #[serde(default)]
    memory_bytes: u64,
    #[serde(default)]
    disk_bytes: u64,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    #[serde(default)]
    auto_pause: bool,
    #[serde(default)]
    auto_resume: bool,
    #[serde(default)]
    internet: Option<bool>,
    #[serde(default)]
    allow_out: Vec<String>,
    #[serde(default)]
    deny_out: Vec<String>,
    #[serde(default)]
    pub(super) public_traffic: Option<bool>,
    /// Whether a paused one has its files, and its processes no more.
    #[serde(default)]
    files_only: bool,
    /// Whether it was paused until now.
    #[serde(default)]
    pub(super) resumed: bool,
}

/// What is answered to who makes, joins or forks a sandbox: how to get in.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Admitted {
    #[serde(rename = "templateID")]
    template: String,
    #[serde(rename = "sandboxID")]
    sandbox: SandboxId,
    #[serde(rename = "clientID")]
    client: &'static str,
    envd_version: &'static str,
    envd_access_token: String,
    traffic_access_token: String,
    domain: Option<String>,
}

/// A sandbox in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed {
    #[serde(rename = "templateID")]
    template: String,
    #[serde(rename = "sandboxID")]
    sandbox: SandboxId,
    #[serde(rename = "clientID")]
    client: &'static str,
    started_at: Timestamp,
    end_at: Timestamp,
    cpu_count: u64,
    #[serde(rename = "memoryMB")]
    memory_mb: u64,
    #[serde(rename = "diskSizeMB")]
    disk_size_mb: u64,
    state: SandboxState,
    envd_version: &'static str,
    metadata: BTreeMap<String, String>,
}

/// A sandbox with all that is known of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Detail {
    #[serde(flatten)]
    listed: Listed,
    /// Only for those who may use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    envd_access_token: Option<String>,
    domain: Option<String>,
    allow_internet_access: Option<bool>,
    network: Network,
    lifecycle: Lifecycle,
    #[serde(skip_serializing_if = "Option::is_none")]
    pause_mode: Option<&'static str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Lifecycle {
    auto_resume: bool,
    on_timeout: &'static str,
}

/// `GET /sandboxes/{id}`
pub(super) async fn detail(
    State(control): State<Control>,
    caller: Known,
    SandboxPath(id): SandboxPath,
) -> Result<Json<Detail>, Fault> {
    let view = control.find(&caller, id).await?;
    let access = match control.access_token(&caller, id).await {
        Ok(token) => Some(token),
        // Others of the tenant may see it though they may not use it.
        Err(fault) if fault.code() == StatusCode::FORBIDDEN => None,
        Err(fault) => return Err(fault),
    };
    Ok(Json(view.into_detail(access, control.domain())))
}

impl View {
    pub(super) fn is_running(&self) -> bool {
        self.state == SandboxState::Running
    }

    pub(super) fn into_listed(self) -> Listed {
        Listed {
            template: self.template,
            sandbox: self.id,
            client: CLIENT,
            started_at: self.started_at,
            end_at: self.ends_at,
            cpu_count: self.cpu_count,
            memory_mb: self.memory_bytes / MEBIBYTE,
            disk_size_mb: self.disk_bytes / MEBIBYTE,
            state: self.state,
            envd_version: ENVD_VERSION,
            metadata: self.metadata,
        }
    }

    fn into_detail(self, envd_access_token: Option<String>, domain: Option<String>) -> Detail {
        let said = |list: &Vec<String>| (!list.is_empty()).then(|| list.clone());
        Detail {
            envd_access_token,
            domain,
            allow_internet_access: self.internet,
            network: Network {
                allow_public_traffic: Some(self.public_traffic == Some(true)),
                allow_out: said(&self.allow_out),
                deny_out: said(&self.deny_out),
                ..Network::default()
            },
            lifecycle: Lifecycle {
                auto_resume: self.auto_resume,
                on_timeout: if self.auto_pause { "pause" } else { "kill" },
            },
            pause_mode: match (self.is_running(), self.files_only) {
                (true, _) => None,
                (false, true) => Some("filesystem"),
                (false, false) => Some("full"),
            },
            listed: self.into_listed(),
        }
    }
}

impl Control {
    /// What is known of a sandbox.
    pub(super) async fn find(&self, caller: &Known, id: SandboxId) -> Result<View, Fault> {
        self.ask(caller, "sandbox_get", arguments([("sandbox", json!(id))]))
            .await
    }

    /// Says how to get into a sandbox.
    pub(super) async fn admit(&self, caller: &Known, view: View) -> Result<Admitted, Fault> {
        let sandboxes = &self.platform.services.sandboxes;
        let traffic = sandboxes.traffic_token(&caller.0, view.id).await?;
        Ok(Admitted {
            envd_access_token: self.access_token(caller, view.id).await?,
            traffic_access_token: traffic.expose().to_owned(),
            template: view.template,
            sandbox: view.id,
            client: CLIENT,
            envd_version: ENVD_VERSION,
            domain: self.domain(),
        })
    }

    async fn access_token(&self, caller: &Known, id: SandboxId) -> Result<String, Fault> {
        let sandboxes = &self.platform.services.sandboxes;
        let token = sandboxes.access_token(&caller.0, id).await?;
        Ok(token.expose().to_owned())
    }

    fn domain(&self) -> Option<String> {
        self.domain.as_deref().map(ToOwned::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_is_told_of_as_the_sdks_read_it() {
        let view: View = serde_json::from_value(json!({
            "id": "a0b1c2d3e4f5g6h7i8j9",
            "template": "base",
            "state": "paused",
            "started_at": "2026-11-15T10:00:00Z",
            "ends_at": "2026-11-15T10:05:00Z",
            "cpu_count": 2,
            "memory_bytes": 536_870_912,
            "disk_bytes": 1_073_741_824,
            "metadata": {"user": "ada"},
            "auto_pause": true,
            "internet": false,
            "allow_out": ["packages.example"],
        }))
        .unwrap();
        let expected = json!({
            "templateID": "base",
            "sandboxID": "a0b1c2d3e4f5g6h7i8j9",
            "clientID": "agentyard",
            "startedAt": "2026-11-15T10:00:00Z",
            "endAt": "2026-11-15T10:05:00Z",
            "cpuCount": 2,
            "memoryMB": 512,
            "diskSizeMB": 1024,
            "state": "paused",
            "envdVersion": ENVD_VERSION,
            "metadata": {"user": "ada"},
            "envdAccessToken": "token",
            "domain": null,
            "allowInternetAccess": false,
            "network": {"allowPublicTraffic": false, "allowOut": ["packages.example"]},
            "lifecycle": {"autoResume": false, "onTimeout": "pause"},
            "pauseMode": "full",
        });
        let detail = view.into_detail(Some("token".to_owned()), None);
        assert_eq!(serde_json::to_value(detail).unwrap(), expected);
    }
}
