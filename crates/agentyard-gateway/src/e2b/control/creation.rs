//! Making a sandbox.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::State;
use axum::response::Json;
use http::{HeaderMap, HeaderName, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::caller::Known;
use super::network::{Network, refuse_other};
use super::shown::{Admitted, View};
use super::{Control, body};
use crate::e2b::words::Fault;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// How long a sandbox stays when the older of E2B's interfaces is not told.
pub(super) const V1_TIMEOUT_SECONDS: u64 = 15;

/// `POST /v2/sandboxes`
pub(super) async fn create_v2(
    State(control): State<Control>,
    caller: Known,
    headers: HeaderMap,
    request: Body,
) -> Result<(StatusCode, Json<Admitted>), Fault> {
    let new: NewSandbox = body(request).await?;
    create(&control, &caller, &headers, new).await
}

/// `POST /sandboxes`
pub(super) async fn create_v1(
    State(control): State<Control>,
    caller: Known,
    headers: HeaderMap,
    request: Body,
) -> Result<(StatusCode, Json<Admitted>), Fault> {
    let mut new: NewSandbox = body(request).await?;
    new.timeout.get_or_insert(V1_TIMEOUT_SECONDS);
    create(&control, &caller, &headers, new).await
}

async fn create(
    control: &Control,
    caller: &Known,
    headers: &HeaderMap,
    new: NewSandbox,
) -> Result<(StatusCode, Json<Admitted>), Fault> {
    let mut arguments = new.into_arguments()?;
    if let Some(key) = idempotency_key(headers)? {
        arguments.insert("idempotency_key".to_owned(), json!(key));
    }
    let view: View = control.ask(caller, "sandbox_create", arguments).await?;
    let admitted = control.admit(caller, view).await?;
    Ok((StatusCode::CREATED, Json(admitted)))
}

/// What is asked for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewSandbox {
    #[serde(rename = "templateID")]
    template: String,
    timeout: Option<u64>,
    auto_pause: Option<bool>,
    auto_pause_memory: Option<bool>,
    auto_resume: Option<AutoResume>,
    #[serde(rename = "allow_internet_access")]
    internet: Option<bool>,
    network: Option<Network>,
    metadata: Option<BTreeMap<String, String>>,
    env_vars: Option<BTreeMap<String, String>>,
    /// Sandboxes are secure here, whatever is asked.
    #[serde(rename = "secure")]
    _secure: Option<bool>,
    /// What would mean something else if it were left out: `mcp`, `iam`, `volumeMounts`.
    #[serde(flatten)]
    other: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct AutoResume {
    enabled: bool,
}

impl NewSandbox {
    fn into_arguments(self) -> Result<Map<String, Value>, Fault> {
        refuse_other("a new sandbox", &self.other)?;
        let auto_resume = self.auto_resume.map(|auto_resume| auto_resume.enabled);
        let keeps_memory = self.auto_pause_memory != Some(false);
        if auto_resume == Some(true) && !keeps_memory {
            return Err(Fault::invalid(
                "`autoResume` needs the memory to be kept: leave out `autoPauseMemory`, or resume it by connecting",
            ));
        }
        let mut arguments = super::arguments([
            ("template", json!(self.template)),
            ("timeout_seconds", json!(self.timeout)),
            ("auto_pause", json!(self.auto_pause)),
            ("auto_resume", json!(auto_resume)),
            ("metadata", json!(self.metadata)),
            ("envs", json!(self.env_vars)),
            ("files_only", json!((!keeps_memory).then_some(true))),
        ]);
        self.network
            .unwrap_or_default()
            .into_arguments(self.internet, &mut arguments)?;
        Ok(arguments)
    }
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, Fault> {
    let mut keys = headers.get_all(IDEMPOTENCY_KEY).iter();
    let key = match (keys.next(), keys.next()) {
        (None, _) => return Ok(None),
        (Some(key), None) => key.to_str().unwrap_or_default(),
        (Some(_), Some(_)) => "",
    };
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=255).contains(&key.len()) && key.bytes().all(plain) {
        return Ok(Some(key));
    }
    Err(Fault::invalid(
        "the `Idempotency-Key` header must be one, of 1 to 255 lower-case letters, digits and hyphens",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(new: Value) -> Result<Value, u16> {
        let new: NewSandbox = serde_json::from_value(new).unwrap();
        new.into_arguments()
            .map(Value::Object)
            .map_err(|fault| fault.code())
    }

    #[test]
    fn what_the_python_sdk_sends_is_understood() {
        let sent = json!({
            "templateID": "base",
            "timeout": 300,
            "autoPause": true,
            "autoResume": {"enabled": true},
            "metadata": {"user": "ada"},
            "envVars": {"A": "1"},
            "allow_internet_access": false,
            "network": {"allowOut": ["packages.example"], "allowPublicTraffic": true},
        });
        let expected = json!({
            "template": "base",
            "timeout_seconds": 300,
            "auto_pause": true,
            "auto_resume": true,
            "metadata": {"user": "ada"},
            "envs": {"A": "1"},
            "internet": false,
            "allow_out": ["packages.example"],
            "public_traffic": true,
        });
        assert_eq!(arguments(sent), Ok(expected));
    }

    #[test]
    fn what_is_left_out_is_left_to_the_operation() {
        assert_eq!(
            arguments(json!({"templateID": "base", "secure": true, "mcp": null})),
            Ok(json!({"template": "base"}))
        );
    }

    #[test]
    fn what_we_cannot_do_is_refused() {
        for other in [
            json!({"templateID": "base", "mcp": {"github": {}}}),
            json!({"templateID": "base", "iam": {"tokens": {"a": {}}}}),
            json!({"templateID": "base", "volumeMounts": [{"name": "v", "path": "/v"}]}),
            json!({"templateID": "base", "autoPauseMemory": false, "autoResume": {"enabled": true}}),
        ] {
            assert_eq!(arguments(other.clone()), Err(400), "{other}");
        }
    }

    #[test]
    fn keys_are_checked() {
        let key = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(IDEMPOTENCY_KEY, value.parse().unwrap());
            }
            idempotency_key(&headers)
                .map(|key| key.map(ToOwned::to_owned))
                .map_err(|fault| fault.code())
        };
        assert_eq!(key(&[]), Ok(None));
        assert_eq!(key(&["a-1"]), Ok(Some("a-1".to_owned())));
        for wrong in [&["A"][..], &["a b"], &[""], &["a", "a"], &[&"a".repeat(256)]] {
            assert_eq!(key(wrong), Err(400), "{wrong:?}");
        }
    }
}
