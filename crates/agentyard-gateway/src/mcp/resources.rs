//! Resources: what a client can read without calling a tool.

use agentyard_operations::{Registered, registry};
use agentyard_services::Services;
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use super::scope::Scope;

const WORKING_DIRECTORY: &str = "git://working-directory";

/// A tool, with the schema of its answer, which the tool list leaves out to stay small.
const TOOL_PREFIX: &str = "agentyard://tools/";
const TOOL_TEMPLATE: &str = "agentyard://tools/{name}";

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
    ]
}

/// Reads one.
pub(super) async fn read(
    scope: &Scope,
    services: &Services,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
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

/// How a variable of a template could go on.
pub(super) fn completions(scope: &Scope, template: &str, variable: &str, begun: &str) -> Vec<String> {
    match (template, variable) {
        (TOOL_TEMPLATE, "name") => registry()
            .iter()
            .map(Registered::entry)
            .filter(|entry| entry.name.starts_with(begun) && scope.find(entry.name).is_some())
            .map(|entry| entry.name.to_owned())
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
