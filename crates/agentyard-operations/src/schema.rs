//! JSON schemas as clients like them: inline, without what only repeats or puzzles.
//!
//! The tool list is sent to a model at every start, so each byte of it is paid for
//! again and again; and some clients understand neither `$ref` nor a list of types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

/// The schema of a type, as JSON.
pub(crate) fn of<T: JsonSchema>() -> Map<String, Value> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    object(settings.into_generator().into_root_schema_for::<T>())
}

/// The schema of a tool's arguments: as above, and an object even when there are none.
pub(crate) fn of_input<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = of::<T>();
    schema.entry("type").or_insert_with(|| "object".into());
    schema.entry("properties").or_insert_with(|| Map::new().into());
    schema
}

fn object(schema: Schema) -> Map<String, Value> {
    let Value::Object(mut fields) = schema.to_value() else {
        return Map::new();
    };
    slim(&mut fields);
    fields.shift_remove("title");
    fields
}

/// Drops what a reader can do without. Applied to schemas only, never to the map of
/// properties, whose keys are the caller's words.
fn slim(schema: &mut Map<String, Value>) {
    schema.shift_remove("title");
    if schema.get("default").is_some_and(Value::is_null) {
        schema.shift_remove("default");
    }
    // Widths of integers say nothing that minimum and maximum do not.
    if schema
        .get("format")
        .and_then(Value::as_str)
        .is_some_and(|format| format.starts_with("uint") || format.starts_with("int"))
    {
        schema.shift_remove("format");
    }
    take_out_null(schema);
    join_constants(schema);
    unwrap_lines(schema);
    for (key, value) in schema.iter_mut().filter(|(key, _)| *key != "properties") {
        match value {
            Value::Object(inner) if is_schema(inner) => slim(inner),
            Value::Array(items) if key != "enum" => {
                items.iter_mut().filter_map(Value::as_object_mut).for_each(slim);
            }
            _ => {}
        }
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties
            .values_mut()
            .filter_map(Value::as_object_mut)
            .for_each(slim);
    }
}

/// Whether an object inside a schema is a schema too: one says what a value is.
fn is_schema(object: &Map<String, Value>) -> bool {
    ["type", "anyOf", "oneOf"]
        .iter()
        .any(|keyword| object.contains_key(*keyword))
}

/// `Option<T>` is T that may be left out: JSON's null need not be offered.
fn take_out_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            schema.shift_remove("anyOf");
            for (key, value) in only {
                schema.entry(key).or_insert(value);
            }
        }
    }
}

/// An enum whose variants have doc comments comes as one schema per variant; the
/// names suffice.
fn join_constants(schema: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = schema.get("oneOf") else {
        return;
    };
    let constants: Option<Vec<Value>> = choices
        .iter()
        .map(|choice| choice.get("const").filter(|value| value.is_string()).cloned())
        .collect();
    if let Some(constants) = constants {
        schema.shift_remove("oneOf");
        schema.insert("type".to_owned(), "string".into());
        schema.insert("enum".to_owned(), constants.into());
    }
}

/// Doc comments are wrapped for the source; the reader of a schema wraps for itself.
fn unwrap_lines(schema: &mut Map<String, Value>) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        let paragraphs: Vec<String> = description
            .split("\n\n")
            .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        *description = paragraphs.join("\n");
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde::Deserialize;

    use super::*;

    /// How to sort.
    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Order {
        /// The newest first.
        Newest,
        /// The oldest first.
        Oldest,
    }

    /// Look something up. The text goes
    /// over two lines.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Input {
        /// What to look for.
        title: Option<String>,
        /// How many.
        limit: Option<u32>,
        order: Option<Order>,
        tags: Vec<String>,
    }

    #[test]
    fn a_schema_is_slim_and_inline() {
        expect![[r#"
            {
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "title": {
                  "type": "string",
                  "description": "What to look for."
                },
                "limit": {
                  "type": "integer",
                  "minimum": 0,
                  "description": "How many."
                },
                "order": {
                  "description": "How to sort.",
                  "type": "string",
                  "enum": [
                    "newest",
                    "oldest"
                  ]
                },
                "tags": {
                  "type": "array",
                  "items": {
                    "type": "string"
                  }
                }
              },
              "required": [
                "tags"
              ],
              "description": "Look something up. The text goes over two lines."
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&of_input::<Input>()).unwrap());
    }
}
