//! A commit to compare with: given by name, or with `true` what is checked out.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// A commit to compare with.
#[derive(Deserialize, Debug, PartialEq)]
#[serde(untagged)]
pub(super) enum Base {
    Head(bool),
    Revision(String),
}

impl Base {
    /// The revision that is meant; none for `false`.
    pub(super) fn revision(self) -> Option<String> {
        match self {
            Self::Head(true) => Some("HEAD".to_owned()),
            Self::Head(false) => None,
            Self::Revision(text) => match text.as_str() {
                "true" => Some("HEAD".to_owned()),
                "false" => None,
                _ => Some(text),
            },
        }
    }
}

impl JsonSchema for Base {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Base".into()
    }

    /// One type, since some clients do not understand a choice of two; a boolean is taken too.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boolean_stands_for_head() {
        for (json, expected) in [
            ("true", Some("HEAD")),
            ("\"true\"", Some("HEAD")),
            ("false", None),
            ("\"main\"", Some("main")),
        ] {
            let base: Base = serde_json::from_str(json).unwrap();
            assert_eq!(base.revision().as_deref(), expected, "{json}");
        }
    }
}
