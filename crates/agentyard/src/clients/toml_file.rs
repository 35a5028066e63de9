//! Putting our entry into a TOML file; comments and order stay.

use std::path::Path;

use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

use super::json::Change;
use super::{ClientError, NAME};

/// A file with nothing but our entry.
pub(crate) fn document(change: &Change<'_>) -> String {
    let mut document = DocumentMut::new();
    // There is nothing in an empty document that could be in the way.
    let _ = set(&mut document, change);
    document.to_string()
}

/// The text of a file with our entry in it.
pub(crate) fn put(text: &str, change: &Change<'_>, path: &Path) -> Result<String, ClientError> {
    let mut document: DocumentMut =
        text.parse()
            .map_err(|error: toml_edit::TomlError| ClientError::Broken {
                path: path.to_path_buf(),
                line: error
                    .span()
                    .map_or(1, |span| 1 + text[..span.start].matches('\n').count()),
                message: format!("the file is not valid TOML: {}", error.message()),
            })?;
    set(&mut document, change).map_err(|key| ClientError::OutOfPlace {
        path: path.to_path_buf(),
        key,
        expected: "table",
    })?;
    Ok(document.to_string())
}

/// Sets our entry; the key that is no table where one belongs, if there is such a thing.
fn set(document: &mut DocumentMut, change: &Change<'_>) -> Result<(), String> {
    let servers = document
        .entry(change.section)
        .or_insert_with(implicit_table)
        .as_table_like_mut()
        .ok_or_else(|| change.section.to_owned())?;
    let entry = servers
        .entry(NAME)
        .or_insert_with(|| Item::Table(Table::new()))
        .as_table_like_mut()
        .ok_or_else(|| format!("{}.{NAME}", change.section))?;
    for name in change.superseded {
        if !change.fields.iter().any(|(field, _)| field == name) {
            entry.remove(name);
        }
    }
    for (name, value) in change.fields {
        if !says(entry, name, value) {
            entry.insert(name, item(value));
        }
    }
    Ok(())
}

/// A table that is not written itself, only the tables in it.
fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

/// Whether the entry says this already, in whatever layout.
fn says(entry: &dyn TableLike, name: &str, expected: &Value) -> bool {
    let Some(found) = entry.get(name) else {
        return false;
    };
    match expected {
        Value::String(text) => found.as_str() == Some(text),
        Value::Array(items) => found.as_array().is_some_and(|array| {
            let texts: Vec<_> = array.iter().map(toml_edit::Value::as_str).collect();
            texts == items.iter().map(Value::as_str).collect::<Vec<_>>()
        }),
        _ => false,
    }
}

/// Our fields are texts and lists of texts.
fn item(field: &Value) -> Item {
    match field {
        Value::Array(items) => value(items.iter().filter_map(Value::as_str).collect::<Array>()),
        Value::String(text) => value(text.as_str()),
        other => value(other.to_string()),
    }
}

#[cfg(test)]
mod tests;
