//! What this server tells clients about how to be let in (RFC 9728).

use agentyard_model::Permission;
use serde::Serialize;

use super::origin::BaseUrl;
use super::settings::{AuthMode, AuthSettings};

/// The protected resource metadata, served at [`METADATA_PATH`](super::METADATA_PATH).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProtectedResource {
    resource: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authorization_servers: Vec<String>,
    bearer_methods_supported: [&'static str; 1],
    scopes_supported: Vec<&'static str>,
    resource_name: &'static str,
}

impl ProtectedResource {
    /// The metadata of the server at this address. Only in mode `oauth` there is somebody
    /// else to ask for a token.
    #[must_use]
    pub fn new(base: &BaseUrl, settings: &AuthSettings) -> Self {
        let issuer = match settings.mode {
            AuthMode::OAuth => settings.oauth.issuer.clone(),
            AuthMode::Token | AuthMode::Jwt | AuthMode::None => None,
        };
        Self {
            resource: base.as_str().to_owned(),
            authorization_servers: issuer.into_iter().collect(),
            bearer_methods_supported: ["header"],
            scopes_supported: Permission::ALL
                .iter()
                .map(|permission| permission.as_str())
                .collect(),
            resource_name: "Agentyard",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_names_the_issuer_and_every_permission() {
        let base = BaseUrl("https://yard.example.org".into());
        let mut settings = AuthSettings::default();
        settings.oauth.issuer = Some("https://id.example.org".to_owned());
        let token = serde_json::to_value(ProtectedResource::new(&base, &settings)).unwrap();
        assert_eq!(token.get("authorization_servers"), None);

        settings.mode = AuthMode::OAuth;
        let oauth = serde_json::to_value(ProtectedResource::new(&base, &settings)).unwrap();
        assert_eq!(oauth["resource"], "https://yard.example.org");
        assert_eq!(
            oauth["authorization_servers"],
            serde_json::json!(["https://id.example.org"])
        );
        assert_eq!(oauth["bearer_methods_supported"], serde_json::json!(["header"]));
        assert_eq!(
            oauth["scopes_supported"].as_array().unwrap().len(),
            Permission::ALL.len()
        );
    }
}
