//! From texts to arguments: in a query and on a command line every value is text, and
//! the schema says what it stands for.

use agentyard_services::{Error, Result};
use serde_json::{Map, Value};

use crate::registry::Registered;

/// The arguments that these names and texts stand for. A name that comes more than
/// once is a list; a list may come once.
///
/// # Errors
/// When a text does not stand for what its argument is, or comes twice and is no list.
/// An unknown name is left for the operation to refuse.
pub fn arguments_from_texts<'a>(
    operation: &Registered,
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Map<String, Value>> {
    let mut arguments = Map::new();
    for (name, text) in pairs {
        let schema = operation.properties().get(name);
        let of_type = |schema: Option<&Value>| {
            schema
                .and_then(|schema| schema.get("type"))
                .and_then(Value::as_str)
                .unwrap_or("string")
                .to_owned()
        };
        if of_type(schema) == "array" {
            let item = value(
                name,
                text,
                &of_type(schema.and_then(|schema| schema.get("items"))),
            )?;
            match arguments.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
                Value::Array(items) => items.push(item),
                _ => return Err(given_twice(name)),
            }
        } else if arguments
            .insert(name.to_owned(), value(name, text, &of_type(schema))?)
            .is_some()
        {
            return Err(given_twice(name));
        }
    }
    Ok(arguments)
}

fn value(name: &str, text: &str, of_type: &str) -> Result<Value> {
    let shown: String = text.escape_debug().take(60).collect();
    let expected = |what: &str| Error::invalid(format!("argument `{name}`: expected {what}, got `{shown}`"));
    match of_type {
        "integer" => text
            .parse::<i64>()
            .map(Value::from)
            .map_err(|_| expected("a whole number")),
        "number" => text
            .parse::<f64>()
            .map(Value::from)
            .map_err(|_| expected("a number")),
        "boolean" => match text {
            "true" | "1" | "yes" | "" => Ok(Value::Bool(true)),
            "false" | "0" | "no" => Ok(Value::Bool(false)),
            _ => Err(expected("`true` or `false`")),
        },
        "object" => serde_json::from_str(text)
            .ok()
            .filter(Value::is_object)
            .ok_or_else(|| expected("a JSON object")),
        _ => Ok(Value::String(text.to_owned())),
    }
}

fn given_twice(name: &str) -> Error {
    Error::invalid(format!("argument `{name}`: given more than once"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry;

    fn read(pairs: &[(&str, &str)]) -> Result<Value> {
        let operation = registry().find("token_create").unwrap();
        arguments_from_texts(operation, pairs.iter().copied()).map(Value::Object)
    }

    #[test]
    fn the_schema_says_what_a_text_stands_for() {
        let arguments = read(&[
            ("name", "7"),
            ("expires_in_days", "7"),
            ("permissions", "project:read"),
            ("permissions", "project:write"),
        ]);
        assert_eq!(
            arguments.unwrap(),
            json!({ "name": "7", "expires_in_days": 7, "permissions": ["project:read", "project:write"] })
        );
    }

    #[test]
    fn an_object_is_written_as_json() {
        let operation = registry().find("edit_file").unwrap();
        let read = |text| arguments_from_texts(operation, [("edits", text)]).map(Value::Object);
        assert_eq!(
            read(r#"{"old":"a","new":"b"}"#).unwrap(),
            json!({ "edits": [{ "old": "a", "new": "b" }] })
        );
        assert!(read("a").is_err() && read("[1]").is_err());
    }

    #[test]
    fn a_wrong_text_names_its_argument() {
        let message = |pairs| read(pairs).unwrap_err().message().to_owned();
        assert_eq!(
            message(&[("expires_in_days", "soon")]),
            "argument `expires_in_days`: expected a whole number, got `soon`"
        );
        assert_eq!(
            message(&[("name", "a"), ("name", "b")]),
            "argument `name`: given more than once"
        );
    }
}
