//! Putting our entry into a JSON file, by changing as little of its text as possible.

mod comments;
mod edit;
mod scan;

use std::path::Path;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::ClientError;

pub(crate) use edit::document;

/// What is to stand in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change<'a> {
    /// The member in which the client keeps its servers.
    pub(crate) section: &'static str,
    /// What our entry says, in this order.
    pub(crate) fields: &'a [(&'static str, Value)],
    /// What an older entry of ours may say that must go.
    pub(crate) superseded: &'a [&'static str],
}

/// The text of a file with our entry in it.
pub(crate) fn put(text: &str, change: &Change<'_>, path: &Path) -> Result<String, ClientError> {
    if text.trim().is_empty() {
        return Ok(document(change));
    }
    // The scanner that finds the places to change relies on a valid text.
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        if comments::are_all_that_is_wrong(text) {
            return Err(ClientError::Commented {
                path: path.to_path_buf(),
                document: document(change),
            });
        }
        return Err(ClientError::Broken {
            path: path.to_path_buf(),
            line: error.line(),
            message: format!("the file is not valid JSON: {error}"),
        });
    }
    edit::put(text, change).map_err(|key| ClientError::OutOfPlace {
        path: path.to_path_buf(),
        key,
        expected: "object",
    })
}

#[cfg(test)]
mod tests;
