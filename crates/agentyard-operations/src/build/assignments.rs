//! Variables, as a list of `NAME=value`. An object is taken as well: models write one.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};

/// Names and their values.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Assignments(pub(crate) Vec<(String, String)>);

#[derive(Deserialize)]
#[serde(untagged)]
enum Given {
    List(Vec<String>),
    Object(Map<String, Value>),
}

impl<'de> Deserialize<'de> for Assignments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Given::deserialize(deserializer)
            .map_err(|_| de::Error::custom("expected a list of `NAME=value`"))?;
        let pairs: Result<_, _> = match given {
            Given::List(items) => items.iter().map(|item| split(item)).collect(),
            Given::Object(fields) => fields
                .into_iter()
                .map(|(name, value)| pair(name, &value))
                .collect(),
        };
        pairs.map(Self).map_err(de::Error::custom)
    }
}

fn split(item: &str) -> Result<(String, String), String> {
    let (name, value) = item.split_once('=').ok_or_else(|| {
        let shown: String = item.chars().take(60).collect();
        format!("expected `NAME=value`, got `{}`", shown.escape_debug())
    })?;
    Ok((name.to_owned(), value.to_owned()))
}

fn pair(name: String, value: &Value) -> Result<(String, String), String> {
    match value {
        Value::String(text) => Ok((name, text.clone())),
        Value::Number(_) | Value::Bool(_) => Ok((name, value.to_string())),
        _ => Err("expected a text as the value of each name".to_owned()),
    }
}

impl JsonSchema for Assignments {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Assignments".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": { "type": "string" } })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_and_an_object_say_the_same() {
        let read =
            |value: Value| serde_json::from_value::<Assignments>(value).map(|assignments| assignments.0);
        let expected = vec![
            ("A".to_owned(), "b=c".to_owned()),
            ("N".to_owned(), "1".to_owned()),
        ];
        assert_eq!(read(json!(["A=b=c", "N=1"])).unwrap(), expected);
        assert_eq!(read(json!({ "A": "b=c", "N": 1 })).unwrap(), expected);
        for wrong in [json!(["A"]), json!("A=b"), json!({ "A": ["b"] }), json!([1])] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains("expected"), "{error}");
        }
    }
}
