//! What the JSON schema of the settings says about each key. Making a schema takes far longer
//! than reading a configuration, so nothing that happens at every start may need this.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// What is known of a key or a section.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) key: String,
    /// What may stand there, in words; nothing for a section.
    pub(crate) kind: Option<String>,
    pub(crate) description: String,
}

/// Every section and key, each section before its keys.
pub(crate) fn describe<T: JsonSchema>() -> Vec<Described> {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut found = Vec::new();
    if let Some(root) = schema.as_object() {
        describe_members(root, "", &mut found);
    }
    found
}

/// Every key there is. The settings themselves, written out, may leave out a key that is not set.
pub(crate) fn keys<T: JsonSchema>() -> Vec<String> {
    let described = describe::<T>().into_iter();
    described
        .filter_map(|described| described.kind.map(|_| described.key))
        .collect()
}

/// A section's own keys come before the sections in it, so that each stands under its own heading.
fn describe_members(section: &Map<String, Value>, prefix: &str, found: &mut Vec<Described>) {
    let members = section.get("properties").and_then(Value::as_object);
    let members = members
        .into_iter()
        .flatten()
        .filter_map(|(name, schema)| Some((format!("{prefix}{name}"), schema.as_object()?)));
    let (sections, keys): (Vec<_>, Vec<_>) =
        members.partition(|(_, schema)| schema.contains_key("properties"));
    for (key, schema) in keys {
        found.push(Described {
            key,
            kind: Some(kind(schema)),
            description: description(schema),
        });
    }
    for (key, schema) in sections {
        let inner = format!("{key}.");
        found.push(Described {
            key,
            kind: None,
            description: description(schema),
        });
        describe_members(schema, &inner, found);
    }
}

fn description(schema: &Map<String, Value>) -> String {
    let text = schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What may stand at a key, in words.
fn kind(schema: &Map<String, Value>) -> String {
    let choices = choices(schema);
    if !choices.is_empty() {
        return choices.join(", ");
    }
    let alternatives = schema.get("anyOf").and_then(Value::as_array);
    if let Some(alternative) = alternatives.and_then(|list| list.iter().find_map(not_null)) {
        return kind(alternative);
    }
    let name = match schema.get("type") {
        Some(Value::String(name)) => name.as_str(),
        // A setting that may be left out: `["string", "null"]`.
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .find(|name| *name != "null")
            .unwrap_or_default(),
        _ => "",
    };
    let is_secret = schema.get("format").and_then(Value::as_str) == Some("password");
    match name {
        "string" if is_secret => "secret".to_owned(),
        "string" => "text".to_owned(),
        "integer" => "whole number".to_owned(),
        "number" => "number".to_owned(),
        "boolean" => "`true`, `false`".to_owned(),
        "array" => match schema.get("items").and_then(Value::as_object) {
            Some(items) => format!("list of {}", kind(items)),
            None => "list".to_owned(),
        },
        _ => "table".to_owned(),
    }
}

/// The values of an enumeration: schemars writes `enum`, or `oneOf` constants when the values have descriptions.
fn choices(schema: &Map<String, Value>) -> Vec<String> {
    let list = |name| schema.get(name).and_then(Value::as_array).into_iter().flatten();
    let constants = list("oneOf").filter_map(|choice| choice.get("const"));
    let nested = list("oneOf")
        .filter_map(|choice| choice.get("enum")?.as_array())
        .flatten();
    list("enum")
        .chain(constants)
        .chain(nested)
        .filter_map(Value::as_str)
        .map(|choice| format!("`{choice}`"))
        .collect()
}

fn not_null(schema: &Value) -> Option<&Map<String, Value>> {
    schema
        .as_object()
        .filter(|schema| schema.get("type").and_then(Value::as_str) != Some("null"))
}
