//! What to do next, by the state of a piece of work.

use agentyard_git::{Operation, Status};

use super::{Step, Wrapup};

/// How many paths a suggested call names.
const NAMED_PATHS: usize = 20;

/// The steps, in order.
pub(super) fn steps(wrapup: &Wrapup, create_tag: bool) -> Vec<Step> {
    let status = &wrapup.status;
    let mut steps = Vec::new();
    let mut push = |text: String, call: Option<String>| steps.push(Step { text, call });
    let distance = status.upstream.as_ref().and_then(|upstream| upstream.distance);
    if !status.conflicted.is_empty() {
        let paths: Vec<&str> = status.conflicted.iter().map(|file| file.path.as_str()).collect();
        push(
            format!("Resolve all conflicts ({}), then stage the files.", paths.len()),
            Some(call("git_add", &[("paths", list(&paths))])),
        );
    }
    if let Some(operation) = status.operation {
        push(
            format!("Continue or abort the {} that is in progress.", name(operation)),
            None,
        );
    }
    let files = &wrapup.uncommitted;
    let not_staged = files.len() - staged_count(status).min(files.len());
    if !files.is_empty() {
        push(
            "Read what is not committed; take out what does not belong.".to_owned(),
            Some(call(
                "git_diff",
                &[
                    ("target", "\"HEAD\"".to_owned()),
                    ("include_untracked", "true".to_owned()),
                ],
            )),
        );
    }
    if !files.is_empty() || !wrapup.commits.is_empty() {
        for document in wrapup.documents.iter().filter(|document| !document.touched) {
            match document.role {
                "changelog" => push(format!("Add what users must know to {}.", document.path), None),
                "version" if create_tag => {
                    let version = wrapup.next_version.as_deref().unwrap_or("the next version");
                    push(
                        format!("Raise the version in {} to {version}.", document.path),
                        None,
                    );
                }
                "readme" | "docs" => push(
                    format!("See whether {} still tells the truth.", document.path),
                    None,
                ),
                _ => {}
            }
        }
    }
    if not_staged > 0 {
        let paths: Vec<&str> = files.iter().map(String::as_str).collect();
        let arguments = match paths.len() {
            count if count <= NAMED_PATHS => ("paths", list(&paths)),
            _ => ("all", "true".to_owned()),
        };
        push(
            "Stage what belongs together, one subject at a time.".to_owned(),
            Some(call("git_add", &[arguments])),
        );
    }
    if !files.is_empty() {
        push(
            "Commit: the subject says what, the body why.".to_owned(),
            Some(call("git_commit", &[("message", "\"…\"".to_owned())])),
        );
    }
    if distance.is_some_and(|distance| distance.behind > 0) {
        push(
            "Take in what the upstream has.".to_owned(),
            Some(call("git_pull", &[("rebase", "true".to_owned())])),
        );
    }
    if create_tag {
        let name = wrapup.next_version.as_deref().unwrap_or("…");
        push(
            "Tag the release.".to_owned(),
            Some(call(
                "git_tag",
                &[
                    ("mode", "\"create\"".to_owned()),
                    ("tag_name", text(name)),
                    ("message", text(&format!("Release {name}"))),
                ],
            )),
        );
    }
    let unpushed = distance.is_none_or(|distance| distance.ahead > 0) && status.head.commit.is_some();
    if (unpushed && !wrapup.commits.is_empty()) || !files.is_empty() {
        let mut arguments = Vec::new();
        if status.upstream.is_none() {
            arguments.push(("set_upstream", "true".to_owned()));
        }
        if create_tag {
            arguments.push(("tags", "true".to_owned()));
        }
        push(
            "Push, if that is wanted and a remote is set.".to_owned(),
            Some(call("git_push", &arguments)),
        );
    }
    steps
}

fn staged_count(status: &Status) -> usize {
    let staged = &status.staged;
    staged.added.len()
        + staged.modified.len()
        + staged.deleted.len()
        + staged.type_changed.len()
        + staged.renamed.len()
        + staged.copied.len()
}

fn name(operation: Operation) -> &'static str {
    match operation {
        Operation::Merge => "merge",
        Operation::Rebase => "rebase",
        Operation::CherryPick => "cherry-pick",
        Operation::Revert => "revert",
        Operation::Bisect => "bisection",
        Operation::ApplyMailbox => "application of a mailbox",
    }
}

/// A call as it is written: the tool's name and its arguments as JSON.
fn call(tool: &str, arguments: &[(&str, String)]) -> String {
    let arguments: Vec<String> = arguments
        .iter()
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    format!("{tool} {{{}}}", arguments.join(","))
}

fn list(paths: &[&str]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| text(path)).collect();
    format!("[{}]", paths.join(","))
}

/// A text as JSON. Paths and names come without control characters.
fn text(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_written_as_json() {
        assert_eq!(
            call("git_add", &[("paths", list(&["a", "\"b\\n\""]))]),
            r#"git_add {"paths":["a","\"b\\n\""]}"#
        );
    }
}
