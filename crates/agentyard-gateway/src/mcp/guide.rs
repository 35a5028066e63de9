//! What the server says of itself to a model that has never met it.

use agentyard_model::Toolset;

use super::scope::Scope;

/// Clients may cut instructions here.
#[cfg(test)]
const MAX_INSTRUCTIONS: usize = 2_000;

/// How to use what this caller is shown.
pub(super) fn instructions(scope: &Scope) -> String {
    let mut text = String::from(
        "Agentyard gives you a place to work on repositories. Every answer names what it acted on. \
         Long lists and texts come in pages: when an answer has `next_cursor` (or ends with a line that names \
         a cursor), call again with `cursor` for the rest. `detail` (`minimal`, `standard`, `full`) sets how much \
         an answer says. An error says what was wrong and, in `hints`, what to do next.",
    );
    let toolsets = scope.shown().map(|operation| operation.entry().toolset);
    let mut told = Vec::new();
    for toolset in toolsets {
        if !told.contains(&toolset) {
            told.push(toolset);
            text.push('\n');
            text.push_str(about(toolset));
        }
    }
    text
}

fn about(toolset: Toolset) -> &'static str {
    match toolset {
        Toolset::Git => {
            "git: `path` is a repository's directory, absolute or `.` for the working directory (set that once with \
             git_set_working_dir), or a workspace. Repositories are read without running anything that they configure."
        }
        Toolset::Workspace => {
            "workspace: workspace_open gives a branch in a working tree of its own, at once; pass its id as `workspace`. \
             Every change there leaves a checkpoint, and workspace_undo goes back to any of them."
        }
        Toolset::Build => {
            "build: files, searches, make and commands in a `workspace`. A command that goes on longer than its call \
             waits answers `running`; call again with its `run` and `after` for the rest."
        }
        Toolset::Exec => {
            "exec: Python in a sandbox. execute_code runs a snippet, execute_code_file a file of the `workspace`; \
             `missing_package` names what install_dependencies is to install."
        }
        Toolset::Sandbox => {
            "sandbox: sandbox_create gives a small machine that stays until its time is up; sandbox_run runs commands in it."
        }
        Toolset::Core => "core: whoami tells who you are and what you may do.",
        Toolset::Admin => {
            "admin: tokens (each shown once, when it is made), secrets (never shown) and the audit log."
        }
    }
}

#[cfg(test)]
mod tests {
    use agentyard_model::Caller;
    use agentyard_operations::Selection;

    use super::*;

    #[test]
    fn instructions_are_short_and_tell_of_every_toolset() {
        let scope = Scope {
            caller: Caller::local(),
            selection: Selection::default().into(),
        };
        let text = instructions(&scope);
        assert!(text.len() < MAX_INSTRUCTIONS, "{}", text.len());
        for toolset in Toolset::ALL {
            assert!(text.contains(&format!("\n{toolset}: ")), "{toolset}");
        }
    }
}
