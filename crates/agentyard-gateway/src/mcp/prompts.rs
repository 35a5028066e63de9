//! Prompts: what a person picks from a menu to set an agent to work.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

use super::scope::Scope;

const CATCH_UP: &str = "git_catch_up";
const WRAPUP: &str = "git_wrapup";

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
    let optional = |name: &str, description: &str| {
        PromptArgument::new(name)
            .with_description(description)
            .with_required(false)
    };
    let path = || {
        optional(
            "path",
            "The repository's directory; the working directory when left out.",
        )
    };
    let mut prompts = Vec::new();
    if scope.shows("git_status") && scope.shows("git_log") {
        let since = optional(
            "since",
            "How far back to look, for example `1 week ago`; a week when left out.",
        );
        let description =
            "Sum up where a repository stands: what is uncommitted and what has happened lately.";
        prompts.push(
            Prompt::new(CATCH_UP, Some(description), Some(vec![path(), since]))
                .with_title("Catch up with a repository"),
        );
    }
    if scope.shows("git_wrapup_instructions") {
        let changelog = optional("changelog_path", "The changelog; CHANGELOG.md when left out.");
        let tag = optional(
            "create_tag",
            "`true` to release too: raise the version and tag it.",
        );
        let description =
            "Bring a piece of work to its end: review, documents, commits, and a tag if wanted.";
        prompts.push(
            Prompt::new(WRAPUP, Some(description), Some(vec![path(), changelog, tag]))
                .with_title("Wrap up a piece of work"),
        );
    }
    prompts
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
    let text = if name == WRAPUP {
        let changelog = either(arguments, "changelog_path", "changelogPath")?.unwrap_or("CHANGELOG.md");
        let tag = either(arguments, "create_tag", "createTag")?;
        wrap_up(path, changelog, tag == Some("true"))
    } else {
        catch_up(path, argument(arguments, "since")?.unwrap_or("1 week ago"))
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(
        Role::User,
        text,
    )]))
}

fn catch_up(path: &str, since: &str) -> String {
    format!(
        "Catch me up with the repository at {path:?}.\n\
         1. Call git_status with path {path:?}: branch, how far ahead or behind, an operation in progress, \
         and uncommitted changes.\n\
         2. Call git_log with path {path:?} and since {since:?}; follow next_cursor to the end.\n\
         3. Tell me in at most ten lines: what state the tree is in and whether anything needs care before work \
         goes on, what was done since {since} grouped by subject rather than by commit, and by whom. \
         Name commits by their short ids."
    )
}

fn wrap_up(path: &str, changelog: &str, create_tag: bool) -> String {
    let release = if create_tag {
        "\n6. Raise the version as suggested, commit that, and tag it with git_tag."
    } else {
        ""
    };
    format!(
        "Bring the work in the repository at {path:?} to its end.\n\
         1. Call git_wrapup_instructions with path {path:?} and create_tag {create_tag}. Heed its `instructions`.\n\
         2. Read every uncommitted change with git_diff. Take out what does not belong, and say what you took out.\n\
         3. Bring {changelog:?}, the README and the documents up to date with what users will notice.\n\
         4. Run the project's own checks, if it has any and you can.\n\
         5. Commit with git_add and git_commit: one subject a commit, what in the subject, why in the body.{release}\n\
         Do not push unless I ask. Tell me at the end what was committed, and what is left."
    )
}

/// How an argument of a prompt could go on.
pub(super) fn completions(name: &str, argument: &str, begun: &str) -> Vec<String> {
    match (name, argument) {
        (CATCH_UP, "since") => SPANS
            .iter()
            .filter(|span| span.starts_with(begun))
            .map(|span| (*span).to_owned())
            .collect(),
        (CATCH_UP | WRAPUP, "path") if ".".starts_with(begun) => vec![".".to_owned()],
        (WRAPUP, "create_tag") => ["true", "false"]
            .into_iter()
            .filter(|choice| choice.starts_with(begun))
            .map(ToOwned::to_owned)
            .collect(),
        (WRAPUP, "changelog_path") if "CHANGELOG.md".starts_with(begun) => vec!["CHANGELOG.md".to_owned()],
        _ => Vec::new(),
    }
}

/// An argument by its name, or as other servers spell it.
fn either<'a>(
    arguments: Option<&'a JsonObject>,
    name: &str,
    other: &str,
) -> Result<Option<&'a str>, ErrorData> {
    Ok(argument(arguments, name)?.or(argument(arguments, other)?))
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
