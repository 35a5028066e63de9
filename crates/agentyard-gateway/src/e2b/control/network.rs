//! Whom a sandbox may talk to, and who may talk to it.

use axum::body::Body;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::caller::{Known, SandboxPath};
use super::{Control, body};
use crate::e2b::words::Fault;

/// `network` of a new sandbox, and in what is told of one.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Network {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) allow_public_traffic: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) allow_out: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deny_out: Option<Vec<String>>,
    /// What would mean something else if it were left out.
    #[serde(flatten, skip_serializing)]
    pub(super) other: Map<String, Value>,
}

impl Network {
    /// The arguments that say so, for a new sandbox or one that is there.
    pub(super) fn into_arguments(
        self,
        internet: Option<bool>,
        arguments: &mut Map<String, Value>,
    ) -> Result<(), Fault> {
        refuse_other("network", &self.other)?;
        let given = [
            ("internet", json!(internet)),
            ("allow_out", json!(self.allow_out)),
            ("deny_out", json!(self.deny_out)),
            ("public_traffic", json!(self.allow_public_traffic)),
        ];
        let given = given.into_iter().filter(|(_, value)| !value.is_null());
        arguments.extend(given.map(|(name, value)| (name.to_owned(), value)));
        Ok(())
    }
}

/// `PUT …/network`: all that is said of whom it may talk to is replaced. Who may talk to it stays.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Update {
    #[serde(rename = "allow_internet_access")]
    internet: Option<bool>,
    #[serde(flatten)]
    network: Network,
}

pub(super) async fn replace(
    State(control): State<Control>,
    caller: Known,
    SandboxPath(id): SandboxPath,
    request: Body,
) -> Result<StatusCode, Fault> {
    let mut update: Update = body(request).await?;
    update.network.allow_public_traffic = control.find(&caller, id).await?.public_traffic;
    let mut arguments = super::arguments([("sandbox", json!(id))]);
    update.network.into_arguments(update.internet, &mut arguments)?;
    control.call(&caller, "sandbox_set_network", arguments).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Refuses fields that we do not know, unless they say nothing: a client that asks for a proxy or for rules must not
/// get a sandbox that goes without.
pub(super) fn refuse_other(of: &str, fields: &Map<String, Value>) -> Result<(), Fault> {
    let says_nothing = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    match fields.iter().find(|(_, value)| !says_nothing(value)) {
        Some((name, _)) => {
            let name: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
            Err(Fault::invalid(format!(
                "`{name}` of {of} is not supported by this server. Leave it out"
            )))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(update: Value) -> Result<Value, u16> {
        let update: Update = serde_json::from_value(update).unwrap();
        let mut arguments = Map::new();
        update
            .network
            .into_arguments(update.internet, &mut arguments)
            .map_err(|fault| fault.code())?;
        Ok(Value::Object(arguments))
    }

    #[test]
    fn what_is_said_is_passed_on() {
        assert_eq!(arguments(json!({})), Ok(json!({})));
        let update = json!({"allowOut": ["packages.example"], "denyOut": ["0.0.0.0/0"], "allow_internet_access": true});
        let expected =
            json!({"internet": true, "allow_out": ["packages.example"], "deny_out": ["0.0.0.0/0"]});
        assert_eq!(arguments(update), Ok(expected));
    }

    #[test]
    fn what_we_cannot_do_is_refused_unless_it_says_nothing() {
        let empty = json!({"rules": {}, "egressProxy": null, "dnsServers": []});
        assert_eq!(arguments(empty), Ok(json!({})));
        for other in [
            json!({"egressProxy": {"address": "proxy:1080"}}),
            json!({"rules": {"example.com": []}}),
            json!({"dnsServers": ["1.1.1.1"]}),
            json!({"maskRequestHost": "localhost"}),
        ] {
            assert_eq!(arguments(other.clone()), Err(400), "{other}");
        }
    }
}
