//! Prompts: what a person picks from a menu to set an agent to work.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

use super::scope::Scope;

const CATCH_UP: &str = "git_catch_up";

/// How far back somebody may want to look, for completion.
const SPANS: &[&str] = &[
    "1 day ago",
    "3 days ago",
    "1 week ago",
    "2 weeks ago",
    "1 month ago",
];

/// The prompts that make sense with the tools this caller has.
pub(super) fn prompts(scope: &Scope) -> Vec<Prompt> {
    if !scope.shows("git_status") || !scope.shows("git_log") {
        return Vec::new();
    }
    let path = PromptArgument::new("path")
        .with_description("The repository's directory; the working directory when left out.")
        .with_required(false);
    let since = PromptArgument::new("since")
        .with_description("How far back to look, for example `1 week ago`; a week when left out.")
        .with_required(false);
    let description = "Sum up where a repository stands: what is uncommitted and what has happened lately.";
    vec![
        Prompt::new(CATCH_UP, Some(description), Some(vec![path, since]))
            .with_title("Catch up with a repository"),
    ]
}

/// A prompt, filled in.
pub(super) fn prompt(
    scope: &Scope,
    name: &str,
    arguments: Option<&JsonObject>,
) -> Result<GetPromptResult, ErrorData> {
    if !prompts(scope).iter().any(|prompt| prompt.name == name) {
        let name: String = name.escape_debug().take(60).collect();
        return Err(ErrorData::invalid_params(
            format!("unknown prompt `{name}`; `prompts/list` names those there are"),
            None,
        ));
    }
    let path = argument(arguments, "path")?.unwrap_or(".");
    let since = argument(arguments, "since")?.unwrap_or("1 week ago");
    let text = format!(
        "Catch me up with the repository at {path:?}.\n\
         1. Call git_status with path {path:?}: branch, how far ahead or behind, an operation in progress, \
         and uncommitted changes.\n\
         2. Call git_log with path {path:?} and since {since:?}; follow next_cursor to the end.\n\
         3. Tell me in at most ten lines: what state the tree is in and whether anything needs care before work \
         goes on, what was done since {since} grouped by subject rather than by commit, and by whom. \
         Name commits by their short ids."
    );
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(
        Role::User,
        text,
    )]))
}

/// How an argument of a prompt could go on.
pub(super) fn completions(name: &str, argument: &str, begun: &str) -> Vec<String> {
    match (name, argument) {
        (CATCH_UP, "since") => SPANS
            .iter()
            .filter(|span| span.starts_with(begun))
            .map(|span| (*span).to_owned())
            .collect(),
        (CATCH_UP, "path") if ".".starts_with(begun) => vec![".".to_owned()],
        _ => Vec::new(),
    }
}

fn argument<'a>(arguments: Option<&'a JsonObject>, name: &str) -> Result<Option<&'a str>, ErrorData> {
    match arguments.and_then(|arguments| arguments.get(name)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ErrorData::invalid_params(
            format!("prompt argument `{name}`: expected a string"),
            None,
        )),
    }
}
