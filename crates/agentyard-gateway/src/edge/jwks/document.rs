//! The documents that an issuer publishes, read without trust in their tidiness.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::Deserialize;
use serde_json::Value;

use crate::edge::keys::VerificationKey;

/// The keys of one issuer by their ids. Keys of different issuers never meet in one map, so
/// that an id says nothing without its issuer.
#[derive(Debug, Default)]
pub(super) struct KeySet {
    keys: HashMap<Option<String>, VerificationKey>,
}

impl KeySet {
    /// The keys that can verify signatures. One that cannot is passed over, so that it does
    /// not spoil the others; two under one id are both passed over, since which of them a
    /// token means would be up to chance.
    pub(super) fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        let document: JwksDocument = serde_json::from_slice(json)?;
        let mut found: HashMap<Option<String>, Option<VerificationKey>> = HashMap::new();
        for value in &document.keys {
            let key = match VerificationKey::from_published(value) {
                Ok(key) => key,
                Err(reason) => {
                    tracing::debug!(%reason, "a published key is passed over");
                    continue;
                }
            };
            let id = value.get("kid").and_then(Value::as_str).map(str::to_owned);
            match found.entry(id) {
                Entry::Vacant(entry) => {
                    entry.insert(Some(key));
                }
                Entry::Occupied(mut entry) => {
                    tracing::warn!("two published keys share one id; neither is used");
                    entry.insert(None);
                }
            }
        }
        let keys = found
            .into_iter()
            .filter_map(|(id, key)| Some((id, key?)))
            .collect();
        Ok(Self { keys })
    }

    /// The key of this id; without an id, the key that has none.
    pub(super) fn get(&self, id: Option<&str>) -> Option<&VerificationKey> {
        self.keys.get(&id.map(str::to_owned))
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }
}

#[derive(Deserialize)]
struct JwksDocument {
    keys: Vec<Value>,
}

/// What is of interest in an authorization server's metadata (RFC 8414, OpenID discovery).
#[derive(Debug, Deserialize)]
pub(super) struct IssuerMetadata {
    pub(super) issuer: String,
    pub(super) jwks_uri: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ids(document: &Value) -> Vec<Option<String>> {
        let set = KeySet::parse(document.to_string().as_bytes()).unwrap();
        let mut ids: Vec<_> = set.keys.into_keys().collect();
        ids.sort();
        ids
    }

    fn key(id: &str) -> Value {
        json!({"kty": "OKP", "crv": "Ed25519", "x": "A".repeat(43), "kid": id})
    }

    #[test]
    fn one_bad_key_does_not_spoil_the_others() {
        let document = json!({"keys": [
            key("good"),
            {"kty": "oct", "k": "c2VjcmV0", "kid": "symmetric"},
            {"kty": "OKP", "crv": "Ed25519", "x": "AA", "d": "AA", "kid": "private"},
            {"kty": "OKP", "crv": "X25519", "x": "AA", "kid": "agreement"},
            {"kty": "future", "kid": "future"},
            "not a key",
            17,
        ]});
        assert_eq!(ids(&document), [Some("good".to_owned())]);
    }

    #[test]
    fn an_id_that_two_keys_share_is_no_id() {
        let document = json!({"keys": [key("a"), key("b"), key("a"), key("a")]});
        assert_eq!(ids(&document), [Some("b".to_owned())]);
    }

    #[test]
    fn an_id_is_only_a_key_of_the_map() {
        let document = json!({"keys": [key("a"), {"kty": "OKP", "crv": "Ed25519", "x": "AA"}]});
        let set = KeySet::parse(document.to_string().as_bytes()).unwrap();
        assert!(set.get(Some("a")).is_some());
        assert!(set.get(None).is_some());
        for odd in ["", "A", "../a", "a\0", "' OR 1=1 --", "http://evil.example/a"] {
            assert!(set.get(Some(odd)).is_none(), "{odd:?}");
        }
    }
}
