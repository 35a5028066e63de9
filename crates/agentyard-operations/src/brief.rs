//! The schema of arguments in the tool list, which a model pays for at every start: only what it needs to call.
//! The whole schema, with every description, is in the resource `agentyard://tools/{name}`, in the OpenAPI document
//! and behind `--help`.

use serde_json::{Map, Value};

/// Arguments whose name says what they are, wherever they occur.
const SAY_THEMSELVES: &[&str] = &[
    "allow_empty",
    "allow_unrelated_histories",
    "amend",
    "autosquash",
    "bare",
    "cursor",
    "depth",
    "detach",
    "detail",
    "dry_run",
    "end_line",
    "fast_forward_only",
    "find_copies",
    "first_parent",
    "follow",
    "ignore_whitespace",
    "include_untracked",
    "initial_branch",
    "initialize_if_not_present",
    "keep_index",
    "limit",
    "max_commits",
    "max_count",
    "max_tags",
    "mirror",
    "name_only",
    "new_branch_name",
    "new_name",
    "new_path",
    "no_commit",
    "no_fast_forward",
    "no_merged",
    "pattern",
    "prune",
    "reason",
    "rebase_merges",
    "renames",
    "review_types",
    "set_upstream",
    "sign",
    "signoff",
    "since_tag",
    "single_branch",
    "sort",
    "squash",
    "staged",
    "start_line",
    "stat",
    "strategy",
    "tags",
    "unshallow",
    "until",
    "validate_git_repo",
];

/// Arguments that are accepted for clients of other servers, and that no new caller needs.
const FOR_OTHERS: &[&str] = &["abort", "acknowledgement", "continue_operation", "filename"];

/// Tells nothing that a caller needs: what is not among the arguments is refused anyway.
const TELLS_NOTHING: &str = "additionalProperties";

/// Takes from the schema what a caller can do without.
pub(crate) fn shorten(schema: &mut Map<String, Value>) {
    schema.shift_remove(TELLS_NOTHING);
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    properties.retain(|name, _| !FOR_OTHERS.contains(&name.as_str()));
    for (name, property) in properties {
        let Value::Object(property) = property else {
            continue;
        };
        if SAY_THEMSELVES.contains(&name.as_str()) {
            property.shift_remove("description");
        }
        if property.get("default").is_some_and(is_nothing) {
            property.shift_remove("default");
        }
        if property.get("minimum").is_some_and(|minimum| minimum == 0) {
            property.shift_remove("minimum");
        }
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_name_says_is_not_said_again() {
        let Value::Object(mut schema) = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "path": { "type": "string", "description": "Where." },
                "cursor": { "type": "string", "description": "The cursor." },
                "force": { "type": "boolean", "description": "Do it anyway.", "default": false },
                "limit": { "type": "integer", "minimum": 0, "maximum": 10 },
                "abort": { "type": "boolean" }
            },
            "required": ["path"]
        }) else {
            panic!("an object");
        };
        shorten(&mut schema);
        assert_eq!(
            Value::Object(schema),
            json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "Where." },
                    "cursor": { "type": "string" },
                    "force": { "type": "boolean", "description": "Do it anyway." },
                    "limit": { "type": "integer", "maximum": 10 }
                },
                "required": ["path"]
            })
        );
    }

    #[test]
    fn every_name_in_the_lists_is_an_argument_of_something() {
        for name in SAY_THEMSELVES.iter().chain(FOR_OTHERS) {
            let is_used = crate::registry()
                .iter()
                .any(|operation| operation.properties().contains_key(*name));
            assert!(is_used, "{name}");
        }
    }
}
