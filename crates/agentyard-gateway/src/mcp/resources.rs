//! Resources: what a client can read without calling a tool.

use agentyard_operations::{Registered, registry};
use agentyard_services::{Error, ErrorKind, PlainText, Services};
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use super::scope::Scope;
use crate::run_output::{OutputPlace, STREAMS};

const WORKING_DIRECTORY: &str = "git://working-directory";

/// A tool, with the schema of its answer, which the tool list leaves out to stay small.
const TOOL_PREFIX: &str = "agentyard://tools/";
const TOOL_TEMPLATE: &str = "agentyard://tools/{name}";

/// What a run said, which answers hold the beginning and the end of.
const RUN_PREFIX: &str = "agentyard://runs/";
const RUN_TEMPLATE: &str = "agentyard://runs/{run}/{stream}";

/// How much of it is read at once.
const MAX_OUTPUT_BYTES: usize = 1024 * 1024;

/// The resources that make sense with the tools this caller has.
pub(super) fn resources(scope: &Scope) -> Vec<Resource> {
    if !scope.shows("git_set_working_dir") {
        return Vec::new();
    }
    vec![
        Resource::new(WORKING_DIRECTORY, "git-working-directory")
            .with_title("Working directory")
            .with_description("The directory that `.` stands for in the git tools.")
            .with_mime_type("application/json"),
    ]
}

/// The families of resources.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(TOOL_TEMPLATE, "tool")
            .with_title("A tool in full")
            .with_description("What a tool does, takes and answers, with the schemas of both.")
            .with_mime_type("application/json"),
        ResourceTemplate::new(RUN_TEMPLATE, "run-output")
            .with_title("All that a run said")
            .with_description("`stream` is `stdout` or `stderr`; `?offset=N` begins at a byte.")
            .with_mime_type("text/plain"),
    ]
}

/// Reads one.
pub(super) async fn read(
    scope: &Scope,
    services: &Services,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    if let Some(place) = uri.strip_prefix(RUN_PREFIX) {
        return output(scope, services, uri, place);
    }
    let document = if let Some(name) = uri.strip_prefix(TOOL_PREFIX) {
        let operation = scope.find(name).ok_or_else(|| absent(uri))?;
        let entry = operation.entry();
        json!({
            "name": entry.name,
            "toolset": entry.toolset,
            "effect": entry.effect.as_str(),
            "permission": entry.permission(),
            "route": entry.route.to_string(),
            "description": operation.description(),
            "input_schema": operation.input_schema(),
            "output_schema": operation.output_schema(),
        })
    } else if uri == WORKING_DIRECTORY && scope.shows("git_set_working_dir") {
        let directory = services
            .repositories
            .working_directory(&scope.caller)
            .await
            .map_err(|error| ErrorData::internal_error(error.message().to_owned(), None))?;
        json!({ "path": directory })
    } else {
        return Err(absent(uri));
    };
    let contents = ResourceContents::text(document.to_string(), uri).with_mime_type("application/json");
    Ok(ReadResourceResult::new(vec![contents]))
}

/// What a run said, without what steers a terminal.
fn output(
    scope: &Scope,
    services: &Services,
    uri: &str,
    place: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let place = OutputPlace::read(place).ok_or_else(|| absent(uri))?;
    let output = place
        .output(services, &scope.caller, MAX_OUTPUT_BYTES)
        .map_err(|error| unreadable(&error))?;
    let whole = whole_characters(&output.bytes);
    let mut text = PlainText::default().push(&String::from_utf8_lossy(whole));
    let end = place.offset + whole.len() as u64;
    if end < output.kept {
        let base = uri.split('?').next().unwrap_or(uri);
        text.push_str(&format!("\n[more: read {base}?offset={end}]\n"));
    } else if output.kept < output.total {
        let lost = output.total - output.kept;
        text.push_str(&format!("\n[{lost} bytes more were said and are not kept]\n"));
    } else if !output.is_complete {
        text.push_str("\n[it goes on]\n");
    }
    let contents = ResourceContents::text(text, uri).with_mime_type("text/plain");
    Ok(ReadResourceResult::new(vec![contents]))
}

/// The bytes without the beginning of a character whose end is in the next piece.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

fn unreadable(error: &Error) -> ErrorData {
    let message = error.message().to_owned();
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::Forbidden | ErrorKind::Unauthenticated => {
            ErrorData::resource_not_found(message, None)
        }
        _ => ErrorData::internal_error(message, None),
    }
}

/// How a variable of a template could go on.
pub(super) fn completions(scope: &Scope, template: &str, variable: &str, begun: &str) -> Vec<String> {
    match (template, variable) {
        (TOOL_TEMPLATE, "name") => registry()
            .iter()
            .map(Registered::entry)
            .filter(|entry| entry.name.starts_with(begun) && scope.find(entry.name).is_some())
            .map(|entry| entry.name.to_owned())
            .collect(),
        (RUN_TEMPLATE, "stream") => STREAMS
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| name.starts_with(begun))
            .map(ToOwned::to_owned)
            .collect(),
        _ => Vec::new(),
    }
}

fn absent(uri: &str) -> ErrorData {
    let uri: String = uri.escape_debug().take(120).collect();
    ErrorData::resource_not_found(
        format!("no resource `{uri}`; `resources/list` and `resources/templates/list` name those there are"),
        None,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_ends_between_characters() {
        let text = "aä".as_bytes();
        assert_eq!(whole_characters(text), text);
        assert_eq!(whole_characters(&text[..2]), b"a");
        assert_eq!(whole_characters(b"a\xffb"), b"a\xffb");
    }
}
