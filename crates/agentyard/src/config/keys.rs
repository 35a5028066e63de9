//! Keys, what stands at them, and their variables: read from the settings themselves, so that no
//! list can fall behind.

use serde::Serialize;
use serde_json::Value;

use super::ConfigError;

/// How the variable of every key begins.
pub(crate) const VARIABLE_PREFIX: &str = "AGENTYARD_";

/// The keys of some settings with their values, sorted by key; a secret's value is stars. A key that is
/// not set may be left out.
pub(crate) fn values<T: Serialize>(settings: &T) -> Result<Vec<(String, Value)>, ConfigError> {
    let tree = serde_json::to_value(settings).map_err(ConfigError::NotShowable)?;
    let mut found = Vec::new();
    collect(tree, String::new(), &mut found);
    found.sort_by(|(left, _), (right, _)| left.cmp(right));
    Ok(found)
}

fn collect(value: Value, key: String, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                let key = if key.is_empty() {
                    name
                } else {
                    format!("{key}.{name}")
                };
                collect(member, key, found);
            }
        }
        leaf => found.push((key, leaf)),
    }
}

/// The variable of a key: `http.listen` is `AGENTYARD_HTTP_LISTEN`.
pub(crate) fn variable_of(key: &str) -> String {
    let key = key.replace('.', "_").to_ascii_uppercase();
    format!("{VARIABLE_PREFIX}{key}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_found_at_any_depth() {
        let settings = json!({ "b": { "c": { "d": 1 }, "a": null }, "a": [] });
        assert_eq!(
            values(&settings).unwrap(),
            [
                ("a".to_owned(), json!([])),
                ("b.a".to_owned(), json!(null)),
                ("b.c.d".to_owned(), json!(1)),
            ]
        );
    }

    #[test]
    fn a_key_has_its_variable() {
        assert_eq!(
            variable_of("store.max_connections"),
            "AGENTYARD_STORE_MAX_CONNECTIONS"
        );
    }
}
