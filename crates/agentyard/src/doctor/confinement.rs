//! Whether the kernel keeps git inside the repositories in which agents work.

use agentyard_git::{Enforcement, Git, GitSettings};
use agentyard_sandbox::Finding;

use crate::config::Environment;

const WHAT: &str = "git confinement";

/// Tries it.
pub(crate) fn look(environment: &Environment) -> Finding {
    let git = Git::find(GitSettings {
        search_path: environment.value("PATH").map(ToOwned::to_owned),
        ..GitSettings::default()
    });
    match git.enforcement() {
        Enforcement::Whole => Finding::ok(
            WHAT,
            "Landlock keeps git to its repository, and from starting other programs",
        ),
        Enforcement::Writes => Finding::limited(
            WHAT,
            "Landlock keeps git from writing outside its repository, but not from reading or starting programs",
            "install git as a plain program of the system, without a wrapper script around it",
        ),
        Enforcement::Unavailable => Finding::missing(
            WHAT,
            "this kernel has no Landlock, or too old a one, so only git's own settings keep it inside a repository",
            "use Linux 5.19 or newer with Landlock enabled (`lsm=landlock,…`)",
        ),
    }
}
